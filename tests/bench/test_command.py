"""The benchmarks are a package of their own: what users install has none of it, and says how to get it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from rheos_bench import BENCHMARKS, Settings
from tests.cli.command import ROOT, called


def installed(project: Path) -> set[str]:
    """The files that a wheel of a project would install."""
    return {file.distribution_path for file in WheelBuilder(str(project)).recurse_included_files()}


def test_the_wheel_of_rheos_has_no_benchmarks() -> None:
    files = installed(ROOT)
    assert "rheos/cli/app.py" in files
    assert not [path for path in files if "rheos_bench" in path or "/bench/" in path]


def test_the_wheel_of_the_benchmarks_has_nothing_else() -> None:
    files = installed(ROOT / "bench")
    assert "rheos_bench/conference/loops.py" in files
    assert {path.split("/")[0] for path in files} == {"rheos_bench"}


@pytest.mark.parametrize("arguments", [[], ["sparql", "--quick"], ["--help"]])
def test_without_the_package_one_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("rheos.cli.app.find_spec", lambda name: None)
    outcome = called("bench", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) == 1
    assert "make install" in outcome.err


def test_every_benchmark_has_its_module_and_is_told_of_in_the_help() -> None:
    from importlib import import_module

    for name in BENCHMARKS:
        assert callable(import_module(f"rheos_bench.{name}").run)
    shown = called("bench", "--help").out
    for name, benchmark in BENCHMARKS.items():
        assert f"rheos bench {name}" in shown
        assert re.search(rf"^ +{name} +{re.escape(benchmark.what)}$", shown, re.MULTILINE), name


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Settings]:
    """The benchmarks that a command starts, with their settings; none of them runs."""
    found: dict[str, Settings] = {}
    monkeypatch.setattr(
        "rheos_bench.Benchmark.run", lambda self, settings: found.__setitem__(self.name, settings)
    )
    return found


def test_without_a_name_only_what_takes_minutes(started: dict[str, Settings]) -> None:
    assert called("bench").status == 0
    names = "sparql paths windows cqels events overload server mapping city start"
    assert list(started) == names.split()
    assert called("bench", "--full").status == 0
    assert list(started) == list(BENCHMARKS)


def test_options_and_their_usual_values(started: dict[str, Settings]) -> None:
    assert called("bench", "cluster").status == 0
    assert (started["cluster"].triples, started["cluster"].rounds, started["cluster"].store) == (
        5_000_000,
        3,
        None,
    )
    assert called("bench", "memory", "--live", "2000").status == 0
    assert started["memory"].live == 2000
    options = ["--triples", "3000", "--rounds", "5", "--store", "s3://bucket/x", "--only", "join"]
    assert called("bench", "cluster", *options).status == 0
    assert started["cluster"] == Settings(
        triples=3000, rounds=5, store="s3://bucket/x", only=("join",), live=1_000_000
    )
    assert called("bench", "sparql", "--rounds", "0").status == 2
    for length, minutes in ((("--minutes", "60"), 60), (("--hours", "24"), 1440)):
        assert called("bench", "soak", *length).status == 0
        assert started["soak"].minutes == minutes
