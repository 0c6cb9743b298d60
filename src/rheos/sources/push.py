"""Push streams: elements that are pushed go to a log on disk, from which tasks read them.

The log is a folder of files. Each file is named by the number of bytes before it, and has the lines of a
stream file: any of them can be read with `--stream`. Everything that one call of `append` writes is a record:
its lines, and then a comment with their length and checksum. A record that a crash left unfinished is removed
when the log is opened again; no client was told that this record was accepted.

An element that is too far ahead of the clock when it comes is not accepted, and neither is a message that is
no element. The log has a comment with its text and the reason instead, so that every reader of the log makes
the same dead letter of it. Another kind of comment is a note: a receiver writes into it how far it has read,
in the same record as the elements. A third kind stands behind an element that came in a graph, and names the
graph.

A source reads no further than the number in the file `durable`, which is mapped into memory. Elements that a
batch has read are never lost, even if the machine fails, so the same two offsets always give the same
elements. Bytes before the number in the file `skipped` are no longer read: the stream was reset, or it was
removed and made again.
"""

from __future__ import annotations

import errno
import itertools
import json
import mmap
import os
import re
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.answers.cells import concatenated, joined, mapped
from rheos.answers.continuous import ntriples_term, time_text
from rheos.errors import LoadError
from rheos.sources.ahead import HOUR, Ahead, without
from rheos.sources.base import BATCH_BYTES, PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import BadLine, Chunk, no_elements
from rheos.sources.files import last_newline
from rheos.sources.lines import read_chunks, read_lines
from rheos.sources.standard_input import parts_of, segments, text_of
from rheos.sources.times import FOREVER, NEVER
from rheos.terms import XSD

SEGMENT_BYTES = 16 << 20
UNTIMED = NEVER  # stands for the time of an element that gets the clock's time when it is appended
_PLACE = "pushed"
# Files with a position in bytes: how far the log is on the disk, how far batches have come, and how far the
# log is to be skipped.
_DURABLE, _TAKEN, _SKIPPED = "durable", "taken", "skipped"
_NUMBER = struct.Struct("<q")
Note = Mapping[str, Any]  # what JSON can hold
_END = re.compile(rb"(?m)^# end ([0-9]+) ([0-9a-f]{8})\n")
_REFUSED = re.compile(rb"(?m)^# (ahead|bad) (.*)\n")
_NOTE = re.compile(rb"(?m)^# note (.*)\n")
# After an element: the graph that it came in, as `rheos.sources.graphs` has it.
_IN_GRAPH = b"# graph "
_MARK = re.compile(rb"(?m)(?<=\.) # graph ([+=](?:<[^<>\s]*>|_:\S+)?)$")
_COMMENTS = (b"# end ", b"# ahead ", b"# bad ", b"# note ", _IN_GRAPH)


