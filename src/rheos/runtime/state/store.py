"""The state store: named files on a file system that every machine of a run can reach.

Segments, static tables, large answers, the outboxes of sinks and the journal are its files. Tables are
written only once, so a name stands for one content, and each machine can keep copies of the files that it has
read on its own disk. If the store itself is on this disk, nothing is copied.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from rheos.filesystems import file_system
from rheos.runtime.state.copies import clean, folder_of

_NOT_FOUND = (FileNotFoundError,)
# Arrow's names of file systems that have no folders, and where a file is there only when all of it is.
_OBJECT_STORES = ("s3", "gcs", "abfs")
_NEW = ".new"  # the name of new content while the old content is deleted

_tables: dict[tuple[str, str], pa.Table] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of a file system, given by its URI. If it is `durable`, a write returns only when the file is
    synced to the disk. A store is pickled on its way to the workers."""

    uri: str
    durable: bool = True

    @property
    def local(self) -> Path | None:
        """The folder, if it is on this machine's disk."""
        parts = urlsplit(self.uri)
        return Path(unquote(parts.path)) if parts.scheme == "file" else None

    # --- tables: written once ------------------------------------------------------------------------

    def write_table(self, name: str, table: pa.Table, *, copy: bool = True) -> None:
        """Write a table under a name that nobody has used. If the store is elsewhere, this machine keeps a
        `copy` for those who are going to read it here."""
        if self.local is None and not copy:
            system, path = self._place(name)
            with system.open_output_stream(path) as sink:
                _write_arrow(sink, table)
            return
        target = self.local / name if self.local is not None else self._cached(name)
        partial = target.with_name(f"{target.name}.{uuid.uuid4().hex[:8]}.partial")
        for attempt in (1, 2):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with pa.OSFile(str(partial), "wb") as sink:
                    _write_arrow(sink, table)
                break
            except FileNotFoundError:
                if attempt == 2:  # somebody deleted the empty folder twice
                    raise
        if self.local is not None:
            if self.durable:
                _sync(partial)
            partial.replace(target)
            if self.durable:
                _sync(target.parent)
            return
        system, path = self._place(name)
        with partial.open("rb") as file, system.open_output_stream(path) as sink:
            sink.write(file.read())
        partial.replace(target)
        self.use(())

    def table(self, name: str) -> pa.Table:
        """The table with a name, mapped into memory from this machine's disk."""
        key = self.uri, name
        with _lock:
            known = _tables.get(key)
        if known is not None:
            return known
        try:
            found = _mapped(self.local / name if self.local is not None else self._fetched(name))
        except FileNotFoundError:
            if self.local is not None:
                raise
            found = _mapped(self._fetched(name))  # another process has just deleted an old copy
        with _lock:
            _tables[key] = found
        return found

    def forget(self, names: Iterable[str]) -> None:
        """Release tables, and this machine's copies of them; the store still has them."""
        for name in names:
            with _lock:
                _tables.pop((self.uri, name), None)
            if self.local is None:
                self._cached(name).unlink(missing_ok=True)

    def known(self) -> list[str]:
        """The names of the tables that this process has mapped."""
        with _lock:
            return [name for uri, name in _tables if uri == self.uri]

    def use(self, names: Iterable[str]) -> None:
        """Note that these tables are in use. Now and then, this deletes the copies of others."""
        if self.local is None:
            clean(folder_of(self.uri), names)

    # --- any file ------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or replace its content. Readers see either the old or the new content, also if this
        process is killed meanwhile."""
        if self.local is not None:
            target = self.local / name
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f"{target.name}.{uuid.uuid4().hex[:8]}.partial")
            partial.write_bytes(data)
            if self.durable:
                _sync(partial)
            partial.replace(target)
            if self.durable:
                _sync(target.parent)
            return
        system, path = self._place(name)
        if system.type_name in _OBJECT_STORES:
            _fill(system, path, data)
        else:
            unfinished = f"{path}.{uuid.uuid4().hex[:8]}.partial"
            _fill(system, unfinished, data)
            _move(system, unfinished, path)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is no such file."""
        if self.local is not None:
            try:
                return (self.local / name).read_bytes()
            except FileNotFoundError:
                return None
        system, root = self._system()
        for path in (f"{root}/{name}", f"{root}/{name}{_NEW}"):
            try:
                with system.open_input_stream(path) as source:
                    return bytes(source.read())
            except _NOT_FOUND:
                if system.type_name in _OBJECT_STORES:
                    break
        return None

    def names(self, folder: str) -> dict[str, float]:
        """The files below a folder, and when each was last changed (seconds since 1970)."""
        if self.local is not None:
            found = {}
            for path in (self.local / folder).rglob("*"):
                try:
                    if path.is_file():
                        found[path.relative_to(self.local).as_posix()] = path.stat().st_mtime
                except FileNotFoundError:
                    continue
            return found
        system, root = self._system()
        selector = fs.FileSelector(f"{root}/{folder}", recursive=True, allow_not_found=True)
        return {
            info.path.removeprefix(f"{root}/").removesuffix(_NEW): (info.mtime_ns or 0) / 1e9
            for info in system.get_file_info(selector)
            if info.is_file
        }

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; files that do not exist are ignored."""
        names = list(names)
        self.forget(names)
        if self.local is not None:
            for name in names:
                (self.local / name).unlink(missing_ok=True)
            return
        system, root = self._system()
        endings = ("",) if system.type_name in _OBJECT_STORES else ("", _NEW)
        for path in (f"{root}/{name}{ending}" for name in names for ending in endings):
            with suppress(*_NOT_FOUND):
                system.delete_file(path)

    # --- this machine's copies -------------------------------------------------------------------------

    def _fetched(self, name: str) -> Path:
        """The copy of a file on this machine, made if there is none."""
        path = self._cached(name)
        if not path.exists():
            data = self.read(name)
            if data is None:
                raise FileNotFoundError(f"the state store {self.uri} has no file {name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.partial")
            partial.write_bytes(data)
            partial.replace(path)
            self.use(())
        return path

    def _cached(self, name: str) -> Path:
        return folder_of(self.uri) / name

    def _system(self) -> tuple[fs.FileSystem, str]:
        return file_system(self.uri)

    def _place(self, name: str) -> tuple[fs.FileSystem, str]:
        """The file system, and the path of a file in it that is going to be written."""
        system, root = self._system()
        path = f"{root}/{name}"
        if system.type_name not in _OBJECT_STORES:
            system.create_dir(path.rsplit("/", 1)[0], recursive=True)
        return system, path


def _fill(system: fs.FileSystem, path: str, data: bytes) -> None:
    with system.open_output_stream(path) as sink:
        sink.write(data)


def _move(system: fs.FileSystem, partial: str, path: str) -> None:
    """Give a file that is written its name. Not every file system can replace a file by a rename (HDFS
    cannot), so the old file is deleted first. Meanwhile, readers find the new one by another name."""
    old, new = (info.type != fs.FileType.NotFound for info in system.get_file_info([path, f"{path}{_NEW}"]))
    if old:
        if new:  # of a process that was killed here
            system.delete_file(f"{path}{_NEW}")
        system.move(partial, f"{path}{_NEW}")
        system.delete_file(path)
        system.move(f"{path}{_NEW}", path)
    else:
        system.move(partial, path)
        if new:
            system.delete_file(f"{path}{_NEW}")


def _mapped(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _write_arrow(sink: pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def _sync(path: Path) -> None:
    """Sync a file, or the list of files of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
