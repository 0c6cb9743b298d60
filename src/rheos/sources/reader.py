"""All the streams of an engine as one source of Structured Streaming: each row is a chunk.

One source for all of them, because every further one would cost each batch its own rounds to Python. The
offset holds that of every stream, and a `beat`: a number that the driver raises when a batch must run
although nothing was read, because a stream fell silent. It comes through a file beside the driver, since
Spark asks for offsets in a process of its own.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from rheos.sources.base import PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk, Packed, no_elements

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FORMAT = "rheos"
LEAST_PART_BYTES = 1 << 20
SCHEMA = "stream STRING, part LONG, number LONG, ended BOOLEAN, data BINARY, path STRING"
_ARROW = pa.schema(
    [
        ("stream", pa.string()),
        ("part", pa.int64()),
        ("number", pa.int64()),
        ("ended", pa.bool_()),
        ("data", pa.binary()),
        ("path", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Streams:
    """What the reader is told: the source of each stream by its name, the file of the beat, how much a batch
    reads, and the folder through which large chunks go."""

    sources: dict[str, Source]
    beat: str
    batch_bytes: int
    folder: str
    cores: int = 1

    @property
    def part_bytes(self) -> int:
        """So much that every core gets two parts of a full batch."""
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
    """A part of a stream; `number` counts those of a batch in their order. With no part it is the end of a
    partition, or of the stream."""

    stream: str
    number: int
    part: Part | None = None
    partition: int | None = None

    def __post_init__(self) -> None:
        super().__init__(self.number)


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
        for name, source in self.streams.sources.items():
            before, after = self._of(start, name), self._of(end, name)
            if before == after:
                continue
            parts += [
                StreamPart(name, len(parts) + i, part)
                for i, part in enumerate(source.parts(before, after, self.streams.part_bytes))
            ]
            for partition in sorted(source.ended_partitions(after) - source.ended_partitions(before)):
                parts.append(StreamPart(name, len(parts), partition=partition))
            if source.ended(after):
                parts.append(StreamPart(name, len(parts)))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StreamPart)
        stream, part = partition.stream, partition.part
        if part is None and partition.partition is not None:
            end = Chunk(no_elements(), partition=partition.partition, last=True)
            yield row(stream, partition.number, 0, False, end.pack())
            return
        if part is None:
            yield row(stream, partition.number, 0, True, Packed(None, None))
            return
        for number, chunk in enumerate(self.streams.sources[stream].read(part)):
            packed = chunk.pack(self.streams.folder, f"{partition.number}-{number}")
            yield row(stream, partition.number, number, False, packed)

    def commit(self, end: dict[str, Any]) -> None:
        for name, source in self.streams.sources.items():
            source.committed(self._of(end, name))

    def _of(self, offset: dict[str, Any], name: str) -> Offset:
        """A stream's own offset; one that was added since then begins."""
        found: Offset | None = offset["streams"].get(name)
        return self.streams.sources[name].begin() if found is None else found


def row(stream: str, part: int, number: int, ended: bool, chunk: Packed) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([value], kind)
            for value, kind in zip((stream, part, number, ended, *chunk), _ARROW.types, strict=True)
        ],
        schema=_ARROW,
    )
