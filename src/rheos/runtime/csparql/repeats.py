"""Repeats: which elements of a stream say again what an element before them said.

A window is a set. A triple that comes again while it is in the window holds without a break, so what it adds
begins where the earlier one leaves. To find the earlier one, a worker remembers a hash of every live triple,
in sorted runs: a look-up takes the logarithm of what is live, not a pass over it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.runtime.csparql.windows import MOST_PREDICATES
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


def hashes_of(elements: pa.Table, columns: Sequence[str], database: Database) -> Hashes:
    database.put("arrived", elements.select(columns))
    found: Hashes = (
        database.ask(f"SELECT hash({', '.join(columns)}) AS hash FROM arrived").column(0).to_numpy()
    )
    return found


@dataclass
class Repeats:
    """What is remembered of a stream up to the element with the place `last`.

    `again` are the places of elements whose triple came before, with the place and time of the one before.
    `predicates` are all that there were; None if they are too many. `ends` are kept for those who join.
    """

    last: int = 0
    triples: Runs = field(default_factory=Runs)
    ends: dict[str, Ends] = field(default_factory=dict)
    again: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    predicates: set[str] | None = field(default_factory=set)

    def take_in(self, elements: pa.Table, until: int, database: Database) -> None:
        """Look at the elements that have come since, up to a time. `elements` are all that are live, with
        their places."""
        if not len(elements):
            return
        first = elements.column("place")[0].as_py()
        begin = max(0, self.last + 1 - first)
        end = up_to(elements, until)
        if end <= begin:
            return
        new = elements.slice(begin, end - begin)
        hashes = hashes_of(new, ["s", "p", "o"], database)
        places = new.column("place").to_numpy()
        self._find(hashes, places, elements, first)
        self.triples.add(Run.of(hashes, places), first)
        self.again = self.again[self.again[:, 0] >= first]
        if self.predicates is not None:
            self.predicates.update(pc.unique(new.column("p")).to_pylist())
            if len(self.predicates) > MOST_PREDICATES:
                self.predicates = None
        self.last = int(places[-1])

    def _find(self, hashes: Hashes, places: Times, elements: pa.Table, first: int) -> None:
        """Note which of new elements repeat another one, new or not."""
        before = self.triples.latest(hashes)
        order = np.lexsort((places, hashes))
        same = hashes[order[1:]] == hashes[order[:-1]]
        before[order[1:][same]] = places[order[:-1][same]]
        found = np.flatnonzero(before >= first)
        if not len(found):
            return
        one, other = (rows_at(elements, at[found] - first) for at in (places, before))
        equal = np.ones(len(found), bool)
        for name in "spo":
            equal &= pc.equal(one.column(name), other.column(name)).to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(~equal):  # two triples of one hash: look through all that are before
            before[found[at]] = _before(elements, int(places[found[at]]) - first, first)
        found = np.flatnonzero(before >= first)
        times = rows_at(elements, before[found] - first).column("time").to_numpy()
        self.again = np.concatenate([self.again, np.stack([places[found], before[found], times], axis=1)])

    def linked(self, place: str, terms: Hashes, elements: pa.Table, last: int, database: Database) -> Times:
        """The places of live elements up to a place that have one of these terms as subject or object."""
        first = elements.column("place")[0].as_py() if len(elements) else 1
        ends = self.ends.setdefault(place, Ends(place))
        ends.take_in(elements, first, self.last, database)
        found = ends.linked(terms, first)
        return found[found <= last]


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


def _before(elements: pa.Table, row: int, first: int) -> int:
    """The place of the last element before a row with the same triple; 0 if there is none."""
    same = np.ones(row, bool)
    for name in "spo":
        column = elements.column(name)
        same &= pc.equal(column.slice(0, row), column[row]).to_numpy()
    found = np.flatnonzero(same)
    return int(found[-1]) + first if len(found) else 0


def shared(memories: Sequence[Repeats]) -> bool:
    """Whether two streams can have the same triple."""
    seen: set[str] = set()
    for memory in memories:
        if memory.predicates is None or seen & memory.predicates:
            return len(memories) > 1
        seen |= memory.predicates
    return False
