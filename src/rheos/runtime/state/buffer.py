"""Buffers: the live elements of a stream in the memory of a worker, in the order of the stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rheos.sources.chunks import LIVE
from rheos.sources.graphs import names_of, opening
from rheos.sources.times import NEVER

Times = npt.NDArray[np.int64]

_SEEN = [name for name in LIVE.names if name not in ("partition", "graph")]


@dataclass(frozen=True, slots=True)
class Buffer:
    """The live elements of a stream in their order, and how many elements were dropped before them: triples
    and, in a stream of graphs, the graphs that began before the live elements."""

    elements: pa.Table
    dropped: int = 0
    dropped_graphs: int | None = None

    @classmethod
    def empty(cls, dropped: int = 0) -> Buffer:
        return cls(LIVE.empty_table(), dropped)

    @property
    def placed(self) -> pa.Table:
        """The elements with their place: their number in the stream, from 1. Elements of a stream of graphs
        also have the name of their graph in the column `graph`, and its number in the column `element`."""
        first = self.dropped + 1
        places = np.arange(first, first + len(self.elements), dtype=np.int64)
        found = self.elements.select(_SEEN).append_column("place", pa.array(places))
        if not self.has_graphs:
            return found
        found = found.append_column("graph", names_of(self.elements.column("graph")))
        return found.append_column("element", pa.array(self.graph_numbers))

    @property
    def has_graphs(self) -> bool:
        """Whether the elements are of a stream of graphs, not of triples that came alone."""
        graph = self.elements.column("graph")
        return self.dropped_graphs is not None or graph.null_count < len(graph)

    @property
    def graph_numbers(self) -> Times:
        """The number in the stream of the graph of each element."""
        before = self.dropped if self.dropped_graphs is None else self.dropped_graphs
        first = opening(self.elements.column("graph"))
        opened = np.ones(len(self.elements), bool) if first is None else first
        return before + np.cumsum(opened, dtype=np.int64)

    def graphs_up_to(self, time: int) -> int:
        """The number of the last graph at or before a time."""
        last = self.up_to(time) - self.dropped
        if last:
            return int(self.graph_numbers[last - 1])
        return self.dropped if self.dropped_graphs is None else self.dropped_graphs

    def _without(self, gone: int) -> int | None:
        """The value of `dropped_graphs` once the first `gone` elements are dropped, too; None if the stream
        has no graphs."""
        if not self.has_graphs:
            return None
        if gone:
            return int(self.graph_numbers[gone - 1])
        return self.dropped if self.dropped_graphs is None else self.dropped_graphs

    def with_more(self, more: Sequence[pa.Table]) -> Buffer:
        """The buffer with more elements, which arrived after all that it has."""
        added = pa.concat_tables([LIVE.empty_table(), *more])
        if not len(added):
            return self
        together = pa.concat_tables([self.elements, added])
        # The present elements are in order, so it is enough to look at the last of them.
        last = max(0, len(self.elements) - 1)
        return replace(self, elements=together if in_order(together.slice(last)) else ordered(together))

    @property
    def last(self) -> int:
        """The highest time; NEVER if there is no element."""
        return self.elements.column("time")[-1].as_py() if len(self.elements) else NEVER

    def up_to(self, time: int) -> int:
        """The place of the last element at or before a time."""
        # A search on the column itself: to copy its pieces, which may have millions of times, would be slow.
        times = self.elements.column("time")
        return self.dropped + bisect_right(range(len(times)), time, key=lambda at: times[at].as_py())

    def times_between(self, after: int, until: int) -> Times:
        """The times of the elements after a time and up to another."""
        first, last = (self.up_to(bound) - self.dropped for bound in (after, until))
        times: Times = self.elements.column("time").slice(first, max(0, last - first)).to_numpy()
        return times

    def between(self, after: int, until: int) -> int:
        """The number of elements after a time and up to another."""
        return max(0, self.up_to(until) - self.up_to(after))

    def since(self, time: int) -> Buffer:
        """The buffer without the elements before a time."""
        gone = self.up_to(time - 1) - self.dropped
        return Buffer(self.elements.slice(gone), self.dropped + gone, self._without(gone))

    def part(self, first: int, until: int) -> Buffer:
        """The buffer without its first `first` elements, and without the elements after a time."""
        last = self.up_to(until) - self.dropped
        rest = self.elements.slice(first, max(0, last - first))
        return Buffer(rest, self.dropped + first, self._without(first))


def in_order(elements: pa.Table) -> bool:
    """Whether elements that are in order of arrival are also in the order of a stream: by time and, at the
    same time, by partition."""
    time, partition = (elements.column(name).to_numpy() for name in ("time", "partition"))
    before, after = time[:-1], time[1:]
    return not np.any((after < before) | ((after == before) & (partition[1:] < partition[:-1])))


def put_together(parts: Sequence[pa.Table]) -> pa.Table:
    """All elements of some parts in the order of the stream. The parts are in order of arrival, and each is
    in the order of the stream. If each part follows the one before, as it mostly does, nothing is sorted."""
    together = pa.concat_tables([LIVE.empty_table(), *parts])
    ends = np.cumsum([len(part) for part in parts if len(part)])[:-1]
    follow = all(in_order(together.slice(end - 1, 2)) for end in ends.tolist())
    return together if follow else ordered(together)


def ordered(elements: pa.Table) -> pa.Table:
    """Elements in the order of their stream, given elements in order of arrival."""
    if in_order(elements):
        return elements
    keys = (elements.column(name).to_numpy() for name in ("partition", "time"))
    return elements.take(pa.array(np.lexsort(tuple(keys))))
