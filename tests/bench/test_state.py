"""`rheos bench state` and `rheos bench memory`: what they note is right, and a wrong answer is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rheos.errors import EvaluationError
from rheos_bench import memory, processes, state, streams
from rheos_bench.passages import Window


def test_bytes_of_files_that_are_new_grown_or_written_anew(tmp_path: Path) -> None:
    for name in ("same", "grown", "replaced", "rewritten", "gone"):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1, 1))
    before = state.files_of(tmp_path)
    with (tmp_path / "grown").open("ab") as file:
        file.write(b"y" * 7)
    (tmp_path / "other").write_bytes(b"z" * 30)
    (tmp_path / "other").rename(tmp_path / "replaced")
    (tmp_path / "rewritten").write_bytes(b"w" * 60)
    (tmp_path / "gone").unlink()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "new").write_bytes(b"n" * 1000)
    assert state.bytes_changed(before, state.files_of(tmp_path)) == 7 + 30 + 60 + 1000
    now = state.files_of(tmp_path)
    assert state.bytes_changed(now, state.files_of(tmp_path)) == 0


def test_a_file_appears_as_a_whole(tmp_path: Path) -> None:
    state.appear(tmp_path / "a.nq", iter(["one\n", "two\n"]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.nq"]
    assert (tmp_path / "a.nq").read_text() == "one\ntwo\n"


def test_the_bytes_that_processes_send_to_the_disk(tmp_path: Path) -> None:
    script = """
import os, sys
with open(sys.argv[1], "wb") as file:
    file.write(os.urandom(3_000_000)); file.flush(); os.fsync(file.fileno())
print("ready", flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "block")], stdin=pipe, stdout=pipe
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        written = processes.written(child.pid)
        child.communicate()
    assert written == 0 or written >= 3_000_000  # a folder that is kept in memory has no disk


def test_windows_that_hold_so_many_elements() -> None:
    assert memory.sliding(10_000_000) == Window(10_000, 1_000)
    assert memory.sliding(1_000) == Window(10, 1)


def test_the_last_instant_is_one_of_a_full_window() -> None:
    # 2026 does not begin at a multiple of 1,000 seconds since 1970, but 400 seconds before one.
    assert memory.enough(Window(10_000, 1_000)) == 11_400_000
    assert memory.enough(Window(10, 1)) == 11_000


def answer(at: str, gate: str, count: int) -> bytes:
    row = {"gate": {"type": "uri", "value": gate}, "n": {"type": "literal", "value": str(count)}}
    return json.dumps({"query": "count", "at": at, "row": row}).encode()


def test_counts_are_those_of_the_stream() -> None:
    gates = [line.split()[2][1:-1] for line in streams.lines(3000)]
    assert memory.counts(3000, 1000) == Counter(gates[-1000:])


def test_only_the_last_answer_must_be_right() -> None:
    expected = Counter({"a": 2, "b": 3})
    right = [answer("1", "a", 9), answer("2", "a", 2), answer("2", "b", 3)]
    memory.check(right, expected)
    for wrong in (right[:2], [*right, answer("3", "a", 2)], []):
        with pytest.raises(EvaluationError, match="is wrong"):
            memory.check(wrong, expected)
