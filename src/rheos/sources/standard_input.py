"""Standard input as a stream: a thread copies its lines to files, from which tasks read them.

So input that has come in is not lost with the process, and a batch can be read again. After a crash the same
command often gets the same input again from its beginning (`rheos run … < file`). If the first line is the
same as before, as many bytes are skipped as were copied then. Any other input continues the input before.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path

from rheos.errors import LoadError
from rheos.sources.base import BATCH_BYTES, PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk
from rheos.sources.files import last_newline, read_range
from rheos.sources.lines import read_chunks
from rheos.sources.record_files import RecordFiles, table_format

SEGMENT_BYTES = 64 << 20
_READ_BYTES = 1 << 20
_PLACE = "standard input"
_HEAD = "head"  # the file with the first line


@dataclass(frozen=True, slots=True)
class Spool(Source):
    """The copied lines, in files that are named by the number of bytes before them. An offset is such a
    number."""

    folder: str
    blank_prefix: str = ""
    records: RecordFiles | None = None  # how lines are read that are not RDF
    live = True

    def begin(self) -> Offset:
        return {"position": 0, "ended": False}

    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        if offset["ended"]:
            return offset
        ended = (Path(self.folder) / "ended").exists()  # looked at first: if it exists, all lines are there
        position = offset["position"]
        for start, path in segments(self.folder):
            size = path.stat().st_size
            if start + size <= position or start > position:
                continue
            begin = position - start
            end = last_newline(str(path), begin, min(size, begin + most))
            if end is None:
                break
            position, most = start + end, most - (end - begin)
            if most <= 0:
                break
        return {"position": position, "ended": ended and position >= self.size()}

    def ended(self, offset: Offset) -> bool:
        return bool(offset["ended"])

    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        parts = parts_of(self.folder, start["position"], end["position"], size)
        if self.records is None:
            return parts
        head = (Path(self.folder) / _HEAD).read_bytes()
        return [{**part, "head": head} for part in parts]

    def shipped(self, part: Part) -> Part:
        return {**part, "text": text_of(part)}

    def read(self, part: Part) -> Iterator[Chunk]:
        text = part["text"] if "text" in part else text_of(part)
        start = part["start"]
        if self.records is None:
            yield from read_chunks(text, self.blank_prefix, _PLACE, first=start == 0)
            return
        head = part["head"]
        yield from self.records.lines(text, table_format(head), head, self.blank_prefix, _PLACE, at=start)

    def committed(self, offset: Offset) -> None:
        """Delete the files that have been read, except for the last file, which may still grow."""
        known = segments(self.folder)
        for (_, path), (following, _) in itertools.pairwise(known):
            if following <= offset["position"]:
                path.unlink(missing_ok=True)

    def size(self) -> int:
        """The number of bytes that have been copied in all."""
        known = segments(self.folder)
        return known[-1][0] + known[-1][1].stat().st_size if known else 0


def segments(folder: str) -> list[tuple[int, Path]]:
    return sorted((int(path.stem), path) for path in Path(folder).glob("*.nq"))


def parts_of(folder: str, start: int, end: int, size: int) -> list[Part]:
    """The bytes between two positions of files that follow one another, in parts of at most `size` bytes;
    LoadError if some of these bytes are missing."""
    parts: list[Part] = []
    position = start
    for first, path in segments(folder):
        until = min(end, first + path.stat().st_size)
        while first <= position < until:
            cut = min(position + size, until)
            parts.append({"path": str(path), "first": first, "start": position, "end": cut})
            position = cut
    if position < end:
        missing = os.path.join(folder, f"{position:020}.nq")
        raise LoadError(f"the bytes {position} to {end} were here, and are not any more", missing)
    return parts


def text_of(part: Part) -> bytes:
    """The lines of a part."""
    return read_range(part["path"], part["start"] - part["first"], part["end"] - part["first"])


def copy(stream: BufferedReader, spool: Spool) -> threading.Thread:
    """Start a thread that copies the lines of an input until it ends."""
    folder = Path(spool.folder)
    folder.mkdir(parents=True, exist_ok=True)
    thread = threading.Thread(target=_copy, args=(stream, spool, folder), daemon=True, name="rheos-input")
    thread.start()
    return thread


def _copy(stream: BufferedReader, spool: Spool, folder: Path) -> None:
    _trim(spool)
    done = spool.size()
    ended = folder / "ended"
    first = stream.readline()
    head = folder / _HEAD
    # A crash may have left the head without a copy of its line: then nothing is passed over.
    if done >= len(first) and head.exists() and head.read_bytes() == first:
        _pass_over(stream, done - len(first))
        pending = b""
    else:
        if not head.exists():
            head.write_bytes(first)
        ended.unlink(missing_ok=True)
        pending = first
    position = done
    file: FileIO | None = None
    written = 0
    try:
        while True:
            if pending:
                if file is None or written >= SEGMENT_BYTES:
                    if file is not None:
                        file.close()
                    # Without a buffer, so that readers see the lines at once, also after a crash.
                    file, written = (folder / f"{position:020}.nq").open("ab", buffering=0), 0
                cut = pending.rfind(b"\n") + 1
                lines, pending = pending[:cut], pending[cut:]
                file.write(lines)
                position, written = position + cut, written + cut
            more = stream.read1(_READ_BYTES)
            if not more:
                break
            pending += more
        if pending:
            with (folder / f"{position:020}.nq").open("ab", buffering=0) as last:
                last.write(pending + b"\n")
    finally:
        if file is not None:
            file.close()
    ended.touch()


def _trim(spool: Spool) -> None:
    """Remove a line at the end of which a crash left only the beginning."""
    for _, path in segments(spool.folder)[-1:]:
        size = path.stat().st_size
        whole = last_newline(str(path), 0, size) or 0
        if whole < size:
            os.truncate(path, whole)


def _pass_over(stream: BufferedReader, count: int) -> None:
    while count > 0:
        passed = stream.read(min(count, _READ_BYTES))
        if not passed:
            return
        count -= len(passed)
