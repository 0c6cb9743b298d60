"""Buckets of ticks: the content of a window as a table that statements join one stretch of ticks at a time.

A join by shared terms alone would pair all elements of a batch that share them, and only then compare whether
they were in their windows at the same time. So a batch is cut into buckets of ticks, somewhat longer than
elements stay in their windows. An element is in the table once for every bucket in which it is in its window,
and the bucket is one more key of the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rheos.runtime.cqels.ticks import Held, Ticks
from rheos.sources.times import NEVER
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL

# A bucket is so many times as long as elements stay on average, so that few elements are in two buckets.
STAYS = 2


@dataclass(frozen=True, slots=True)
class Bucketed:
    """The rows (s, p, o, bucket, valid_from, valid_until) of a window; the `old` ones come first."""

    rows: pa.Table
    old: int

    def part(self, name: str) -> pa.Table:
        if name == "all":
            return self.rows
        return self.rows.slice(0, self.old) if name == "old" else self.rows.slice(self.old)


def width_of(ticks: Ticks, windows: Sequence[Held]) -> int:
    """How many ticks a bucket has. It depends on the window in which elements stay longest; if there is only
    one window, and so nothing to join, a bucket has all ticks."""
    if len(windows) < 2:
        return ticks.count + 1
    longest = max(window.stay for window in windows)
    return int(min(ticks.count + 1, max(16, STAYS * longest)))


def in_buckets(window: Held, width: int, *, clipped: bool) -> Bucketed:
    """The elements of a window in buckets with `width` ticks. If `clipped`, the interval of a row is cut to
    the ticks of its bucket."""
    first, last = window.start // width, (window.end - 1) // width
    copies = last - first + 1
    row = np.repeat(np.arange(len(first)), copies)
    bucket = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies) + first[row]
    start, end = window.start[row], window.end[row]
    if clipped:
        start, end = np.maximum(start, bucket * width), np.minimum(end, (bucket + 1) * width)
    elements = window.elements if len(row) == len(first) else window.elements.take(pa.array(row))
    for name, values in ((BUCKET.column, bucket), (INTERVAL[0], start), (INTERVAL[1], end)):
        elements = elements.append_column(name, pa.array(values, pa.int64()))
    return Bucketed(elements, int(copies[: window.old].sum()))


def instants_of(ticks: Ticks, first: int, width: int) -> pa.Table:
    """The ticks from the number `first` (0 or 1) on: for each its number, its time, its turn among the ticks
    of the same time, its bucket, and whether it is the first tick of the query."""
    number = np.arange(first, ticks.count + 1)
    at = ticks.time if first else np.concatenate([[ticks.before], ticks.time])
    turn = np.arange(len(at)) - np.searchsorted(at, at)
    earliest = (number == 1) & (ticks.before == NEVER)
    return pa.table(
        {INSTANT.column: number, "at": at, "turn": turn, BUCKET.column: number // width, "first": earliest}
    )
