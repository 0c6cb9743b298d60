"""Recovery: what a batch came to goes into files before anybody hears of it, and is found after a crash.

    batches/N.json      how far streams and queries are after batch N: with it the batch is done; -1 is before
                        the first
    batches/N.CHANNEL   what batch N has to say on a channel (answers, dead letters), written before N.json
    emitted             how many bytes of which batch have gone out on each channel
    arrivals/           large chunks of the batch that runs
    state/N             the live elements after batch N, written by the tasks
    spark/              Structured Streaming's own: which elements are in which batch

A batch whose N.json is there is never evaluated again. All that it names is on the disk before it.

Where what a batch says goes to a file, N.json has the length of that file before it. After a crash the file
is cut back to that length, and the batch is written again: once, to the letter.

A pipe cannot be cut back. What has gone into it is counted in a page of memory that is a file: it outlives
the process however that ends, and costs no call to the system. A piece of at most PIECE bytes goes out in one
call, which a pipe takes as a whole or not at all. A process that is killed between that call and the count
writes this piece again when it goes on.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import stat
import struct
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rheos.errors import CheckpointError

PIECE = 4096  # PIPE_BUF: a pipe takes so much at once
CHANNELS = ("answers", "letters")
_COUNT = struct.Struct("<qq")  # a batch, and how many of its bytes are out


class Sink(Protocol):
    """Where bytes go: a pipe, or anything else that takes them."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


@runtime_checkable
class FileSink(Sink, Protocol):
    """A sink that is a file, which can be cut back."""

    def length(self) -> int | None:
        """How many bytes it has, all of them on the disk; None if it turns out to be no file."""

    def cut(self, length: int) -> None:
        """Take away what is behind so many bytes. CheckpointError if it has fewer."""


class Journal:
    """The batches of a run in a folder. One that is not `durable` keeps only the state, for its own time."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder = folder
        self.durable = durable
        self._batches = folder / "batches"
        self._batches.mkdir(parents=True, exist_ok=True)
        (folder / "state").mkdir(exist_ok=True)
        emitted = folder / "emitted"
        size = _COUNT.size * len(CHANNELS)
        if not emitted.exists() or emitted.stat().st_size != size:
            emitted.write_bytes(_COUNT.pack(-1, 0) * len(CHANNELS))
        self._out: dict[str, int] = {}  # the last batch that has gone out as a whole, by channel
        self._file = emitted.open("r+b")
        self._emitted = mmap.mmap(self._file.fileno(), size)

    def last(self) -> tuple[int, dict[str, Any]] | None:
        """The last batch that is done, and its record."""
        numbers = [int(path.stem) for path in self._batches.glob("*.json")]
        if not numbers:
            return None
        number = max(numbers)
        return number, json.loads((self._batches / f"{number}.json").read_text())

    @property
    def arrivals(self) -> Path:
        """Where large chunks are between the task that reads them and the one that takes them in."""
        return self.folder / "arrivals"

    def state(self, number: int) -> Path:
        return self.folder / "state" / str(number)

    def commit(self, number: int, record: Mapping[str, Any], said: Mapping[str, bytes]) -> None:
        """Have a batch done: first what it says, then that it is done."""
        if self.durable:
            for channel, data in said.items():
                _write(self._batches / f"{number}.{channel}", data, sync=True)
            if self.state(number).is_dir():  # its files were synced by the tasks that wrote them
                sync_folder(self.state(number))
                sync_folder(self.state(number).parent)
        _write(self._batches / f"{number}.json", json.dumps(record).encode(), sync=self.durable)
        for path in self._batches.iterdir():
            if int(path.name.split(".")[0]) < number:
                path.unlink(missing_ok=True)
        self._clean(record)
        shutil.rmtree(self.arrivals, ignore_errors=True)

    def amend(self, part: Mapping[str, Any]) -> None:
        """Change a part of the record of the last batch that is done."""
        found = self.last()
        if found is not None:
            number, record = found
            content = json.dumps({**record, **part}).encode()
            _write(self._batches / f"{number}.json", content, sync=self.durable)

    def _clean(self, record: Mapping[str, Any]) -> None:
        """Take away the state that the record does not name."""
        needed = {Path(file["path"]) for kept in record["segments"].values() for file in kept["files"]}
        for folder in (self.folder / "state").iterdir():
            for path in folder.iterdir():
                if path not in needed:
                    path.unlink(missing_ok=True)
            if not any(folder.iterdir()):
                folder.rmdir()

    def said(self, number: int, channel: str) -> bytes:
        path = self._batches / f"{number}.{channel}"
        return path.read_bytes() if path.exists() else b""

    def lengths(self, sinks: Mapping[str, Sink | None]) -> dict[str, int | None]:
        """How long each of the sinks is that is a file; for the record of the batch that comes next."""
        if not self.durable:
            return {}
        return {channel: sink.length() for channel, sink in sinks.items() if isinstance(sink, FileSink)}

    def emit_again(self, number: int, channel: str, length: int | None, sink: Sink) -> None:
        """Write what the last batch says, after a crash: to a file that had some length before it."""
        if self._out.get(channel) == number:
            return  # by this very process
        data = self.said(number, channel)
        if length is None or not isinstance(sink, FileSink):
            self.emit(number, channel, data, sink)
            return
        sink.cut(length)
        sink.write(data)
        sink.flush()

    def emit(self, number: int, channel: str, data: bytes, sink: Sink) -> None:
        """Write what a batch says to its sink, but for the part that has gone out already."""
        start = _COUNT.size * CHANNELS.index(channel)
        batch, out = _COUNT.unpack_from(self._emitted, start)
        out = out if batch == number else 0
        view = memoryview(data)
        while out < len(data):
            piece = view[out : out + PIECE] if self.durable else view[out:]
            sink.write(bytes(piece))
            sink.flush()
            out += len(piece)
            _COUNT.pack_into(self._emitted, start, number, out)
        _COUNT.pack_into(self._emitted, start, number, out)
        self._out[channel] = number

    def close(self) -> None:
        self._emitted.close()
        self._file.close()


def _write(path: Path, data: bytes, *, sync: bool = False) -> None:
    """A file that is there as a whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have what a folder lists on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class OutputFile:
    """A file at the end of which answers are written. It can be cut back, unless it is a device or a pipe."""

    def __init__(self, path: Path, *, go_on: bool) -> None:
        self.path = path
        self._file = FileIO(path, "ab" if go_on else "wb")

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        while left:  # a file without a buffer may take only a part
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
