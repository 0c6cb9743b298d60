"""`rheos bench cluster`: its cluster starts and ends, its streams join, its table compares medians."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos.errors import EvaluationError
from rheos_bench import BENCHMARKS, Settings, cluster
from tests.conftest import java_is_missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TWO_WORKERS = """
import atexit, os, signal, sys
from pathlib import Path
from rheos import processes
from rheos_bench.standalone import cluster

with cluster(2, Path(sys.argv[1])) as spark:
    print(spark.sparkContext.master.rpartition(":")[0])
    tasks = spark.sparkContext.parallelize(range(2), 2)
    slow = tasks.map(lambda number: (__import__("time").sleep(2), os.getppid())[1])
    print(len(set(slow.collect())))
    commands = {one: Path(f"/proc/{one}/cmdline").read_text() for one in processes.tree(os.getpid())[1:]}
    servers = [one for one, text in commands.items() if "deploy.master" in text or "deploy.worker" in text]
    print(len(servers))
    atexit.register(lambda: print([one for one in servers if Path(f"/proc/{one}").exists()]))
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_cluster_of_two_workers_starts_and_ends(tmp_path: Path) -> None:
    """It ends also if the benchmark is ended by SIGTERM."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_WORKERS, str(tmp_path / "cluster")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert done.stdout.splitlines() == ["spark://127.0.0.1", "2", "3", "[]"]


def test_the_sections_are_the_cases() -> None:
    assert BENCHMARKS["cluster"].sections == tuple(case.section for case in cluster.CASES)


def test_every_car_leaves_ten_seconds_after_it_enters() -> None:
    entries, exits = (
        [line.split()[0::3] for line in islice(lines(2000), 2000)]
        for lines in (cluster.cars("enters"), cluster.cars("leaves", 10))
    )
    assert [car for car, _ in entries] == [car for car, _ in exits]
    assert entries[0][1].startswith('"2026-01-01T00:00:00.002000Z"')
    assert exits[0][1].startswith('"2026-01-01T00:00:10.002000Z"')


def test_a_store_is_a_path_or_an_address() -> None:
    assert cluster.path_of("file:///shared/rheos") == cluster.path_of("/shared/rheos") == "/shared/rheos"
    assert cluster.path_of("s3://bucket/rheos") == "s3://bucket/rheos"


def test_the_table_compares_medians() -> None:
    bench = cluster.Bench(Path(), "", elements=120_000)
    bench.seconds = {("count", 1): [12.0, 90.0, 11.0], ("count", 2): [11.0, 10.5, 11.0]}
    bench.starts = {("count", 1): [10.0, 1.0, 10.0], ("count", 2): [10.0, 10.0]}
    ((_, *cells),) = cluster.report(bench, cluster.CASES[:1])
    assert cells == ["50,000", "100,000", "2.00", "≥ 1.6", "ok", "12.00 s / 11.00 s"]
    bench.seconds["count", 2] = [10.0]
    ((_, *cells),) = cluster.report(bench, cluster.CASES[:1])
    assert cells == ["too short", "too short", "", "≥ 1.6", "missed", "12.00 s / 10.00 s"]


@pytest.mark.slow
def test_a_quick_run_of_the_join(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the Spark of the tests, in place of a cluster, and with a store of its own."""
    places = []

    @contextmanager
    def start(workers: int, place: Path) -> Iterator[SparkSession]:
        places.append(f"{place.name}: {workers}")
        yield spark

    times = iter([9.0, 1.0, 1.0, 3.0, 9.0, 1.0, 1.0, 2.0])
    monkeypatch.setattr(cluster, "SHORT", 4_000)
    monkeypatch.setattr(cluster, "timed", lambda action: (action(), next(times))[1])
    settings = Settings(triples=40_000, rounds=1, only=("join",), store=tmp_path.as_uri())
    cluster.run(settings, start)
    assert places == ["cluster-0-1: 1", "cluster-0-2: 2"]
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "join of two streams, 60 s/10 s 18,000 36,000 2.00 ≥ 1.6 ok 3.00 s / 2.00 s" in lines
    assert list(tmp_path.iterdir()) == []


def test_it_needs_more_elements_than_it_warms_up_with() -> None:
    with pytest.raises(EvaluationError, match="more than 20,000"):
        cluster.run(Settings(triples=1000))
