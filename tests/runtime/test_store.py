"""The state store on file systems that cannot replace a file in one step, and a process that is killed while
it writes."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs
import pytest

from rheos.errors import CheckpointError
from rheos.runtime.state import copies
from rheos.runtime.state import store as stores
from rheos.runtime.state.copies import folder_of
from rheos.runtime.state.journal import Journal
from rheos.runtime.state.store import Store

URI = "webhdfs://there/run"
HOUR = 3600.0
RECORD: dict[str, Any] = {"segments": {}}


TABLE = pa.table({"n": [1, 2, 3]})


class Killed(BaseException):
    pass


class Renaming(fs.FileSystemHandler):
    """Files on this disk, as HDFS would have them: a file that is being written is there with a part of its
    content, and no rename replaces a file. The process is killed before the change with the number `left`."""

    def __init__(self) -> None:
        self.local = fs.LocalFileSystem()
        self.left = 1000

    def change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def move(self, src: str, dest: str) -> None:
        self.change()
        if Path(dest).exists():
            return  # as webhdfs, which does not even complain
        self.local.move(src, dest)

    def delete_file(self, path: str) -> None:
        self.change()
        self.local.delete_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        self.change()
        return pa.PythonFile(Halves(self, path), mode="w")

    def get_type_name(self) -> str:
        return "renaming"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        found: list[fs.FileInfo] = self.local.get_file_info(paths)
        return found

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        found: list[fs.FileInfo] = self.local.get_file_info(selector)
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        self.local.create_dir(path, recursive=recursive)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.local.open_input_stream(path)

    def _unused(self, *_: Any) -> Any:
        raise NotImplementedError

    delete_dir = delete_dir_contents = delete_root_dir_contents = _unused
    copy_file = open_input_file = open_append_stream = _unused


class Halves:
    """A file of which each write has two halves: the process can be killed between them."""

    closed = False

    def __init__(self, handler: Renaming, path: str) -> None:
        self.handler = handler
        self.file = io.FileIO(path, "wb")

    def write(self, data: bytes) -> int:
        half = len(data) // 2
        for part in (data[:half], data[half:]):
            self.handler.change()
            self.file.write(part)
        return len(data)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.closed = True
        self.file.close()


@pytest.fixture
def renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Renaming]:
    handler = Renaming()
    system = fs.PyFileSystem(handler)
    monkeypatch.setattr(stores, "file_system", lambda uri: (system, str(tmp_path / "there")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "here"))
    return handler


def kill(handler: Renaming, after: int, store: Store, name: str, data: bytes) -> bool:
    """Write a file, and be killed after so many changes; False if the file was written before."""
    handler.left = after
    try:
        store.write(name, data)
    except Killed:
        return True
    finally:
        handler.left = 1000
    return False


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("again", range(8))
def test_a_file_has_its_old_or_its_new_content(renaming: Renaming, after: int, again: int) -> None:
    store = Store(URI)
    store.write("a/file", b"old content")
    killed = kill(renaming, after, store, "a/file", b"new content")
    assert store.read("a/file") in ([b"old content", b"new content"] if killed else [b"new content"])
    before = store.read("a/file")
    killed = kill(renaming, again, store, "a/file", b"later content")
    assert store.read("a/file") in ([before, b"later content"] if killed else [b"later content"])
    store.write("a/file", b"last content")
    assert store.read("a/file") == b"last content"
    assert [name for name in store.names("a") if not name.endswith(".partial")] == ["a/file"]
    store.delete(["a/file"])
    assert store.read("a/file") is None


@pytest.mark.parametrize("after", range(5))
def test_a_first_content_is_there_as_a_whole_or_not_at_all(renaming: Renaming, after: int) -> None:
    store = Store(URI)
    killed = kill(renaming, after, store, "a/file", b"content")
    assert store.read("a/file") in ([None] if killed else [b"content"])


@pytest.mark.parametrize("after", range(12))
def test_a_journal_goes_on_whenever_it_was_killed(renaming: Renaming, tmp_path: Path, after: int) -> None:
    journal = Journal(Store(URI), tmp_path / "driver")
    journal.commit(3, {**RECORD, "a": 3}, {"answers": b"three"})
    renaming.left = after
    with suppress(Killed):
        journal.commit(4, {**RECORD, "a": 4}, {"answers": b"four"})
    renaming.left = 1000
    found = Journal(Store(URI), tmp_path / "driver").last()
    assert found is not None
    number, record = found
    assert record["a"] == number
    assert (
        Journal(Store(URI), tmp_path / "driver").said(number, "answers") == {3: b"three", 4: b"four"}[number]
    )


def test_a_record_that_was_not_written_to_its_end_is_of_a_batch_that_was_not_done(tmp_path: Path) -> None:
    store = Store(tmp_path.as_uri())
    for number in (3, 4):
        store.write(f"batches/{number}.json", json.dumps({**RECORD, "a": number}).encode())
    record = tmp_path / "batches/4.json"
    record.write_bytes(record.read_bytes()[:-5])
    assert Journal(store, tmp_path).last() == (3, {**RECORD, "a": 3})
    (tmp_path / "batches/3.json").unlink()
    with pytest.raises(CheckpointError, match=r"no record in .* can be read"):
        Journal(store, tmp_path).last()


def test_without_a_whole_record_a_run_that_has_done_nothing_begins(tmp_path: Path) -> None:
    store = Store(tmp_path.as_uri())
    store.write("batches/-1.json", b'{"segm')
    assert Journal(store, tmp_path).last() is None


# --- copies on this machine ------------------------------------------------------------------------------


def aged(path: Path, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    before = time.time() - seconds
    os.utime(path, (before, before))
    return path


def test_answers_leave_no_copy_where_they_are_written(renaming: Renaming) -> None:
    store = Store(URI)
    store.write_table("answers/a.arrow", TABLE, copy=False)
    store.write_table("segments/a.arrow", TABLE)
    folder = folder_of(URI)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["a.arrow"]
    assert not (folder / "answers").exists()
    assert store.table("answers/a.arrow").equals(TABLE)
    store.delete(["answers/a.arrow"])
    assert not (folder / "answers/a.arrow").exists()


def test_copies_that_nobody_has_used_for_long_are_deleted(
    renaming: Renaming, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, folder = Store(URI), folder_of(URI)
    live = aged(folder / "segments/live.arrow", 2 * HOUR)
    old = aged(folder / "segments/old.arrow", 2 * HOUR)
    partial = aged(folder / "segments/killed.arrow.12ab.partial", 2 * HOUR)
    recent = aged(folder / "segments/recent.arrow", HOUR / 2)
    ended, running = folder.with_name("ended"), folder.with_name("running")
    for other, age in ((ended, 25 * HOUR), (running, 23 * HOUR)):
        aged(other / "segments/a.arrow", age)
        os.utime(other, (time.time() - age, time.time() - age))
    store.use(["segments/live.arrow", "segments/never.arrow"])
    assert [path.exists() for path in (live, recent, old, partial)] == [True, True, False, False]
    assert (ended.exists(), running.exists()) == (False, True)
    # The next look is later; and what was used then is kept for another hour.
    aged(old, 2 * HOUR)
    store.write_table("segments/new.arrow", TABLE)
    assert old.exists()
    monkeypatch.setattr(copies, "_looked", {})
    store.write_table("segments/newer.arrow", TABLE)
    assert [path.exists() for path in (live, old)] == [True, False]


def test_a_copy_that_was_deleted_is_fetched_again(renaming: Renaming) -> None:
    store = Store(URI)
    store.write_table("segments/a.arrow", TABLE)
    (folder_of(URI) / "segments/a.arrow").unlink()
    assert store.table("segments/a.arrow").equals(TABLE)
    store.forget(["segments/a.arrow"])
