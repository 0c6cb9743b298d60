"""Chunks: elements of a stream that were read together, and how they travel to the task that evaluates.

The task that reads a chunk also judges it. Elements that are too far ahead of the clock, or late for other
elements of the chunk, become dead letters. The others are sorted by time. Which elements are late for earlier
chunks is known only when those chunks have been read too. As the elements are sorted, the late ones are at
the beginning of the chunk.

Row by row, a million elements would pass through the JVM as a million rows with three strings each, twice. A
chunk is one row. Its elements are Arrow's own bytes in a binary column or, if they are many, a segment that
the reading task writes to the state store once. (To pass 60 MB through the JVM and its shuffle took longer
than to parse them.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from rheos.sources.ahead import Ahead, without
from rheos.sources.times import NEVER, Microseconds

# A triple of a stream. The column `graph` is for streams of graphs: see `rheos.sources.graphs`.
ELEMENTS = pa.schema(
    [
        ("s", pa.string()),
        ("p", pa.string()),
        ("o", pa.string()),
        ("start", pa.int64()),
        ("time", pa.int64()),
        ("line", pa.int64()),
        ("graph", pa.string()),
    ]
)

# The columns of an element in a segment. The partition only decides the order of elements of the same time.
LIVE = pa.schema(
    [
        *(ELEMENTS.field(name) for name in ("s", "p", "o", "start", "time", "graph")),
        ("partition", pa.int64()),
    ]
)
# A chunk also has the line of each element, and its number in order of arrival (`turn`), for dead letters.
JUDGED = pa.schema([*LIVE, ("line", pa.int64()), ("turn", pa.int32())])

# From this size on (about ten thousand elements), a file is quicker than the way through the JVM.
INLINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not accepted: its number (counted from 1, in the chunk at first), its text, and the
    reason. `kind` is `bad` if the line is no element, `ahead` if its time is too far in the future."""

    line: int
    text: str
    reason: str
    kind: str = "bad"


@dataclass(frozen=True, slots=True)
class Late:
    """An element that is late for others of its chunk: its line, triple and time, and the highest time before
    it in the chunk."""

    line: int
    triple: tuple[str, str, str]
    time: int
    seen: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """The elements of some lines of one place (a file), in their order, and the lines that are no elements.

    All elements are of one `partition` of the stream, which ends with this chunk if the chunk is its `last`.
    `first` says that the place begins here, so that line numbers count from here. `without_zone` is how many
    times had no time zone. `lines` is 0 for a document, in which lines do not matter.
    """

    elements: pa.RecordBatch
    place: str = ""
    lines: int = 0
    first: bool = False
    bad: tuple[BadLine, ...] = ()
    without_zone: int = 0
    partition: int = 0
    last: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """The description of a judged chunk, which travels as JSON. `rows` is how many elements were accepted so
    far, `high` the highest time of all elements, also of late ones. The other fields are as in `Chunk`."""

    rows: int = 0
    high: int = NEVER
    bad: tuple[BadLine, ...] = ()
    late: tuple[Late, ...] = ()
    without_zone: int = 0
    place: str = ""
    lines: int = 0
    first: bool = False
    partition: int = 0
    last: bool = False

    def json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> Header:
        values: dict[str, Any] = json.loads(text)
        bad = tuple(BadLine(**item) for item in values.pop("bad"))
        late = tuple(Late(**{**item, "triple": tuple(item["triple"])}) for item in values.pop("late"))
        return cls(bad=bad, late=late, **values)


class Judged(NamedTuple):
    """A judged chunk: its header, and its accepted elements in order of time."""

    header: Header
    elements: pa.RecordBatch


