"""What a user would write without rheos: a stream file and a query come in, windows are answered one by one.

The lines are parsed once, in blocks, by pyoxigraph; each window is put into a store and the store is asked.
There are two ways: a new store for each window, or one store in which the static graph stays and only the
window's own graph is emptied. Which is quicker depends on the query, so the quicker one is taken. Answers are
serialised, as those of rheos are.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from pathlib import Path

import pyoxigraph as ox

from rheos.bench.passages import Window

BLOCK = 10_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
WINDOW = ox.NamedNode("http://example.org/window")
VOCABULARY_OF_STATIC = "v:street"  # in the queries that read the static graph


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the loop came."""

    triples: int
    seconds: float
    instants: int
    rows: int

    @property
    def rate(self) -> float:
        return self.triples / self.seconds


@dataclass(frozen=True, slots=True)
class Looped:
    """How far a loop came, and the rows that it reported."""

    elements: int
    seconds: float
    rows: int

    @property
    def rate(self) -> float:
        return self.elements / self.seconds


def blocks(path: Path) -> Iterator[tuple[list[datetime], list[ox.Quad]]]:
    """The times and triples of a stream file, in blocks; the triples are in the graph of the window."""
    with open(path, encoding="utf-8") as file:
        while lines := list(islice(file, BLOCK)):
            cut = [line.rpartition(' "') for line in lines]
            text = "".join([f"{triple} {WINDOW} .\n" for triple, _, _ in cut])
            times = [datetime.fromisoformat(rest[: rest.index('"')]) for _, _, rest in cut]
            yield times, list(ox.parse(text, format=ox.RdfFormat.N_QUADS))


def loop(
    stream: Path,
    static: Path,
    queries: Sequence[str],
    window: Window,
    seconds: float = math.inf,
    *,
    fresh: bool = False,
) -> Progress:
    """All the queries on each window, for so many seconds or to the end of the stream; in a `fresh` store for
    each window, or in one."""
    known = (
        list(ox.parse(path=str(static))) if any(VOCABULARY_OF_STATIC in query for query in queries) else []
    )
    store = ox.Store()
    store.extend(known)
    times: list[datetime] = []
    quads: list[ox.Quad] = []
    instants = rows = triples = 0
    instant = end = None
    began = time.perf_counter()
    for new_times, new_quads in chain(blocks(stream), [([], [])]):
        times += new_times
        quads += new_quads
        triples += len(new_times)
        if not times:
            break
        instant = instant or _at_or_after(times[0], window.step)
        end = times[-1] if new_times else _at_or_after(times[-1], window.step) + MICROSECOND
        while instant < end and time.perf_counter() - began < seconds:
            passed = bisect_right(times, instant - timedelta(seconds=window.range))
            del times[:passed], quads[:passed]
            store.extend(quads[: bisect_right(times, instant)])
            rows += sum(_rows(store, query) for query in queries)
            if fresh:
                store = ox.Store()
                store.extend(known)
            else:
                store.clear_graph(WINDOW)
            instants += 1
            instant += timedelta(seconds=window.step)
        if time.perf_counter() - began >= seconds:
            break
    return Progress(triples, time.perf_counter() - began, instants, rows)


def _rows(store: ox.Store, query: str) -> int:
    """The answer as text, as it would be written somewhere; all variables of these queries are bound."""
    solutions = store.query(query, default_graph=[ox.DefaultGraph(), WINDOW])
    assert isinstance(solutions, ox.QuerySolutions)
    columns = len(solutions.variables)
    written = solutions.serialize(format=ox.QueryResultsFormat.JSON) or b""
    return written.count(b'"type":') // columns


def _at_or_after(moment: datetime, step: int) -> datetime:
    """The first multiple of the step that is not before."""
    whole = -((EPOCH - moment) // timedelta(seconds=step))
    return EPOCH + whole * timedelta(seconds=step)
