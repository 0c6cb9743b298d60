"""The reader: all the streams of an engine as one source of Structured Streaming, in which a row is a chunk.

There is one source for all streams, because every further source would cost each batch its own calls to
Python. The offset holds the offset of every stream, and a `beat`: a number that the driver raises when a
batch must run although nothing was read, because a stream fell silent. The driver writes the beat to a file,
since Spark asks for offsets in a process of its own. That process in turn writes the parts of a batch to a
file for the driver, so that the tasks that evaluate a small batch can read its parts themselves.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pickle
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from rheos.sources.ahead import Ahead
from rheos.sources.base import PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk, Header, Judged, Packed, SegmentWriter, judge, no_elements

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FORMAT = "rheos"
LEAST_PART_BYTES = 1 << 20
# The stream name in the one row of a batch that reads nothing: without a row, no task would run.
TICKET = ""
# The file with the parts of a batch, and its largest size in bytes. Parts may have elements in them: if they
# are larger, the file has only the offsets.
PARTS, MOST_TOLD = "parts", 1 << 20
SCHEMA = "stream STRING, part LONG, number LONG, ended BOOLEAN, header STRING, data BINARY, segment STRING"
_ARROW = pa.schema(
    [
        ("stream", pa.string()),
        ("part", pa.int64()),
        ("number", pa.int64()),
        ("ended", pa.bool_()),
        ("header", pa.string()),
        ("data", pa.binary()),
        ("segment", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Streams:
    """The settings of the reader: the source of each stream by its name, the file of the beat, how much a
    batch reads, and the store for the elements of large chunks. `lateness` and `ahead` are by stream, in
    microseconds; `ahead` is how far ahead of the clock an element may be."""

    sources: dict[str, Source]
    beat: str
    batch_bytes: int
    store: SegmentWriter
    cores: int = 1
    lateness: Mapping[str, int] = field(default_factory=dict)
    ahead: Mapping[str, int] = field(default_factory=dict)
    shipped: bool = False  # tasks do not see the driver's disk

    @property
    def part_bytes(self) -> int:
        """The size of a part at which every core gets two parts of a full batch, within fixed bounds."""
        return max(LEAST_PART_BYTES, min(PART_BYTES, self.batch_bytes // (2 * self.cores)))

    def option(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def of_option(cls, text: str) -> Streams:
        streams = pickle.loads(base64.b64decode(text))
        assert isinstance(streams, cls)
        return streams


@dataclass
class StreamPart(InputPartition):
    """A part of a stream. `number` counts the parts of a batch in their order. If `part` is None, this is the
    end of a `partition` or, without one, of the stream. `batch` is a name that is new for every planning of a
    batch, also if it is planned again. `clock` is the time of the driver's clock then."""

    stream: str
    number: int
    batch: str
    clock: int
    part: Part | None = None
    partition: int | None = None

    def __post_init__(self) -> None:
        super().__init__(self.number)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of what a batch reads: everything between two offsets, in these parts. `parts` is None if they
    are too large for the file."""

    start: dict[str, Any]
    end: dict[str, Any]
    parts: Sequence[StreamPart] | None

    def tell(self, folder: Path) -> None:
        """Write the plan to the file for the driver."""
        told = pickle.dumps(self)
        if len(told) > MOST_TOLD:
            told = pickle.dumps(replace(self, parts=None))
        file = folder / f"{PARTS}.{os.getpid()}"
        file.write_bytes(told)
        file.replace(folder / PARTS)

    @classmethod
    def told(cls, folder: Path) -> Planned | None:
        """The plan that was written last, if there is one."""
        try:
            planned = pickle.loads((folder / PARTS).read_bytes())
        except FileNotFoundError:
            return None
        assert isinstance(planned, cls)
        return planned


class StreamsDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType | str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StreamsReader(Streams.of_option(self.options["streams"]))


class StreamsReader(DataSourceStreamReader):
    def __init__(self, streams: Streams) -> None:
        self.streams = streams

    def initialOffset(self) -> dict[str, Any]:
        return {"beat": 0, "streams": {name: source.begin() for name, source in self.streams.sources.items()}}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:
        share = self.streams.batch_bytes // max(1, len(self.streams.sources))
        latest = {
            name: source.latest(self._of(start, name), share) for name, source in self.streams.sources.items()
        }
        try:
            beat = int(Path(self.streams.beat).read_text() or 0)
        except (OSError, ValueError):
            beat = 0
        return {"beat": max(beat, start["beat"]), "streams": latest}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        parts: list[StreamPart] = []
        batch, clock = uuid.uuid4().hex[:12], time.time_ns() // 1000

        def add(stream: str, part: Part | None = None, partition: int | None = None) -> None:
            parts.append(StreamPart(stream, len(parts), batch, clock, part, partition))

        for name, source in self.streams.sources.items():
            before, after = self._of(start, name), self._of(end, name)
            if before == after:
                continue
            for part in source.parts(before, after, self.streams.part_bytes):
                add(name, source.shipped(part) if self.streams.shipped else part)
            for partition in sorted(source.ended_partitions(after) - source.ended_partitions(before)):
                add(name, partition=partition)
            if source.ended(after):
                add(name)
        if not parts:
            add(TICKET)
        Planned(start, end, parts).tell(Path(self.streams.beat).parent)
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StreamPart)
        stream, part = partition.stream, partition.part
        if stream == TICKET:
            yield ticket()
            return
        if part is None and partition.partition is not None:
            end = Chunk(no_elements(), partition=partition.partition, last=True)
            yield row(stream, partition.number, 0, False, Packed.of(judge(end)))
            return
        if part is None:
            nothing = Judged(Header(), judge(Chunk(no_elements())).elements)
            yield row(stream, partition.number, 0, True, Packed.of(nothing))
            return
        allowed = self.streams.ahead.get(stream)
        ahead = None if allowed is None else Ahead(partition.clock, allowed)
        lateness = self.streams.lateness.get(stream, 0)
        for number, chunk in enumerate(self.streams.sources[stream].read(part)):
            judged = judge(chunk, lateness, ahead)
            name = segment_name(stream, partition.batch, partition.number, number)
            yield row(stream, partition.number, number, False, Packed.of(judged, self.streams.store, name))

    def commit(self, end: dict[str, Any]) -> None:
        for name, source in self.streams.sources.items():
            source.committed(self._of(end, name))

    def _of(self, offset: dict[str, Any], name: str) -> Offset:
        """The offset of a stream. A stream that was added since then is at its beginning."""
        found: Offset | None = offset["streams"].get(name)
        return self.streams.sources[name].begin() if found is None else found


def segment_name(stream: str, batch: str, *numbers: int) -> str:
    """A name for a segment that no other segment has: a repeated attempt of a task, or one that goes on
    although nobody waits for it, writes under another name."""
    own = hashlib.blake2b(stream.encode(), digest_size=6).hexdigest()
    attempt = uuid.uuid4().hex[:8]
    return f"segments/{own}/{batch}-{'-'.join(map(str, numbers))}-{attempt}.arrow"


def ticket() -> pa.RecordBatch:
    """The row of a batch that reads nothing."""
    return row(TICKET, 0, 0, False, Packed.of(judge(Chunk(no_elements()))))


def row(stream: str, part: int, number: int, ended: bool, chunk: Packed) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([value], kind)
            for value, kind in zip((stream, part, number, ended, *chunk), _ARROW.types, strict=True)
        ],
        schema=_ARROW,
    )
