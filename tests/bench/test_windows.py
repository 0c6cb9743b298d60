"""`rheos bench windows`: rheos and the loop must report the same rows, or it fails; its tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rheos import Engine
from rheos_bench import windows
from rheos_bench.passages import Question, Window
from tests.cli.command import called
from tests.conftest import java_is_missing


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_quick_run_prints_its_table() -> None:
    """One section, as one run of a query takes seconds: its ten queries count, join and group."""
    command = [sys.executable, "-m", "rheos", "bench", "windows", "--triples", "20000", "--quick"]
    done = subprocess.run([*command, "--only", "queries"], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for label in ("naive loop", "times the cost of one", "to start a streaming query took"):
        assert label in done.stdout
    assert "rate of the count" not in done.stdout


class Measured(windows.Bench):
    """A bench that has measured already: the more a window overlaps, the slower."""

    def compared(self, what: str, questions: Sequence[Question], window: Window) -> tuple[float, float]:
        return 10_000 * window.step / window.range, 1000.0


def test_the_table_of_windows(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine() as engine:
        windows.windows(Measured(engine, Path(), Path(), Path(), triples=20_000))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "count per group, 10 s/10 s 10,000 1,000 10.0 ≥ 1.5 ok",
        "count per group, 60 s/10 s 1,667 1,000 1.7 ≥ 5.0 missed",
        "join with the static graph, 600 s/10 s 167 1,000 0.2",
        "rate of the count, 10 s/10 s to 600 s/10 s 0.02 > 0.5 missed",
    ):
        assert line in lines


def test_a_section_that_is_not_there() -> None:
    outcome = called("bench", "windows", "--only", "volume")
    assert (outcome.status, outcome.out) == (2, "")
    assert "no section 'volume'" in " ".join(outcome.err.replace("│", " ").split())