@dataclass(frozen=True, slots=True)
class PushSource(Source):
    """The elements of a log. An offset is a position in bytes, at the end of a line. Dead letters name the
    `place`."""

    folder: str
    place: str = _PLACE
    live = True

    def begin(self) -> Offset:
        return {"position": 0}

    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        folder, position = Path(self.folder), offset["position"]
        durable = _number(folder / _DURABLE)
        if _number(folder / _TAKEN) != position:
            _put_number(folder / _TAKEN, position)
        for start, path in segments(self.folder):
            end = min(start + path.stat().st_size, durable)
            if end <= position:
                continue
            # Files before `skipped` may be deleted: a stream of this name was removed.
            if start > max(position, self._skipped()):
                raise LoadError("the elements before this file were here, and are not any more", str(path))
            position = max(position, start)
            if end - position <= most:
                most -= end - position
                position = end
                continue
            cut = last_newline(str(path), position - start, position - start + most)
            return {"position": end if cut is None else start + cut}
        return {"position": position}

    def ended(self, offset: Offset) -> bool:
        return False

    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        begin = max(start["position"], self._skipped())
        return parts_of(self.folder, begin, end["position"], size)

    def shipped(self, part: Part) -> Part:
        return {**part, "text": text_of(part)}

    def read(self, part: Part) -> Iterator[Chunk]:
        begin = part["start"]
        if "text" in part:
            text = part["text"]
        else:
            # The stream may have been reset after the batch was planned.
            begin = max(begin, self._skipped())
            if begin >= part["end"]:
                return
            text = text_of({**part, "start": begin})
        refused = tuple(_refused(text))
        if refused:
            yield Chunk(no_elements(), self.place, first=begin == 0, bad=refused)
        # The labels of blank nodes were made unique before they were written, so they need no prefix.
        if _IN_GRAPH in text:
            yield read_graphs(text, self.place, first=begin == 0)
        else:
            yield from read_chunks(text, "", self.place, first=begin == 0)

    def skip(self) -> None:
        folder = Path(self.folder)
        _put_number(folder / _SKIPPED, _number(folder / _DURABLE), durable=True)

    def _skipped(self) -> int:
        return _number(Path(self.folder) / _SKIPPED)

    def committed(self, offset: Offset) -> None:
        """Delete the files that have been read, except for the last file, which may still grow."""
        for (_, path), (following, _) in itertools.pairwise(segments(self.folder)):
            if following <= offset["position"]:
                path.unlink(missing_ok=True)


@dataclass
class _Waiting:
    """The elements of one call of `append`, which wait to be written, and the outcome of the call."""

    elements: pa.RecordBatch
    text: bytes | None
    bad: Sequence[BadLine] = ()
    note: Note | None = None
    done: bool = False
    ahead: int = 0
    high: int = NEVER
    failure: Exception | None = None

    def record(self, now: int, allowed: int | None) -> bytes:
        told = [{"text": item.text, "reason": item.reason} for item in self.bad]
        comments = [f"# bad {json.dumps(item)}\n" for item in told]
        comments += [] if self.note is None else [f"# note {json.dumps(self.note)}\n"]
        return _record(self._lines(now, allowed) + "".join(comments).encode())

    def _lines(self, now: int, allowed: int | None) -> bytes:
        ahead = Ahead(now, FOREVER if allowed is None else allowed)
        rows = ahead.beyond(self.elements)
        self.ahead = len(rows)
        self.high = highest(without(self.elements, rows), now)
        if not len(rows):
            return lines(self.elements, now, graphs=True) if self.text is None else self.text
        refused = self.elements.take(pa.array(rows))
        times = refused.column("time").to_pylist()
        texts = lines(refused, now).decode().splitlines()
        told = [{"text": text, "reason": ahead.reason(at)} for text, at in zip(texts, times, strict=True)]
        comments = "".join(f"# ahead {json.dumps(item)}\n" for item in told)
        return lines(without(self.elements, rows), now, graphs=True) + comments.encode()


