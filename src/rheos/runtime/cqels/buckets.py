"""Buckets of ticks: the content of a window as a table that statements join stretch by stretch.

To join elements by what they share would pair all that ever met, and only then look whether they were there
at the same time. So a batch is cut into buckets of ticks, a little longer than elements stay; an element is
in the table once for every bucket that it is held in, and the bucket is one more thing to be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rheos.runtime.cqels.ticks import Held, Ticks
from rheos.sources.times import NEVER
from rheos.sql.relation import BUCKET, INSTANT, INTERVAL

# A bucket is so many times as long as elements stay, so that few of them are in two.
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
    """How many ticks a bucket has: by the window in which elements stay longest, or all of them if there is
    nothing to be paired."""
    if len(windows) < 2:
        return ticks.count + 1
    longest = max(window.stay for window in windows)
    return int(min(ticks.count + 1, max(16, STAYS * longest)))


def in_buckets(window: Held, width: int, *, clipped: bool) -> Bucketed:
    """The elements of a window in buckets of a width; `clipped`: each there for the ticks of the bucket."""
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
    """The ticks from a first one on: their number, time, turn among those of the same time, bucket, and
    whether it is the first of all."""
    number = np.arange(first, ticks.count + 1)
    at = ticks.time if first else np.concatenate([[ticks.before], ticks.time])
    turn = np.arange(len(at)) - np.searchsorted(at, at)
    earliest = (number == 1) & (ticks.before == NEVER)
    return pa.table(
        {INSTANT.column: number, "at": at, "turn": turn, BUCKET.column: number // width, "first": earliest}
    )
