"""The index of a graph: its triples as numbers, in several sorted orders.

Terms are numbered in their order, so that a term is found by bisection, and a triple is three numbers. Each
order of the triples has a sorted array of keys, in which the triples that match the known terms of a pattern
are a range. DuckDB has no joins by index, and takes a quarter of a millisecond for any statement. For
patterns that match little, this index is ten to a hundred times faster.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ids = npt.NDArray[np.signedinteger[Any]]
Known = int | Ids | None  # what is known of a term: one number, a number for each solution, or nothing

ABSENT = -1  # a term that the graph does not have, or an unbound variable of a solution


@dataclass(frozen=True, slots=True)
class Order:
    """The numbers of the triples, sorted by their keys."""

    keys: Ids
    triples: Ids

    def places(self, first: int | Ids, last: int | Ids) -> tuple[Ids, Ids]:
        """The ranges of the triples whose keys are from `first` to `last`."""
        # If the type were another one, numpy would convert all keys.
        first, last = (np.atleast_1d(np.asarray(key, self.keys.dtype)) for key in (first, last))
        return np.searchsorted(self.keys, first), np.searchsorted(self.keys, last, "right")


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of an order, from `low` up to `high`, that may match: one range, or one for each solution."""

    order: Order
    low: Ids
    high: Ids

    @property
    def size(self) -> int:
        """The number of places in all ranges together."""
        return int((self.high - self.low).sum())


class TripleIndex:
    """The index of a table of triples (s, p, o), which has no duplicates and is not empty."""

    def __init__(self, triples: pa.Table) -> None:
        size = triples.num_rows
        predicates = triples["p"].cast(pa.large_string()).combine_chunks().dictionary_encode()
        nodes = [column.cast(pa.large_string()) for column in (triples["s"], triples["o"])]
        every = pa.chunked_array([*nodes[0].chunks, *nodes[1].chunks, predicates.dictionary])
        encoded = every.combine_chunks().dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        self.terms = encoded.dictionary.take(pa.array(order))
        if self.terms.nbytes < 1 << 31:
            self.terms = self.terms.cast(pa.string())
        self.width = len(order)
        rank = np.empty(self.width, np.int32)
        rank[order] = np.arange(self.width, dtype=np.int32)
        ids = rank[encoded.indices.to_numpy()]
        #: The predicates, sorted. Keys contain a predicate's place in this array, so that they stay small.
        self.predicates = np.sort(ids[2 * size :])
        self._first_keys = {number: at * self.width for at, number in enumerate(self.predicates.tolist())}
        place = np.searchsorted(self.predicates, ids[2 * size :])[predicates.indices.to_numpy()]
        self.s, self.p, self.o = ids[:size], self.predicates[place], ids[size : 2 * size]
        self.is_node = np.zeros(self.width, bool)
        self.is_node[ids[: 2 * size]] = True
        self._by_subject = _sorted(self.s)
        self._by_object = _sorted(self.o)
        self._by_predicate_subject = _sorted(place * self.width + self.s)
        self._by_predicate_object = _sorted(place * self.width + self.o)
        _, offsets, text = self.terms.buffers()
        bounds = memoryview(offsets).cast("B")
        self._offsets = bounds.cast("q" if pa.types.is_large_string(self.terms.type) else "i")
        self._text = memoryview(text).cast("B")

    @property
    def columns(self) -> tuple[Ids, Ids, Ids]:
        return self.s, self.p, self.o

    def id_of(self, term: str) -> int:
        """The number of a term; ABSENT if the graph does not have it."""
        wanted, offsets, text = term.encode(), self._offsets, self._text
        low, high = 0, self.width
        while low < high:
            middle = (low + high) // 2
            if bytes(text[offsets[middle] : offsets[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        if low < self.width and text[offsets[low] : offsets[low + 1]] == wanted:
            return low
        return ABSENT

    def column(self, ids: Ids) -> pa.Array:
        """The terms of numbers, with NULL for ABSENT."""
        missing = ids < 0
        return self.terms.take(pa.array(ids, mask=missing if missing.any() else None)).cast(pa.string())

    def ranges(self, s: Known, p: Known, o: Known) -> Ranges:
        """The ranges of triples that a pattern may match, in the order in which they are the smallest."""
        found = []
        if p is not None:
            first, last = self._keys_of(p)
            if s is not None:
                found.append(
                    Ranges(
                        self._by_predicate_subject, *self._by_predicate_subject.places(first + s, first + s)
                    )
                )
            if o is not None:
                found.append(
                    Ranges(self._by_predicate_object, *self._by_predicate_object.places(first + o, first + o))
                )
            if not found:
                return Ranges(self._by_predicate_subject, *self._by_predicate_subject.places(first, last))
        else:
            if s is not None:
                found.append(Ranges(self._by_subject, *self._by_subject.places(s, s)))
            if o is not None:
                found.append(Ranges(self._by_object, *self._by_object.places(o, o)))
            if not found:
                return Ranges(self._by_subject, *self._by_subject.places(0, self.width))
        return min(found, key=lambda ranges: ranges.size)

    def steps(self, predicate: int, nodes: Ids, *, forward: bool) -> tuple[Ids, Ids]:
        """One step along a predicate from each node: the place of the node, and the node it leads to."""
        order = self._by_predicate_subject if forward else self._by_predicate_object
        keys = self._keys_of(predicate)[0] + nodes
        rows, places = spread(*order.places(keys, keys))
        return rows, (self.o if forward else self.s)[order.triples[places]]

    def neighbours(self, predicate: int, node: int, *, forward: bool) -> Sequence[int]:
        """As `steps`, for a single node and without numpy, which would take ten times as long."""
        order = self._by_predicate_subject if forward else self._by_predicate_object
        keys, triples, ends = order.keys.data, order.triples, self.o if forward else self.s
        if predicate not in self._first_keys:
            return ()
        key = self._first_keys[predicate] + node
        low = bisect_left(keys, key)
        if low == len(keys) or keys[low] != key:
            return ()
        if low + 1 == len(keys) or keys[low + 1] != key:
            return (int(ends[triples[low]]),)
        found: list[int] = ends[triples[low : bisect_right(keys, key, low)]].tolist()
        return found

    def _keys_of(self, predicate: int | Ids) -> tuple[Ids, Ids]:
        """The lowest and the highest key of a predicate; keys that no triple has if it is no predicate."""
        place = np.searchsorted(self.predicates, predicate)
        is_one = self.predicates[np.minimum(place, len(self.predicates) - 1)] == predicate
        place = np.where(is_one, place, len(self.predicates))
        return place * self.width, (place + 1) * self.width - 1


def spread(low: Ids, high: Ids) -> tuple[Ids, Ids]:
    """The number of the range of each place, and all places of the ranges."""
    if len(low) == 1:
        places = np.arange(low[0], high[0])
        return np.zeros(len(places), np.int64), places
    counts = high - low
    rows = np.repeat(np.arange(len(low)), counts)
    first = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) + np.repeat(low - first, counts)


def _sorted(keys: Ids) -> Order:
    order = np.argsort(keys, kind="stable").astype(np.int32)
    return Order(keys[order], order)