@dataclass
class PushLog:
    """The writing end of a log. Any thread may append, but only one process at a time has the log open.
    `ahead` is how far ahead of the clock an element may be, in microseconds; None means without a bound."""

    folder: Path
    ahead: int | None = HOUR
    _pending: list[_Waiting] = field(default_factory=list)
    _adding: threading.Lock = field(default_factory=threading.Lock)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for above in (self.folder.parent, self.folder.parent.parent):
            _sync(above)
        _trim(self.folder)
        known = segments(str(self.folder))
        if not known:
            _new_segment(self.folder, 0)
            known = segments(str(self.folder))
        self._start, path = known[-1]
        self._file = FileIO(str(path), "ab")
        self.note = _last_note(self.folder)
        self.position = self._start + path.stat().st_size
        self._clock = 0
        self.high = NEVER  # the highest time that was appended
        self._mark_file = (self.folder / _DURABLE).open("w+b")
        self._mark_file.write(_NUMBER.pack(self.position))
        self._mark_file.flush()
        self._mark = mmap.mmap(self._mark_file.fileno(), _NUMBER.size)

    @property
    def source(self) -> PushSource:
        return self.source_of(_PLACE)

    def source_of(self, place: str) -> PushSource:
        """The source that reads this log; its dead letters name the place."""
        return PushSource(str(self.folder.absolute()), place)

    @property
    def backlog(self) -> int:
        """The number of bytes that no batch has taken yet."""
        first, _ = segments(str(self.folder))[0]
        return self.position - max(first, _number(self.folder / _TAKEN))

    def append(
        self,
        elements: pa.RecordBatch,
        text: bytes | None = None,
        *,
        bad: Sequence[BadLine] = (),
        note: Note | None = None,
    ) -> int:
        """Write elements to the disk, all of them or none; OSError if that fails. Returns how many of them
        are too far ahead of the clock: these are only written as dead letters.

        `text` is the text that the elements were read from, if it can be written as it is: see `stands_for`.
        The `bad` lines become dead letters. A `note` replaces the note of the log. The first thread that gets
        the lock writes the elements of all waiting threads, so that they share one wait for the disk.
        """
        waiting = _Waiting(elements, text, bad, note)
        with self._adding:
            self._pending.append(waiting)
        with self._writing:
            if not waiting.done:
                with self._adding:
                    together, self._pending = self._pending, []
                self._write(together)
        if waiting.failure is not None:
            raise waiting.failure
        return waiting.ahead

    def _write(self, together: Sequence[_Waiting]) -> None:
        failure: Exception | None = None
        try:
            if self._file.closed:
                raise OSError(errno.EBADF, "the stream was taken away")
            # The clock must not go back, or elements that came at the same moment would be late.
            self._clock = max(self._clock, time.time_ns() // 1000)
            records = b"".join(waiting.record(self._clock, self.ahead) for waiting in together)
            if self.position - self._start >= SEGMENT_BYTES:
                self._roll()
            self._put(records)
            self.high = max(self.high, *(waiting.high for waiting in together))
            self.note = next((w.note for w in reversed(together) if w.note is not None), self.note)
        except Exception as error:  # of whatever kind, every waiting thread must hear of it
            failure = error
        for waiting in together:
            waiting.failure, waiting.done = failure, True

    def _put(self, records: bytes) -> None:
        try:
            left = memoryview(records)
            while left:  # a write to a file without a buffer may write only a part
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self.position - self._start)
            raise
        self.position += len(records)
        _NUMBER.pack_into(self._mark, 0, self.position)

    def _roll(self) -> None:
        """Go on in a new file."""
        # The file before may be deleted at once, so the new one begins with the note.
        begin = b"" if self.note is None else _record(f"# note {json.dumps(self.note)}\n".encode())
        path = _new_segment(self.folder, self.position, begin)
        self._file.close()
        self._file, self._start = FileIO(str(path), "ab"), self.position
        self.position += len(begin)
        _NUMBER.pack_into(self._mark, 0, self.position)

    def forget(self) -> None:
        """Delete all that is in the log. A later stream of the same name goes on at the same position."""
        with self._writing:
            self._roll()
            self.source.skip()
            for start, path in segments(str(self.folder)):
                if start < self._start:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        with self._writing:
            self._file.close()
            self._mark.close()
            self._mark_file.close()


def lines(elements: pa.RecordBatch, now: int, *, graphs: bool = False) -> bytes:
    """Elements as lines; those without a time get the time `now`. With `graphs`, as in a log, a comment
    behind an element names the graph that it came in."""
    table = pa.Table.from_batches([elements])
    cells = [mapped(table.column(name), ntriples_term) for name in "spo"]
    starts, ends = (mapped(table.column(name), lambda time: moment(time, now)) for name in ("start", "time"))
    times = [ends] if table.column("start").equals(table.column("time")) else [starts, ends]
    graph = table.column("graph")
    if not graphs or graph.null_count == len(graph):
        return joined(concatenated(*cells, *times, ".\n", between=" "))
    marks = [f". {_IN_GRAPH.decode()}{mark}\n" if mark is not None else ".\n" for mark in graph.to_pylist()]
    return joined(concatenated(*cells, *times, pa.array(marks, pa.large_string()), between=" "))


