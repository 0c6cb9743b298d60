"""Tables that are put together have the same schema, whatever is in them, and whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rheos import memory
from rheos.answers.continuous import QueryInfo
from rheos.answers.formatter import Formatter
from rheos.errors import EvaluationError
from rheos.filesystems import uri_of
from rheos.runtime.cqels.operator import Novelty, following
from rheos.runtime.driver.failures import reason_of
from rheos.runtime.driver.handle import Handle
from rheos.runtime.epsparql.circle import Derived, united
from rheos.runtime.epsparql.operator import EPSparqlBatch
from rheos.runtime.operator import Answers
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.segments import Segments, load, save
from rheos.runtime.state.store import Store
from rheos.runtime.worker.batch import Report
from rheos.runtime.worker.database import Database, typed
from rheos.sources.chunks import LIVE
from tests.runtime.batches import Batches

TIMES = ("instant", "at")


def asked(sql: str) -> pa.Table:
    return duckdb.connect().execute(sql).to_arrow_table()


def test_an_answer_has_its_own_types() -> None:
    same = {
        typed(asked(sql), TIMES, ("x", "y")).schema
        for sql in (
            "SELECT 1 AS i, 2 AS a, 'x' AS x, 'y' AS y",
            "SELECT 1::INT, 2::HUGEINT::BIGINT, NULL, 'y'",  # DuckDB takes a NULL for a number
            "SELECT 1, 2, NULL, NULL WHERE FALSE",
        )
    }
    assert len(same) == 1
    assert same.pop().types == [pa.int64(), pa.int64(), pa.string(), pa.string()]
    assert typed(asked("SELECT 1, 2, TRUE"), TIMES, ("found",), asks=True).schema.types[-1] == pa.bool_()


def test_answers_of_like_queries_are_written_together() -> None:
    queries = [QueryInfo(name, "select", ("x",)) for name in ("full", "null", "named")]
    tables = [
        typed(asked("SELECT 1, 1000000, '<http://ex/a>'"), TIMES, ("x",)),
        typed(asked("SELECT 1, 2000000, NULL"), TIMES, ("x",)),
        typed(asked("SELECT 1, 3000000, '_:b'"), ("i", "t"), ("other",)),
    ]
    written = Formatter("ndjson").batch(list(zip(queries, tables, strict=True))).decode().splitlines()
    assert [line[10:14] for line in written] == ["full", "null", "name"]


def test_what_is_new_in_two_spans() -> None:
    names = ("member", *TIMES)
    nothing = typed(asked("SELECT 0, 1, 2, NULL WHERE FALSE"), names, ("x",))
    something = typed(asked("SELECT 0, 1, 2, 'x'"), names, ("x",))
    for first, second in ((nothing, something), (something, nothing), (something, something)):
        found = following(Novelty(first, ""), Novelty(second, "")).rows
        assert len(found) == len(first) + len(second)


def test_what_several_tasks_derived() -> None:
    names = ("ending", "starting")
    parts = [
        Derived({"rule": typed(asked(f"SELECT 1, 2, {term} WHERE {there}"), names, ("x",))})
        for term, there in (("'x'", True), ("NULL", False), ("NULL", True))
    ]
    assert united(parts).solutions["rule"].column("x").to_pylist() == ["x", None]


def test_events_of_no_stream() -> None:
    batch = EPSparqlBatch(Database(duckdb.connect()), {})
    assert len(batch.seen(frozenset(), 10, {})) == 0


def test_segments_of_something_and_nothing(tmp_path: Path) -> None:
    empty = LIVE.empty_table()
    full = pa.table([["a"], ["b"], [None], [1], [1], [None], [0]], schema=LIVE)
    store = Store(uri_of(tmp_path))
    files = [save(part, f"segments/{n}.arrow", store) for n, part in enumerate((empty, full, empty))]
    assert load(Segments().plus(files), store) == Buffer(full)


def test_what_a_handle_keeps_does_not_grow() -> None:
    text = "SELECT * FROM STREAM <http://ex/s> [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }"
    handle = next(iter(Batches(["http://ex/s"], [text]).streaming.registry.handles.values()))
    kept = Handle(handle._registry, handle.registered, text, "", (), 1000, "none")

    def report(number: int) -> None:
        at = np.arange(number * 500, number * 500 + 500)
        terms = pa.array([f"<http://ex/{n}>" for n in at])
        rows = pa.table([at, at, terms, terms, terms], list("iaspo"))
        kept.report(Report("q", Answers(pa.table({"instant": at, "at": at}), rows), 1.0))

    sizes = []
    for number in range(100):
        report(number)
        sizes.append(pa.total_allocated_bytes())
    assert len(kept.results) == 1000
    assert kept.metrics.rows == 50_000
    assert max(sizes[50:]) <= max(sizes[10:50])


@pytest.mark.parametrize(
    ("settings", "local", "cores", "groups", "threads"),
    [
        ({}, True, 8, 1, 8),  # a local engine with one group has all the cores
        ({}, True, 8, 3, 2),
        ({}, True, 2, 16, 1),
        ({"spark.executor.cores": "4"}, False, 40, 1, 1),  # not the cores of the whole cluster
        ({"spark.executor.cores": "4", "spark.task.cpus": "2"}, False, 40, 10, 2),
    ],
)
def test_threads_are_the_cores_of_a_task(
    settings: dict[str, str], local: bool, cores: int, groups: int, threads: int
) -> None:
    found, granted = memory.share(settings, local, cores, groups)
    assert found == threads
    assert granted <= memory.of_machine()


NO_WORKER = "java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back"
SPARK = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 1 times
\tat org.apache.spark.util.SparkErrorUtils.tryWithSafeFinally(SparkErrorUtils.scala:86)
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", "An error occurred while calling o1.getResult."),
        (
            f"Thread State: RUNNABLE\nCaused by: java.io.IOException\n\tat a.b(c)\nCaused by: {NO_WORKER}\n",
            NO_WORKER,
        ),
        ("Traceback (most recent call last):\n  File 'x'\nValueError: bad\n\tat a.b(c)\n", "ValueError: bad"),
        ("Traceback\nrheos.errors.LoadError: the.nq: truncated\nCaused by: x\n", "the.nq: truncated"),
    ],
)
def test_one_line_says_what_failed(more: str, expected: str) -> None:
    assert reason_of(Exception(SPARK + more)) == expected


def test_a_filter_that_arrow_does_not_know_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    place, tried = Database(duckdb.connect()), list[str]()
    ask = Database.ask

    def failing(place: Database, sql: str, settings: Mapping[str, str]) -> pa.Table:
        asked = "SELECT current_setting('disabled_optimizers') AS d"
        (disabled,) = ask(place, asked, settings).column(0).to_pylist()
        tried.append(disabled)
        if "join_filter_pushdown" not in disabled:
            raise EvaluationError(
                "Pushdown Filter Type BLOOM_FILTER is not currently supported in PyArrow Scans"
            )
        return ask(place, sql, settings)

    monkeypatch.setattr(Database, "ask", failing)
    assert place._answers("SELECT 1 AS one", {"disabled_optimizers": "'join_order'"}).to_pylist() == [
        {"one": 1}
    ]
    assert [set(found.split(",")) for found in tried] == [
        {"join_order"},
        {"join_order", "join_filter_pushdown"},
    ]
