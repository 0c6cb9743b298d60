"""The slow, obvious evaluator of C-SPARQL: for each evaluation, put the windows into a store and ask it.

It knows nothing of the engine but the windows of a query, and takes its semantics from the definitions alone.
What SPARQL has no word for, the time of a triple, the queries given to it ask for by functions:

    :time(s, p, o, …)          the latest time of these triples in the windows of the default graph
    :timeIn(w, s, p, o, …)     the same in one of these windows
    :timeOf(g, s, p, o, …)     in the window that is the named graph g
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, SessionWindow
from rheos.terms import encode
from tests.continuous.event_entailment import entailed_static, entailed_triple

EX = "http://ex/"
Triple = tuple[str, str, str]
Element = tuple[str, str, str, int]
# The rows of an evaluation, in no order, and its time.
Answer = tuple[int, Counter[tuple[object, ...]]]


@dataclass(frozen=True)
class Case:
    """A query, its SPARQL part alone, static triples, and the elements of each stream in their order.

    `since` says how many elements of each stream were there before the query.
    """

    query: CSparqlQuery
    sparql: str
    static: Sequence[Triple]
    streams: Mapping[str, Sequence[Element]]
    since: Mapping[str, int]
    entailment: bool = False

    @cached_property
    def background(self) -> set[Triple]:
        """The static triples, with what they entail."""
        if not self.entailment:
            return set(self.static)
        return {quad[:3] for quad in entailed_static((*triple, "") for triple in self.static)}

    def entailed(self, elements: Sequence[Element]) -> list[Element]:
        """What is in a window, with what that entails, each at the time of its element."""
        if not self.entailment:
            return list(elements)
        return [
            (*made, time)
            for s, p, o, time in elements
            for made in entailed_triple(self.background, (s, p, o))
        ]

    def elements(self, number: int) -> Sequence[Element]:
        """What the window of that number gets to see."""
        stream = self.query.windows[number].stream
        return self.streams[stream][self.since.get(stream, 0) :]


@dataclass(frozen=True, order=True)
class Moment:
    """An evaluation: at a time, by the clock (after all the windows) or by a window that has got its n-th
    triple."""

    at: int
    window: int
    triples: int = 0


def moments(case: Case, after: int, until: int) -> list[Moment]:
    """Every multiple of COMPUTED EVERY; or else of the step of any window, and all moves of physical ones."""
    clock = len(case.query.windows)
    found = set()
    if case.query.has_sessions:
        for number, stream in enumerate(case.query.windows):
            if isinstance(stream.window, SessionWindow):
                for turn, (end, _) in enumerate(sessions(case, number)):
                    found.add(Moment(end, number, turn))
        return sorted(moment for moment in found if after < moment.at <= until)
    periods = {w.window.step for w in case.query.windows if isinstance(w.window, LogicalWindow)}
    if case.query.every is not None:
        periods = {case.query.every}
    for period in periods:
        found |= {Moment(instant, clock) for instant in range(0, until + 1, period)}
    for number, stream in enumerate(case.query.windows):
        if case.query.every is None and isinstance(stream.window, PhysicalWindow):
            for triples, element in enumerate(case.elements(number), start=1):
                if triples % stream.window.step == 0:
                    found.add(Moment(element[3], number, triples))
    return sorted(moment for moment in found if after < moment.at <= until)


def sessions(case: Case, number: int) -> list[tuple[int, list[Element]]]:
    """The sessions of a window, each with its instant; in order of these, and then of subjects."""
    kind = case.query.windows[number].window
    assert isinstance(kind, SessionWindow)
    open_: dict[str, list[Element]] = {}
    found: list[tuple[int, str, list[Element]]] = []
    for element in case.elements(number):
        of = element[0] if kind.by_subject else ""
        if of in open_ and element[3] - open_[of][-1][3] > kind.gap:
            found.append((open_[of][-1][3] + kind.gap, of, open_.pop(of)))
        open_.setdefault(of, []).append(element)
    found += [(elements[-1][3] + kind.gap, of, elements) for of, elements in open_.items()]
    return [(end, elements) for end, _, elements in sorted(found, key=lambda one: one[:2])]


def window(case: Case, number: int, moment: Moment) -> Iterator[Element]:
    """The elements in a window of the query at a moment."""
    kind = case.query.windows[number].window
    elements = case.elements(number)
    if isinstance(kind, SessionWindow):
        yield from sessions(case, number)[moment.triples][1]
        return
    if isinstance(kind, LogicalWindow):
        end = moment.at // kind.step * kind.step
        yield from (element for element in elements if end - kind.range < element[3] <= end)
        return
    moves = [
        triples
        for triples, element in enumerate(elements, start=1)
        if triples % kind.step == 0 and Moment(element[3], number, triples) <= moment
    ]
    last = max(moves, default=0)
    yield from elements[max(0, last - kind.triples) : last]


def node(term: str) -> ox.NamedNode:
    return ox.NamedNode(term[1:-1])


def literal(term: str) -> ox.Literal:
    lexical, _, datatype = term[1:].partition('"')
    return ox.Literal(lexical, datatype=node(datatype[2:])) if datatype else ox.Literal(lexical)


def quad(triple: Sequence[str], graph: str | None = None) -> ox.Quad:
    s, p, o = triple
    found = literal(o) if o[0] == '"' else node(o)
    return ox.Quad(node(s), node(p), found, node(graph) if graph else ox.DefaultGraph())


def date_time(micros: int) -> ox.Literal:
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)).isoformat()
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return ox.Literal(text + "Z", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))


def time_functions(
    case: Case, windows: Sequence[Sequence[Element]]
) -> dict[ox.NamedNode, Callable[..., ox.Literal | None]]:
    def latest(numbers: Sequence[int], terms: Sequence[Any]) -> ox.Literal | None:
        asked = [tuple(map(str, terms[at : at + 3])) for at in range(0, len(terms), 3)]
        found = [time for number in numbers for *triple, time in windows[number] if tuple(triple) in asked]
        return date_time(max(found)) if found else None

    streams = list(enumerate(case.query.windows))
    default = [number for number, stream in streams if not stream.named]

    def of(graph: Any) -> list[int]:
        return [number for number, stream in streams if stream.stream == str(graph)]

    return {
        ox.NamedNode(EX + "time"): lambda *terms: latest(default, terms),
        ox.NamedNode(EX + "timeIn"): lambda graph, *terms: latest(
            [number for number in of(graph) if number in default], terms
        ),
        ox.NamedNode(EX + "timeOf"): lambda graph, *terms: latest(of(graph), terms),
    }


def answers(case: Case, columns: Sequence[str], after: int, until: int) -> list[Answer]:
    """All that is reported in a span of time, in order."""
    found: list[Answer] = []
    for moment in moments(case, after, until):
        windows = [list(window(case, number, moment)) for number in range(len(case.query.windows))]
        if not any(windows):
            continue
        windows = [case.entailed(elements) for elements in windows]
        store = ox.Store()
        store.extend(quad(triple) for triple in case.background)
        for stream, elements in zip(case.query.windows, windows, strict=True):
            for *triple, _ in elements:
                store.add(quad(triple, stream.stream))
                if not stream.named:
                    store.add(quad(triple))
        result = store.query(case.sparql, custom_functions=time_functions(case, windows))
        rows: Counter[tuple[object, ...]] = Counter()
        if isinstance(result, ox.QueryBoolean):
            rows[(bool(result),)] += 1
        elif isinstance(result, ox.QueryTriples):
            rows.update({tuple(map(encode, triple)) for triple in result})
        else:
            for solution in result:
                terms = (solution[name] for name in columns)
                rows[tuple(None if term is None else encode(term) for term in terms)] += 1
        found.append((moment.at, rows))
    return found
