"""The slow, obvious evaluator of CQELS-QL: a query, streams and static data come in; its reports go out.

At every tick it takes the windows from the streams anew, all of them, and evaluates the whole query over bags
of mappings, operator by operator, as section 18 of the SPARQL recommendation defines them. Only static parts
are asked of a store. It knows nothing of the engine.

A tick is the arrival of one element: elements come by time, at equal times by the order in which their
streams appear in the text, then in the order of their stream. Where a window has SLIDE, its multiples are
ticks too, from the first element on, each after the arrivals of its time. When the streams have ended, the
clock goes on until every such window has come to its first multiple at or after the last element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tests.continuous.arrival_algebra import (
    Binding,
    Content,
    Quad,
    Snapshot,
    Solution,
    Triple,
    Windows,
    matched,
)
from tests.continuous.arrival_query import All, Now, Query, Range, Stream, Triples, clauses, monotone
from tests.continuous.event_entailment import entailed_static, entailed_triple

Timed = tuple[str, str, str, int]
# The time of a tick and its rows, sorted.
Answer = tuple[int, list[str]]


@dataclass(frozen=True)
class Case:
    """A query, the elements of each stream in their order, and static data.

    Ticks later than the time of a change see the data of the change, and all of it.
    """

    query: Query
    streams: Mapping[str, Sequence[Timed]]
    static: Sequence[Quad] = ()
    changes: Sequence[tuple[int, Sequence[Quad]]] = ()
    entailment: bool = False

    @cached_property
    def arrivals(self) -> list[tuple[str, Timed]]:
        """The elements of the query's streams in the order of the ticks, each with its stream."""
        streams = dict.fromkeys(clause.iri for clause in clauses(self.query))
        found = [(stream, element) for stream in streams for element in self.streams[stream]]
        return sorted(found, key=lambda arrival: arrival[1][3])

    def static_at(self, at: int) -> tuple[Quad, ...]:
        seen = [data for time, data in self.changes if time < at]
        return tuple(seen[-1] if seen else self.static)

    def background_at(self, at: int) -> tuple[Quad, ...]:
        """With what it entails: the default graph is then what FROM says, and only named graphs are left."""
        if not self.entailment:
            return self.static_at(at)
        query = self.query
        return entailed_background(self.static_at(at), tuple(query.default), tuple(query.named))

    def triples(self, element: Timed, at: int) -> set[Triple]:
        """What an element says, by the schema of a time."""
        if not self.entailment:
            return {element[:3]}
        return entailed_element(self.background_at(at), element[:3])


@lru_cache(maxsize=64)
def entailed_background(
    static: tuple[Quad, ...], default: tuple[str, ...], named: tuple[str, ...]
) -> tuple[Quad, ...]:
    found = entailed_static(static, default or ("",))
    chosen = named if default or named else {quad[3] for quad in found}
    return tuple(quad for quad in found if not quad[3] or quad[3] in chosen)


@lru_cache(maxsize=4096)
def entailed_element(background: tuple[Quad, ...], triple: Triple) -> set[Triple]:
    return entailed_triple({quad[:3] for quad in background if not quad[3]}, triple)


# --- ticks and windows ------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Tick:
    """At a time, with so many elements there; by the clock, if not by the last of them."""

    at: int
    by_clock: bool
    arrived: int


def ticks(case: Case) -> list[Tick]:
    times = [element[3] for _, element in case.arrivals]
    found = {Tick(at, False, number) for number, at in enumerate(times, start=1)}
    windows = [clause.window for clause in clauses(case.query)]
    slides = {window.slide for window in windows if isinstance(window, Range) and window.slide is not None}
    if times and slides:
        end = max(first_multiple(slide, times[-1]) for slide in slides)
        for slide in slides:
            for at in range(first_multiple(slide, times[0]), end + 1, slide):
                found.add(Tick(at, True, sum(time <= at for time in times)))
    return sorted(found)


