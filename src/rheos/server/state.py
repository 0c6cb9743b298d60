"""What survives the server, beside the engine's checkpoint: queries and streams come in, a file goes out, and
the other way round.

The file is replaced as a whole, and on the disk before anybody is told that something has changed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rheos.errors import RheosError

_VERSION = 1


class Asked(NamedTuple):
    """A query as somebody wrote it: its text, the language, and the entailment, if not the server's own."""

    text: str
    dialect: str = "auto"
    entailment: str | None = None


@dataclass(frozen=True, slots=True)
class KeptQuery:
    """A registered query. `since` is where the log of answers was then; one that is `configured` goes with
    its entry in the configuration."""

    name: str
    text: str
    dialect: str = "auto"
    running: bool = True
    since: int = 0
    configured: bool = False
    entailment: str | None = None

    @property
    def asked(self) -> Asked:
        return Asked(self.text, self.dialect, self.entailment)


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is in the file. `streams` are those that clients made, as they described them; `kinds` tells
    of every stream whether it is pushed or read: where it is one, it cannot become the other."""

    base: str
    queries: tuple[KeptQuery, ...] = ()
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


class State:
    """The folder of a server, which is its own as long as this is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "server.json"
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise RheosError(f"another server is using the folder {folder}") from None

    def read(self) -> Kept | None:
        if not self._path.exists():
            return None
        content = json.loads(self._path.read_text())
        if content.pop("version") != _VERSION:
            raise RheosError(f"{self._path} was written by another version of rheos")
        queries = tuple(KeptQuery(**query) for query in content.pop("queries"))
        return Kept(queries=queries, **content)

    def write(
        self,
        base: str,
        queries: Iterable[KeptQuery],
        streams: Mapping[str, Mapping[str, Any]],
        kinds: Mapping[str, str],
    ) -> None:
        kept = asdict(Kept(base, tuple(queries), streams, kinds))
        partial = self._path.with_suffix(".partial")
        try:
            with partial.open("w") as file:
                json.dump({"version": _VERSION, **kept}, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            partial.unlink(missing_ok=True)  # a disk that is full wants it back
            raise
        partial.replace(self._path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        self._lock.close()
