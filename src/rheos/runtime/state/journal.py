"""The journal: the results of a micro-batch are in the state store before anything of them goes out.

    batches/N.json      the record: how far streams and queries are after batch N. When it is there, the batch
                        is done. N is -1 before the first batch
    batches/N.CHANNEL   what batch N writes to a channel (answers, dead letters), stored before N.json
    segments/           the live elements, written by the tasks
    static/             what queries ask of static data
    answers/            large answers on their way to the driver

and in a folder on the driver's disk, which is the folder of the store if the store is on this disk:

    emitted             how many bytes of which batch have gone out on each channel
    spark/              Structured Streaming's own: which elements are in which batch

A batch whose N.json is there is never evaluated again. All files that N.json names are
in the store before it.

If a channel writes to a file, N.json has the length of that file before the batch. After a crash the file is
cut back to that length, and the output of the batch is written again, the same to the byte.

A pipe cannot be cut back. The bytes that have gone into it are counted in a page of memory that is mapped to
a file: the count survives the process, however that ends, and needs no system call. A piece of at most PIECE
bytes goes out in one call, which a pipe takes as a whole or not at all. A process that is killed between that
call and the count writes this piece twice: again when it goes on.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

from rheos.errors import CheckpointError
from rheos.runtime.state.store import Store

# The version of the format of records. Increase it when a record changes such that an earlier version of
# rheos would misread it. The new version must read the earlier formats, or refuse them.
FORMAT = 1
PIECE = 4096  # PIPE_BUF: a pipe takes so many bytes at once
CHANNELS = ("answers", "letters")
_PATIENCE = 10.0  # seconds to wait, at the end, until files are deleted
_COUNT = struct.Struct("<qq")  # a batch, and how many of its bytes are out


class Target(Protocol):
    """Where bytes go: a pipe, or anything else that takes them."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


@runtime_checkable
class FileTarget(Target, Protocol):
    """A target that is a file, which can be cut back."""

    def length(self) -> int | None:
        """The length in bytes, all of them synced to the disk; None if it is no regular file."""

    def cut(self, length: int) -> None:
        """Remove everything after the first `length` bytes. CheckpointError if there are fewer."""


