"""`rheos run` in a process of its own: standard input, a pipe that closes, Ctrl-C, and a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import read_terminal
from tests.cli.test_run import COUNT, COUNTS, ELEMENTS, STREAM, Outcome, rows
from tests.conftest import java_is_missing

COMMAND = [sys.executable, "-m", "rheos", "run", "-q", COUNT]
PATIENCE = 240  # seconds; Spark starts, and tests share the machine

pytestmark = pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")


@pytest.mark.slow
def test_standard_input_is_answered_while_it_flows() -> None:
    process = subprocess.Popen(
        [*COMMAND, "--stream", f"{STREAM}=-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(ELEMENTS[:3]).encode())
    process.stdin.flush()
    # The third element says that the first ten seconds are complete: the answer comes before the input ends.
    first = process.stdout.readline().decode()
    assert process.poll() is None
    process.stdin.write(ELEMENTS[3].encode())
    out, err = process.communicate(timeout=PATIENCE)
    assert rows(Outcome(process.returncode, first + out.decode(), err.decode())) == COUNTS
    assert err == b""


@pytest.mark.slow
def test_elements_far_ahead_of_the_clock_move_nothing() -> None:
    far = ELEMENTS[0].replace("2026-", "9000-")
    done = subprocess.run(
        [*COMMAND, "--stream", f"{STREAM}=-", "--ahead", "1h"],
        input="".join([far, *ELEMENTS]).encode(),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert rows(Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())) == COUNTS
    assert done.stderr.decode() == (
        "1 element went to the dead letters: 1 too far ahead; --dead-letters FILE keeps them\n"
    )


@pytest.mark.slow
def test_a_followed_file_that_is_truncated_is_named(tmp_path: Path) -> None:
    path = tmp_path / "1.nq"
    path.write_text("".join(ELEMENTS))
    process = subprocess.Popen(
        [*COMMAND, "--stream", f"{STREAM}={tmp_path}", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["at"] == COUNTS[0][1]
    path.write_text(ELEMENTS[0])
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    [told] = [line for line in err.decode().splitlines() if str(path) in line]
    sizes = f"the file has {len(ELEMENTS[0])} bytes, but there were {len(''.join(ELEMENTS))}"
    assert told.endswith(f"{path}: {sizes}: it was truncated or replaced")
    assert "Traceback" not in err.decode()


@pytest.mark.slow
def test_a_reader_that_has_enough(tmp_path: Path) -> None:
    (tmp_path / "tolls.nq").write_text("".join(ELEMENTS))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "--stream", f"{STREAM}={tmp_path / 'tolls.nq'}"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_ctrl_c_ends_a_run_that_follows_a_directory(tmp_path: Path) -> None:
    (tmp_path / "1.nq").write_text("".join([*ELEMENTS, "not an element\n"]))
    process = subprocess.Popen(
        [*COMMAND, "--stream", f"{STREAM}={tmp_path}", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    first = [json.loads(process.stdout.readline()) for _ in COUNTS[:2]]
    assert [answer["at"] for answer in first] == [at for _, at, _ in COUNTS[:2]]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all the processes of the command get it
    out, err = process.communicate(timeout=PATIENCE)
    # The instant of 30 s is not complete while more may come.
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == ("1 element went to the dead letters: 1 bad; --dead-letters FILE keeps them\n")


@pytest.mark.slow
def test_on_a_terminal_figures_stand_below_the_tables(tmp_path: Path) -> None:
    (tmp_path / "tolls.nq").write_text("".join(ELEMENTS))
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--stream", f"{STREAM}={tmp_path / 'tolls.nq'}"],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm-256color"},
    )
    os.close(writer)
    seen = read_terminal(reader)
    assert process.wait(timeout=PATIENCE) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert text.index("starting Spark") < text.index("Cars  2026-01-01T00:00:10Z")
    assert "ex:t1" in text
    assert re.search(rf"{STREAM}\s+4 elements\s+[\d,]+/s\s+2026-01-01T00:00:30Z", text)
    assert re.search(r"Cars\s+3 instants\s+3 rows\s+[\d,]+ ms\s+task", text)
    assert text.index("Cars  2026-01-01T00:00:30Z") < text.rindex("3 instants")
