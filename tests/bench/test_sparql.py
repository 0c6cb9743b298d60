"""`rheos bench sparql` from end to end, with little data and one run of each."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rheos.bench.queries import VARIED


@pytest.mark.usefixtures("spark")
def test_a_quick_run_prints_both_tables() -> None:
    command = [sys.executable, "-m", "rheos", "bench", "sparql", "--triples", "2000", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for label in ("rheos query, local, cold start", "parse and compile 20 lines", "triples/s", *VARIED):
        assert label in done.stdout
    assert "\x1b" not in done.stdout