class Journal:
    """The batches of a run; `folder` is on the driver's own disk. If the store is not `durable`, the journal
    keeps only what the running process needs."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        emitted = folder / "emitted"
        size = _COUNT.size * len(CHANNELS)
        if not emitted.exists() or emitted.stat().st_size != size:
            emitted.write_bytes(_COUNT.pack(-1, 0) * len(CHANNELS))
        self._out: dict[str, int] = {}  # by channel, the last batch that this process has written as a whole
        self._file = emitted.open("r+b")
        self._emitted = mmap.mmap(self._file.fileno(), size)
        self._batches = set(store.names("batches"))
        self._named: set[str] = set()  # the segments of the last record
        self._cleaner = Cleaner(store)

    @property
    def durable(self) -> bool:
        return self.store.durable

    def last(self) -> tuple[int, dict[str, Any]] | None:
        """The last batch that is done, and its record.

        A record that was not written to its end is passed over. It is written before anything of its batch
        goes out, and the record before it is deleted later: so its batch is not done, and is evaluated again.
        """
        numbers = [int(PurePosixPath(name).stem) for name in self._batches if name.endswith(".json")]
        for number in sorted(numbers, reverse=True):
            content = self.store.read(f"batches/{number}.json")
            if content is None:
                raise CheckpointError(f"batches/{number}.json is gone from {self.store.uri}")
            try:
                record = json.loads(content)
            except ValueError:
                continue
            return number, self._record(record)
        if any(number >= 0 for number in numbers):
            raise CheckpointError(
                f"no record in {self.store.uri}/batches can be read: put the folder back from a backup, or "
                "begin anew in another one"
            )
        return None

    def _record(self, content: dict[str, Any]) -> dict[str, Any]:
        """A record without its format number. Records of the first format had no number."""
        form = content.pop("format", 1)
        if form > FORMAT:
            raise CheckpointError(
                f"the checkpoint {self.store.uri} was made by a newer version of rheos (its form is {form}, "
                f"and this version reads up to {FORMAT}): go on with that version, or begin anew in another "
                "folder"
            )
        return content

    def commit(self, number: int, record: Mapping[str, Any], said: Mapping[str, bytes]) -> None:
        """Store a batch: first its output, then the record that it is done."""
        before = set(self._batches)
        for channel, data in said.items() if self.durable else ():
            self._write(f"batches/{number}.{channel}", data)
        self._write_record(number, record)
        old = {name for name in before if int(PurePosixPath(name).name.split(".")[0]) < number}
        self._batches -= old
        named = segments_of(record)
        self._cleaner.take([*old, *(self._named - named)])
        self._named = named

    def amend(self, part: Mapping[str, Any]) -> None:
        """Change a part of the record of the last batch that is done."""
        found = self.last()
        if found is not None:
            number, record = found
            self._write_record(number, {**record, **part})

    def collect_garbage(self, record: Mapping[str, Any], older_than: float) -> None:
        """Delete segments and answers that the record does not name and that were written before a time
        (seconds since 1970). Tasks that Spark tried again have left them."""
        named = segments_of(record)
        self._named = self._named or named
        for folder in ("segments", "answers"):
            found = self.store.names(folder).items()
            self._cleaner.take([name for name, at in found if name not in named and at < older_than])

    def discard(self, names: Iterable[str]) -> None:
        """Delete files, in the cleaner's thread."""
        self._cleaner.take(list(names))

    def _write_record(self, number: int, record: Mapping[str, Any]) -> None:
        self._write(f"batches/{number}.json", json.dumps({"format": FORMAT, **record}).encode())

    def _write(self, name: str, data: bytes) -> None:
        self.store.write(name, data)
        self._batches.add(name)

    def said(self, number: int, channel: str) -> bytes:
        return self.store.read(f"batches/{number}.{channel}") or b""

    def lengths(self, targets: Mapping[str, Target | None]) -> dict[str, int | None]:
        """The length of each target that is a file, for the record of the next batch."""
        if not self.durable:
            return {}
        return {
            channel: target.length() for channel, target in targets.items() if isinstance(target, FileTarget)
        }

    def emit_again(self, number: int, channel: str, length: int | None, target: Target) -> None:
        """Write the output of the last batch again, after a crash. `length` is the length that a file had
        before the batch; None if the target was no file."""
        if self._out.get(channel) == number:
            return  # this process has written it
        data = self.said(number, channel)
        if length is None or not isinstance(target, FileTarget):
            self.emit(number, channel, data, target)
            return
        target.cut(length)
        target.write(data)
        target.flush()

    def emit(self, number: int, channel: str, data: bytes, target: Target) -> None:
        """Write the output of a batch to its target, without the part that has gone out already."""
        start = _COUNT.size * CHANNELS.index(channel)
        batch, out = _COUNT.unpack_from(self._emitted, start)
        out = out if batch == number else 0
        view = memoryview(data)
        while out < len(data):
            piece = view[out : out + PIECE] if self.durable else view[out:]
            target.write(bytes(piece))
            target.flush()
            out += len(piece)
            _COUNT.pack_into(self._emitted, start, number, out)
        _COUNT.pack_into(self._emitted, start, number, out)
        self._out[channel] = number

    def close(self) -> None:
        self._cleaner.close()
        self._emitted.close()
        self._file.close()


class Cleaner:
    """Deletes files of a store in a thread of its own, so that no batch waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: SimpleQueue[list[str] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def take(self, names: list[str]) -> None:
        if not names:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._clean, daemon=True, name="rheos-cleaner")
            self._thread.start()
        self._names.put(names)

    def close(self) -> None:
        """Wait until the files that are to go are deleted, at most `_PATIENCE` seconds."""
        if self._thread is not None:
            self._names.put(None)
            self._thread.join(_PATIENCE)

    def _clean(self) -> None:
        while (names := self._names.get()) is not None:
            with suppress(Exception):  # files that stay are collected when the run starts again
                self._store.delete(names)


def segments_of(record: Mapping[str, Any]) -> set[str]:
    """The names of the segments in a record."""
    return {file["name"] for kept in record["segments"].values() for file in kept["files"]}


class OutputFile:
    """A file to which answers are appended. It can be cut back, unless it is a device or a pipe."""

    def __init__(self, path: Path, *, go_on: bool) -> None:
        self.path = path
        self._file = FileIO(path, "ab" if go_on else "wb")

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        while left:  # an unbuffered file may take only a part
            left = left[self._file.write(left) :]
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def length(self) -> int | None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            return None
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def cut(self, length: int) -> None:
        has = os.fstat(self._file.fileno()).st_size
        if has < length:
            raise CheckpointError(
                f"{self.path} has {has:,} bytes, and the checkpoint was made when it had {length:,}: "
                "put back the file that the run wrote, or take another checkpoint and another file"
            )
        self._file.truncate(length)

    def close(self) -> None:
        self._file.close()
