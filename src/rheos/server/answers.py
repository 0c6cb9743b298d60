"""The answer log: keeps the last answers of all queries, for subscribers that come back.

The engine writes to the log through its journal. After a crash it goes on with exactly the answers that are
not in the log yet. The number of an answer is the position in the log at which its line ends. Numbers grow,
and mean the same after a restart. The log is a row of files of NDJSON, of which the oldest are deleted. An
index in memory says where the lines of each query are.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from rheos.answers.formatter import Answered, Formatter
from rheos.errors import CheckpointError

_SEGMENTS = 8  # files that together hold about as much as is kept
_HEAD = b'{"query":"'


class Line(NamedTuple):
    """An answer and its number. A client names the number of the last answer that it has, to go on there."""

    number: int
    text: bytes


@dataclass
class _Lines:
    """The positions of a query's lines. `since` is the end of the log when the query was registered. Lines
    up to `lost` are no longer kept."""

    since: int
    lost: int = 0
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def drop(self, before: int) -> None:
        count = bisect_right(self.starts, before - 1)
        if count:
            self.lost = self.ends[count - 1]
            del self.starts[:count], self.ends[:count]


class Writer:
    """Writes answers as lines of the log. Answers of views are left out: only the server needs them."""

    def __init__(self) -> None:
        self._formatter = Formatter("ndjson")

    def header(self) -> bytes:
        return b""

    def batch(self, answers: Answered) -> bytes:
        return self._formatter.batch([(query, rows) for query, rows in answers if "/" not in query.name])


class AnswerLog:
    """The log. One thread writes at a time, any thread may read. `changed` is called with the names of the
    queries that have new answers."""

    def __init__(self, folder: Path, keep: int, known: Mapping[str, int]) -> None:
        """`known` has the `since` of each query. About `keep` bytes are kept."""
        self.changed: Callable[[set[str]], None] = lambda names: None
        self._folder = folder
        self._keep = keep
        self._lock = threading.Lock()
        self._lines = {name: _Lines(since) for name, since in known.items()}
        self._files: dict[int, FileIO] = {}  # by the position of their first byte
        self._tail = b""  # the beginning of a line whose end is not written yet
        self._touched: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.ndjson")):
            self._open(int(path.stem))
        if not self._files:
            self._open(0)
        for lines in self._lines.values():
            if lines.since < next(iter(self._files)):
                lines.lost = next(iter(self._files))
        self.position = self._read_back()

    # --- for the engine ------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._size() >= max(1, self._keep // _SEGMENTS) and b"\n" in data:
                cut = data.index(b"\n") + 1
                self._append(data[:cut])
                self._roll()
                data = data[cut:]
            self._append(data)

    def flush(self) -> None:
        with self._lock:
            touched, self._touched = self._touched, set()
        if touched:
            self.changed(touched)

    def length(self) -> int:
        with self._lock:
            os.fsync(self._files[max(self._files)].fileno())
            return self.position

    def cut(self, length: int) -> None:
        """Remove everything after a position. Nobody reads the log yet, and the engine will write the same
        answers again."""
        with self._lock:
            if self.position < length:
                raise CheckpointError(
                    f"the log of answers in {self._folder} ends before the last checkpoint: "
                    "put back the folder as the server left it"
                )
            for start in [start for start in self._files if start > length]:
                self._files.pop(start).close()
                (self._folder / f"{start:020}.ndjson").unlink()
            last = max(self._files)
            self._files[last].truncate(length - last)
            for lines in self._lines.values():
                del lines.starts[:], lines.ends[:]
            self._tail = b""
            self.position = self._read_back()

    # --- for subscribers -----------------------------------------------------------------------------

    @contextmanager
    def beginning(self, name: str) -> Iterator[int]:
        """A block that registers a query; yields the `since` of the query. An older query of the same name is
        replaced. If the block fails, the older one is back."""
        with self._lock:
            place = self.position - len(self._tail)
            before, new = self._lines.get(name), _Lines(place)
            self._lines[name] = new
        try:
            yield place
        except BaseException:
            with self._lock:
                del self._lines[name]
                if before is not None:
                    before.starts.extend(new.starts)
                    before.ends.extend(new.ends)
                    self._lines[name] = before
            raise

    def forget(self, name: str) -> None:
        with self._lock:
            self._lines.pop(name, None)
        self.changed({name})

    def last(self, name: str) -> int:
        """The number of the last answer of a query. Without answers, the number before its first one."""
        with self._lock:
            lines = self._lines.get(name)
            return 0 if lines is None else lines.ends[-1] if lines.ends else max(lines.since, lines.lost)

    def lost(self, name: str) -> int:
        """The number of the last answer of a query that is no longer kept."""
        with self._lock:
            lines = self._lines.get(name)
            return 0 if lines is None else lines.lost

    def after(self, name: str, number: int, most: int) -> list[Line] | None:
        """The answers of a query after a number, up to about `most` bytes; None if there is no such query."""
        with self._lock:
            lines = self._lines.get(name)
            if lines is None:
                return None
            found: list[Line] = []
            for at in range(bisect_right(lines.ends, number), len(lines.ends)):
                text = self._text(lines.starts[at], lines.ends[at])
                found.append(Line(lines.ends[at], text.rstrip(b"\n")))
                most -= len(text)
                if most <= 0:
                    break
            return found

    def latest(self, name: str, most: int) -> list[Line]:
        """The last `most` answers of a query."""
        with self._lock:
            lines = self._lines.get(name)
            ends = [] if lines is None else lines.ends
            before = ends[-most - 1] if len(ends) > most else 0
        return self.after(name, before, sys.maxsize) or []

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                file.close()

    # --- files ---------------------------------------------------------------------------------------

    def _open(self, start: int) -> None:
        self._files[start] = FileIO(str(self._folder / f"{start:020}.ndjson"), "a+b")

    def _read_back(self) -> int:
        """Index the lines of all files; returns the end of the log."""
        position = next(iter(self._files))
        for start, file in self._files.items():
            position = start
            data = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
            position = self._index(data, position)
        return position

    def _append(self, data: bytes) -> None:
        file = self._files[max(self._files)]
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        self.position = self._index(data, self.position)

    def _index(self, data: bytes, position: int) -> int:
        """Index the lines that end in these bytes, which begin at a position; returns the position after
        them."""
        start = position - len(self._tail)
        *lines, self._tail = (self._tail + data).split(b"\n")
        for line in lines:
            end = start + len(line) + 1
            name = line[len(_HEAD) : line.find(b'"', len(_HEAD))].decode()
            known = self._lines.get(name)
            if known is not None and start >= known.since:
                known.starts.append(start)
                known.ends.append(end)
                self._touched.add(name)
            start = end
        return position + len(data)

    def _size(self) -> int:
        return self.position - max(self._files)

    def _roll(self) -> None:
        """Begin a new file, and delete the oldest ones."""
        self._open(self.position)
        least = self._keep - self._keep // _SEGMENTS
        while len(self._files) > 1 and self.position - list(self._files)[1] >= least:
            start = next(iter(self._files))
            self._files.pop(start).close()
            (self._folder / f"{start:020}.ndjson").unlink(missing_ok=True)
            for lines in self._lines.values():
                lines.drop(next(iter(self._files)))

    def _text(self, start: int, end: int) -> bytes:
        first = max(place for place in self._files if place <= start)
        return os.pread(self._files[first].fileno(), end - start, start - first)
