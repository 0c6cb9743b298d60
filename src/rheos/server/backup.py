"""Backup: copies the folder of a server, which may run meanwhile, so that a server can go on from the copy.

A copy file by file, in no particular order, would not do: the journal could say that a batch is done, and
Spark's own logs, copied a moment earlier, that the batch was never begun. So the last record of the journal
(batch N) is the moment of the copy, and all other files are copied so that they fit to this record:

    server.json                  copied first: a query that is registered meanwhile is not in the copy
    engine/batches/N.json        the record, and all files that it names; if one is deleted meanwhile, the
                                 copy begins again with a later record
    engine/spark                 Spark's logs up to batch N, and nothing of later batches
    engine/sinks, answers/ …     may have content of later batches, which is removed when the copy is opened
    pushed/, engine/received     logs that grow at their ends: what comes after batch N is read again
    static/                      one file for each change

Every element that was answered with 202 before the copy began is in the logs, or in a file that the record of
batch N names.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rheos.errors import RheosError
from rheos.runtime.state.journal import segments_of

TRIES = 50
_PAUSE = 0.1  # seconds before the next try
_PARTIAL = ".partial"
_LOGS = ("pushed/*", "engine/received/*")


class _Moved(Exception):
    """The server has gone on meanwhile, and has deleted files that the copy needs, or may have done so."""


@dataclass
class Copied:
    """What was copied: the number of the last batch, how many files and bytes, and the seconds it took."""

    batch: int | None = None
    files: int = 0
    bytes: int = 0
    took: float = field(default=0.0)


def backup(folder: Path, target: Path) -> Copied:
    """Copy the folder of a server to a new folder. The new folder appears only when the copy is complete."""
    if not (folder / "server.json").is_file():
        raise RheosError(f"{folder} is no folder of a server: there is no server.json in it")
    if target.exists():
        raise RheosError(f"{target} is there already: a copy goes to a new folder")
    partial = target.with_name(target.name + _PARTIAL)
    began = time.monotonic()
    for _ in range(TRIES):
        shutil.rmtree(partial, ignore_errors=True)
        try:
            copied = _Copy(folder, partial).made()
        except (_Moved, FileNotFoundError):
            time.sleep(_PAUSE)
            continue
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise RheosError(f"{error.filename or target}: {error.strerror or error}") from None
        partial.replace(target)
        copied.took = time.monotonic() - began
        return copied
    shutil.rmtree(partial, ignore_errors=True)
    raise RheosError(
        f"{folder} changed too fast to be copied, {TRIES} times: try it when there is less to do"
    )


@dataclass
class _Copy:
    """One attempt to copy the folder."""

    folder: Path
    target: Path
    copied: Copied = field(default_factory=Copied)

    def made(self) -> Copied:
        self._file(self.folder / "server.json")
        logs = {log: sorted(log.glob("*.nq")) for place in _LOGS for log in self.folder.glob(place)}
        record = self._engine()
        for log, known in logs.items():
            self._log(log, known)
        self._answers(record)
        self._all(self.folder / "static")
        letters = self.folder / "dead-letters.ndjson"
        if letters.exists():
            self._file(letters)
        self._all(self.folder / "load")
        return self.copied

    # --- the engine ----------------------------------------------------------------------------------

    def _engine(self) -> dict[str, Any]:
        """Copy the folder of the engine; returns the record of its last batch, empty if there is none."""
        engine = self.folder / "engine"
        numbers = [int(path.stem) for path in engine.glob("batches/*.json")]
        if not numbers:
            if (engine / "spark" / "offsets").exists():
                raise _Moved
            return {}  # the engine has never run
        number = max(numbers)
        place = engine / "batches" / f"{number}.json"
        self._file(place)
        record: dict[str, Any] = json.loads(self._there(place).read_bytes())
        named = [engine / name for name in sorted(segments_of(record))]
        for segment in named:
            self._hold(segment)
        for said in sorted(engine.glob(f"batches/{number}.*")):
            if said.suffix not in (".json", _PARTIAL):
                self._file(said)
        # Files of this batch may be missing only if the next batch is done.
        if any(int(path.stem) > number for path in engine.glob("batches/*.json")):
            raise _Moved
        for segment in named:
            self._file(segment)
        self._spark(engine / "spark", number)
        self._all(engine / "sinks")
        for name in ("ends.json", "emitted", "beat"):
            if (engine / name).exists():
                self._file(engine / name)
        self.copied.batch = number
        return record

    def _spark(self, folder: Path, number: int) -> None:
        """Copy Spark's logs up to a batch. Spark plans the next batch anew, from the end of this one."""
        if number < 0:
            return  # no element was read yet
        for path in self._below(folder):
            numbered = path.parent.name in ("offsets", "commits")
            if not numbered or path.name in (str(number - 1), str(number)):
                self._file(path)
        if not (self._there(folder) / "offsets" / str(number)).exists():
            raise _Moved

    # --- the rest ------------------------------------------------------------------------------------

    def _log(self, folder: Path, known: list[Path]) -> None:
        """Copy a log of elements. The positions in `skipped` and `taken` are copied first, so that they do
        not point behind the end of the copied log. The files in `known`, which were there before the record
        was read, must still be there: they may have elements that come after batch N."""
        for name in ("skipped", "taken"):
            if (folder / name).exists():
                self._file(folder / name)
        copied = self._rising(folder, "*.nq")
        if not {int(path.stem) for path in known} <= set(copied):
            raise _Moved

    def _answers(self, record: dict[str, Any]) -> None:
        """Copy the log of answers, which is at least as long as the record says."""
        length = (record.get("lengths") or {}).get("answers") or 0
        starts = self._rising(self.folder / "answers", "*.ndjson")
        if starts and min(starts) > length:
            raise _Moved  # the end of batch N in the log has been deleted already

    def _rising(self, folder: Path, pattern: str) -> list[int]:
        """Copy the files of a log, which are named by the position of their first byte; returns the positions
        of the copied files. The oldest files may be deleted meanwhile. If a file is missing that comes after
        a copied one, the copy has a gap and begins again."""
        starts: list[int] = []
        for path in sorted(folder.glob(pattern)):
            try:
                self._file(path)
                starts.append(int(path.stem))
            except FileNotFoundError:
                if starts:
                    raise _Moved from None
        return starts

    def _all(self, folder: Path) -> None:
        for path in self._below(folder):
            try:
                self._file(path)
            except FileNotFoundError:
                continue  # deleted meanwhile: a sink has taken these answers, for example

    def _below(self, folder: Path) -> Iterator[Path]:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.startswith(".") and path.suffix != _PARTIAL:
                yield path

    def _hold(self, path: Path) -> None:
        """Link a file that is never changed, so that its content stays even if the server deletes the file:
        to copy many such files takes longer than a batch. If the copy is on another disk, no link is made."""
        there = self._held(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, there)
        except FileNotFoundError:
            raise
        except OSError:
            return

    def _held(self, path: Path) -> Path:
        there = self._there(path)
        return there.with_name(f"{there.name}.held")

    def _file(self, path: Path) -> None:
        there, held = self._there(path), self._held(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        if held.exists():
            shutil.copyfile(held, there)
            held.unlink()
        else:
            shutil.copyfile(path, there)
        self.copied.files += 1
        self.copied.bytes += there.stat().st_size

    def _there(self, path: Path) -> Path:
        return self.target / path.relative_to(self.folder)