def judge(chunk: Chunk, lateness: int = 0, ahead: Ahead | None = None) -> Judged:
    """Leave out the elements that are too far ahead, or late for earlier elements of the same chunk, and sort
    the others by time. Elements of the same time stay in order of arrival."""
    chunk = _without_ahead(chunk, ahead)
    elements = chunk.elements
    times: Microseconds = elements.column("time").to_numpy()
    seen = np.maximum.accumulate(np.concatenate(([NEVER], times)))[:-1]
    late = np.flatnonzero(times < seen - lateness)
    told = tuple(
        Late(row["line"], (row["s"], row["p"], row["o"]), row["time"], int(high))
        for row, high in zip(elements.take(pa.array(late)).to_pylist(), seen[late], strict=True)
    )
    kept = np.delete(np.arange(len(times)), late) if len(late) else np.arange(len(times))
    if np.any(times[kept][1:] < times[kept][:-1]):
        kept = kept[np.argsort(times[kept], kind="stable")]
    high = int(times.max()) if len(times) else NEVER
    header = Header(
        len(kept),
        high,
        chunk.bad,
        told,
        chunk.without_zone,
        chunk.place,
        chunk.lines,
        chunk.first,
        chunk.partition,
        chunk.last,
    )
    moved = len(kept) < len(times) or np.any(np.diff(kept) != 1)
    chosen = elements.take(pa.array(kept)) if moved else elements
    columns = [chosen.column(name) for name in LIVE.names[:-1]]
    columns.append(pa.repeat(pa.scalar(chunk.partition, pa.int64()), len(kept)))
    columns += [chosen.column("line"), pa.array(kept, pa.int32())]
    return Judged(header, pa.RecordBatch.from_arrays(columns, schema=JUDGED))


def _without_ahead(chunk: Chunk, ahead: Ahead | None) -> Chunk:
    """The chunk with the elements that are too far ahead moved to its bad lines."""
    rows = ahead.beyond(chunk.elements) if ahead is not None else np.empty(0, np.int64)
    if ahead is None or not len(rows):
        return chunk
    refused = tuple(
        BadLine(row["line"], triple_text((row["s"], row["p"], row["o"])), ahead.reason(row["time"]), "ahead")
        for row in chunk.elements.take(pa.array(rows)).to_pylist()
    )
    return replace(chunk, elements=without(chunk.elements, rows), bad=(*chunk.bad, *refused))


def triple_text(triple: Iterable[str]) -> str:
    """A triple as N-Triples shows it."""
    from rheos.answers.continuous import ntriples_term

    return " ".join(map(ntriples_term, triple))


# --- on the way --------------------------------------------------------------------------------------------


class SegmentWriter(Protocol):
    """Writes the elements of large chunks to the state store."""

    def write_table(self, name: str, table: pa.Table) -> None: ...


class Packed(NamedTuple):
    """A chunk on its way to the task that evaluates: its header, and either its elements as bytes or the name
    of the segment that has them."""

    header: str
    data: bytes | None
    segment: str | None

    @classmethod
    def of(cls, judged: Judged, writer: SegmentWriter | None = None, name: str = "") -> Packed:
        """A judged chunk to send. If there is a writer and the elements are many, they are written to a
        segment of this name."""
        header, elements = judged
        if writer is None or elements.nbytes < INLINE_BYTES:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, JUDGED) as stream:
                stream.write_batch(elements)
            return cls(header.json(), bytes(sink.getvalue()), None)
        writer.write_table(name, pa.Table.from_batches([elements]))
        return cls(header.json(), None, name)


def unpacked(data: bytes) -> pa.Table:
    """The elements of a chunk that travelled as bytes."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def elements(
    terms: Iterable[pa.Array],
    start: Microseconds,
    time: Microseconds,
    line: Microseconds,
    graph: pa.Array | None = None,
) -> pa.RecordBatch:
    numbers = [pa.array(column, pa.int64()) for column in (start, time, line)]
    graph = pa.nulls(len(time), pa.string()) if graph is None else graph
    return pa.RecordBatch.from_arrays([*terms, *numbers, graph], schema=ELEMENTS)


def no_elements() -> pa.RecordBatch:
    nothing = np.empty(0, np.int64)
    return elements((pa.array([], pa.string()) for _ in range(3)), nothing, nothing, nothing)
