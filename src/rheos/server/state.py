"""State: the file with the queries and streams of a server, which survives the process.

Every change replaces the whole file. It is on the disk before the client is answered. The engine has a
checkpoint of its own.
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
    """A query as a user wrote it. If `entailment` is None, that of the server counts."""

    text: str
    dialect: str = "auto"
    entailment: str | None = None


@dataclass(frozen=True, slots=True)
class KeptQuery:
    """A registered query. `since` is the end of the answer log when it was registered. A `configured` query
    is dropped when it is no longer in the configuration. Its sinks are read from there."""

    name: str
    text: str
    dialect: str = "auto"
    running: bool = True
    since: int = 0
    configured: bool = False
    entailment: str | None = None
    sinks: tuple[Mapping[str, Any], ...] = ()

    @property
    def asked(self) -> Asked:
        return Asked(self.text, self.dialect, self.entailment)


@dataclass(frozen=True, slots=True)
class Kept:
    """The content of the file. `streams` has the descriptions of the streams that clients have made. `kinds`
    says of every stream whether it is pushed or has a source, because a stream cannot change its kind."""

    base: str
    queries: tuple[KeptQuery, ...] = ()
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


class State:
    """The folder of a server. No other server can use it while this is open."""

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
        version = content.pop("version", None)
        if version != _VERSION:
            raise RheosError(
                f"{self._path} was written by another version of rheos (its form is {version}, and this "
                f"version reads {_VERSION}): go on with that version, or take another folder"
            )
        queries = tuple(
            KeptQuery(**{**query, "sinks": tuple(query.get("sinks", ()))}) for query in content.pop("queries")
        )
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
            partial.unlink(missing_ok=True)  # the disk may be full, and the file would take room there
            raise
        partial.replace(self._path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        self._lock.close()
