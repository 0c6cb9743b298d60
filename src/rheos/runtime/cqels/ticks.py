"""The ticks of CQELS-QL, and windows on streams as intervals of ticks.

A query ticks with every element of its streams, in the order (time, stream, arrival). A window that slides
also ticks at the multiples of its slide, after all elements of that time. The ticks of a batch are numbered
from 1; the number 0 stands for the last tick before the batch, and all earlier elements begin there. An
element is in a window from the tick that it makes until the first tick at which it is too old.

All computations are on whole arrays, never on single elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rheos.algebra.nodes import TriplePattern
from rheos.algebra.streams import AllWindow, CqelsWindow, LastWindow, RangeWindow, StreamClause
from rheos.runtime.worker.entailment import Entail, Entailed
from rheos.runtime.worker.matching import matches
from rheos.sources.times import FOREVER, NEVER

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrived:
    """The elements of a stream that a query sees, in their order. The first `old` of them came before the
    batch, the last of these at the time `before`; NEVER if there is none.

    In an incremental evaluation, only elements that can be part of a new solution are here. The query has
    seen the first `known` of them in earlier batches, and windows say for each element how long it stays
    after the batch.
    """

    elements: pa.Table  # s, p, o
    time: Numbers
    old: int
    before: int
    known: int | None = None

    @classmethod
    def of(cls, placed: pa.Table, after: int, until: int, unseen: int = 0) -> Arrived:
        """The elements of a buffer (with their places) up to a time, without the first
        `unseen` of the stream."""
        time = placed.column("time").to_numpy()
        first = int(np.searchsorted(placed.column("place").to_numpy(), unseen, side="right"))
        last = int(np.searchsorted(time, until, side="right"))
        seen = placed.slice(first, max(0, last - first))
        time = time[first : first + len(seen)]
        old = int(np.searchsorted(time, after, side="right"))
        return cls(seen.select(["s", "p", "o"]), time, old, int(time[old - 1]) if old else NEVER)


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of a query in a batch, and which element makes which tick."""

    time: Numbers  # the times of the ticks 1, 2, …
    arrival: Mapping[str, Numbers]  # for each stream, the tick of each element; 0 for old elements
    slides: Mapping[
        int, tuple[Numbers, Numbers]
    ]  # for each slide, its multiples in the batch, and their ticks
    after: int  # the time after which the ticks are
    before: int  # the time of the last tick before the batch; NEVER if there was none

    @property
    def count(self) -> int:
        return len(self.time)


