"""The state of streams in files: live elements come in, Arrow files go out, and the other way round.

What is live of a stream is a row of segments, in the order in which their elements arrived. Both ways of
running read and write them, so that a query can change from one to the other between two batches. The files
are in the journal's folder, which all machines see; the driver knows only their names and bounds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rheos.runtime.buffers import LIVE, NEVER, Buffer, in_order, ordered


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of elements: how many, between which times, whether they are in the order of the stream, and
    their partition, if all are of one."""

    path: str
    rows: int
    first: int
    last: int
    in_order: bool
    partition: int | None = 0

    def precedes(self, other: Segment) -> bool:
        """Whether all its elements come before those of another file, which arrived later."""
        together = self.partition is not None and self.partition == other.partition
        return self.last < other.first or (self.last == other.first and together)


@dataclass(frozen=True, slots=True)
class Segments:
    """The live elements of a stream; `dropped` went before them. It can be written as JSON."""

    dropped: int = 0
    files: tuple[Segment, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def last(self) -> int:
        """The highest time; NEVER if there is no element."""
        return max((file.last for file in self.files if file.rows), default=NEVER)

    def up_to(self, time: int) -> int:
        """The place of the last element that is not after a time; files that hold both sides are read."""
        place = self.dropped
        for file in self.files:
            if file.last <= time:
                place += file.rows
            elif file.first <= time:
                place += pc.sum(pc.less_equal(read(file.path).column("time"), time)).as_py()
        return place

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Segments:
        return cls(values["dropped"], tuple(Segment(**file) for file in values["files"]))


def save(elements: pa.Table, path: Path, durable: bool = False) -> Segment:
    """Write a file that is there as a whole or not at all, however often a task is tried."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, LIVE) as writer:
        writer.write_table(elements.combine_chunks())
    if durable:
        with partial.open("rb") as file:
            os.fsync(file.fileno())
    partial.replace(path)
    if not len(elements):
        return Segment(str(path), 0, 0, 0, True)
    times, partitions = (pc.min_max(elements.column(name)).as_py() for name in ("time", "partition"))
    partition = partitions["min"] if partitions["min"] == partitions["max"] else None
    return Segment(str(path), len(elements), times["min"], times["max"], in_order(elements), partition)


def read_table(path: str) -> pa.Table:
    """Any table in a file."""
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).read_all()


def read(path: str) -> pa.Table:
    """The elements of a segment."""
    elements = read_table(path)
    if "partition" not in elements.column_names:  # it was written before streams had partitions
        only = pa.repeat(pa.scalar(0, pa.int64()), len(elements))
        elements = elements.append_column(LIVE.field("partition"), only)
    return elements


def load(segments: Segments) -> Buffer:
    """The elements as one buffer, in the order of the stream."""
    elements = pa.concat_tables([LIVE.empty_table(), *(read(file.path) for file in segments.files)])
    return Buffer(ordered(elements), segments.dropped)


def longest(found: Sequence[Segments]) -> Segments:
    """Of the same stream as several groups have kept it, what holds all that any of them needs."""
    return min(found, key=lambda segments: segments.dropped)
