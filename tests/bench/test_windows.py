"""`rheos bench windows` from end to end, with little data: both must report the same rows, or it fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.command import called


@pytest.mark.usefixtures("spark")
def test_a_quick_run_prints_its_tables() -> None:
    command = [sys.executable, "-m", "rheos", "bench", "windows", "--triples", "20000", "--quick"]
    done = subprocess.run(
        [*command, "--only", "windows", "--only", "queries"], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    labels = ["count per group, 600 s/10 s", "join with the static graph, 60 s/10 s", "rate of the count"]
    for label in [*labels, "naive loop", "times the cost of one"]:
        assert label in done.stdout
    assert "Live" not in done.stdout


def test_a_section_that_is_not_there() -> None:
    outcome = called("bench", "windows", "--only", "volume")
    assert (outcome.status, outcome.out) == (2, "")
    assert "no section 'volume'" in " ".join(outcome.err.replace("│", " ").split())
