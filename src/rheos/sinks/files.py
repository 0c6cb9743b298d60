"""Files: the answers of a query appended to a file of its own, exactly once.

Before a batch is written the length of the file is noted. A batch that comes again, after a crash, is written
from that length on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from io import FileIO
from pathlib import Path

from rheos.answers.continuous import QueryInfo
from rheos.answers.formatter import FORMATS, Format, Formatter
from rheos.errors import RheosError
from rheos.sinks.base import Batch, Notes, Sink, Taken, filled

ENDINGS: Mapping[str, Format] = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".csv": "csv",
    ".nq": "nquads",
    ".trig": "trig",
    ".txt": "table",
}
_ENDING_OF = {"ndjson": ".ndjson", "csv": ".csv", "nquads": ".nq", "trig": ".trig", "table": ".txt"}


class FileSink(Sink):
    """A file at a path. If the path ends with a slash, a file with the name of the query in that folder."""

    OPTIONS = ("format",)

    def __init__(self, path: str, options: Mapping[str, str], *, append: bool = False) -> None:
        given = options.get("format", ENDINGS.get(Path(path).suffix.lower(), "ndjson"))
        if given not in FORMATS:
            raise RheosError(f"format {given!r} is not one of: {', '.join(FORMATS)}")
        self._format: Format = given
        self._path = f"{path}{{query}}{_ENDING_OF[given]}" if path.endswith(("/", os.sep)) else path
        self._goes_on = append
        self._query: QueryInfo | None = None
        self._file: FileIO | None = None

    def check(self, query: QueryInfo) -> None:
        Formatter(self._format, [query])
        self._query = query

    def open(self, run: str, query: str, notes: Notes) -> None:
        path = Path(filled(self._path, query))
        path.parent.mkdir(parents=True, exist_ok=True)
        self._notes = notes
        begun = bool(notes.get("begun"))
        self._file = FileIO(str(path), "ab" if begun or self._goes_on else "wb")
        if not begun and not self._length():
            # Only a new or empty file gets a header.
            assert self._query is not None
            self._append(Formatter(self._format, [self._query]).header())
        notes.keep(begun=True)

    def take(self, batch: Batch, taken: Taken) -> None:
        assert self._file is not None
        before = self._notes.get("before")
        if before is not None and before["batch"] == batch.number:
            self._cut(before["length"])
        else:
            self._notes.keep(before={"batch": batch.number, "length": self._length()})
        self._append(Formatter(self._format).batch([(batch.query, batch.table)]))
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):  # pipes and devices cannot be synced
            os.fsync(self._file.fileno())

    def _length(self) -> int:
        assert self._file is not None
        return os.fstat(self._file.fileno()).st_size

    def _cut(self, length: int) -> None:
        assert self._file is not None
        if self._length() < length:
            raise RheosError(
                f"{self._file.name} has {self._length():,} bytes, and it had {length:,} before: "
                "put back the file that the run wrote"
            )
        self._file.truncate(length)

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        left = memoryview(data)
        while left:  # an unbuffered file may take only a part
            left = left[self._file.write(left) :]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
