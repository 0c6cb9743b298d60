"""The naive loop: what a user would write without rheos to answer queries over windows, one by one.

pyoxigraph parses the lines once, in blocks. Each window is put into a store, and the store is asked. There
are two ways: a new store for each window, or one store where the static graph stays and only the graph of the
window is emptied. Which is faster depends on the query, so the benchmark takes the faster one. Answers are
serialised, as rheos does too.
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

from rheos_bench.passages import Window

BLOCK = 10_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
WINDOW = ox.NamedNode("http://example.org/window")
VOCABULARY_OF_STATIC = "v:street"  # in the queries that read the static graph


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the loop over windows came."""

    triples: int
    seconds: float
    instants: int
    rows: int

    @property
    def rate(self) -> float:
        return self.triples / self.seconds


@dataclass(frozen=True, slots=True)
class Looped:
    """How far a loop over single elements came, and how many rows it reported."""

    elements: int
    seconds: float
    rows: int

    @property
    def rate(self) -> float:
        return self.elements / self.seconds


def blocks(path: Path) -> Iterator[tuple[list[datetime], list[ox.Quad]]]:
    """The times and triples of a stream file, in blocks. The triples are in the graph of the window."""
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
    """Ask all the queries for each window, for so many seconds or to the end of the stream.

    With `fresh` each window has a new store, otherwise all have the same.
    """
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
    """Write the answer as text and count its rows. All variables of these queries are bound."""
    solutions = store.query(query, default_graph=[ox.DefaultGraph(), WINDOW])
    assert isinstance(solutions, ox.QuerySolutions)
    columns = len(solutions.variables)
    written = solutions.serialize(format=ox.QueryResultsFormat.JSON) or b""
    return written.count(b'"type":') // columns


def _at_or_after(moment: datetime, step: int) -> datetime:
    """The first multiple of the step at or after a moment."""
    whole = -((EPOCH - moment) // timedelta(seconds=step))
    return EPOCH + whole * timedelta(seconds=step)
