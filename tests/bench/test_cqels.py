"""`rheos bench cqels` from end to end, with little data, and the loops that are measured beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from rheos_bench import conference
from rheos_bench.conference.loops import hand_loop, plain, static_store, store_loop
from rheos_bench.cqels import PAPER
from rheos_bench.naive import Looped


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_quick_run_prints_its_tables() -> None:
    """It fails if rheos and the loops do not report the same."""
    command = [sys.executable, "-m", "rheos", "bench", "cqels", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    labels = [
        "C-SPARQL",
        "by hand",
        "Q3, 10,000 triples",
        "Q1, 4 queries",
        "8 shapes",
        "until the change shows",
    ]
    for label in [*labels, *(f"\nQ{template} " for template in PAPER)]:
        assert label in done.stdout


# --- the loops --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ox.Store]:
    folder = tmp_path_factory.mktemp("conference")
    stream = conference.write_stream(folder / "stream.nq", 600, people=12, per_second=10)
    papers = conference.write_bibliography(folder / "papers.nt", 10_000)
    return stream, static_store(papers, conference.write_floor_plan(folder / "plan.nt"))


@pytest.mark.parametrize("template", conference.TEMPLATES)
def test_both_loops_find_the_same(template: int, files: tuple[Path, ox.Store]) -> None:
    """The store has a row once at a tick; by hand it comes as often as there are solutions."""
    stream, store = files
    found = 0
    for author in range(8):
        asked = store_loop(stream, store, [conference.instance(template, author)])
        by_hand = hand_loop(stream, store, template, [conference.author_name(author)])
        assert asked.elements == by_hand.elements == 600
        if template in (1, 2, 5):
            assert asked.rows == by_hand.rows
        else:
            assert asked.rows <= by_hand.rows
            assert bool(asked.rows) == bool(by_hand.rows)
        found += asked.rows
    assert found > 20


def test_many_names_by_hand_are_the_sum_of_each(files: tuple[Path, ox.Store]) -> None:
    stream, store = files
    names = [conference.author_name(author) for author in range(12)]
    for template in (1, 3, 4, 5):
        each = sum(hand_loop(stream, store, template, [name]).rows for name in names)
        assert hand_loop(stream, store, template, names).rows == each


def test_a_loop_stops_when_its_time_is_over(files: tuple[Path, ox.Store]) -> None:
    stream, store = files
    loop = store_loop(stream, store, conference.different(16), seconds=0)
    assert loop.elements == 0
    assert len(store) == 10_000 + 172  # windows are gone


def test_windows_of_the_store(tmp_path: Path) -> None:
    """What the windows of `conference.different` hold, tick by tick."""
    times = ("00.5", "01", "02.5", "05", "05.1", "11")
    lines = [
        f'<http://ex/{at}> <http://ex/in> <http://ex/room> "2026-01-01T00:00:{time}Z"'
        "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        for at, time in enumerate(times)
    ]
    path = tmp_path / "stream.nq"
    path.write_text("".join(lines))
    expected = {
        "NOW": [1, 1, 1, 1, 1, 1],
        "TRIPLES 2": [1, 2, 2, 2, 2, 2],
        "RANGE 2s": [1, 2, 3, 1, 2, 1],
        "RANGE 10s SLIDE 5s": [0, 0, 0, 0, 4, 5],
    }
    for window, held in expected.items():
        text = f"SELECT ?who {{ STREAM <http://ex/s> [{window}] {{ ?who <http://ex/in> ?room }} }}"
        assert store_loop(path, ox.Store(), [text]).rows == sum(held), window


def test_how_far_a_loop_came() -> None:
    assert Looped(elements=100, seconds=0.5, rows=3).rate == 200
    assert "DISTINCT" in plain("SELECT ?a { }", {})
