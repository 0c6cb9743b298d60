"""Time limits and memory of one-shot queries: they hold, whatever a query is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import duckdb
import pytest

from rheos import Engine, deadline, memory
from rheos.deadline import Deadline, under, within
from rheos.errors import EvaluationError, ResourceError, TimeLimitError
from rheos.execute import database
from rheos.syntax import parse

TRIPLES = "\n".join(
    f"<http://ex/{n % 50}> <http://ex/p{n % 7}> <http://ex/{n * 7 % 50}> ." for n in range(1000)
)
PRODUCT = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6))
ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {PRODUCT} FILTER(STR(?a0) = STR(?b5)) }}"
LIMIT = 2.0
# A process has to start and to end within this, on a machine that may have other work.
SLACK = 6.0


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(execution="local") as engine:
        engine.load(data=TRIPLES, format="nt")
        yield engine


def star(count: int) -> str:
    patterns = " . ".join(f"?s <http://ex/p{n % 7}> ?o{n}" for n in range(count))
    return f"SELECT (COUNT(*) AS ?n) {{ {patterns} }}"


def took(engine: Engine, text: str, limit: float = LIMIT) -> float:
    began = time.monotonic()
    with pytest.raises(TimeLimitError, match=f"it took longer than {limit:g} s"):
        engine.query(text, timeout=limit)
    return time.monotonic() - began


def test_what_runs_for_ever_is_stopped(engine: Engine) -> None:
    assert took(engine, ENDLESS) < LIMIT + SLACK


def test_what_is_planned_for_ever_is_stopped(engine: Engine) -> None:
    assert took(engine, star(900)) < LIMIT + SLACK
    assert engine.query("ASK { ?s ?p ?o }").boolean  # and nothing stays behind


def test_many_joins_are_planned_more_simply(engine: Engine) -> None:
    (row,) = engine.query(star(100), timeout=60).rows  # DuckDB alone would plan this for ten seconds and more
    assert row["n"].value == "50"


def test_a_limit_counts_parsing_too(engine: Engine) -> None:
    text = f"SELECT * {{ {'?s ?p ?o . ' * 20_000} }}"
    assert took(engine, text, 0.2) < 0.2 + SLACK
    with within(0.0), pytest.raises(TimeLimitError):
        parse("ASK {}")


def test_the_tightest_limit_holds() -> None:
    with within(100), within(None), within(200):
        left = deadline.left()
        assert left is not None
        assert 90 < left <= 100
    assert deadline.current() is None
    assert deadline.left() is None


def test_work_that_nobody_waits_for_is_stopped(engine: Engine) -> None:
    patient = Deadline(60)
    threading.Timer(0.5, patient.cancel).start()
    began = time.monotonic()
    with under(patient), pytest.raises(TimeLimitError, match="nobody waits"):
        engine.query(ENDLESS)
    assert time.monotonic() - began < SLACK


def test_an_answer_that_is_too_large_is_an_error(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "of_process", lambda: 5 << 20)
    with pytest.raises(ResourceError, match="more than 5 MB of memory"):
        engine.query("SELECT * { ?a ?b ?c . ?d ?e ?f }")


def test_a_query_that_takes_all_memory_is_told_so() -> None:
    settings = {"memory_limit": "20MB", "max_temp_directory_size": "0KB"}
    with (
        duckdb.connect(config=settings) as connection,
        pytest.raises(ResourceError, match="Out of Memory"),
    ):
        database.run(connection, "SELECT array_agg(a.range + b.range) FROM range(5000) a, range(5000) b")


def test_a_statement_that_the_planner_refuses(engine: Engine) -> None:
    with engine.graphs.cursor() as cursor, pytest.raises(EvaluationError, match="nothing_here"):
        database.try_to_plan(cursor, "SELECT * FROM nothing_here")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("4g", 4 << 30), ("512m", 512 << 20), ("2048", 2 << 30), ("1gb", 1 << 30), ("8k", 8192)],
)
def test_sizes_as_spark_writes_them(given: str, expected: int) -> None:
    assert memory.in_bytes(given) == expected


def test_tasks_share_what_is_granted() -> None:
    settings = {"spark.executor.memory": "4g"}
    assert memory.of_task(settings, local=False, at_once=2) == 2 << 30
    assert (
        memory.of_task({**settings, "spark.executor.pyspark.memory": "1g"}, local=False, at_once=2)
        == 512 << 20
    )
    assert memory.of_task({}, local=True, at_once=2) == pytest.approx(memory.of_machine() / 4, rel=0.01)
