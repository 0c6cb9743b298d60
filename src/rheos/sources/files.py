"""Files as a stream: one file, or all files of a glob or a directory, in the order of their names.

If the user asks for it, files are followed: new files and new lines are read when they arrive.

Files of lines are cut at any byte: a part owns the lines that begin in it. Other formats are documents, which
are read as a whole.

After a file has been read, it may grow, if it is followed, or be deleted. It may not get shorter or be
replaced by another file: elements would be missing, and nobody would know. So an offset has the position up
to which each file was read, and a checksum of the bytes before that position.
"""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

import pyarrow.fs as fs

from rheos.errors import LoadError
from rheos.filesystems import file_system, is_uri
from rheos.sources.base import BATCH_BYTES, PART_BYTES, Offset, Part, Source
from rheos.sources.chunks import Chunk
from rheos.sources.clocks import OWN, Clock
from rheos.sources.decoding import AS_RDF, Decoding
from rheos.sources.documents import is_document, read_document
from rheos.sources.lines import read_chunks
from rheos.sources.record_files import EXTENSIONS, RecordFiles, record_files

_GZIP = b"\x1f\x8b"
_SIP = 1 << 16
_LOOKED_AT = 256  # bytes before a position that the checksum covers: about a line


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """Files that are read one after the other. An offset has for each path, in the order in which the files
    were found, the position up to which the file was read, the checksum of the bytes before that position,
    and the time at which the file was last changed."""

    pattern: str
    blank_prefix: str = ""
    follow: bool = False
    records: RecordFiles | None = None  # reads files that are not RDF
    clock: Clock = OWN

    @property
    def live(self) -> bool:  # type: ignore[override]
        return self.follow

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        blank_prefix: str = "",
        *,
        follow: bool = False,
        decoding: Decoding = AS_RDF,
    ) -> FileSource:
        """The source of a path; LoadError if its files cannot be read. The path is made absolute, because
        tasks run in other folders."""
        text = os.fspath(path)
        pattern = text if is_uri(text) else str(Path(path).absolute())
        records = record_files(decoding, "a file")
        source = cls(pattern, blank_prefix, follow, records, decoding.clock)
        if records is None and decoding.clock.kind == "field":
            decoding.decoder()  # raises the error that RDF has no fields
        files = source.files()
        if not follow and not files:
            raise LoadError("there is no such file", str(path))
        for file in files:
            source.check(file)
        if follow and not is_uri(text) and not Path(path).parent.exists():
            raise LoadError("there is no such directory", str(path))
        return source

    def files(self) -> list[str]:
        if is_uri(self.pattern):
            return sorted(remote_files(self.pattern))
        if os.path.isdir(self.pattern):
            found = (os.path.join(self.pattern, name) for name in os.listdir(self.pattern))
            return sorted(path for path in found if os.path.isfile(path) and not hidden(path))
        if os.path.isfile(self.pattern):
            return [self.pattern]
        return sorted(path for path in glob.glob(self.pattern, recursive=True) if os.path.isfile(path))

    def check(self, path: str) -> None:
        """Refuse a file that the stream cannot read: records without a mapping, or RDF with one."""
        if self.records is not None:
            self.records.format_of(path)
        elif PurePath(path.lower().removesuffix(".gz")).suffix in EXTENSIONS:
            raise LoadError("it is not RDF: the stream needs a mapping", path)
        elif self.clock.kind == "property" and not self._is_graphs(path):
            raise LoadError(
                f"lines have a time each: only documents can have it by <{self.clock.name}>", path
            )

    def begin(self) -> Offset:
        return {"files": {}, "seen": {}, "ended": False}

    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        if offset["ended"]:
            return offset
        files, seen = dict(offset["files"]), dict(offset.get("seen", {}))
        for path in self.files():
            if path not in files:
                self.check(path)
                files[path] = 0
        left, whole = most, True
        for path, position in files.items():
            try:
                end, whole = self._readable(path, position, seen.get(path), left)
                if end > position:
                    files[path], seen[path] = end, list(what_is_before(path, end))
            except FileNotFoundError:  # the file was deleted, so nothing more comes from it
                end, whole = position, True
            left -= end - position
            # Files are read one after the other: the next begins when this one is read to its end.
            if not whole or left <= 0:
                whole = whole and path == list(files)[-1]
                break
        return {"files": files, "seen": seen, "ended": whole and not self.follow}

    def waiting(self, most: int) -> int:
        return sum(self.latest(self.begin(), most)["files"].values())

    def ended(self, offset: Offset) -> bool:
        return bool(offset["ended"])

    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        parts: list[Part] = []
        for path, until in end["files"].items():
            position = start["files"].get(path, 0)
            # A position and the checksum before it, by which the task knows that the file is still the same.
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
            start = part["start"]
            text = read_range(path, start, part["end"])
            if self.records is None:
                yield from read_chunks(text, self.blank_prefix, path, first=start == 0)
                return
            head = beginning(path)
            format = self.records.format_of(path, head)
            yield from self.records.lines(text, format, first_line(path), self.blank_prefix, path, at=start)

    def _readable(self, path: str, position: int, seen: Sequence[int] | None, most: int) -> tuple[int, bool]:
        """The position up to which a file can be read now, and whether that is its end. LoadError if it is
        not the file that was read before."""
        size, changed = size_and_change(path)
        if size < position:
            raise shorter(path, size, position)
        if seen is not None and changed != seen[1] and what_is_before(path, position)[0] != seen[0]:
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
        if self.records is not None:
            return is_gzip(path) or self.records.format_of(path, beginning(path)) == "json"
        return is_gzip(path) or self._is_graphs(path)

    @staticmethod
    def _is_graphs(path: str) -> bool:
        """True if a file, which may be compressed, is a document of graphs."""
        return is_document(path.removesuffix(".gz"), lambda: unpacked(beginning(path), path))

    def _document(self, path: str, length: int) -> Iterator[Chunk]:
        with opened(path) as file:
            data = file.read()
        if len(data) < length:
            raise shorter(path, len(data), length)
        if data.startswith(_GZIP):
            try:
                data = gzip.decompress(data)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise LoadError(f"it cannot be decompressed: {error}", path) from None
        name = path.removesuffix(".gz")
        if self.records is not None:
            format = self.records.format_of(name, data[:_SIP])
            if format == "json":
                yield self.records.whole(data, self.blank_prefix, path)
            else:
                head = data[: data.find(b"\n") + 1] or data
                yield from self.records.lines(data, format, head, self.blank_prefix, path, at=0)
        elif is_document(name, lambda: data[:_SIP]):
            yield read_document(data, name, self.blank_prefix, clock=self.clock)
        else:
            yield from read_chunks(data, self.blank_prefix, path, first=True)


