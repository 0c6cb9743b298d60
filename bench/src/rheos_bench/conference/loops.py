"""Loops without rheos for the conference: what a user would write to answer the paper's queries tick by tick.

There are two ways. Both read the file block by block and parse it with pyoxigraph:

- *A store*: the static data stays in a pyoxigraph store, and every window is a named graph of it. At each
  arrival all the queries are asked. A window is a set there, so a row counts once at a tick. This answers any
  query.
- *By hand*: Python for just the five templates. What they ask of the static data is looked up before the
  clock starts. The window is kept by rooms, and a tick looks into some dictionaries. Python can hardly do
  less.
"""

from __future__ import annotations

import math
import os
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pyoxigraph as ox

from rheos_bench.conference.vocabulary import DC, DCTERMS, FLOOR_PLAN, FOAF, LV, SWRC
from rheos_bench.naive import EPOCH, Looped, blocks

SECOND = timedelta(seconds=1)
STREAM = re.compile(r"STREAM <[^>]*> \[([^\]]*)\]")
GRAPH = "http://example.org/window/"


def static_store(bibliography: Path, plan: Path) -> ox.Store:
    """A store with the papers in the default graph, and the floor plan in a graph of its own."""
    store = ox.Store()
    store.bulk_load(path=str(bibliography))
    store.bulk_load(path=str(plan), to_graph=ox.NamedNode(FLOOR_PLAN))
    return store


# --- a store ----------------------------------------------------------------------------------------------


