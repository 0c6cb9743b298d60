"""The slow, obvious evaluator of RSP-QL: for each evaluation, a store for each window and one for the rest.

A stream is a list of graphs with times. `WINDOW :w { P }` is answered by a store that has what the window
holds, and `GRAPH :g { P }` inside by one that has what the graph of that name holds. Their solutions then
stand as VALUES in what is around them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyoxigraph as ox

from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, SessionWindow
from rheos.terms import encode
from tests.continuous.event_entailment import entailed_static, entailed_triple
from tests.continuous.reference import Answer, Moment, Triple, quad


@dataclass(frozen=True)
class Element:
    """A graph of a stream: its name, if it has one, its triples, and its time."""

    name: str | None
    triples: tuple[Triple, ...]
    time: int


@dataclass(frozen=True)
class Case:
    """A query, its text without REGISTER and FROM, static triples, and the graphs of each stream in their
    order. `since` says how many graphs of each stream were there before the query."""

    query: CSparqlQuery
    prefix: str
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

    def entailed(self, element: Element) -> set[Triple]:
        """The triples of a graph, with what each entails by the static schema."""
        if not self.entailment:
            return set(element.triples)
        return {made for triple in element.triples for made in entailed_triple(self.background, triple)}

    def elements(self, number: int) -> Sequence[Element]:
        """What the window of that number gets to see."""
        stream = self.query.windows[number].stream
        return self.streams[stream][self.since.get(stream, 0) :]

    @cached_property
    def sessions(self) -> dict[int, list[tuple[int, list[Element]]]]:
        """The sessions of each window on sessions, by its number; each with its instant, in order of these
        and then of subjects. With PER SUBJECT each triple goes by its own subject, also if it came in a graph
        with others."""
        return {
            number: self._sessions(number, window.window)
            for number, window in enumerate(self.query.windows)
            if isinstance(window.window, SessionWindow)
        }

    def _sessions(self, number: int, kind: SessionWindow) -> list[tuple[int, list[Element]]]:
        elements = self.elements(number)
        if kind.by_subject:
            elements = [Element(e.name, (triple,), e.time) for e in elements for triple in e.triples]
        open_: dict[str, list[Element]] = {}
        found: list[tuple[int, str, list[Element]]] = []
        for element in elements:
            of = element.triples[0][0] if kind.by_subject else ""
            if of in open_ and element.time - open_[of][-1].time > kind.gap:
                found.append((open_[of][-1].time + kind.gap, of, open_.pop(of)))
            open_.setdefault(of, []).append(element)
        found += [(some[-1].time + kind.gap, of, some) for of, some in open_.items()]
        return [(end, some) for end, _, some in sorted(found, key=lambda one: one[:2])]


def moments(case: Case, after: int, until: int) -> list[Moment]:
    """Every multiple of COMPUTED EVERY; or else of the step of any window, and all moves of those that
    count. If a window has sessions, the instants of these."""
    if case.sessions:
        turns = [
            Moment(end, number, turn)
            for number, sessions in case.sessions.items()
            for turn, (end, _) in enumerate(sessions)
        ]
        return sorted(moment for moment in turns if after < moment.at <= until)
    clock = len(case.query.windows)
    periods = {w.window.step for w in case.query.windows if isinstance(w.window, LogicalWindow)}
    if case.query.every is not None:
        periods = {case.query.every}
    first = max(0, after)
    found = {
        Moment(instant, clock)
        for period in periods
        for instant in range(first // period * period, until + 1, period)
    }
    for number, window in enumerate(case.query.windows):
        if case.query.every is None and isinstance(window.window, PhysicalWindow):
            for count, element in enumerate(case.elements(number), start=1):
                if count % window.window.step == 0:
                    found.add(Moment(element.time, number, count))
    return sorted(moment for moment in found if after < moment.at <= until)


def held(case: Case, number: int, moment: Moment) -> list[Element]:
    """The graphs in a window of the query at a moment."""
    kind = case.query.windows[number].window
    elements = case.elements(number)
    if isinstance(kind, SessionWindow):
        return case.sessions[number][moment.triples][1]
    if isinstance(kind, LogicalWindow):
        end = moment.at // kind.step * kind.step - kind.delay
        return [element for element in elements if end - kind.range < element.time <= end]
    moves = [
        count
        for count, element in enumerate(elements, start=1)
        if count % kind.step == 0 and Moment(element.time, number, count) <= moment
    ]
    last = max(moves, default=0)
    return list(elements[max(0, last - kind.triples) : last])


# What a pattern is matched on: the triples of the default graph, and the named graphs.
Data = tuple[set[Triple], dict[str, set[Triple]]]


def merged(case: Case, elements: Sequence[Element]) -> Data:
    """What a window holds: the triples of all its graphs, and of those with a name apart."""
    named: dict[str, set[Triple]] = {}
    for element in elements:
        if element.name is not None:
            named.setdefault(element.name, set()).update(case.entailed(element))
    return {triple for element in elements for triple in case.entailed(element)}, named


def query(prefix: str, text: str, data: Data, windows: Mapping[str, Data]) -> object:
    """What a store answers, after the patterns in WINDOW and GRAPH were answered by stores of their own."""
    default, named = data
    for word, chosen in (
        ("WINDOW", windows),
        ("GRAPH", {name: (found, {}) for name, found in named.items()}),
    ):
        while found := re.search(rf"{word}\s+(\S+)\s*\{{", text):
            end = closing(text, found.end())
            inner = values(prefix, found[1], text[found.end() : end], chosen)
            text = text[: found.start()] + inner + text[end + 1 :]
    store = ox.Store()
    store.extend(quad(triple) for triple in default)
    return store.query(f"{prefix} {text}")


def values(prefix: str, name: str, pattern: str, graphs: Mapping[str, Data]) -> str:
    """The solutions of a pattern in the graph, or window, of a name, or in each if that is a variable."""
    variable = name[1:] if name.startswith("?") else None
    names: list[str] = []
    solutions: list[dict[str, str]] = []
    for graph, data in (*graphs.items(), (None, (set[Triple](), dict[str, set[Triple]]()))):
        result = query(prefix, f"SELECT * WHERE {{ {pattern} }}", data, {})
        assert isinstance(result, ox.QuerySolutions)
        names = [found.value for found in result.variables]
        if graph is None or (variable is None and graph != full(name, prefix)):
            continue  # only the variables were asked for
        for solution in result:
            row = {at: str(solution[at]) for at in names if solution[at] is not None}
            if variable is None or row.setdefault(variable, graph) == graph:
                solutions.append(row)
    if variable is not None and variable not in names:
        names.append(variable)
    lines = [f"({' '.join(row.get(at, 'UNDEF') for at in names)})" for row in solutions]
    return f"{{ VALUES ({' '.join(f'?{at}' for at in names)}) {{ {' '.join(lines)} }} }}"


def full(name: str, prefix: str) -> str:
    """A name with what the prefix stands for."""
    return prefix[prefix.index("<") : -1] + name[1:] + ">" if name.startswith(":") else name


def closing(text: str, start: int) -> int:
    """Where the brace ends that was opened before a place."""
    deep = 1
    for at in range(start, len(text)):
        deep += {"{": 1, "}": -1}.get(text[at], 0)
        if not deep:
            return at
    raise AssertionError(text)


def rows(result: object, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    if isinstance(result, ox.QueryBoolean):
        found[(bool(result),)] += 1
    elif isinstance(result, ox.QueryTriples):
        found.update({tuple(map(encode, triple)) for triple in result})
    else:
        assert isinstance(result, ox.QuerySolutions)
        for solution in result:
            terms = (solution[name] for name in columns)
            found[tuple(None if term is None else encode(term) for term in terms)] += 1
    return found


def evaluations(
    case: Case, columns: Sequence[str], after: int, until: int
) -> Iterator[tuple[int, bool, Counter[tuple[object, ...]]]]:
    """Each instant: its time, whether all windows are empty, and the whole answer."""
    for moment in moments(case, after, until):
        windows = {
            window.name or "": held(case, number, moment) for number, window in enumerate(case.query.windows)
        }
        data = {name: merged(case, elements) for name, elements in windows.items()}
        result = query(case.prefix, case.sparql, (case.background, {}), data)
        yield moment.at, not any(windows.values()), rows(result, columns)


def answers(case: Case, columns: Sequence[str], after: int, until: int) -> list[Answer]:
    """All that is reported in a span of time, in order, since the query was registered right before it."""
    found: list[Answer] = []
    before: Counter[tuple[object, ...]] = Counter()
    for at, empty, answer in evaluations(case, columns, after, until):
        gone, new = before - answer, answer - before
        if empty and not (case.query.operator == "DSTREAM" and gone):
            continue
        found.append((at, {"RSTREAM": answer, "ISTREAM": new, "DSTREAM": gone}[case.query.operator]))
        before = answer
    return found


def end(case: Case) -> int:
    """Where the clock stops: the first evaluation at which every window is past the end of its stream."""
    last = {name: elements[-1].time for name, elements in case.streams.items()}
    latest = max(last.values())
    for moment in moments(case, latest - 1, latest + 200_000_000):
        logical = (
            (last[w.stream], w.window) for w in case.query.windows if isinstance(w.window, LogicalWindow)
        )
        if all(moment.at // kind.step * kind.step - kind.delay >= time for time, kind in logical):
            return moment.at
    return latest
