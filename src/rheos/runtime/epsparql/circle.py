"""Rules that read one another's streams in a circle: evaluates them together, up to the fixpoint.

Everything that rules derive ends at the time at which some event from outside ended. So rules could be
evaluated for one such time, an *end*, after the other: what ended before is settled. But each end would cost
a round of statements. There are three ways:

- At once: if no rule looks for the absence of something derived, the least fixpoint of a long span of time is
  the same as end by end. Each round joins what the round before derived with everything else (semi-naive
  evaluation).
- On trial: if the absence of something derived matters, the same is done, and when nothing more follows,
  everything is evaluated once more on all that was derived. If the result is the same, it is the fixpoint.
  Otherwise only what ends before the first difference is right, and the rest is done again in shorter spans.
- End by end: if, besides, a rule can be its own reason within one end.

Between batches, the derived events stay in the buffers of the rules' streams, as long as rules can look back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import TriplePattern
from rheos.answers.continuous import time_text
from rheos.errors import RheosError
from rheos.optimize.events import Twins
from rheos.optimize.settled import at_end, looked_for, unsettled
from rheos.optimize.uninterrupted import uninterrupted
from rheos.runtime.epsparql.operator import BATCH, EPSparqlBatch, EPSparqlOperator, nothing, statement_of
from rheos.runtime.epsparql.patterns import could_match, present, shape
from rheos.runtime.epsparql.shares import Places
from rheos.runtime.plan import Registered
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.entailment import ENTAILING
from rheos.runtime.worker.matching import matches
from rheos.sql.conditions import all_of, negated, same
from rheos.sql.duckdb import DUCKDB
from rheos.sql.entailed import entailed_sql
from rheos.sql.relation import OCCURRENCE, clause_name, nested, select
from rheos.sql.statement import TRIPLE

# Rules that derive more events than this with one end, or that need more rounds for it, are taken for
# endless.
MOST_DERIVED = 1_000_000
MOST_ROUNDS = 500

EVENTS = ["s", "p", "o", *OCCURRENCE]
Way = Literal["at once", "on trial", "end by end"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a circle in a batch: its operator, the stream that it makes, the time after which it is
    evaluated, and how many elements of each stream came before it."""

    name: str
    detection: EPSparqlOperator
    stream: str
    after: int
    unseen: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Derived:
    """The solutions of each rule, with the columns of its statement. If the evaluation had to be cut off,
    `failure` says why, and only the solutions that end before `failed_at` are here."""

    solutions: Mapping[str, pa.Table]
    failure: str | None = None
    failed_at: int | None = None


class Endless(Exception):
    """A rule derives more and more events with one end."""

    def __init__(self, rule: str, end: int) -> None:
        super().__init__(rule, end)
        self.rule, self.end = rule, end


class Mistaken(Exception):
    """Something was taken for absent that was derived later. Everything that ends before `end` is right."""

    def __init__(self, end: int) -> None:
        super().__init__(end)
        self.end = end


def check(names: str, together: Sequence[Registered]) -> None:
    """Refuse queries that read one another's streams in a circle, if it is not defined
    what follows from them."""
    rules = {q.name: q.operator for q in together if isinstance(q.operator, EPSparqlOperator)}
    if len(rules) < len(together):
        raise RheosError(f"these queries read one another's streams in a circle: {names}")
    for name, rule in rules.items():
        if rule.query.consumption != "unrestricted":
            raise RheosError(
                f"{name} has the policy of consumption {rule.query.consumption}, and goes on from what it"
                f" makes: {names}; what it would use up depends on what it makes of that"
            )
    looking = ambiguous(rules)
    if looking is not None:
        raise RheosError(
            f"{looking} looks for the absence of what may follow from its own answer at the same time:"
            f" {names}; what is optional, taken away or aggregated there must have ended before"
        )


def ambiguous(rules: Mapping[str, EPSparqlOperator]) -> str | None:
    """The name of a rule that looks for the absence of what its circle derives at the same time: then it is
    not defined what follows. None if there is no such rule."""
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
        plain = every if detection.derivations is None else ()
        single = frozenset(n for n in plain if at_one_time(template, detection.patterns[n - 1]))
        monotone &= not looked_for(uninterrupted(pattern), single) & detection.matching(template)
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


def at_one_time(template: Sequence[TriplePattern], pattern: TriplePattern) -> bool:
    """Whether the triples of templates that match a pattern have different values in different intervals for
    one of its variables: new blank nodes do."""
    return bool(new_nodes(template, pattern))


