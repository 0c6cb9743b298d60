"""`rheos bench live` and `rheos bench start`: what is measured, and the tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rheos import Engine
from rheos.errors import EvaluationError
from rheos.syntax import parse
from rheos_bench import BENCHMARKS, live, streams
from rheos_bench.live import questions
from rheos_bench.live.delays import Live, Read, Written, after_start
from rheos_bench.passages import Window
from tests.conftest import java_is_missing

# Answers each second when an element of the next one comes.
ECHO = """
import json, sys
late = None
for line in sys.stdin:
    second = line.split('"')[1][:19]
    if second != late:
        late = second
        print(json.dumps({"query": "q", "at": second + "Z"}), flush=True)
"""


def test_each_section_can_be_asked_for() -> None:
    assert BENCHMARKS["live"].sections == tuple(live.SECTIONS)


def test_an_instant_is_complete_with_the_first_later_element() -> None:
    written = Written()
    for count in (500, 1000, 1001, 3000):
        written.note(count)
    moments = written.moments
    assert written.complete(499_000) == moments[0]
    assert written.complete(999_000) == moments[1]
    assert written.complete(1_000_000) == moments[2]
    assert written.complete(1_500_500) == moments[3]
    assert written.complete(3_000_000) is None


def test_the_last_line_of_an_answer_counts() -> None:
    read = Read()
    at = "2026-01-01T00:00:02Z"
    read.take(json.dumps({"query": "q", "at": at, "row": row}).encode() for row in range(3))
    assert list(read.moments) == [("q", 2_000_000)]
    assert read.high == after_start(at) == 2_000_000


def test_the_delay_is_from_the_element_that_completes_an_instant() -> None:
    # It answers at the first element of a second, which is just before the one that completes the instant.
    delays = Live(fill=0, warm_up=1, counted=2).delays([sys.executable, "-c", ECHO])
    assert len(delays) == 1  # after second 1 and complete: second 2; nothing is later than second 3
    assert -0.1 < delays[0] < 0.5


def test_a_command_that_fails_is_told_of() -> None:
    with pytest.raises(EvaluationError, match="no such thing"):
        Live(0, 0, 1).delays([sys.executable, "-c", "import sys; sys.exit('no such thing')"])


def test_windows_are_filled_before_time_begins() -> None:
    delays = Live(fill=20, warm_up=0, counted=2).delays([sys.executable, "-c", ECHO])
    assert len(delays) == 1  # that of second 21; nothing is later than 22
    assert -0.1 < delays[0] < 5


@pytest.mark.parametrize("name", questions.SHAPES)
def test_long_windows_of_every_shape_are_incremental(name: str) -> None:
    text = questions.SHAPES[name].text(Window(3600, 1))
    with Engine() as engine:
        assert engine.explanation(text)["incremental"].startswith("yes")


def test_cars_leave_some_seconds_after_they_came() -> None:
    found = list(streams.cars(10_000))
    entered = {line.split()[0]: at for at, line in enumerate(found) if "enters" in line}
    left = {line.split()[0]: at for at, line in enumerate(found) if "leaves" in line}
    both = entered.keys() & left.keys()
    assert len(both) == 3_000
    assert {left[car] - entered[car] for car in both} == {streams.STAY * streams.PER_SECOND + 1}


@pytest.mark.parametrize("name", questions.LANGUAGES)
def test_the_count_in_every_language(name: str) -> None:
    assert parse(questions.LANGUAGES[name](Window(10, 1)), "auto").is_continuous


class Measured(live.Bench):
    """A bench that has measured already: a second for each query and each hour of the window."""

    def measured(
        self, what: str, module: Sequence[str], fill: int = 0, lines: live.Lines = streams.lines
    ) -> live.Delays:
        queries = sum(argument.endswith(".rq") for argument in module) or 2  # PySpark has no files
        return live.Delays(60, 0.1 * queries, 0.3 * queries + fill / 3600)


def test_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Measured(tmp_path, quick=False)
    for section in (live.windows, live.shapes, live.queries, live.languages, live.rival):
        section(bench)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "10 s/1 s 60 100 ms 300 ms ≤ 400 ms ok",
        "600 s/1 s 60 100 ms 467 ms ≤ 450 ms missed",
        "3600 s/1 s 60 100 ms 1.30 s ≤ 450 ms missed",
        "join of two patterns, 10 s/1 s 60 100 ms 300 ms",
        "join of two patterns, 3600 s/1 s 60 100 ms 1.30 s ≤ 450 ms missed",
        "12 queries 60 1.20 s 3.60 s ≤ 800 ms missed",
        "EP-SPARQL 60 100 ms 300 ms ≤ 400 ms ok",
        "rheos 60 100 ms 300 ms 0.50",
    ):
        assert line in lines


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_quick_run_prints_its_table() -> None:
    command = [sys.executable, "-m", "rheos", "bench", "live", "--quick", "--only", "windows"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "10 s/1 s" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_quick_start_prints_its_table() -> None:
    command = [sys.executable, "-m", "rheos", "bench", "start", "--quick"]
    options = ["--only", "query", "--only", "run", "--only", "serve"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    for label in ("rheos query on a small file", "rheos run on a small file", "rheos serve, healthy"):
        assert label in done.stdout
    assert "rheos demo" not in done.stdout
