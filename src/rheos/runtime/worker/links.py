"""Links: where terms stand in the live elements of a stream, so that the partners of new elements in a join
are found without a pass over all that is live.

A worker remembers hashes in sorted runs: a look-up takes the logarithm of what is live.
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
    """The hashes of elements in order and, for equal ones in the order of the stream, their places."""

    hashes: Hashes
    places: Times

    def latest(self, hashes: Hashes) -> Times:
        """The place of the last element with each hash; 0 if there is none."""
        at = np.searchsorted(self.hashes, hashes, side="right") - 1
        found = (at >= 0) & (self.hashes[at] == hashes)
        places: Times = np.where(found, self.places[at], 0)
        return places

    def all(self, hashes: Hashes) -> Times:
        """The places of all elements with one of these hashes, which are all different."""
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
    """The hashes of live elements in sorted runs, the later ones with the later places."""

    runs: list[Run] = field(default_factory=list)

    def add(self, run: Run, first: int) -> None:
        """Add a run. Runs of about the same size become one, so that there are few; what is before the place
        `first` is forgotten then."""
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
    """Where terms are the subject or the object of an element, up to the place `last`: by hashes of terms."""

    place: str
    last: int = 0
    runs: Runs = field(default_factory=Runs)

    def take_in(self, elements: pa.Table, first: int, last: int, database: Database) -> None:
        """Look at the elements that have come since; `first` is the place of the first that is live."""
        begin = max(0, self.last + 1 - first)
        if last - first + 1 > begin:
            new = elements.slice(begin, last - first + 1 - begin)
            self.runs.add(
                Run.of(hashes_of(new, [self.place], database), new.column("place").to_numpy()), first
            )
            self.last = last

    def linked(self, terms: Hashes, first: int) -> Times:
        """The places of live elements that have one of the terms there."""
        found = np.unique(self.runs.all(terms))
        return found[found >= first]


@dataclass
class Index:
    """The terms of the live elements of a stream, by the place (s or o) that was asked for."""

    ends: dict[str, Ends] = field(default_factory=dict)

    def rows(
        self, terms: Mapping[str, Hashes], elements: pa.Table, begin: int, end: int, database: Database
    ) -> pa.Table:
        """Of some rows of the live elements those that have one of the terms in its place."""
        first = first_place(elements)
        found = [np.empty(0, np.int64)]
        for place, wanted in terms.items():
            ends = self.ends.setdefault(place, Ends(place))
            ends.take_in(elements, first, first + end - 1, database)
            found.append(ends.linked(wanted, first))
        rows = np.unique(np.concatenate(found)) - first
        return rows_at(elements, rows[(rows >= begin) & (rows < end)])


def terms_of(links: Links, new: Iterable[pa.Table], database: Database) -> dict[str, Hashes]:
    """What an element that is not new must have as subject, or as object, to be linked to a new one."""
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
    """How many elements are not after a time."""
    times = elements.column("time")
    return bisect_right(range(len(times)), time, key=lambda at: times[at].as_py())


def rows_at(elements: pa.Table, rows: Times) -> pa.Table:
    """Some rows of a table in many pieces, without putting the pieces together."""
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