def read_graphs(text: bytes, place: str, *, first: bool) -> Chunk:
    """The elements of lines of a log, some of which have a comment with the graph that they came in."""
    found = [_MARK.search(line) for line in text.split(b"\n")]
    chunk = read_lines(_MARK.sub(b"", text), "", place, first=first)
    marks = pa.array([None if mark is None else mark[1].decode() for mark in found], pa.string())
    graph = marks.take(pc.subtract(chunk.elements.column("line"), 1))
    names = chunk.elements.schema.names
    return replace(chunk, elements=chunk.elements.set_column(names.index("graph"), "graph", graph))


def highest(elements: pa.RecordBatch, now: int) -> int:
    """The highest time of elements that are appended now."""
    times = elements.column("time").to_numpy()
    return int(np.where(times == UNTIMED, now, times).max(initial=NEVER))


def moment(time: int, now: int) -> str:
    time = now if time == UNTIMED else time
    return f'"{time_text(time)}"^^<{XSD}dateTime>'


def stands_for(text: bytes, chunk: Chunk) -> bool:
    """True if lines can be written to a log as they came: each is an element with a time, there is no blank
    node, which would need another label, and no line looks like a comment of the log. To write the lines anew
    takes longer than to read them."""
    if chunk.bad or not text.endswith(b"\n") or any(mark in text for mark in (b"_:", *_COMMENTS)):
        return False
    times = chunk.elements.column("time")
    return not len(times) or int(pc.min(times).as_py()) != UNTIMED


def _number(path: Path) -> int:
    """The number in a file; 0 if there is none yet."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    return int(_NUMBER.unpack(content)[0]) if len(content) == _NUMBER.size else 0


def _put_number(path: Path, number: int, *, durable: bool = False) -> None:
    """Replace the number in a file, so that a reader gets either the old number or the new one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(descriptor, _NUMBER.pack(number), 0)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if durable:
        _sync(path.parent)


def _refused(text: bytes) -> Iterator[BadLine]:
    """The elements that were too far ahead, and the messages that were no elements."""
    for found in _REFUSED.finditer(text):
        number = text.count(b"\n", 0, found.start()) + 1
        yield BadLine(number, **json.loads(found[2]), kind=found[1].decode())


def _record(text: bytes) -> bytes:
    return text + b"# end %d %08x\n" % (len(text), zlib.crc32(text))


def _last_note(folder: Path) -> Note | None:
    """The last note in a log. All records of the log must be complete."""
    for _, path in reversed(segments(str(folder))):
        found = _NOTE.findall(path.read_bytes())
        if found:
            note: Note = json.loads(found[-1])
            return note
    return None


def _new_segment(folder: Path, position: int, begin: bytes = b"") -> Path:
    """Make a new file that is still listed in its folder if the machine fails now."""
    path = folder / f"{position:020}.nq"
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(begin)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    _sync(folder)
    return path


def _sync(folder: Path) -> None:
    """Write the list of files in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _trim(folder: Path) -> None:
    """Remove a record at the end of the log that a crash left unfinished."""
    for _, path in segments(str(folder))[-1:]:
        data = path.read_bytes()
        whole = 0
        for end in _END.finditer(data):
            text = data[whole : end.start()]
            if len(text) != int(end[1]) or zlib.crc32(text) != int(end[2], 16):
                # No line of a record can look like an end of a record, so a part was not written.
                break
            whole = end.end()
        if whole < len(data):
            os.truncate(path, whole)
