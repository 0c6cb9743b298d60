"""Loops without rheos for the applications: Python for just one query that looks at one event after the
other.

The file is read block by block and parsed with pyoxigraph. What a query asks of background knowledge is
looked up before the clock starts. Python can hardly do less.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyoxigraph as ox

from rheos_bench.naive import Looped, blocks

Rows = Iterator[str]
Event = Callable[[datetime, str, str], Rows]  # when, and the subject and object of the triple


def loop(stream: Path, event: Event, seconds: float = math.inf) -> Looped:
    """Look at every event of a stream, or at as many as there is time for. The rows are made and counted."""
    began, events, rows = time.perf_counter(), 0, 0
    for times, quads in blocks(stream):
        for at, quad in zip(times, quads, strict=True):
            assert not isinstance(quad.subject, ox.Triple)
            assert not isinstance(quad.object, ox.Triple)
            rows += len(list(event(at, quad.subject.value, quad.object.value)))
        events += len(quads)
        if time.perf_counter() - began > seconds:
            break
    return Looped(events, time.perf_counter() - began, rows)


def peaks(within: timedelta = timedelta(seconds=4)) -> Event:
    """A price of a company between two lower ones, all three within less than so long."""
    known: dict[str, deque[tuple[datetime, Decimal]]] = defaultdict(deque)

    def event(at: datetime, company: str, value: str) -> Rows:
        prices, price = known[company], Decimal(value)
        while prices and at - prices[0][0] >= within:
            prices.popleft()
        for second, high in prices:
            if high > price and second < at:
                for first, low in prices:
                    if first < second and low < high:
                        yield f"{first},{at},{company},{low},{high},{price}\n"
        prices.append((at, price))

    return event


def averages(within: timedelta) -> Event:
    """After each price of a company, the average of its prices of the last so long."""
    known: dict[str, deque[tuple[datetime, Decimal]]] = defaultdict(deque)
    sums: dict[str, Decimal] = defaultdict(Decimal)

    def event(at: datetime, company: str, value: str) -> Rows:
        prices, price = known[company], Decimal(value)
        prices.append((at, price))
        sums[company] += price
        while at - prices[0][0] >= within:
            sums[company] -= prices.popleft()[1]
        yield f"{prices[0][0]},{at},{company},{sums[company] / len(prices)}\n"

    return event


def instances(members: Collection[str]) -> Event:
    """Sightings of one of these. The same sighting at the same time counts once."""
    just: set[tuple[str, str]] = set()
    last: datetime | None = None

    def event(at: datetime, seen: str, place: str) -> Rows:
        nonlocal last
        if at != last:
            just.clear()
            last = at
        if seen in members and (seen, place) not in just:
            just.add((seen, place))
            yield f"{at},{seen},{place}\n"

    return event


def members_of(classes: Path, root: str) -> frozenset[str]:
    """The instances of a class and of all classes below it."""
    store = ox.Store()
    store.bulk_load(path=str(classes))
    below = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    found = store.query(f"SELECT ?one {{ ?one a/{below}* {root} }}")
    assert isinstance(found, ox.QuerySolutions)
    return frozenset(solution["one"].value for solution in found)