def ticks_of(
    streams: Mapping[str, Arrived], clauses: Sequence[StreamClause], after: int, until: int
) -> Ticks:
    """The ticks between two times; `streams` are in the order in which the query names them."""
    slides = sorted({s for clause in clauses if (s := slide_of(clause.window)) is not None})
    changes = [change for clause in clauses for change in _changes(clause, streams[clause.stream])]
    multiples = {slide: _multiples(slide, changes, after, until) for slide in slides}
    news = [arrived.time[arrived.old :] for arrived in streams.values()]
    # Windows with different slides that move at the same time make only one tick.
    moving = np.unique(np.concatenate([*multiples.values(), np.empty(0, np.int64)]))
    times = np.concatenate([*news, moving])
    # The sort is stable. At the same time, elements come in the order of streams and of arrival, and moves
    # last.
    order = np.argsort(times, kind="stable")
    number = np.empty(len(times), np.int64)
    number[order] = np.arange(1, len(times) + 1)
    *parts, moved = np.split(number, np.cumsum([len(part) for part in news]))
    arrival = {
        stream: np.concatenate([np.zeros(arrived.old, np.int64), part])
        for (stream, arrived), part in zip(streams.items(), parts, strict=True)
    }
    moves = {slide: (found, moved[np.searchsorted(moving, found)]) for slide, found in multiples.items()}
    before = max((arrived.before for arrived in streams.values()), default=NEVER)
    if before != NEVER:
        before = max([before, *(after // slide * slide for slide in slides)])
    return Ticks(times[order], arrival, moves, after, before)


def slide_of(window: CqelsWindow) -> int | None:
    return window.slide if isinstance(window, RangeWindow) else None


def _changes(clause: StreamClause, arrived: Arrived) -> list[Numbers]:
    """The times from which on the content of a window may differ: elements arrive, or get too old."""
    if not isinstance(clause.window, RangeWindow):
        return [arrived.time]
    return [arrived.time, arrived.time + clause.window.range + 1]


def _multiples(slide: int, changes: Sequence[Numbers], after: int, until: int) -> Numbers:
    """The multiples of a slide in the span at which some window may have changed."""
    found = np.unique(-(-np.concatenate(changes) // slide) * slide) if changes else np.empty(0, np.int64)
    return found[(found > after) & (found <= until)]


@dataclass(frozen=True, slots=True)
class Held:
    """The elements that are in a window at some tick of the batch, each with its ticks [start, end).

    The first `old` of them were there already at tick 0.
    """

    elements: pa.Table
    start: Numbers
    end: Numbers
    old: int

    @property
    def stay(self) -> float:
        """For how many ticks an element is in the window, on average."""
        return float((self.end - self.start).mean()) if len(self.start) else 0.0


def held_by(clause: StreamClause, arrived: Arrived, ticks: Ticks, entailed: Entailed | None = None) -> Held:
    """The content of a clause's window, with intervals of ticks. With `entailed`, an element stands for
    itself and for the triples that it entails, as far as they match; a window that counts counts it once."""
    matching = matches(arrived.elements if entailed is None else entailed.triples, clause.patterns)
    matched = matching
    if entailed is not None:
        matching = np.unique(entailed.element[matched])
    time, arrival = arrived.time[matching], ticks.arrival[clause.stream][matching]
    start, end = arrival, np.full(len(time), ticks.count + 1)
    match clause.window:
        case RangeWindow(range_, None):
            end = np.searchsorted(ticks.time, time + range_, side="right") + 1
            end[(arrival == 0) & (time + range_ < ticks.before)] = 0
            if arrived.known is not None and ticks.count:
                end = np.where(end > ticks.count, after_all(ticks, time + range_), end)
        case RangeWindow(range_, slide) if slide is not None:
            entry = -(-time // slide) * slide
            leaving = (time + range_) // slide * slide + slide
            start, end = _move(entry, slide, ticks), _move(leaving, slide, ticks)
        case LastWindow(triples):
            end[: max(0, len(end) - triples)] = arrival[triples:]
        case AllWindow():
            if arrived.known is not None and ticks.count:
                end[:] = after_all(ticks, np.array(FOREVER))
    held = np.flatnonzero(start < end)
    held = held[np.argsort(start[held], kind="stable")]
    if entailed is None:
        elements = arrived.elements.take(pa.array(matching[held]))
    else:
        turn = np.full(len(arrived.elements), -1)
        turn[matching[held]] = np.arange(len(held))
        turns = turn[entailed.element[matched]]
        order = np.argsort(turns, kind="stable")
        order = order[np.searchsorted(turns[order], 0) :]
        held = held[turns[order]]
        elements = entailed.triples.take(pa.array(matched[order]))
    start = start[held]
    old = np.searchsorted(start, 0, side="right")
    if arrived.known is not None:
        old = np.searchsorted(matching[held], arrived.known)
    return Held(elements, start, end[held], int(old))


def after_all(ticks: Ticks, leaves: Numbers) -> Numbers:
    """Ends of intervals that are after all ticks of a batch. They encode the time at which elements leave: a
    later end means a later time. So the interval of a solution also tells when the solution ends."""
    found: Numbers = leaves - ticks.time[-1] + ticks.count + 1
    return found


def leaving(ticks: Ticks) -> int:
    """The number to add to an end made by `after_all` to get the time."""
    return int(ticks.time[-1]) - ticks.count - 1


def _move(multiples: Numbers, slide: int, ticks: Ticks) -> Numbers:
    """The ticks at which a window moves to these multiples of its slide. 0 for multiples before the batch;
    for those after it, the number after the last tick."""
    known, numbers = ticks.slides[slide]
    at = np.append(numbers, ticks.count + 1)[np.searchsorted(known, multiples)]
    return np.where(multiples <= ticks.after, 0, at)


def matching_elements(
    elements: pa.Table, patterns: Sequence[TriplePattern], entail: Entail | None = None
) -> Numbers:
    """The row numbers of the elements that match one of the patterns, themselves or by a
    triple that they entail."""
    if entail is None:
        return matches(elements, patterns)
    entailed = entail(elements)
    return np.unique(entailed.element[matches(entailed.triples, patterns)])
