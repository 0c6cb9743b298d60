"""`rheos bench paths` from end to end, with little data and one run of each."""

from __future__ import annotations

from rheos_bench.paths import CHAIN, QUERIES
from tests.cli.command import called


def test_a_quick_run_prints_the_table() -> None:
    outcome = called("bench", "paths", "--triples", "3000", "--quick")
    assert (outcome.status, outcome.err) == (0, "")
    for label in (*QUERIES, "pyoxigraph", str(CHAIN)):
        assert label in outcome.out
