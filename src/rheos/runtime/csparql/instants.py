"""When a query of C-SPARQL reports: the instants of its windows, as far as its streams are complete.

All times are microseconds since 1970. A logical window of range r and step s holds, at an instant e, the
elements with w - r < time <= w, where w is the latest multiple of s that is not after e. So an element
of time t is in it from the first multiple of s that is not before t until that of t + r, exclusively: between
two multiples of s nothing changes, whatever the instants at which the query looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, Window
from rheos.runtime.operator import End, Times, next_multiple

Interval = tuple[int, int]


def periods(query: CSparqlQuery) -> tuple[int, ...]:
    """The query reports at the multiples of these: of COMPUTED EVERY, or else of the steps of its windows."""
    if query.every is not None:
        return (query.every,)
    return tuple(sorted({w.window.step for w in query.windows if isinstance(w.window, LogicalWindow)}))


def moves(window: PhysicalWindow, end: End) -> bool:
    """Whether a window moves at the time at which its stream ended."""
    return end.before // window.step < end.count // window.step


def last_instant(query: CSparqlQuery, ends: Mapping[str, End]) -> int | None:
    """Where the clock stops when all streams have ended: the first instant at which every window has moved
    past the last element of its stream; None if there never was one."""
    found = [(w.window, ends[w.stream]) for w in query.windows if w.stream in ends]
    if not found:
        return None
    passed = max(
        next_multiple(end.time, window.step) if isinstance(window, LogicalWindow) else end.time
        for window, end in found
    )
    clock = [next_multiple(passed, period) for period in periods(query)]
    # The last triples may be too few to move a physical window: then it is the clock's turn, if there is one.
    moved = query.every is None and any(
        isinstance(window, PhysicalWindow) and end.time == passed and moves(window, end)
        for window, end in found
    )
    return passed if moved or not clock else min(clock)


def reporting(query: CSparqlQuery, held: Iterable[Interval], after: int, until: int) -> Times:
    """The instants e with after < e <= until at which the query reports, in order.

    `held` are the intervals in which some window holds something: at other instants nothing is reported, so
    a gap of years in a stream costs nothing.
    """
    found = [
        np.arange(next_multiple(max(first, after + 1), period), min(end, until + 1), period, dtype=np.int64)
        for first, end in merged(held)
        for period in periods(query)
    ]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The same instants as intervals that do not touch each other."""
    joined: list[Interval] = []
    for first, end in sorted(intervals):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif first < end:
            joined.append((first, end))
    return joined


def following(query: CSparqlQuery, until: int) -> int:
    """The first time after `until` at which the query can be evaluated."""
    if query.every is None and any(isinstance(w.window, PhysicalWindow) for w in query.windows):
        return until + 1
    return min(next_multiple(until + 1, period) for period in periods(query))


def visible(
    query: CSparqlQuery, window: Window, time: Times, place: Times, until: int
) -> npt.NDArray[np.bool_]:
    """Which elements, given by time and place, a window can still hold at an instant after `until`."""
    if isinstance(window, LogicalWindow):
        # It leaves after the next instant if time + range is after the last multiple of the step up to that.
        moved = following(query, until) // window.step * window.step
        visible: npt.NDArray[np.bool_] = time > moved - window.range
        if window.step > window.range:
            entry, leaving = (-(-bound // window.step) for bound in (time, time + window.range))
            visible &= entry < leaving
        return visible
    # It stays at its last move until the next, which is less than a step before the last element. From which
    # element on its triples are counted need not be known for that.
    arrived = place[time <= until]
    last = int(arrived.max()) if len(arrived) else 0
    return place > last - (window.step - 1) - window.triples