def new_nodes(template: Sequence[TriplePattern], pattern: TriplePattern) -> frozenset[str]:
    """The variables of a pattern that are new blank nodes in every triple of the
    templates that matches it."""
    made = [triple for triple in template if could_match([triple], pattern)]
    return frozenset(
        asked.name
        for at, asked in enumerate(pattern.terms)
        if isinstance(asked, Variable)
        and all(isinstance(term := triple.terms[at], Variable) and term.is_blank for triple in made)
    )


def twins(detection: EPSparqlOperator, template: Sequence[TriplePattern]) -> Twins:
    """The pairs of patterns that can only match events of the same solution together, because they share a
    variable for a new blank node."""
    if detection.derivations is not None:
        return frozenset()  # by entailment, a triple of a rule may match other patterns as another triple
    found = [new_nodes(template, pattern) for pattern in detection.patterns]
    numbered = list(enumerate(found, start=1))
    return frozenset((a, b) for a, one in numbered for b, other in numbered if a != b and one & other)


@dataclass(frozen=True, slots=True)
class Share:
    """The events that belong to the task `number` out of `of` tasks. The hash of a term decides; `places`
    says, for the patterns of each rule, where this term stands."""

    number: int
    of: int
    places: tuple[Places, ...]

    def condition(self, column: str) -> str:
        return f"hash({column}) % {self.of} = {self.number}"


def united(parts: Sequence[Derived]) -> Derived:
    """What several tasks derived from their shares, as one task would have derived it."""
    failed = min((part for part in parts if part.failed_at is not None), key=_failed_at, default=None)
    solutions = {}
    for name in parts[0].solutions:
        rows = pa.concat_tables([part.solutions[name] for part in parts])
        if failed is not None:
            rows = rows.filter(pc.less(rows.column("ending"), _failed_at(failed)))
        solutions[name] = rows.sort_by([(column, "ascending") for column in rows.column_names])
    return Derived(solutions) if failed is None else replace(failed, solutions=solutions)


def _failed_at(part: Derived) -> int:
    assert part.failed_at is not None
    return part.failed_at


@dataclass
class Leaf:
    """The table of the events that match a pattern: s, p, o, starting, ending, and the round in which
    an event was derived, or 0 if it was there before. `makers` are the rules of the circle that may
    derive such events."""

    table: str
    pattern: TriplePattern
    makers: list[Rule]
    derivations: str | None = None  # the table of what events entail, for rules with entailment
    filled: bool = False


