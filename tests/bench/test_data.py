"""The generated city: exact in size, the same for the same seed, and right N-Triples."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph as ox
import pytest

from rheos_bench import data
from rheos_bench.queries import SMALL, TWENTY_LINES, VARIED


@pytest.mark.parametrize("size", [1, 7, 1000, 20_000])
def test_exactly_so_many_different_triples(size: int) -> None:
    lines = list(data.lines(size))
    assert len(lines) == len(set(lines)) == size


def test_the_same_seed_gives_the_same_city() -> None:
    assert list(data.lines(3000, seed=1)) == list(data.lines(3000, seed=1))
    assert list(data.lines(3000, seed=1)) != list(data.lines(3000, seed=2))


def test_a_file_can_be_gzipped(tmp_path: Path) -> None:
    path = data.write(tmp_path / "city.nt.gz", 100)
    assert gzip.decompress(path.read_bytes()).decode() == "".join(data.lines(100))


def test_every_query_finds_something(tmp_path: Path) -> None:
    store = ox.Store()
    store.bulk_load(path=str(data.write(tmp_path / "city.nt", 40_000)))
    for name, text in {"small": SMALL, "twenty lines": TWENTY_LINES, **VARIED}.items():
        solutions = store.query(text)
        assert isinstance(solutions, ox.QuerySolutions)
        assert any(True for _ in solutions), name


def test_the_query_of_twenty_lines_has_twenty_lines() -> None:
    assert len(TWENTY_LINES.splitlines()) == 20
