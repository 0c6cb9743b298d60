"""Buffers: the live elements of a stream in the memory of a worker, in the order of the stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rheos.sources.chunks import LIVE
from rheos.sources.times import NEVER

Times = npt.NDArray[np.int64]

_SEEN = [name for name in LIVE.names if name != "partition"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The live elements of a stream in their order, and how many went before them."""

    elements: pa.Table
    dropped: int = 0

    @classmethod
    def empty(cls, dropped: int = 0) -> Buffer:
        return cls(LIVE.empty_table(), dropped)

    @property
    def placed(self) -> pa.Table:
        """The elements with their place: their number in the stream, from 1."""
        first = self.dropped + 1
        places = np.arange(first, first + len(self.elements), dtype=np.int64)
        return self.elements.select(_SEEN).append_column("place", pa.array(places))

    def with_more(self, more: Sequence[pa.Table]) -> Buffer:
        """With elements that arrived after all that are here."""
        added = pa.concat_tables([LIVE.empty_table(), *more])
        if not len(added):
            return self
        return replace(self, elements=ordered(pa.concat_tables([self.elements, added])))

    @property
    def last(self) -> int:
        """The highest time; NEVER if there is no element."""
        return self.elements.column("time")[-1].as_py() if len(self.elements) else NEVER

    def up_to(self, time: int) -> int:
        """The place of the last element that is not after a time."""
        # Found without a copy of all times, of which there may be millions in many pieces.
        times = self.elements.column("time")
        return self.dropped + bisect_right(range(len(times)), time, key=lambda at: times[at].as_py())

    def times_between(self, after: int, until: int) -> Times:
        """The times of the elements after a time and up to another."""
        first, last = (self.up_to(bound) - self.dropped for bound in (after, until))
        times: Times = self.elements.column("time").slice(first, max(0, last - first)).to_numpy()
        return times

    def between(self, after: int, until: int) -> int:
        """How many elements there are after a time and up to another."""
        return max(0, self.up_to(until) - self.up_to(after))

    def since(self, time: int) -> Buffer:
        """Without what is before a time."""
        gone = self.up_to(time - 1) - self.dropped
        return Buffer(self.elements.slice(gone), self.dropped + gone)

    def part(self, first: int, until: int) -> Buffer:
        """Without so many from the first on, and without those after a time."""
        last = self.up_to(until) - self.dropped
        return Buffer(self.elements.slice(first, max(0, last - first)), self.dropped + first)


def in_order(elements: pa.Table) -> bool:
    """Whether elements are in the order of a stream, given that they are in order of arrival."""
    time, partition = (elements.column(name).to_numpy() for name in ("time", "partition"))
    before, after = time[:-1], time[1:]
    return not np.any((after < before) | ((after == before) & (partition[1:] < partition[:-1])))


def ordered(elements: pa.Table) -> pa.Table:
    """Elements that are in order of arrival, in the order of their stream."""
    if in_order(elements):
        return elements
    keys = (elements.column(name).to_numpy() for name in ("partition", "time"))
    return elements.take(pa.array(np.lexsort(tuple(keys))))
