"""When a query of C-SPARQL reports: the instants of its windows, as far as its streams are complete.

All times are microseconds since 1970. A logical window of range r and step s holds, at an instant e, the
elements with w - r < time <= w, where w is the latest multiple of s that is not after e. So an element with
time t is in the window from the first multiple of s that is not before t, until the first multiple of s that
is not before t + r, exclusively. Between two multiples of s the window does not change, even if the query
looks then. In a window with a delay d, an element with time t is treated as if its time were t + d.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, SessionWindow, Window
from rheos.runtime.operator import End, Times, next_multiple

Interval = tuple[int, int]


def periods(query: CSparqlQuery) -> tuple[int, ...]:
    """The periods at whose multiples the query reports: that of COMPUTED EVERY or, without it, the steps of
    its logical windows. A query with sessions has none."""
    if query.has_sessions:
        return ()
    if query.every is not None:
        return (query.every,)
    return tuple(sorted({w.window.step for w in query.windows if isinstance(w.window, LogicalWindow)}))


def moves(window: PhysicalWindow, end: End) -> bool:
    """Whether a window moves at the time at which its stream ended."""
    before, count = end.graphs if window.graphs and end.graphs is not None else (end.before, end.count)
    return before // window.step < count // window.step


def last_instant(query: CSparqlQuery, ends: Mapping[str, End]) -> int | None:
    """The time at which the clock stops when all streams have ended: the first instant at which every window
    has moved past the last element of its stream. None if no stream had elements."""
    found = [(w.window, ends[w.stream]) for w in query.windows if w.stream in ends]
    if query.has_sessions:
        over = (end.time + window.gap for window, end in found if isinstance(window, SessionWindow))
        return max(over, default=None)
    if not found:
        return None
    passed = max(
        next_multiple(end.time + window.delay, window.step) if isinstance(window, LogicalWindow) else end.time
        for window, end in found
    )
    clock = [next_multiple(passed, period) for period in periods(query)]
    # The last triples may be too few to move a physical window. Then the next multiple of a period counts, if
    # the query has periods.
    moved = query.every is None and any(
        isinstance(window, PhysicalWindow) and end.time == passed and moves(window, end)
        for window, end in found
    )
    return passed if moved or not clock else min(clock)


def reporting(query: CSparqlQuery, held: Iterable[Interval], after: int, until: int) -> Times:
    """The instants e with after < e <= until at which the query reports, in order.

    `held` are the intervals in which some window is not empty. At other instants nothing is reported, so a
    gap of years in a stream costs nothing.
    """
    found = [
        np.arange(next_multiple(max(first, after + 1), period), min(end, until + 1), period, dtype=np.int64)
        for first, end in merged(held)
        for period in periods(query)
    ]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def last_evaluation(query: CSparqlQuery, held: Iterable[Interval], until: int) -> int | None:
    """The last time up to `until` at which the clock evaluates the query; `held` are the intervals in which
    some window is not empty."""
    found = [
        latest
        for first, end in held
        for period in periods(query)
        if (latest := min(end - 1, until) // period * period) >= first
    ]
    return max(found, default=None)


def closings(query: CSparqlQuery, times: Times, held: Iterable[Interval], until: int) -> Times:
    """The instants at which all windows are empty again for the first time: each follows one of the `times`,
    at which some window was not empty."""
    if not periods(query):
        return np.empty(0, np.int64)
    following = [(times // period + 1) * period for period in periods(query)]
    after = np.unique(np.minimum.reduce(following))
    bounds = np.array(merged(held), np.int64).reshape(-1, 2)
    place = np.searchsorted(bounds[:, 0], after, side="right") - 1
    inside = (place >= 0) & (after < bounds[np.maximum(place, 0), 1]) if len(bounds) else after < after
    return after[~inside & (after <= until)]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The same intervals, merged where they overlap or touch, in order."""
    joined: list[Interval] = []
    for first, end in sorted(intervals):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif first < end:
            joined.append((first, end))
    return joined


def following(query: CSparqlQuery, until: int) -> int:
    """The first time after `until` at which the query can be evaluated."""
    if query.has_sessions:
        return until + 1
    if query.every is None and any(isinstance(w.window, PhysicalWindow) for w in query.windows):
        return until + 1
    return min(next_multiple(until + 1, period) for period in periods(query))


def seen_last(query: CSparqlQuery, elements: Sequence[tuple[Times, Times]], until: int) -> int | None:
    """The time of the last evaluation up to a time, given the times and the places of the live elements of
    each window; None if there was none. The elements that this evaluation saw must stay live, if the next
    evaluation is compared with it."""
    found: list[int] = []
    for window, (time, place) in zip(query.windows, elements, strict=True):
        kind = window.window
        assert not isinstance(kind, SessionWindow)  # queries with sessions never compare evaluations
        if isinstance(kind, LogicalWindow):
            first = time + kind.delay
            entry, leaving = (-(-bound // kind.step) * kind.step for bound in (first, first + kind.range))
        else:
            moved = time[(place % kind.step == 0) & (time <= until)]
            if query.every is None:
                found += [int(moved.max())] if len(moved) else []
                continue
            entry, leaving = moved[:1], np.full(len(moved[:1]), 2**62)
        for period in periods(query):
            latest = np.minimum(leaving - 1, until) // period * period
            latest = latest[(latest >= entry) & (entry < leaving)]
            found += [int(latest.max())] if len(latest) else []
    return max(found, default=None)


def over(window: SessionWindow, time: Times, place: Times, subjects: Times) -> Times:
    """For each element the time at which its session is over, as far as is known now. `subjects` are the
    numbers of the elements' subjects."""
    groups = subjects if window.by_subject else np.zeros(len(time), np.int64)
    order = np.lexsort((place, time, groups))
    times, group = time[order], groups[order]
    begins = np.ones(len(time), dtype=bool)
    begins[1:] = (np.diff(times) > window.gap) | (np.diff(group) != 0)
    number = np.cumsum(begins) - 1
    last = np.append(np.flatnonzero(begins)[1:], len(time)) - 1
    found = np.empty(len(time), np.int64)
    if len(time):
        found[order] = times[last][number] + window.gap
    return found


def visible(
    query: CSparqlQuery, window: Window, time: Times, place: Times, until: int, subjects: Times | None
) -> npt.NDArray[np.bool_]:
    """Which elements, given by time and place, a window can still hold at an instant after `until`. Only
    session windows need `subjects`, the numbers of the elements' subjects."""
    if isinstance(window, LogicalWindow):
        # The next instant looks at the window as it was at the last multiple of the step up to that instant.
        moved = following(query, until) // window.step * window.step
        visible: npt.NDArray[np.bool_] = time > moved - window.range - window.delay
        if window.step > window.range:
            first = time + window.delay
            entry, leaving = (-(-bound // window.step) for bound in (first, first + window.range))
            visible &= entry < leaving
        return visible
    if isinstance(window, SessionWindow):
        assert subjects is not None
        return over(window, time, place, subjects) > until
    # The window stays where it is until its next move. Its last move was less than a step before the last
    # element. This bound holds from whichever element on the query counts.
    arrived = place[time <= until]
    last = int(arrived.max()) if len(arrived) else 0
    return place > last - (window.step - 1) - window.triples
