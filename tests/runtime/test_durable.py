"""Exactly once, to the letter: what is written where, in which order, and what is cut back after a crash."""

from __future__ import annotations

import json
import os
from io import FileIO
from pathlib import Path

import pytest

from rheos.errors import CheckpointError
from rheos.runtime import durable
from rheos.runtime.durable import Journal, OutputFile
from rheos.server.answers import AnswerLog

RECORD = {"segments": {}}


def committed(journal: Journal, number: int, text: bytes, sink: OutputFile | AnswerLog) -> None:
    lengths = journal.lengths({"answers": sink})
    journal.commit(number, {**RECORD, "lengths": lengths}, {"answers": text})


def recovered(folder: Path, sink: OutputFile | AnswerLog) -> None:
    journal = Journal(folder, durable=True)
    found = journal.last()
    assert found is not None
    number, record = found
    journal.emit_again(number, "answers", record["lengths"]["answers"], sink)
    journal.close()


@pytest.mark.parametrize("out", [b"", b"sec", b"second\n"], ids=["nothing", "a part", "all of it"])
def test_a_file_is_cut_back_to_what_the_journal_says(tmp_path: Path, out: bytes) -> None:
    path = tmp_path / "answers.ndjson"
    journal, sink = Journal(tmp_path / "run", durable=True), OutputFile(path, go_on=False)
    committed(journal, 0, b"first\n", sink)
    journal.emit(0, "answers", b"first\n", sink)
    committed(journal, 1, b"second\n", sink)
    # Here the process is killed: some bytes have gone out, and nobody has counted them.
    FileIO(path, "ab").write(out)
    recovered(tmp_path / "run", OutputFile(path, go_on=True))
    assert path.read_bytes() == b"first\nsecond\n"


def test_a_run_that_goes_on_in_the_same_process_writes_nothing_again(tmp_path: Path) -> None:
    journal, sink = Journal(tmp_path / "run", durable=True), OutputFile(tmp_path / "out", go_on=False)
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
    journal = Journal(tmp_path / "run", durable=True)
    synced: list[str] = []
    sync, replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        synced.append(f"{target.name} is there")
        return replace(path, target)

    monkeypatch.setattr(durable.os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", renamed)
    journal.state(3).mkdir(parents=True)
    journal.commit(3, RECORD, {"answers": b"text", "letters": b"more"})
    assert synced == [
        *("3.answers.partial", "3.answers is there", "batches"),
        *("3.letters.partial", "3.letters is there", "batches"),
        *("3", "state"),
        *("3.json.partial", "3.json is there", "batches"),
    ]


def line(query: str, text: str) -> bytes:
    return json.dumps({"query": query, "text": text}, separators=(",", ":")).encode() + b"\n"


def test_the_log_of_answers_is_cut_back_too(tmp_path: Path) -> None:
    journal, log = Journal(tmp_path / "run", durable=True), AnswerLog(tmp_path / "log", 200, {"q": 0})
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
