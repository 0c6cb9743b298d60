"""The slow, obvious evaluator of EP-SPARQL: queries, streams and static data come in; reports go out.

It evaluates every query over all the events so far, all of them, operator by operator, over sets of mappings
with intervals (`event_algebra.py`). It knows nothing of the engine.

Time goes from one end of an event to the next. At each, the CONSTRUCT queries add what they derive with this
end to the stream of all queries, themselves included, until nothing is new: all that ended before is settled
by then. A solution derives nothing where a variable of the template is unbound. New blank nodes belong to the
query, the mapping and the interval, so that the same solution makes the same ones.

What a query reports at a time are the solutions that it has then with this end. By timewise monotonicity it
has the same ones when all streams have ended, with one exception: a mandatory part that is all background
knowledge has no time, and what finds no option today may find one tomorrow. What has been reported stays so.

A rule whose optional part looks for what rules derive at the same time would have no least fixpoint, or one
that depends on the order of the rules. There is no such rule here, nor an aggregate of that kind.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_query import Group, Optional
from tests.continuous.arrival_reference import row_text, triple_text
from tests.continuous.event_algebra import CSparqlOperator, Event, Solution, Solutions
from tests.continuous.event_entailment import entailed_event, entailed_static
from tests.continuous.event_query import Chain, Element, Query, Triples, elements

# End, start and row; blank nodes have no names.
Answer = tuple[int, int, str]
# Events with their stream, which is empty for derived ones.
Seen = frozenset[tuple[str, Event]]

MOST_ROUNDS = 100
FOLLOWED = ("SEQ", "OPTIONALSEQ", "BEFORE")  # of the left side nothing ends together with the right one


class Endless(Exception):
    """Rules that derive more and more."""


@dataclass(frozen=True)
class Case:
    """Queries, the events of each stream in their order, and static data, with or without what it entails."""

    queries: Sequence[Query]
    streams: Mapping[str, Sequence[Event]]
    static: Sequence[Quad] = ()
    entailment: bool = False

    def __post_init__(self) -> None:
        made = {predicate for rule in self.rules.values() for _, predicate, _ in rule.template}
        watched = {predicate for rule in self.rules.values() for predicate in unsettled(rule)}
        assert not any(predicate in made or predicate[0] == "?" for predicate in watched)

    @property
    def rules(self) -> dict[int, Query]:
        return {number: query for number, query in enumerate(self.queries) if query.template}

    @cached_property
    def background(self) -> tuple[Quad, ...]:
        return entailed_static(self.static) if self.entailment else tuple(self.static)

    @cached_property
    def ends(self) -> list[int]:
        return sorted({event[4] for events in self.streams.values() for event in events})

    @cached_property
    def moments(self) -> list[tuple[int, Seen]]:
        """The ends of events, each with all that has ended by then, derived events included."""
        return list(moments(self))

    def entailed(self, event: Event) -> set[Event]:
        return entailed_event(self.background, event) if self.entailment else {event}


# --- what is reported -------------------------------------------------------------------------------------


def answers(case: Case, number: int = -1) -> list[Answer]:
    """What a query of the case reports, in order of end."""
    query = case.queries[number]
    if not is_timeless(case, number):
        return answers_until(case, case.ends[-1], number) if case.ends else []
    found: list[Answer] = []
    for end, seen in case.moments:
        found += sorted(reported(query, ending(evaluated(case, query, seen)[0], end)))
    return found


def answers_until(case: Case, time: int, number: int = -1) -> list[Answer]:
    """The same evaluated once, over all that has ended by then: the definition of the paper."""
    query = case.queries[number]
    for seen in [seen for end, seen in case.moments if end <= time][-1:]:
        return sorted(reported(query, [one for one in evaluated(case, query, seen)[0] if one.interval]))
    return []


def is_timeless(case: Case, number: int = -1) -> bool:
    """Whether a query is the exception; if it ever is, it is so at the end."""
    return any(evaluated(case, case.queries[number], seen)[1] for _, seen in case.moments[-1:])


def evaluated(case: Case, query: Query, seen: Seen) -> tuple[Solutions, bool]:
    """The solutions, and whether there are some whose mandatory part has no time."""
    events = {event for stream, event in seen if not stream or not query.streams or stream in query.streams}
    evaluation = CSparqlOperator(events, case.background, query.consumption)
    return evaluation.solutions(query), evaluation.timeless


def ending(solutions: Solutions, end: int) -> list[Solution]:
    return [one for one in solutions if one.interval and one.interval[1] == end]


def reported(query: Query, solutions: Iterable[Solution]) -> Iterator[Answer]:
    if query.template:
        for s, p, o, start, end in set(constructed(query, 0, solutions)):  # which rule it is does not show
            yield end, start, anonymous(triple_text((s, p, o)))
        return
    for one in solutions:
        assert one.interval is not None
        yield one.interval[1], one.interval[0], anonymous(row_text(one.binding))


def anonymous(row: str) -> str:
    return re.sub(r"_:\w+", "_:", row)


# --- rules ------------------------------------------------------------------------------------------------


def moments(case: Case) -> Iterator[tuple[int, Seen]]:
    seen: set[tuple[str, Event]] = set()
    for end in case.ends:
        for stream, events in case.streams.items():
            seen |= {(stream, made) for event in events if event[4] == end for made in case.entailed(event)}
        rounds = 0
        while new := {("", event) for event in derived(case, frozenset(seen), end)} - seen:
            seen |= new
            rounds += 1
            if rounds == MOST_ROUNDS:
                raise Endless
        yield end, frozenset(seen)


def derived(case: Case, seen: Seen, end: int) -> Iterator[Event]:
    for number, rule in case.rules.items():
        for event in constructed(rule, number, ending(evaluated(case, rule, seen)[0], end)):
            yield from case.entailed(event)


def constructed(rule: Query, number: int, solutions: Iterable[Solution]) -> Iterator[Event]:
    """The triples of the template for each solution that binds all its variables."""
    variables = {place for pattern in rule.template for place in pattern if place[0] == "?"}
    for one in solutions:
        assert one.interval is not None
        if variables <= one.binding.keys():
            made = hashlib.md5(repr((number, sorted(one.key), one.interval)).encode()).hexdigest()
            for pattern in rule.template:
                s, p, o = (
                    f"{place}{made}" if place[0] == "_" else one.binding.get(place, place)
                    for place in pattern
                )
                if s[0] != '"' and p[0] == "<":
                    yield s, p, o, *one.interval


def unsettled(node: Group | Element) -> Iterator[str]:
    """The predicates of what optional parts and aggregates look for at the end of a solution."""
    if isinstance(node, Query) and node.within is not None:
        yield from at_the_end(node.where)
    for element in elements(node):
        match element:
            case Optional(group) | Query(group, within=int()):
                yield from at_the_end(group)
            case Chain(groups, operators):
                for operator, group in zip(operators, groups[1:], strict=True):
                    if operator == "EQUALSOPTIONAL":
                        yield from at_the_end(group)


def at_the_end(node: Group | Element) -> Iterator[str]:
    """The predicates of all patterns but those that something must follow."""
    match node:
        case Triples(patterns):
            yield from (predicate for _, predicate, _ in patterns)
        case Chain(groups, operators):
            followed = [place for place, operator in enumerate(operators) if operator in FOLLOWED]
            for group in groups[followed[-1] + 1 if followed else 0 :]:
                yield from at_the_end(group)
        case Group(inside):
            for element in inside:
                yield from at_the_end(element)
        case Optional(group) | Query(group):
            yield from at_the_end(group)
