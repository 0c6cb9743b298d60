"""`rheos bench events` from end to end, with few events, and the loops that are measured beside it."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from rheos_bench.applications import loops, plants, stocks


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_quick_run_prints_its_tables() -> None:
    """It fails if rheos and the loops do not report as many rows."""
    sections = ("sequence", "average", "classes")
    only = [word for section in sections for word in ("--only", section)]
    command = [sys.executable, "-m", "rheos", "bench", "events", "--quick", *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    # Query (6) of the paper asks for what took longer than ten days, and rheos says so.
    assert all("nothing bounds the duration" in line for line in done.stderr.splitlines())
    for label in ("three prices in a row", "WITHIN", "queries (5) and (6)", "40,080 sub-classes"):
        assert label in done.stdout


def looped(tmp_path: Path, events: list[tuple[str, str, int]], event: loops.Event) -> int:
    path = tmp_path / "events.nq"
    path.write_text(
        "".join(
            f"<http://ex/{who}> <http://ex/p> {what} "
            f'"2026-01-01T00:00:{second:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
            for who, what, second in events
        )
    )
    return loops.loop(path, event).rows


def test_peaks(tmp_path: Path) -> None:
    """Low, high, low of one company, each after the other, in less than so long."""
    rising = [("a", '"1"', 0), ("a", '"3"', 1), ("b", '"2"', 2), ("a", '"2"', 3), ("a", '"1"', 4)]
    assert looped(tmp_path, rising, loops.peaks()) == 1
    assert looped(tmp_path, rising, loops.peaks(timedelta(seconds=5))) == 3
    assert looped(tmp_path, [("a", '"1"', 0), ("a", '"3"', 0), ("a", '"2"', 1)], loops.peaks()) == 0


def test_instances(tmp_path: Path) -> None:
    tree = plants.write_classes(tmp_path / "classes.nt", 40, 100)
    members = loops.members_of(tree, plants.ROOT)
    assert len(members) == 50
    assert looped(tmp_path, [("a", "<http://ex/x>", 0)], loops.instances(members)) == 0
    assert looped(tmp_path, [("a", "<http://ex/x>", 0)], loops.instances({"http://ex/a"})) == 1


def test_a_loop_ends_when_its_time_is_over(tmp_path: Path) -> None:
    stream = stocks.write_trades(tmp_path / "trades.nq", 30_000)
    found = loops.loop(stream, loops.averages(timedelta(seconds=10)), 0.0)
    assert 0 < found.elements == found.rows < 30_000
