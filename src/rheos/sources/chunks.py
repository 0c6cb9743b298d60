"""Chunks: elements of a stream that were read together, and how they travel from task to task.

Row by row, a million elements would pass through the JVM as a million rows with three strings each, twice.
A chunk is one row: Arrow's own bytes in a binary column or, if they are many, in a file that the row names
(to pass 60 MB through the JVM and its shuffle took longer than to parse them). The task that evaluates maps
them back without looking at them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rheos.sources.times import Microseconds

ELEMENTS = pa.schema(
    [
        ("s", pa.string()),
        ("p", pa.string()),
        ("o", pa.string()),
        ("start", pa.int64()),
        ("time", pa.int64()),
        ("line", pa.int64()),
    ]
)

# From about ten thousand elements on, a file is quicker than the way through the JVM.
INLINE_BYTES = 1 << 20

_ABOUT = b"about"


class Packed(NamedTuple):
    """A chunk on its way: its bytes, or the file that has them."""

    data: bytes | None
    path: str | None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not taken: its number from 1 (in the chunk, at first), its text, and why. `kind` is
    `bad` if it is no element, `ahead` if its time is too far in the future."""

    line: int
    text: str
    reason: str
    kind: str = "bad"


@dataclass(frozen=True, slots=True)
class Chunk:
    """The elements of some lines of one place (a file), in their order, and the lines that are none.

    All are of one `partition` of the stream, which ends here if the chunk is its `last`. `first` says that
    the place begins here, so that line numbers count from it. `without_zone` times had no time zone. A
    document has no lines to speak of: `lines` is 0.
    """

    elements: pa.RecordBatch
    place: str = ""
    lines: int = 0
    first: bool = False
    bad: tuple[BadLine, ...] = ()
    without_zone: int = 0
    partition: int = 0
    last: bool = False

    def pack(self, folder: str | None = None, name: str = "") -> Packed:
        """As a value or, if it is large and there is a folder for such, as a file of that name."""
        if folder is None or self.elements.nbytes < INLINE_BYTES:
            sink = pa.BufferOutputStream()
            self._write(sink)
            return Packed(bytes(sink.getvalue()), None)
        path = os.path.join(folder, f"{name}.arrow")
        partial = f"{path}.{os.getpid()}.partial"
        os.makedirs(folder, exist_ok=True)
        with pa.OSFile(partial, "wb") as file:
            self._write(file)
        os.replace(partial, path)
        return Packed(None, path)

    def _write(self, sink: pa.NativeFile) -> None:
        about = {
            "place": self.place,
            "lines": self.lines,
            "first": self.first,
            "bad": [[bad.line, bad.text, bad.reason, bad.kind] for bad in self.bad],
            "without_zone": self.without_zone,
            "partition": self.partition,
            "last": self.last,
        }
        batch = self.elements.replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)

    @classmethod
    def unpack(cls, data: bytes | None, path: str | None = None) -> Chunk:
        with pa.ipc.open_stream(data if path is None else pa.memory_map(path)) as reader:
            about = json.loads(reader.schema.metadata[_ABOUT])
            batch = reader.read_next_batch()
        bad = tuple(BadLine(*item) for item in about.pop("bad"))
        return cls(batch.replace_schema_metadata(None), bad=bad, **about)


def elements(
    terms: Iterable[pa.Array], start: Microseconds, time: Microseconds, line: Microseconds
) -> pa.RecordBatch:
    numbers = [pa.array(column, pa.int64()) for column in (start, time, line)]
    return pa.RecordBatch.from_arrays([*terms, *numbers], schema=ELEMENTS)


def no_elements() -> pa.RecordBatch:
    nothing = np.empty(0, np.int64)
    return elements((pa.array([], pa.string()) for _ in range(3)), nothing, nothing, nothing)
