"""`rheos bench sparql` from end to end, with little data and one run of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos_bench import sparql
from rheos_bench.queries import VARIED
from rheos_bench.report import Measured
from tests.cli.command import called

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.slow
def test_a_quick_run_prints_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    cold_start = sparql.cold_start

    def of_local(folder: Path, small: Path, execution: str, *, target: float, runs: int) -> Measured:
        """Without a further start of Spark, which tests of the command see."""
        if execution == "catalyst":
            return Measured("rheos query, catalyst, cold start", 1.0, target)
        return cold_start(folder, small, execution, target=target, runs=runs)

    monkeypatch.setattr(sparql, "cold_start", of_local)
    outcome = called("bench", "sparql", "--triples", "2000", "--quick")
    assert (outcome.status, outcome.err) == (0, "")
    for label in (
        "rheos query, local, cold start",
        "parse and compile 20 lines",
        "triples/s",
        "rows/s",
        *VARIED,
    ):
        assert label in outcome.out
    assert "\x1b" not in outcome.out
