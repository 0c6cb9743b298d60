"""Repeats: the elements of a stream whose triple an earlier element had, too.

A window is a set. A triple that comes again while it is in the window stays there without a break, so the
interval of the later element begins where the earlier one leaves. To find the earlier one, a worker keeps a
hash of every live triple in sorted runs: a look-up takes time logarithmic in the number of live elements, not
a pass over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.runtime.csparql.windows import MOST_PREDICATES
from rheos.runtime.operator import Times
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.links import Hashes, Run, Runs, hashes_of, rows_at, up_to


@dataclass
class Repeats:
    """What a worker remembers of a stream up to the element with the place `last`.

    `again` has a row for each element whose triple came before: its place, and the place and time of the
    element before it. `predicates` are all predicates that the stream has had; None if they are too many.
    """

    last: int = 0
    triples: Runs = field(default_factory=Runs)
    again: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    predicates: set[str] | None = field(default_factory=set)

    def take_in(self, elements: pa.Table, until: int, database: Database) -> None:
        """Add the elements that have come since the last call, up to a time. `elements` are all live
        elements, with their places."""
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
        """Note which new elements repeat the triple of an earlier element, new or old."""
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
        for at in np.flatnonzero(~equal):  # two triples with one hash: search all elements before this one
            before[found[at]] = _before(elements, int(places[found[at]]) - first, first)
        found = np.flatnonzero(before >= first)
        times = rows_at(elements, before[found] - first).column("time").to_numpy()
        self.again = np.concatenate([self.again, np.stack([places[found], before[found], times], axis=1)])


def _before(elements: pa.Table, row: int, first: int) -> int:
    """The place of the last element that is before a row and has the same triple; 0 if there is none."""
    same = np.ones(row, bool)
    for name in "spo":
        column = elements.column(name)
        same &= pc.equal(column.slice(0, row), column[row]).to_numpy()
    found = np.flatnonzero(same)
    return int(found[-1]) + first if len(found) else 0


def shared(memories: Sequence[Repeats]) -> bool:
    """Whether two of these streams may have the same triple, judged by their predicates."""
    seen: set[str] = set()
    for memory in memories:
        if memory.predicates is None or seen & memory.predicates:
            return len(memories) > 1
        seen |= memory.predicates
    return False
