"""Links: indexes of the terms of a stream's live elements. They give the elements that can be joined with a
new one, without a pass over all live elements.

A worker keeps the hashes of terms in sorted runs, so the time of a look-up grows with the logarithm of the
number of live elements. The place of an element is its number in the stream.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rheos.optimize.links import Links
from rheos.runtime.operator import Times
from rheos.runtime.worker.database import Database

Hashes = npt.NDArray[np.uint64]


class Run(NamedTuple):
    """Hashes of elements in ascending order, and the places of the elements; equal hashes are in the order of
    the stream."""

    hashes: Hashes
    places: Times

    def latest(self, hashes: Hashes) -> Times:
        """The place of the last element with each hash; 0 if there is none."""
        at = np.searchsorted(self.hashes, hashes, side="right") - 1
        found = (at >= 0) & (self.hashes[at] == hashes)
        places: Times = np.where(found, self.places[at], 0)
        return places

    def all(self, hashes: Hashes) -> Times:
        """The places of all elements with one of these hashes; no hash may be given twice."""
        first, end = (np.searchsorted(self.hashes, hashes, side=side) for side in ("left", "right"))
        counts = end - first
        before = np.cumsum(counts) - counts
        places: Times = self.places[np.repeat(first - before, counts) + np.arange(counts.sum())]
        return places

    @classmethod
    def of(cls, hashes: Hashes, places: Times) -> Run:
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], places[order])


@dataclass
class Runs:
    """The hashes of live elements in sorted runs; later runs have later places."""

    runs: list[Run] = field(default_factory=list)

    def add(self, run: Run, first: int) -> None:
        """Add a run. Runs of about the same size are merged, so that there are few. A merge leaves out
        elements before the place `first`."""
        self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2].hashes) < 2 * len(self.runs[-1].hashes):
            later, earlier = self.runs.pop(), self.runs.pop()
            live = earlier.places >= first
            self.runs.append(
                Run.of(
                    np.concatenate([earlier.hashes[live], later.hashes]),
                    np.concatenate([earlier.places[live], later.places]),
                )
            )

    def latest(self, hashes: Hashes) -> Times:
        """The place of the last element with each hash; 0 if there is none."""
        found = np.zeros(len(hashes), np.int64)
        for run in self.runs:
            found = np.maximum(found, run.latest(hashes))
        return found

    def all(self, hashes: Hashes) -> Times:
        """The places of all elements with one of these hashes."""
        different = np.unique(hashes)
        return np.concatenate([np.empty(0, np.int64), *(run.all(different) for run in self.runs)])


@dataclass
class Ends:
    """An index of the subjects or of the objects of elements, up to the element with the place `last`: from
    the hash of a term to the places of elements. Here `place` is the column, s or o."""

    place: str
    last: int = 0
    runs: Runs = field(default_factory=Runs)

    def take_in(self, elements: pa.Table, first: int, last: int, database: Database) -> None:
        """Add the elements that have come since the last call; `first` is the place of the
        first live element."""
        begin = max(0, self.last + 1 - first)
        if last - first + 1 > begin:
            new = elements.slice(begin, last - first + 1 - begin)
            self.runs.add(
                Run.of(hashes_of(new, [self.place], database), new.column("place").to_numpy()), first
            )
            self.last = last

    def linked(self, terms: Hashes, first: int) -> Times:
        """The places of live elements that have one of the terms in the indexed column."""
        found = np.unique(self.runs.all(terms))
        return found[found >= first]


@dataclass
class Index:
    """The indexes of a stream's live elements, one for each column (s or o) that was asked for."""

    ends: dict[str, Ends] = field(default_factory=dict)

    def rows(
        self, terms: Mapping[str, Hashes], elements: pa.Table, begin: int, end: int, database: Database
    ) -> pa.Table:
        """Of the rows from `begin` to `end` of the live elements, those that have one of the given terms in
        the column for which it is given."""
        first = first_place(elements)
        found = [np.empty(0, np.int64)]
        for place, wanted in terms.items():
            ends = self.ends.setdefault(place, Ends(place))
            ends.take_in(elements, first, first + end - 1, database)
            found.append(ends.linked(wanted, first))
        rows = np.unique(np.concatenate(found)) - first
        return rows_at(elements, rows[(rows >= begin) & (rows < end)])


def terms_of(links: Links, new: Iterable[pa.Table], database: Database) -> dict[str, Hashes]:
    """The terms, by column, of which an old element must have one to be linked to a new
    element: as hashes."""
    wanted: dict[str, list[Hashes]] = {}
    for elements in new:
        for place, other in links:
            wanted.setdefault(other, []).append(hashes_of(elements, [place], database))
    return {place: np.concatenate(found) for place, found in wanted.items()}


def first_place(elements: pa.Table) -> int:
    """The place of the first live element of a stream."""
    return elements.column("place")[0].as_py() if len(elements) else 1


def hashes_of(elements: pa.Table, columns: Sequence[str], database: Database) -> Hashes:
    database.put("arrived", elements.select(columns))
    found: Hashes = (
        database.ask(f"SELECT hash({', '.join(columns)}) AS hash FROM arrived").column(0).to_numpy()
    )
    return found


def up_to(elements: pa.Table, time: int) -> int:
    """The number of elements at or before a time."""
    times = elements.column("time")
    return bisect_right(range(len(times)), time, key=lambda at: times[at].as_py())


def rows_at(elements: pa.Table, rows: Times) -> pa.Table:
    """The rows of a table with these numbers. The table may be in many pieces, which are not put together."""
    order = np.argsort(rows, kind="stable")
    chosen, parts, begin = rows[order], list[pa.RecordBatch](), 0
    for piece in elements.to_batches():
        low, high = np.searchsorted(chosen, (begin, begin + len(piece)))
        if high > low:
            parts.append(piece.take(pa.array(chosen[low:high] - begin)))
        begin += len(piece)
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return pa.Table.from_batches(parts, elements.schema).combine_chunks().take(pa.array(back))