def first_multiple(step: int, time: int) -> int:
    """The first one that is not before the time."""
    return -(-time // step) * step


def content(case: Case, clause: Stream, tick: Tick, at: int | None = None) -> Content:
    """What is in a window at a tick, with what that entails at some time."""
    at = tick.at if at is None else at
    arrived = [
        (number, element)
        for number, (stream, element) in enumerate(case.arrivals[: tick.arrived])
        if stream == clause.iri
    ]
    match clause.window:
        case All():
            inside = arrived
        case Now():
            inside = between(arrived, tick.at, tick.at)
        case Range(length, None):
            inside = between(arrived, tick.at - length, tick.at)
        case Range(length, slide):
            assert slide is not None
            # What arrives at the time of a multiple arrives before the window moves.
            move = (tick.at if tick.by_clock else tick.at - 1) // slide * slide
            inside = between(arrived, move - length, move)
        case Triples(number):
            matching = [
                (place, element)
                for place, element in arrived
                if any(
                    matched(pattern, triple) is not None
                    for pattern in clause.patterns
                    for triple in case.triples(element, at)
                )
            ]
            inside = matching[-number:]
    return {number: frozenset(case.triples(element, at)) for number, element in inside}


def between(arrived: list[tuple[int, Timed]], first: int, last: int) -> list[tuple[int, Timed]]:
    """Both ends included."""
    return [(number, element) for number, element in arrived if first <= element[3] <= last]


# --- answers ----------------------------------------------------------------------------------------------


def answers(case: Case) -> list[Answer]:
    """What is reported at each tick; ticks at which nothing is are left out."""
    found = []
    last: Tick | None = None
    query = replace(case.query, default=(), named=()) if case.entailment else case.query
    for tick in ticks(case):
        windows, before = (
            None if some is None else {c: content(case, c, some, tick.at) for c in clauses(case.query)}
            for some in (tick, last)
        )
        assert windows is not None
        rows = sorted(reported(query, windows, before, case.background_at(tick.at)))
        if rows:
            found.append((tick.at, rows))
        last = tick
    return found


def reported(
    query: Query, windows: Windows, before: Windows | None, static: tuple[Quad, ...]
) -> Iterable[str]:
    """What is new since the tick before, of which there was none at first."""
    solutions = Snapshot(windows, static, query).solutions(query)
    if query.ask:
        truth = boolean(solutions)
        # Both over the same static data: its changes report nothing.
        if before is None or boolean(Snapshot(before, static, query).solutions(query)) != truth:
            yield truth
        return
    if monotone(query):
        new = [solution for solution in solutions if before is None or not was_there(solution, before)]
        bag = Counter(solution.key for solution in new)
    else:
        bag = Counter(solution.key for solution in solutions)
        if before is not None:
            bag -= Counter(solution.key for solution in Snapshot(before, static, query).solutions(query))
    bindings = [dict(key) for key in bag.elements()]
    yield from constructed(query, bindings) if query.template else map(row_text, bindings)


def was_there(solution: Solution, before: Windows) -> bool:
    """Whether the combination of elements was complete before, whatever it was joined with."""
    return all(number in before[clause] for clause, number in solution.elements)


def boolean(solutions: list[Solution]) -> str:
    return "true" if solutions else "false"


def row_text(binding: Binding) -> str:
    """A row as the tests compare them: `?a=<http://ex/a> ?n="1"^^<…>`, without unbound variables."""
    return " ".join(f"{name}={term}" for name, term in sorted(binding.items()))


def triple_text(triple: Sequence[str]) -> str:
    return f"{' '.join(triple)} ."


def constructed(query: Query, bindings: Iterable[Binding]) -> set[str]:
    """The triples of a template, each once; what has an unbound variable or is no triple is left out."""
    found = set()
    for binding in bindings:
        for pattern in query.template:
            terms = [binding.get(place) if place.startswith("?") else place for place in pattern]
            if None not in terms and not str(terms[0]).startswith('"') and str(terms[1]).startswith("<"):
                found.add(triple_text([str(term) for term in terms]))
    return found
