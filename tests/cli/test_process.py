"""What only a real process shows: terminals, pipes that close, Ctrl-C, and what a start imports."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import CITY, read_terminal, rheos

COMMAND = [sys.executable, "-m", "rheos", "query"]
NAMES = "PREFIX : <http://example.org/city#> SELECT ?name { ?p :name ?name } ORDER BY ?name"
CROSS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


def on_a_terminal(*arguments: str) -> str:
    """What a person would see: standard output is a terminal of its own."""
    reader, writer = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    seen = read_terminal(reader)
    process.communicate(timeout=60)
    assert process.returncode == 0
    return seen


def test_a_table_on_a_terminal() -> None:
    seen = on_a_terminal("-q", NAMES, "--data", str(CITY))
    assert "Anna" in seen
    assert "{" not in seen


def test_data_cannot_send_escapes_to_the_terminal() -> None:
    seen = on_a_terminal("-q", "SELECT ('a\\u001b[31mred\\u0007' AS ?x) {}", "--format", "table")
    assert "\x1b[31m" not in seen
    assert "\x07" not in seen
    assert "[31mred" in seen


def test_a_reader_that_has_enough() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # it has had enough from the start: how much a pipe holds differs
    done = subprocess.run([*COMMAND, "-q", NAMES, "--data", str(CITY)], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_interrupted() -> None:
    process = subprocess.Popen(
        [*COMMAND, "-q", CROSS, "--data", str(CITY), "-f", "csv", "--execution", "local"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("instead", ["pass", "raise RuntimeError('Query interrupted')"])
def test_an_interrupt_that_is_lost_in_a_library(instead: str) -> None:
    script = (
        "import os, signal\n"
        "from rheos.cli import app, main\n"
        "from rheos.cli.failures import reported\n"
        "def command(**_):\n"
        "    with reported():\n"
        "        try: os.kill(os.getpid(), signal.SIGINT)\n"
        f"        except KeyboardInterrupt: {instead}\n"
        "    raise SystemExit(0)\n"
        "app.app = command\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "-q", "ASK {}"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["No space left on device"]


def test_a_local_query_imports_neither_spark_nor_pandas() -> None:
    script = (
        f"import sys; sys.argv = ['rheos', 'query', '-q', {NAMES!r}, '--data', {str(CITY)!r}]\n"
        "from rheos.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('pyspark', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_cold_start_is_soon_over() -> None:
    """Generous, since tests share the machine; `rheos bench sparql` measures against 1.5 s."""
    rheos("query", "-q", NAMES, "--data", CITY)
    start = time.perf_counter()
    rheos("query", "-q", NAMES, "--data", CITY)
    assert time.perf_counter() - start < 6