@dataclass
class Fixpoint:
    """The evaluation of a circle up to a time, in a database of DuckDB."""

    batch: EPSparqlBatch
    database: Database
    rules: Sequence[Rule]
    until: int
    share: Share | None = None

    def __post_init__(self) -> None:
        self.round = 0
        self._grown: set[str] = set()  # the tables that the last round added to
        self._leaves: dict[tuple[object, ...], Leaf] = {}
        self._numbered: dict[str, list[Leaf]] = {}  # for each rule, the leaves of its patterns, in order
        self._views: dict[str, str] = {}
        self._known = {rule.name: f"derived_{number}" for number, rule in enumerate(self.rules)}
        self._fresh = {rule.name: f"fresh_{number}" for number, rule in enumerate(self.rules)}
        template = [triple for rule in self.rules for triple in rule.detection.template]
        self._twins = {rule.name: twins(rule.detection, template) for rule in self.rules}
        for at, rule in enumerate(self.rules):
            self.database.put("arrived", nothing(rule.detection.query.query))
            self.database.make(self._known[rule.name], "SELECT * FROM arrived")
            patterns = rule.detection.patterns
            terms = [None] * len(patterns) if self.share is None else self.share.places[at]
            self._numbered[rule.name] = [
                self._leaf(rule, pattern, place) for pattern, place in zip(patterns, terms, strict=True)
            ]

    def derived(self) -> Derived:
        ends, at = self.ends(), 0
        chosen = way(self.rules, self.batch.filled)
        size = 1 if chosen == "end by end" else max(1, len(ends))
        failure, failed_at = None, None
        while at < len(ends) and failure is None:
            span = ends[at : at + size]
            after = int(ends[at - 1]) if at else int(span[0]) - 1
            checked = chosen == "on trial" and len(span) > 1
            try:
                self.span(after, int(span[-1]), checked)
                at += len(span)
                size = size if chosen == "end by end" else 2 * size
            except Mistaken as mistake:
                self.forget(mistake.end - 1)
                at = int(np.searchsorted(ends, mistake.end))
                size = max(1, len(span) // 2)
            except Endless as endless:
                self.forget(after)
                if len(span) == 1:
                    failure, failed_at = self.failure(endless), endless.end
                # The events that end before must all be derived, however batches are cut.
                size = max(1, int(np.searchsorted(span, endless.end)))
        return Derived({rule.name: self.solutions(rule) for rule in self.rules}, failure, failed_at)

    def ends(self) -> np.ndarray:
        """The ends: the times at which something may be derived."""
        tables = {leaf.table for leaf in self._leaves.values()}
        every = " UNION ".join(f"SELECT ending FROM {table}" for table in sorted(tables))
        after = min(rule.after for rule in self.rules)
        found = self.database.ask(f"SELECT ending FROM ({every}) WHERE ending > {after} ORDER BY ending")
        ends: np.ndarray = found.column(0).to_numpy()
        return ends

    def span(self, after: int, until: int, checked: bool) -> None:
        """Derive everything that ends after a time and up to another. If `checked`, on trial."""
        counts, first, rounds = Counter[int](), until, 0
        fresh = dict[str, int]()
        for rule in self.rules:
            self.complete(rule, after, until)
            fresh[rule.name] = self._without(rule)
        while True:
            if not any(fresh.values()) and checked:
                fresh = self.missing(after, until)
            if not any(fresh.values()):
                return
            ends = {name: self._ends(self._fresh[name]) for name, found in fresh.items() if found}
            earliest = min(min(found) for found in ends.values())
            first, rounds = earliest, rounds + 1 if earliest == first else 0
            for found in ends.values():
                counts.update(found)
            most = max(counts, key=counts.__getitem__)
            if rounds >= MOST_ROUNDS or counts[most] > MOST_DERIVED:
                end = first if rounds >= MOST_ROUNDS else most
                raise Endless(max(ends, key=lambda name: ends[name].get(end, 0)), end)
            self.take_in(fresh)
            fresh = {rule.name: self.changed(rule, after, until) for rule in self.rules}

    def complete(self, rule: Rule, after: int, until: int) -> None:
        """Find the solutions of a rule that end in a span, on all present events."""
        parts = {"all": f"ending <= {until}", "old": f"ending <= {after}"}
        self._show(rule, {**parts, "new": f"ending > {after} AND ending <= {until}"})
        self._find(rule, after, None)

    def changed(self, rule: Rule, after: int, until: int) -> int:
        """Find the new solutions of a rule that have an event of the last round. The
        result is their number."""
        leaves = enumerate(self._numbered[rule.name], start=1)
        derived = frozenset(number for number, leaf in leaves if leaf.table in self._grown)
        if not derived:
            return 0
        last, seen = f"round = {self.round}", f"ending <= {until}"
        self._show(rule, {"all": seen, "old": all_of([negated(last), seen]), "new": last})
        self._find(rule, after, derived)
        return self._without(rule)

    def missing(self, after: int, until: int) -> dict[str, int]:
        """Evaluate all rules once more, to find solutions that are still missing: how many of each rule.
        Mistaken if a known solution is not found again."""
        wrong, found = list[int](), dict[str, int]()
        for rule in self.rules:
            self.complete(rule, after, until)
            known = select(["*"], self._known[rule.name], [f"ending > {max(after, rule.after)}"])
            extra = f"{known} EXCEPT SELECT * FROM {self._fresh[rule.name]}"
            ((earliest,),) = self.database.run(f"SELECT min(ending) FROM ({extra})").fetchall()
            wrong += [] if earliest is None else [earliest]
            found[rule.name] = self._without(rule)
        if wrong:
            ends = [self._ends(self._fresh[name]) for name, count in found.items() if count]
            raise Mistaken(min(wrong + [min(counted) for counted in ends]))
        return found

    def take_in(self, fresh: Mapping[str, int]) -> None:
        """Add the solutions that were found, and make events of them for the next round."""
        self.round += 1
        self._grown.clear()
        for name, count in fresh.items():
            if count:
                self.database.run(f"INSERT INTO {self._known[name]} SELECT * FROM {self._fresh[name]}")
        for leaf in self._leaves.values():
            for maker in leaf.makers:
                if not fresh[maker.name]:
                    continue
                sql = self._matching(leaf, self._fresh[maker.name])
                ((count,),) = self.database.run(f"INSERT INTO {leaf.table} {sql}").fetchall()
                if count:
                    leaf.filled = True
                    self._grown.add(leaf.table)

    def _matching(self, leaf: Leaf, fresh: str) -> str:
        """The SQL for the new triples of a rule, with what they entail, that match the pattern of a leaf."""
        triple = dict(zip("spo", TRIPLE, strict=True))
        if leaf.derivations is None:
            columns = [*triple.values(), *OCCURRENCE, str(self.round)]
            return select(columns, fresh, conditions(leaf.pattern, triple))
        made = [*(f"{made} AS {name}" for name, made in triple.items()), *OCCURRENCE]
        self.database.view(ENTAILING, select(made, fresh))
        everything = nested(entailed_sql(ENTAILING, leaf.derivations, OCCURRENCE), "made")
        own = dict(zip("spo", "spo", strict=True))
        return select([*own, *OCCURRENCE, str(self.round)], everything, conditions(leaf.pattern, own))

    def forget(self, after: int) -> None:
        """Delete derived solutions and events that end after a time."""
        for table in self._known.values():
            self.database.run(f"DELETE FROM {table} WHERE ending > {after}")
        for leaf in self._leaves.values():
            if leaf.makers:
                self.database.run(f"DELETE FROM {leaf.table} WHERE round > 0 AND ending > {after}")

    def solutions(self, rule: Rule) -> pa.Table:
        return self.database.ask(f"SELECT * FROM {self._known[rule.name]} ORDER BY ALL")

    def failure(self, endless: Endless) -> str:
        names = ", ".join(rule.name for rule in self.rules)
        when = time_text(endless.end)
        if len(self.rules) == 1:
            return f"the rule {names} derives more and more from what it made itself, that ends at {when}"
        return (
            f"the rules {names} derive more and more from one another, that ends at {when}:"
            f" most of it is made by {endless.rule}"
        )

    def _leaf(self, rule: Rule, pattern: TriplePattern, place: int | None) -> Leaf:
        """The table of the events that match a pattern. Patterns that differ only in their
        variables share it."""
        detection = rule.detection
        times = detection.memory, rule.after, tuple(sorted(rule.unseen.items()))
        asked = detection.derivations
        derivations = asked.table if asked is not None and asked.table in self.batch.filled else None
        key = shape(pattern), detection.streams, times, place, derivations
        if key not in self._leaves:
            makers = [
                other
                for other in self.rules
                if other.stream in detection.streams
                and (derivations is not None or could_match(other.detection.template, pattern))
            ]
            leaf = self._leaves[key] = Leaf(f"leaf_{len(self._leaves)}", pattern, makers, derivations)
            seen = self.batch.seen(detection.streams, self.until, rule.unseen)
            events = self.batch.entailed(detection, detection.remembered(seen, rule.after))
            found = events.take(pa.array(matches(events, (pattern,))))
            self.database.put("arrived", found)
            own = [] if self.share is None or place is None else [self.share.condition("spo"[place])]
            self.database.make(leaf.table, select(["*", "0 AS round"], "arrived", own))
            leaf.filled = bool(len(found))
        return self._leaves[key]

    def _show(self, rule: Rule, parts: Mapping[str, str]) -> None:
        for number, leaf in enumerate(self._numbered[rule.name], start=1):
            for part, condition in parts.items():
                name, sql = clause_name(number, part), select(EVENTS, leaf.table, [condition])
                if self._views.get(name) != sql:
                    self.database.view(name, sql)
                    self._views[name] = sql

    def _find(self, rule: Rule, after: int, derived: frozenset[int] | None) -> None:
        """Put the solutions of a rule's statement into its table of fresh solutions."""
        self.database.put(BATCH, pa.table({"after": pa.array([max(after, rule.after)], pa.int64())}))
        leaves = enumerate(self._numbered[rule.name], start=1)
        events = frozenset(number for number, leaf in leaves if leaf.filled)
        statement = statement_of(
            rule.detection, events, self.batch.filled, self.database.dialect, derived, self._twins[rule.name]
        )
        fresh = self._fresh[rule.name]
        if statement is None:
            self.database.make(fresh, f"SELECT * FROM {self._known[rule.name]} LIMIT 0")
        else:
            self.database.make_solutions(fresh, statement)

    def _without(self, rule: Rule) -> int:
        """Delete from a rule's fresh solutions those that are known. The result is how many are left."""
        known, fresh = self._known[rule.name], self._fresh[rule.name]
        again = same(known, fresh, (*OCCURRENCE, *TRIPLE))
        self.database.run(f"DELETE FROM {fresh} USING {known} WHERE {again}")
        ((count,),) = self.database.run(f"SELECT count(*) FROM {fresh}").fetchall()
        return int(count)

    def _ends(self, table: str) -> dict[int, int]:
        return dict(self.database.run(f"SELECT ending, count(*) FROM {table} GROUP BY ending").fetchall())


def conditions(pattern: TriplePattern, columns: Mapping[str, str]) -> list[str]:
    """The conditions in SQL for a triple to match a pattern, given the names of its columns."""
    found, names = [], list(columns.values())
    for at, term in enumerate(pattern.terms):
        first = pattern.terms.index(term)
        if isinstance(term, Constant):
            found.append(f"{names[at]} = {DUCKDB.string(term.term)}")
        elif first < at:
            found.append(f"{names[at]} = {names[first]}")
    return found
