"""Segments: immutable Arrow files that hold the live elements of a stream.

A segment is sorted by time. Its live elements are a slice, so no file is ever written again: a
batch adds segments, and forgets those of which no later instant can see an element. The driver
knows only names and bounds.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rheos.errors import CheckpointError
from rheos.runtime.state.buffer import Buffer, ordered, put_together
from rheos.runtime.state.store import Store
from rheos.sources.chunks import LIVE
from rheos.sources.graphs import opening
from rheos.sources.times import NEVER


@dataclass(frozen=True, slots=True)
class Segment:
    """The live rows of a file: `rows` rows after the first `skipped` ones, with times from `first` to `last`.
    `graphs` is the number of graphs that they are, if it is not the number of rows."""

    name: str
    skipped: int
    rows: int
    first: int
    last: int
    graphs: int | None = None

    @classmethod
    def of(cls, name: str, elements: pa.Table, skipped: int = 0) -> Segment:
        """The segment of a file with these elements, without the first `skipped` of them."""
        times = elements.column("time")
        rows = len(times) - skipped
        if not rows:
            return cls(name, skipped, 0, NEVER, NEVER)
        graphs = graphs_in(elements.column("graph").slice(skipped))
        return cls(name, skipped, rows, times[skipped].as_py(), times[-1].as_py(), graphs)

    @property
    def count(self) -> int:
        """How many graphs it has; a triple that came alone counts as one."""
        return self.rows if self.graphs is None else self.graphs

    def elements(self, store: Store) -> pa.Table:
        table = store.table(self.name)
        if "graph" not in table.column_names:  # the checkpoint is older than streams of graphs
            table = table.append_column("graph", pa.nulls(len(table), pa.string()))
        return table.select(LIVE.names).slice(self.skipped, self.rows)

    def since(self, time: int, store: Store) -> Segment:
        """The segment without the elements before a time."""
        if self.first >= time:
            return self
        if self.last < time:
            return Segment(self.name, self.skipped + self.rows, 0, NEVER, NEVER)
        elements = self.elements(store)
        times = elements.column("time").to_numpy()
        gone = int(np.searchsorted(times, time, side="left"))
        graphs = None if self.graphs is None else graphs_in(elements.column("graph").slice(gone))
        rows, first = self.rows - gone, int(times[gone])
        return replace(self, skipped=self.skipped + gone, rows=rows, first=first, graphs=graphs)


@dataclass(frozen=True, slots=True)
class Segments:
    """The files of a stream's live elements, in order of arrival. `dropped` elements came before them, and
    `dropped_graphs` graphs, if that is another number. It can be written as JSON."""

    dropped: int = 0
    files: tuple[Segment, ...] = ()
    dropped_graphs: int | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def plus(self, more: Sequence[Segment]) -> Segments:
        return replace(self, files=(*self.files, *(file for file in more if file.rows)))

    def since(self, time: int, store: Store) -> Segments:
        """The segments without the elements before a time."""
        kept = tuple(file.since(time, store) for file in self.files)
        gone = self.rows - sum(file.rows for file in kept)
        count = sum(file.count for file in self.files) - sum(file.count for file in kept)
        before = self.dropped if self.dropped_graphs is None else self.dropped_graphs
        dropped_graphs = None if self.dropped_graphs is None and count == gone else before + count
        return Segments(self.dropped + gone, tuple(file for file in kept if file.rows), dropped_graphs)

    def replaced(self, names: Set[str], by: Segment) -> Segments:
        """The segments with one file in the place of the files with these names, from which it was
        made. Elements of these that were dropped since then are at the beginning of the new file,
        and are skipped there."""
        found = [file for file in self.files if file.name in names]
        if not found:
            return self
        at, live = self.files.index(found[0]), sum(file.rows for file in found)
        first = min(file.first for file in found)
        graphs = sum(file.count for file in found) if any(file.graphs is not None for file in found) else None
        merged = Segment(by.name, by.skipped + by.rows - live, live, first, by.last, graphs)
        return replace(self, files=(*self.files[:at], merged, *self.files[at + len(found) :]))

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Segments:
        if any("path" in file for file in values["files"]):
            raise CheckpointError("the checkpoint was made by an earlier version of rheos: take another one")
        files = tuple(Segment(**file) for file in values["files"])
        return cls(values["dropped"], files, values.get("dropped_graphs"))


def graphs_in(graph: pa.ChunkedArray) -> int | None:
    """How many graphs begin in a column; None if it is the number of rows."""
    first = opening(graph)
    found = len(graph) if first is None else int(first.sum())
    return None if found == len(graph) else found


def load(segments: Segments, store: Store) -> Buffer:
    """The elements of segments in the order of the stream."""
    parts = [file.elements(store) for file in segments.files]
    return Buffer(put_together(parts), segments.dropped, segments.dropped_graphs)


def save(elements: pa.Table, name: str, store: Store) -> Segment:
    """Write elements that are in the order of the stream as a segment."""
    if len(elements):
        store.write_table(name, elements)
    return Segment.of(name, elements)


def longest(found: Sequence[Segments]) -> Segments:
    """Of the live segments that several tasks need of the same stream, those that have dropped the least:
    they have all that any task needs."""
    return min(found, key=lambda segments: segments.dropped)


def merged(files: Sequence[Segment], store: Store) -> pa.Table:
    """The elements of segments that follow one another in order of arrival, in the order of the stream."""
    return ordered(pa.concat_tables([file.elements(store) for file in files]))
