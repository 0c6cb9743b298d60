"""Rules that read one another's streams in a circle: the live events of a batch and the rules come in, what
all of them derive goes out, up to the fixpoint.

All that is derived ends with an event that came from outside. So time goes on from end to end, and what ended
before is settled. But one end after the other would cost a round of statements for each. Where rules only
say what there has to be, the least fixpoint of a long span of time is the same as that end by end, and every
round joins just what the round before derived with all the rest (semi-naive evaluation). Where the absence of
something derived matters too, the same is done on trial: when nothing more follows, everything is evaluated
once more on all that was derived. If the same comes out, and no rule can be its own reason within one end,
that is the fixpoint. Otherwise all before the first difference is, and the rest is done again in shorter spans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from rheos.algebra.nodes import TriplePattern
from rheos.answers.continuous import time_text
from rheos.optimize.settled import at_end, looked_for, unsettled
from rheos.runtime.detecting import BATCH, DetectingBatch, Detection, nothing, present, statement_of
from rheos.runtime.ticks import matches
from rheos.sql.relation import OCCURRENCE, clause_name

# Rules that derive more than this with one end, or in more rounds, are taken for endless.
MOST_DERIVED = 1_000_000
MOST_ROUNDS = 1_000

EVENTS = ["s", "p", "o", *OCCURRENCE]
Way = Literal["at once", "on trial", "end by end"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a circle in a batch: the stream that it makes, and what it is evaluated on."""

    name: str
    detection: Detection
    stream: str
    after: int
    since: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Derived:
    """The solutions of each rule in the form of its statement; and if they had to be cut off, why: then they
    are those that end before that."""

    solutions: Mapping[str, pa.Table]
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Endless(Exception):
    """A rule derives more and more with one end."""

    rule: str
    end: int


class Mistaken(Exception):
    """Something was taken to be absent that was derived later; all before this end is right."""

    def __init__(self, end: int) -> None:
        super().__init__(end)
        self.end = end


def ambiguous(rules: Mapping[str, Detection]) -> str | None:
    """The name of a rule of a circle that looks for the absence of what the circle derives at the same time:
    then there is no telling what follows."""
    template = [triple for detection in rules.values() for triple in detection.template]
    for name, detection in rules.items():
        if unsettled(detection.pattern) & detection.matching(template):
            return name
    return None


def way(rules: Sequence[Rule], kept: frozenset[str]) -> Way:
    """How a circle can be evaluated, given the tables of static parts that are not empty."""
    template = [triple for rule in rules for triple in rule.detection.template]
    reasons: dict[str, set[str]] = {}
    monotone = True
    for rule in rules:
        detection = rule.detection
        every = frozenset(range(1, len(detection.patterns) + 1))
        pattern = present(detection.pattern, every, kept)
        monotone &= not looked_for(pattern) & detection.matching(template)
        last = at_end(pattern, static=True)
        reasons[rule.name] = {
            other.name for other in rules if detection.matching(other.detection.template) & last
        }
    if monotone:
        return "at once"
    while free := [name for name, others in reasons.items() if not others & reasons.keys()]:
        for name in free:
            del reasons[name]
    return "end by end" if reasons else "on trial"


@dataclass
class Leaf:
    """What matches a pattern of a rule; a `derived` one can be made by the circle."""

    number: int
    pattern: TriplePattern
    events: pa.Table  # that are settled, or not of the circle
    derived: bool

    def up_to(self, until: int) -> None:
        """Begin with the events up to a time."""
        self.found = up_to(self.events, until)  # but for what the last round derived
        self.more = self.events.slice(0, 0)

    def next(self, more: pa.Table) -> None:
        self.found, self.more = self.all(), self.of(more)

    def all(self) -> pa.Table:
        return pa.concat_tables([self.found, self.more])

    def of(self, events: pa.Table) -> pa.Table:
        """Those of some events that match."""
        return events.take(pa.array(matches(events, (self.pattern,))))