@dataclass
class Window:
    """The window of a clause as a graph of the store, with each triple once."""

    store: ox.Store
    clause: str
    graph: ox.NamedNode
    elements: deque[tuple[datetime, ox.Quad]] = field(default_factory=deque)
    waiting: deque[tuple[datetime, ox.Quad]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        kind, *numbers = re.findall(r"NOW|TRIPLES|RANGE|\d+", self.clause)
        self.most = int(numbers[0]) if kind == "TRIPLES" else None
        self.range = int(numbers[0] if kind == "RANGE" else 0) * SECOND
        self.slide = int(numbers[1]) * SECOND if len(numbers) > 1 else None
        self.count: Counter[ox.Quad] = Counter()

    def arrive(self, at: datetime, triple: ox.Quad) -> None:
        self.waiting.append((at, ox.Quad(triple.subject, triple.predicate, triple.object, self.graph)))
        # An element with the time at which a window slides belongs to what is before the slide.
        now = (
            at
            if self.slide is None
            else EPOCH + (at - EPOCH - timedelta.resolution) // self.slide * self.slide
        )
        while self.waiting and self.waiting[0][0] <= now:
            self._add(self.waiting.popleft())
        while self.elements and self._is_old(now):
            self._drop()

    def _is_old(self, now: datetime) -> bool:
        if self.most is not None:
            return len(self.elements) > self.most
        return self.elements[0][0] < now - self.range

    def _add(self, element: tuple[datetime, ox.Quad]) -> None:
        self.elements.append(element)
        quad = element[1]
        self.count[quad] += 1
        if self.count[quad] == 1:
            self.store.add(quad)

    def _drop(self) -> None:
        _, quad = self.elements.popleft()
        self.count[quad] -= 1
        if not self.count[quad]:
            del self.count[quad]
            self.store.remove(quad)


def store_loop(stream: Path, store: ox.Store, texts: Sequence[str], seconds: float = math.inf) -> Looped:
    """Ask all the queries at each arrival, for so many seconds or to the end of the stream."""
    clauses = list(dict.fromkeys(clause for text in texts for clause in STREAM.findall(text)))
    windows = {
        clause: Window(store, clause, ox.NamedNode(f"{GRAPH}{at}")) for at, clause in enumerate(clauses)
    }
    asked = [_asking(store, plain(text, windows)) for text in texts]
    ticks = rows = 0
    began = time.perf_counter()
    for at, triple in elements(stream):
        for window in windows.values():
            window.arrive(at, triple)
        for ask in asked:
            rows += ask()
            if time.perf_counter() - began >= seconds:
                break
        else:
            ticks += 1
            continue
        break
    took = time.perf_counter() - began
    for window in windows.values():
        store.clear_graph(window.graph)
    return Looped(ticks, took, rows)


def elements(stream: Path) -> Iterator[tuple[datetime, ox.Quad]]:
    for times, triples in blocks(stream):
        yield from zip(times, triples, strict=True)


def plain(text: str, windows: dict[str, Window]) -> str:
    """A query in the form that the store can answer: windows are graphs, and rows are distinct."""
    text = STREAM.sub(lambda found: f"GRAPH {windows[found[1]].graph}", text)
    text = re.sub(r"FROM NAMED <[^>]*>", "", text)
    return re.sub(r"SELECT (?!DISTINCT)", "SELECT DISTINCT ", text, count=1)


def _asking(store: ox.Store, text: str) -> Callable[[], int]:
    """A function that answers a query and returns how many rows it reports.

    The first clause of the paper's queries holds the element that has just come, so all that they find is
    new. A query that counts reports the rows that were not in its answer before.
    """
    if "GROUP BY" not in text:
        return lambda: _written(store, text)
    before: set[tuple[str, ...]] = set()

    def ask() -> int:
        nonlocal before
        solutions = store.query(text)
        assert isinstance(solutions, ox.QuerySolutions)
        rows = {tuple(map(str, solution)) for solution in solutions}
        new, before = rows - before, rows
        return len(new)

    return ask


def _written(store: ox.Store, text: str) -> int:
    """Write the answer as text and throw it away. Return how many rows it has."""
    found = store.query(text)
    if isinstance(found, ox.QueryTriples):
        return (found.serialize(format=ox.RdfFormat.N_TRIPLES) or b"").count(b"\n")
    assert isinstance(found, ox.QuerySolutions)
    columns = len(found.variables)
    written = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
    return written.count(b'"type":') // columns


# --- by hand ----------------------------------------------------------------------------------------------

Rows = Collection[str]


@dataclass
class Rooms:
    """The elements of the last seconds, by their room."""

    seconds: int
    by_room: dict[str, deque[tuple[datetime, str]]] = field(default_factory=lambda: defaultdict(deque))

    def arrive(self, at: datetime, person: str, room: str) -> None:
        self.by_room[room].append((at, person))

    def people(self, room: str, at: datetime) -> deque[tuple[datetime, str]]:
        found = self.by_room[room]
        first = at - self.seconds * SECOND
        while found and found[0][0] < first:
            found.popleft()
        return found


class ByHand(ABC):
    """One of the templates, for some names. For each element it gives lines of text."""

    def __init__(self, store: ox.Store, names: Sequence[str]) -> None:
        self.store = store
        self.names = names
        self.look_up()

    @abstractmethod
    def look_up(self) -> None:
        """Look up what the template asks of the static data."""

    @abstractmethod
    def tick(self, at: datetime, person: str, room: str) -> Rows:
        """The rows that are new with an element."""

    def known(self, pattern: str) -> Iterator[tuple[str, ...]]:
        """The solutions of a pattern about people with these names. Variables are in the order of the
        pattern."""
        names = " ".join(f'"{name}"' for name in self.names)
        return self.plan(f"VALUES ?called {{ {names} }} ?who <{FOAF}name> ?called . {pattern}")

    def plan(self, pattern: str) -> Iterator[tuple[str, ...]]:
        variables = dict.fromkeys(re.findall(r"\?\w+", pattern))
        solutions = self.store.query(f"SELECT {' '.join(variables)} {{ {pattern} }}")
        assert isinstance(solutions, ox.QuerySolutions)
        for solution in solutions:
            yield tuple(term.value for term in solution if isinstance(term, ox.NamedNode | ox.Literal))

    def connected(self) -> dict[str, list[str]]:
        pairs = self.plan(f"GRAPH <{FLOOR_PLAN}> {{ ?one <{LV}connected> ?other }}")
        return grouped(pairs)


def grouped(pairs: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        found[one].append(other)
    return found


class Entered(ByHand):
    """Q1: the name and description of the room that somebody enters."""

    def look_up(self) -> None:
        self.times = Counter(who for _, who in self.known(f"?who <{FOAF}name> ?called"))
        about = self.plan(f"GRAPH <{FLOOR_PLAN}> {{ ?loc <{LV}name> ?name ; <{LV}desc> ?about }}")
        self.rooms = grouped((room, f"{name},{text}") for room, name, text in about)

    def tick(self, at: datetime, person: str, room: str) -> Rows:
        return [f"{at},{text}\n" for text in self.rooms[room] for _ in range(self.times[person])]


class Reachable(ByHand):
    """Q2: the people in connected rooms."""

    def look_up(self) -> None:
        self.rooms, self.ways = Rooms(3), self.connected()

    def tick(self, at: datetime, person: str, room: str) -> Rows:
        self.rooms.arrive(at, person, room)
        others = {other for near in self.ways[room] for _, other in self.rooms.people(near, at)}
        return [f"<{person}> <{LV}reachable> <{other}> . {at}\n" for other in others]


class CoAuthors(ByHand):
    """Q3: the names of co-authors in the same room, as often as there are papers of both."""

    def look_up(self) -> None:
        self.rooms = Rooms(5)
        self.names_of = by_pair(
            self.known(
                f"?paper <{DC}creator> ?who . ?paper <{DC}creator> ?other . ?other <{FOAF}name> ?name "
                "FILTER (?who != ?other)"
            )
        )

    def tick(self, at: datetime, person: str, room: str) -> Rows:
        self.rooms.arrive(at, person, room)
        names = self.names_of.get(person)
        if names is None:
            return ()
        here = self.rooms.people(room, at)
        return [f"{at},{name}\n" for _, other in here for name in names.get(other, ())]


class Editors(ByHand):
    """Q4: the editors in connected rooms who edited a paper of somebody."""

    def look_up(self) -> None:
        self.rooms, self.ways = Rooms(15), self.connected()
        self.names_of = by_pair(
            self.known(
                f"?paper <{DC}creator> ?who . ?paper <{DCTERMS}partOf> ?volume . "
                f"?volume <{SWRC}editor> ?other . ?other <{FOAF}name> ?name"
            )
        )

    def tick(self, at: datetime, person: str, room: str) -> Rows:
        self.rooms.arrive(at, person, room)
        names = self.names_of.get(person)
        if names is None:
            return ()
        near = (found for way in self.ways[room] for found in self.rooms.people(way, at))
        return [f"{at},{name}\n" for _, other in near for name in names.get(other, ())]


class Counted(ByHand):
    """Q5: the number of co-authors in each connected room, if it was not in the answer of the tick before."""

    def look_up(self) -> None:
        self.rooms, self.ways = Rooms(30), self.connected()
        self.name_of = grouped(self.plan(f"GRAPH <{FLOOR_PLAN}> {{ ?loc <{LV}name> ?name }}"))
        pairs = self.known(f"?paper <{DC}creator> ?who . ?paper <{DC}creator> ?other FILTER (?who != ?other)")
        self.others: dict[str, set[str]] = defaultdict(set)
        for _, who, _, other in pairs:
            self.others[who].add(other)
        self.before: set[str] = set()

    def tick(self, at: datetime, person: str, room: str) -> Rows:
        self.rooms.arrive(at, person, room)
        others, rows = self.others.get(person), set()
        if others is not None:
            for near in self.ways[room]:
                found = {other for _, other in self.rooms.people(near, at) if other in others}
                if found:
                    rows |= {f"{person},{near},{name},{len(found)}\n" for name in self.name_of[near]}
        new, self.before = rows - self.before, rows
        return new


def by_pair(found: Iterable[Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """For each person, the others, and the names of each."""
    names: dict[str, dict[str, list[str]]] = {}
    for row in found:
        who, other, name = row[1], row[-2], row[-1]
        names.setdefault(who, {}).setdefault(other, []).append(name)
    return names


def iri(term: object) -> str:
    assert isinstance(term, ox.NamedNode)
    return term.value


BY_HAND: dict[int, type[ByHand]] = {1: Entered, 2: Reachable, 3: CoAuthors, 4: Editors, 5: Counted}


def hand_loop(
    stream: Path, store: ox.Store, template: int, names: Sequence[str], seconds: float = math.inf
) -> Looped:
    """Answer a template for authors of these names, one query each, for so many seconds or to the end."""
    loop = BY_HAND[template](store, names)
    ticks = rows = 0
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        began = time.perf_counter()
        for times, triples in blocks(stream):
            for at, triple in zip(times, triples, strict=True):
                lines = loop.tick(at, iri(triple.subject), iri(triple.object))
                rows += len(lines)
                nowhere.writelines(lines)
            ticks += len(times)
            if time.perf_counter() - began >= seconds:
                break
        return Looped(ticks, time.perf_counter() - began, rows)
