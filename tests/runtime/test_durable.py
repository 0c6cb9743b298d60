"""Exactly once, to the letter: what is written where, in which order, and what is cut back after a crash."""

from __future__ import annotations

import json
import os
from io import FileIO
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.errors import CheckpointError
from rheos.filesystems import uri_of
from rheos.runtime.state.journal import Journal, OutputFile
from rheos.runtime.state.store import Store
from rheos.server.answers import AnswerLog

RECORD = {"segments": {}}


def opened(folder: Path) -> Journal:
    return Journal(Store(uri_of(folder)), folder)


def committed(journal: Journal, number: int, text: bytes, sink: OutputFile | AnswerLog) -> None:
    lengths = journal.lengths({"answers": sink})
    journal.commit(number, {**RECORD, "lengths": lengths}, {"answers": text})


def recovered(folder: Path, sink: OutputFile | AnswerLog) -> None:
    journal = opened(folder)
    found = journal.last()
    assert found is not None
    number, record = found
    journal.emit_again(number, "answers", record["lengths"]["answers"], sink)
    journal.close()


@pytest.mark.parametrize("out", [b"", b"sec", b"second\n"], ids=["nothing", "a part", "all of it"])
def test_a_file_is_cut_back_to_what_the_journal_says(tmp_path: Path, out: bytes) -> None:
    path = tmp_path / "answers.ndjson"
    journal, sink = opened(tmp_path / "run"), OutputFile(path, go_on=False)
    committed(journal, 0, b"first\n", sink)
    journal.emit(0, "answers", b"first\n", sink)
    committed(journal, 1, b"second\n", sink)
    # Here the process is killed: some bytes have gone out, and nobody has counted them.
    FileIO(path, "ab").write(out)
    recovered(tmp_path / "run", OutputFile(path, go_on=True))
    assert path.read_bytes() == b"first\nsecond\n"


def test_a_run_that_goes_on_in_the_same_process_writes_nothing_again(tmp_path: Path) -> None:
    journal, sink = opened(tmp_path / "run"), OutputFile(tmp_path / "out", go_on=False)
    committed(journal, 0, b"first\n", sink)
    journal.emit(0, "answers", b"first\n", sink)
    before = (tmp_path / "out").stat().st_mtime_ns
    journal.emit_again(0, "answers", 0, sink)
    assert (tmp_path / "out").stat().st_mtime_ns == before


def test_a_file_that_lost_something_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"firs")
    with pytest.raises(CheckpointError, match=r"out has 4 bytes, and the checkpoint was made when it had 6"):
        OutputFile(tmp_path / "out", go_on=True).cut(6)


def test_a_device_has_no_length() -> None:
    assert OutputFile(Path("/dev/null"), go_on=False).length() is None


def test_what_a_record_names_is_on_the_disk_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path / "run")
    synced: list[str] = []
    sync, replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        synced.append(f"{target.name} is there")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", renamed)
    journal.store.write_table("segments/s/1.arrow", pa.table({"x": [1]}))
    journal.commit(3, RECORD, {"answers": b"text", "letters": b"more"})
    assert [
        name.split(".partial")[0].rsplit(".", 1)[0] if "partial" in name else name for name in synced
    ] == [
        *("1.arrow", "1.arrow is there", "s"),
        *("3.answers", "3.answers is there", "batches"),
        *("3.letters", "3.letters is there", "batches"),
        *("3.json", "3.json is there", "batches"),
    ]


def line(query: str, text: str) -> bytes:
    return json.dumps({"query": query, "text": text}, separators=(",", ":")).encode() + b"\n"


def test_the_log_of_answers_is_cut_back_too(tmp_path: Path) -> None:
    journal, log = opened(tmp_path / "run"), AnswerLog(tmp_path / "log", 200, {"q": 0})
    for number in range(12):  # in several files
        text = line("q", f"answer {number}")
        committed(journal, number, text, log)
        if number < 11:
            journal.emit(number, "answers", text, log)
    known = log.after("q", 0, 10_000)
    assert known is not None
    log.write(line("q", "answer 11")[:7])
    log.close()
    again = AnswerLog(tmp_path / "log", 200, {"q": 0})
    recovered(tmp_path / "run", again)
    found = again.after("q", 0, 10_000)
    assert found is not None
    assert [item.text for item in found[-2:]] == [line("q", f"answer {n}").rstrip() for n in (10, 11)]
    numbers = {item.text: item.number for item in known}  # what a client has keeps its number
    assert all(numbers[item.text] == item.number for item in found[:-1])
    with pytest.raises(CheckpointError, match="ends before the last checkpoint"):
        again.cut(again.position + 1)