@dataclass
class Fixpoint:
    """The evaluation of a circle up to a time."""

    batch: DetectingBatch
    rules: Sequence[Rule]
    until: int
    leaves: dict[str, list[Leaf]] = field(default_factory=dict)
    settled: dict[str, list[pa.Table]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        template = [triple for rule in self.rules for triple in rule.detection.template]
        for rule in self.rules:
            detection = rule.detection
            events = self.batch.seen(detection.streams, self.until, rule.since)
            derived = detection.matching(template)
            self.leaves[rule.name] = [
                Leaf(number, pattern, events.take(pa.array(matches(events, (pattern,)))), number in derived)
                for number, pattern in enumerate(detection.patterns, start=1)
            ]
            self.settled[rule.name] = []

    def derived(self) -> Derived:
        ends, at = self.ends(), 0
        chosen = way(self.rules, self.batch.kept)
        size = 1 if chosen == "end by end" else max(1, len(ends))
        failure = None
        while at < len(ends) and failure is None:
            span = ends[at : at + size]
            after = int(ends[at - 1]) if at else int(span[0]) - 1
            checked = chosen == "on trial" and len(span) > 1
            try:
                made = self.span(after, int(span[-1]), checked)
                at += len(span)
                size = size if chosen == "end by end" else 2 * size
            except Mistaken as mistake:
                made = {name: up_to(rows, mistake.end - 1) for name, rows in self.found.items()}
                at = int(np.searchsorted(ends, mistake.end))
                size = max(1, len(span) // 2)
            except Endless as endless:
                if len(span) > 1:
                    # What ends before that has to be complete, wherever the batch begins.
                    size = max(1, int(np.searchsorted(span, endless.end)))
                    continue
                made, failure = {}, self.failure(endless)
            self.settle(made)
        return Derived({rule.name: self.solutions(rule) for rule in self.rules}, failure)

    def ends(self) -> np.ndarray:
        """The times at which something may be derived."""
        after = min(rule.after for rule in self.rules)
        columns = [leaf.events.column("ending").to_numpy() for leaf in self._leaves()]
        ends = np.unique(np.concatenate([np.empty(0, np.int64), *columns]))
        return ends[ends > after]

    def span(self, after: int, until: int, checked: bool) -> dict[str, pa.Table]:
        """What the rules derive that ends after a time and up to another."""
        for leaf in self._leaves():
            leaf.up_to(until)
        self.found = {rule.name: nothing(rule.detection.query.query) for rule in self.rules}
        counts, first, rounds = Counter[int](), until, 0
        new = {rule.name: self.completed(rule, after) for rule in self.rules}
        while True:
            new = {name: self.unknown(name, rows) for name, rows in new.items()}
            if not any(map(len, new.values())):
                if not checked:
                    return self.found
                new = self.missing(after)
                if not any(map(len, new.values())):
                    return self.found
            ends = {name: rows.column("ending").to_numpy() for name, rows in new.items()}
            earliest = min(int(found.min()) for found in ends.values() if len(found))
            rounds = rounds + 1 if earliest == first else 0
            first = earliest
            counts.update(dict(zip(*_counted(ends.values()), strict=True)))
            most = max(counts, key=counts.__getitem__)
            if rounds >= MOST_ROUNDS or counts[most] > MOST_DERIVED:
                end = first if rounds >= MOST_ROUNDS else most
                raise Endless(max(ends, key=lambda name: np.count_nonzero(ends[name] == end)), end)
            new = self.round(new, after)

    def round(self, new: Mapping[str, pa.Table], after: int) -> dict[str, pa.Table]:
        """What follows from what was found in the round before."""
        self.found = {name: pa.concat_tables([rows, new[name]]) for name, rows in self.found.items()}
        for rule in self.rules:
            events = self.events(rule, new)
            for leaf in self.leaves[rule.name]:
                if leaf.derived:
                    leaf.next(events)
        return {rule.name: self.changed(rule, after) for rule in self.rules}

    def completed(self, rule: Rule, after: int) -> pa.Table:
        """The solutions of a rule on all that is there, that end after a time."""
        for leaf in self.leaves[rule.name]:
            events = leaf.all()
            new = events.column("ending").to_numpy() > after
            self._put(leaf, events, events.filter(pa.array(~new)), events.filter(pa.array(new)))
        return self._solutions(rule, after, None)

    def changed(self, rule: Rule, after: int) -> pa.Table:
        """The solutions of a rule with an event of the last round."""
        leaves = self.leaves[rule.name]
        derived = frozenset(leaf.number for leaf in leaves if len(leaf.more))
        if not derived:
            return nothing(rule.detection.query.query)
        for leaf in leaves:
            self._put(leaf, leaf.all(), leaf.found, leaf.more)
        return self._solutions(rule, after, derived)

    def missing(self, after: int) -> dict[str, pa.Table]:
        """What there should be beside what was found; if some of that should not be, it is a mistake."""
        should = {rule.name: self.completed(rule, after) for rule in self.rules}
        wrong = [self._without(rows, should[name]) for name, rows in self.found.items()]
        missing = {name: self.unknown(name, rows) for name, rows in should.items()}
        if any(map(len, wrong)):
            both = [rows.column("ending").to_numpy() for rows in (*wrong, *missing.values())]
            raise Mistaken(min(int(ends.min()) for ends in both if len(ends)))
        return missing

    def unknown(self, name: str, rows: pa.Table) -> pa.Table:
        return self._without(rows, self.found[name])

    def settle(self, made: Mapping[str, pa.Table]) -> None:
        for name, rows in made.items():
            self.settled[name].append(rows)
        for rule in self.rules:
            events = self.events(rule, made)
            for leaf in self.leaves[rule.name]:
                if leaf.derived:
                    leaf.events = pa.concat_tables([leaf.events, leaf.of(events)])

    def events(self, rule: Rule, made: Mapping[str, pa.Table]) -> pa.Table:
        """What rules made, as events that a rule reads."""
        read = [made[other.name] for other in self.rules if other.stream in rule.detection.streams and made]
        return pa.concat_tables([no_events(), *map(as_events, read)])

    def solutions(self, rule: Rule) -> pa.Table:
        rows = pa.concat_tables([nothing(rule.detection.query.query), *self.settled[rule.name]])
        return rows.sort_by([(name, "ascending") for name in rows.column_names])

    def failure(self, endless: Endless) -> str:
        names = ", ".join(rule.name for rule in self.rules)
        when = time_text(endless.end)
        if len(self.rules) == 1:
            return f"the rule {names} derives more and more from what it made itself, that ends at {when}"
        return (
            f"the rules {names} derive more and more from one another, that ends at {when}:"
            f" most of it is made by {endless.rule}"
        )

    def _leaves(self) -> Iterator[Leaf]:
        for leaves in self.leaves.values():
            yield from leaves

    def _put(self, leaf: Leaf, events: pa.Table, old: pa.Table, new: pa.Table) -> None:
        for part, shown in (("all", events), ("old", old), ("new", new)):
            self.batch.place.put(clause_name(leaf.number, part), shown)

    def _solutions(self, rule: Rule, after: int, derived: frozenset[int] | None) -> pa.Table:
        place = self.batch.place
        place.put(BATCH, pa.table({"after": pa.array([max(after, rule.after)], pa.int64())}))
        events = frozenset(leaf.number for leaf in self.leaves[rule.name] if len(leaf.found) or len(leaf.more))
        statement = statement_of(rule.detection, events, self.batch.kept, place.dialect, derived)
        if statement is None:
            return nothing(rule.detection.query.query)
        return place.solutions(statement)

    def _without(self, rows: pa.Table, others: pa.Table) -> pa.Table:
        if not len(rows) or not len(others):
            return rows
        self.batch.place.put("found", rows)
        self.batch.place.put("known", others)
        found = self.batch.place.ask("SELECT * FROM found EXCEPT SELECT * FROM known")
        return found.cast(rows.schema)


def up_to(rows: pa.Table, end: int) -> pa.Table:
    return rows.filter(pa.array(rows.column("ending").to_numpy() <= end))


def no_events() -> pa.Table:
    kinds = [pa.string()] * 3 + [pa.int64()] * 2
    return pa.Table.from_arrays([pa.array([], kind) for kind in kinds], names=EVENTS)


def _counted(columns: Iterator[np.ndarray]) -> tuple[list[int], list[int]]:
    ends, counts = np.unique(np.concatenate(list(columns)), return_counts=True)
    return ends.tolist(), counts.tolist()


def as_events(rows: pa.Table) -> pa.Table:
    """What a rule made: its solutions have their end and start before the triple."""
    return rows.select([2, 3, 4, 1, 0]).rename_columns(EVENTS)