def remote_files(pattern: str) -> Iterator[str]:
    """The files of a URI: one file, the files of a folder, or those that match a pattern in its last part."""
    system, path = file_system(pattern)
    scheme = pattern.partition(":")[0]
    found = system.get_file_info(path)
    folder, wanted = (path, "*") if found.type == fs.FileType.Directory else path.rsplit("/", 1)
    if found.is_file:
        yield f"{scheme}://{path}"
        return
    for info in system.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
        if info.is_file and not hidden(info.path) and fnmatch(info.base_name, wanted):
            yield f"{scheme}://{info.path}"


def opened(path: str) -> BinaryIO:
    """Open a file, on this machine's disk or in the file system of its URI."""
    if not is_uri(path):
        return open(path, "rb")
    system, inner = file_system(path)
    return BufferedReader(system.open_input_file(inner))


def size_and_change(path: str) -> tuple[int, int]:
    """How many bytes a file has, and when it was last changed (nanoseconds since 1970)."""
    if not is_uri(path):
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns
    system, inner = file_system(path)
    info = system.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(path)
    return info.size, info.mtime_ns or 0


def hidden(path: str) -> bool:
    """True if a file is probably still being written, by its name."""
    return os.path.basename(path).startswith((".", "_")) or path.endswith((".tmp", ".part"))


def beginning(path: str) -> bytes:
    with opened(path) as file:
        return file.read(_SIP)


def unpacked(head: bytes, path: str) -> bytes:
    """What the beginning of a file says, whole lines of it if the file is compressed and goes on."""
    if not head.startswith(_GZIP):
        return head
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # of gzip
    try:
        text = unpacker.decompress(head, _SIP)
    except zlib.error as error:
        raise LoadError(f"it cannot be decompressed: {error}", path) from None
    return text if unpacker.eof else text[: text.rfind(b"\n") + 1]


def first_line(path: str) -> bytes:
    with opened(path) as file:
        return file.readline()


def is_gzip(path: str) -> bool:
    with opened(path) as file:
        return file.read(2) == _GZIP


def what_is_before(path: str, position: int) -> tuple[int, int]:
    """The checksum of the bytes before a position of a file, and when the file was last changed."""
    size, changed = size_and_change(path)
    with opened(path) as file:
        if size < position:
            raise shorter(path, size, position)
        file.seek(max(0, position - _LOOKED_AT))
        return zlib.crc32(file.read(min(position, _LOOKED_AT))), changed


def shorter(path: str, size: int, read: int) -> LoadError:
    return LoadError(f"the file has {size} bytes, but there were {read}: it was truncated or replaced", path)


def replaced(path: str) -> LoadError:
    return LoadError("this is not the file that was read before: it was replaced", path)


@contextmanager
def named(path: str) -> Iterator[None]:
    """A block that reads a file. If the file cannot be read, the error names it."""
    try:
        yield
    except OSError as error:
        raise LoadError(f"it can no longer be read: {error.strerror}", path) from None


def read_range(path: str, start: int, end: int) -> bytes:
    """The lines of a file that begin in a range of bytes. The last line may end after the range. LoadError if
    the file is shorter than the range."""
    with named(path), opened(path) as file:
        size = file.seek(0, os.SEEK_END)
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
    """The position after the last newline between two positions; None if there is no newline."""
    with opened(path) as file:
        while end > start:
            begin = max(start, end - _SIP)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return None


def next_newline(path: str, start: int) -> int:
    with opened(path) as file:
        file.seek(start)
        return start + len(file.readline())
