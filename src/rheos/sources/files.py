"""Files as a stream: one file, all files of a glob or a directory (followed as more arrive, if asked), in
the order of their names.

Files of lines are cut at any byte: a part owns the lines that begin in it. Other formats are documents and
read as a whole.

A file that has been read may grow, if it is followed, or go. It may not get shorter or be replaced by
another: elements would be missing, and nobody would know. So an offset has, beside how far each file was
read, a checksum of what stands before that place.
"""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rheos.errors import LoadError
from rheos.sources.base import BATCH_BYTES, PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk
from rheos.sources.documents import is_document, read_document
from rheos.sources.lines import read_chunks

_GZIP = b"\x1f\x8b"
_SIP = 1 << 16
_LOOKED_AT = 256  # bytes before a place: enough for a line, or for most of one


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """An offset is how far each file was read, by its path, in the order in which they were found, and what
    was found before that place: its checksum, and when the file had been changed."""

    pattern: str
    blank_prefix: str = ""
    follow: bool = False

    @property
    def live(self) -> bool:  # type: ignore[override]
        return self.follow

    @classmethod
    def of(cls, path: str | os.PathLike[str], blank_prefix: str = "", *, follow: bool = False) -> FileSource:
        """The source of a path that has something in it; an absolute path, as tasks run elsewhere."""
        source = cls(str(Path(path).absolute()), blank_prefix, follow)
        if not follow and not source.files():
            raise LoadError("there is no such file", str(path))
        if follow and not Path(path).parent.exists():
            raise LoadError("there is no such directory", str(path))
        return source

    def files(self) -> list[str]:
        if os.path.isdir(self.pattern):
            found = (os.path.join(self.pattern, name) for name in os.listdir(self.pattern))
            return sorted(path for path in found if os.path.isfile(path) and not hidden(path))
        if os.path.isfile(self.pattern):
            return [self.pattern]
        return sorted(path for path in glob.glob(self.pattern, recursive=True) if os.path.isfile(path))

    def begin(self) -> Offset:
        return {"files": {}, "seen": {}, "ended": False}

    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        if offset["ended"]:
            return offset
        files, seen = dict(offset["files"]), dict(offset.get("seen", {}))
        files.update((path, 0) for path in self.files() if path not in files)
        left, whole = most, True
        for path, position in files.items():
            try:
                end, whole = self._readable(path, position, seen.get(path), left)
                if end > position:
                    files[path], seen[path] = end, list(what_is_before(path, end))
            except FileNotFoundError:  # it was taken away: nothing more comes of it
                end, whole = position, True
            left -= end - position
            # One file after the other: the next begins when this one is read to its end.
            if not whole or left <= 0:
                whole = whole and path == list(files)[-1]
                break
        return {"files": files, "seen": seen, "ended": whole and not self.follow}

    def ended(self, offset: Offset) -> bool:
        return bool(offset["ended"])

    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        parts: list[Part] = []
        for path, until in end["files"].items():
            position = start["files"].get(path, 0)
            # Where to look at what, to know that it is the same file still.
            seen = [until, end.get("seen", {}).get(path, [None])[0]]
            with named(path):
                whole = until > position and self._is_whole(path)
            if whole:
                parts.append({"path": path, "whole": True, "seen": seen})
                continue
            while position < until:
                cut = min(position + size, until)
                if until - cut < size // 4:
                    cut = until
                parts.append({"path": path, "start": position, "end": cut, "seen": seen})
                position = cut
        return parts

    def read(self, part: Part) -> Iterator[Chunk]:
        path = part["path"]
        with named(path):
            length, checksum = part["seen"]
            if checksum is not None and what_is_before(path, length)[0] != checksum:
                raise replaced(path)
            if part.get("whole"):
                yield from self._document(path, length)
                return
            text = read_range(path, part["start"], part["end"])
            yield from read_chunks(text, self.blank_prefix, path, first=part["start"] == 0)

    def _readable(self, path: str, position: int, seen: Sequence[int] | None, most: int) -> tuple[int, bool]:
        """How far a file can be read now, and whether that is its end; LoadError if it is not the file that
        was read so far."""
        found = os.stat(path)
        size = found.st_size
        if size < position:
            raise shorter(path, size, position)
        if seen is not None and found.st_mtime_ns != seen[1] and what_is_before(path, position)[0] != seen[0]:
            raise replaced(path)
        if size == position:
            return position, True
        if self._is_whole(path):
            if position:
                raise LoadError("the document was changed after it had been read", path)
            return size, True
        end = min(size, position + most)
        if end < size:
            end = last_newline(path, position, end) or next_newline(path, end)
            return end, end >= size
        if self.follow:
            return last_newline(path, position, end) or position, True
        return end, True

    def _is_whole(self, path: str) -> bool:
        return is_gzip(path) or is_document(path)

    def _document(self, path: str, length: int) -> Iterator[Chunk]:
        with open(path, "rb") as file:
            data = file.read()
        if len(data) < length:
            raise shorter(path, len(data), length)
        if data.startswith(_GZIP):
            try:
                data = gzip.decompress(data)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise LoadError(f"it cannot be decompressed: {error}", path) from None
        name = path.removesuffix(".gz")
        if is_document(name, data[:_SIP]):
            yield read_document(data, name, self.blank_prefix)
        else:
            yield from read_chunks(data, self.blank_prefix, path, first=True)


def hidden(path: str) -> bool:
    """Files that are still being written often have such names."""
    return os.path.basename(path).startswith((".", "_")) or path.endswith((".tmp", ".part"))


def is_gzip(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


def what_is_before(path: str, position: int) -> tuple[int, int]:
    """The checksum of what stands before a place of a file, and when the file was changed."""
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size < position:
            raise shorter(path, found.st_size, position)
        file.seek(max(0, position - _LOOKED_AT))
        return zlib.crc32(file.read(min(position, _LOOKED_AT))), found.st_mtime_ns


def shorter(path: str, size: int, read: int) -> LoadError:
    return LoadError(f"the file has {size} bytes, but there were {read}: it was truncated or replaced", path)


def replaced(path: str) -> LoadError:
    return LoadError("this is not the file that was read before: it was replaced", path)


@contextmanager
def named(path: str) -> Iterator[None]:
    """A block that reads a file: if that cannot be done, the error names it."""
    try:
        yield
    except OSError as error:
        raise LoadError(f"it can no longer be read: {error.strerror}", path) from None


def read_range(path: str, start: int, end: int) -> bytes:
    """The lines of a file that begin at a byte of the range: the last one may end after it. LoadError if the
    file has not all of the range."""
    with named(path), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < end:
            raise shorter(path, size, end)
        if start > 0:
            file.seek(start - 1)
            start += len(file.readline()) - 1
        else:
            file.seek(0)
        if start >= end:
            return b""
        text = file.read(end - start)
        return text if text.endswith(b"\n") else text + file.readline()


def last_newline(path: str, start: int, end: int) -> int | None:
    """The place after the last newline between two places."""
    with open(path, "rb") as file:
        while end > start:
            begin = max(start, end - _SIP)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return None


def next_newline(path: str, start: int) -> int:
    with open(path, "rb") as file:
        file.seek(start)
        return start + len(file.readline())
