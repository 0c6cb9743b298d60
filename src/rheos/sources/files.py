"""Files as a stream: one file, all files of a glob or a directory (followed as more arrive, if asked), in
the order of their names.

Files of lines are cut at any byte: a part owns the lines that begin in it. Other formats are documents and
read as a whole.
"""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rheos.errors import LoadError
from rheos.sources.base import BATCH_BYTES, PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk
from rheos.sources.documents import is_document, read_document
from rheos.sources.lines import read_chunks

_GZIP = b"\x1f\x8b"
_SIP = 1 << 16


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """An offset is how far each file was read, by its path, in the order in which they were found."""

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
        return {"files": {}, "ended": False}

    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        if offset["ended"]:
            return offset
        files = dict(offset["files"])
        files.update((path, 0) for path in self.files() if path not in files)
        left, whole = most, True
        for path, position in files.items():
            end, whole = self._readable(path, position, left)
            files[path] = end
            left -= end - position
            # One file after the other: the next begins when this one is read to its end.
            if not whole or left <= 0:
                whole = whole and path == list(files)[-1]
                break
        return {"files": files, "ended": whole and not self.follow}

    def ended(self, offset: Offset) -> bool:
        return bool(offset["ended"])

    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        parts: list[Part] = []
        for path, until in end["files"].items():
            position = start["files"].get(path, 0)
            if until > position and self._is_whole(path):
                parts.append({"path": path, "whole": True})
                continue
            while position < until:
                cut = min(position + size, until)
                if until - cut < size // 4:
                    cut = until
                parts.append({"path": path, "start": position, "end": cut})
                position = cut
        return parts

    def read(self, part: Part) -> Iterator[Chunk]:
        path = part["path"]
        if part.get("whole"):
            yield from self._document(path)
            return
        text = read_range(path, part["start"], part["end"])
        yield from read_chunks(text, self.blank_prefix, path, first=part["start"] == 0)

    def _readable(self, path: str, position: int, most: int) -> tuple[int, bool]:
        """How far a file can be read now, and whether that is its end."""
        try:
            size = os.stat(path).st_size
        except OSError:  # it was taken away: nothing more comes of it
            return position, True
        if size <= position:
            return position, True
        if self._is_whole(path):
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

    def _document(self, path: str) -> Iterator[Chunk]:
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
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


def read_range(path: str, start: int, end: int) -> bytes:
    """The lines of a file that begin at a byte of the range: the last one may end after it."""
    with open(path, "rb") as file:
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
