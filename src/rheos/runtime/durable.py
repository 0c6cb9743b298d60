"""Recovery: what a batch came to goes into files before anybody hears of it, and is found after a crash.

    batches/N.json      how far streams and queries are after batch N: with it the batch is done; -1 is before
                        the first
    batches/N.CHANNEL   what batch N has to say on a channel (answers, dead letters), written before N.json
    emitted             how many bytes of which batch have gone out on each channel
    arrivals/           large chunks of the batch that runs
    state/N             the live elements after batch N, written by the tasks
    spark/              Structured Streaming's own: which elements are in which batch

A batch whose N.json is there is never evaluated again. What of its bytes has gone out is counted in a page
of memory that is a file: it outlives the process however that ends, and costs no call to the system. A
piece of at most PIECE bytes goes out in one call, which a pipe takes as a whole or not at all; between that
call and the count there is nothing that could fail but the machine itself.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

PIECE = 4096  # PIPE_BUF: a pipe takes so much at once
CHANNELS = ("answers", "letters")
_COUNT = struct.Struct("<qq")  # a batch, and how many of its bytes are out


class Sink(Protocol):
    """Where bytes go: a file that is opened without a buffer of its own."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


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
                _write(self._batches / f"{number}.{channel}", data)
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
