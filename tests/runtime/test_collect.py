"""What the driver makes of a batch in shards: a query that one shard has not answered counts as not evaluated
in any, and so do the queries that read what it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rheos.answers.continuous import time_text
from rheos.deadline import within
from rheos.errors import TimeLimitError
from rheos.runtime import merging
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.driver.dispatch import Collected, collect
from rheos.runtime.driver.service import Streaming
from rheos.runtime.operator import Answers
from rheos.runtime.plan import Control, Plan
from rheos.runtime.state.segments import load
from rheos.runtime.state.store import Store
from rheos.runtime.worker.batch import Arrivals, evaluate
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.sharing import Share
from rheos.runtime.worker.task import Written
from rheos.sources.lines import read_lines
from rheos.store.graphs import StaticGraphs
from rheos.store.tables import filled
from rheos.syntax import parse
from tests.runtime.arrivals import arrivals
from tests.runtime.batches import Line, Nowhere, no_spark
from tests.runtime.streams import Element, lines

S = "http://ex/s"
SHARDS = 2


@dataclass
class Shards:
    """Batches in shards without Spark: the tasks of a batch, and what the driver collects of them."""

    store: Store
    texts: Sequence[str]
    cached: bool = False
    named: set[str] = field(default_factory=set)  # all segments that were live after a batch

    def __post_init__(self) -> None:
        self.streaming = Streaming(no_spark, StaticGraphs())
        self.streaming.add_stream(S, Nowhere("nowhere"), lateness=None, idle=None, follow=False)
        for text in self.texts:
            self.streaming.register(parse(text, "auto"), name=None, base="http://ex/", keep=0)
        self.streaming.registry.resolve()
        self.control = Control(0, {}, self.store, shards=(SHARDS,), sharded=True)
        self.databases: list[duckdb.DuckDBPyConnection] = [filled({}) for _ in range(SHARDS)]
        self.caches = [Cache(database, incremental=True) for database in self.databases]
        self.runs = 0

    @property
    def plan(self) -> Plan:
        return self.streaming.registry.plan([f"<{S}>"], 1)

    def batch(
        self,
        elements: Sequence[Element],
        stopped: Mapping[int, Mapping[str, str]] | None = None,
        *,
        ended: bool = False,
    ) -> Collected:
        """Evaluate a batch. By shard, some queries are `stopped`: their process was ended."""
        plan, rows = self.plan, list[dict[str, object]]()
        chunks = [read_lines(lines(elements).encode(), "")] if elements else []
        given = {f"<{S}>": Arrivals(arrivals(chunks, 0), ended)}
        for number, database in enumerate(self.databases):
            control = replace(self.control, stopped=(stopped or {}).get(number, {}))
            self.caches[number].begin(f"{self.runs}", {query.name for query in plan.queries})
            share = Share(number, SHARDS, always=True, by=control.shard_by)
            buffers = {name: load(found, self.store) for name, found in control.segments.items()}
            outcome = evaluate(
                plan.groups[0],
                plan.streams(0),
                control,
                buffers,
                given,
                database,
                plan.families,
                share,
                cache=self.caches[number] if self.cached else None,
            )
            for row in Written(control, number, share, outcome, given).rows():
                rows += row.to_pylist()
        found = collect(rows, plan, self.control)
        self.control = replace(
            self.control,
            batch=self.control.batch + 1,
            progress={**self.control.progress, **found.progress},
            reached={**self.control.reached, **found.reached},
            counts=found.counts,
            segments={**self.control.segments, **found.segments},
            cautious=bool(found.deferred) and not self.control.cautious,
        )
        self.named |= {file.name for kept in self.control.segments.values() for file in kept.files}
        self.store.delete(found.files)
        self.runs += bool(found.unmade)
        for name, reason in found.failures.items():
            self.streaming.registry.handles[name].fail(reason)
        return found

    def run(
        self, cuts: Sequence[Sequence[Element]], stopped: Mapping[int, Mapping[int, Mapping[str, str]]]
    ) -> list[Line]:
        """All that is reported of these batches. `stopped` is by batch and shard."""
        lines_: list[Line] = []
        number, found = 0, Collected()
        while number < len(cuts) or found.deferred or found.failures:
            elements = cuts[number] if number < len(cuts) else []
            found = self.batch(elements, stopped.get(number), ended=number >= len(cuts) - 1)
            lines_ += reported(found)
            number += 1
            assert number < len(cuts) + 10
        return lines_


def reported(found: Collected) -> list[Line]:
    return [
        (report.query, time_text(row[1]), tuple(row[2:]))
        for report in found.reports
        for row in zip(*(column.to_pylist() for column in report.answers.rows.columns), strict=True)
    ]


PREFIX = "PREFIX : <http://ex/>"
HEAVY = (
    f"REGISTER QUERY heavy AS {PREFIX} SELECT ?o FROM STREAM <{S}> [RANGE 1s STEP 1s] WHERE {{ ?s :p ?o }}"
)
MADE = f"""REGISTER STREAM made AS {PREFIX} CONSTRUCT {{ ?s ?p ?o }}
FROM STREAM <{S}> [RANGE 1s STEP 1s] WHERE {{ ?s ?p ?o }}"""
MADE2 = MADE.replace("made", "made2").replace(S, "http://ex/made")
READER = f"""REGISTER QUERY reader AS {PREFIX} SELECT (COUNT(*) AS ?n)
WHERE {{ STREAM <http://ex/made2> [RANGE 1h] {{ ?s ?p ?o }} }}"""
PAIRS = f"""REGISTER QUERY pairs CONSUMPTION CHRONOLOGICAL AS {PREFIX} SELECT ?a ?b
FROM STREAM <{S}> WHERE {{ {{ ?a :p :x }} SEQ {{ ?b :q :x }} }}"""
CUTS: list[list[Element]] = [
    [("a", "p", "x", 1), ("b", "p", "x", 2)],
    [("c", "q", "x", 3), ("d", "q", "x", 4), ("e", "p", "x", 5)],
    [("f", "q", "x", 6)],
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path.as_uri(), durable=False)


def of(found: Sequence[Line], query: str) -> list[tuple[str, tuple[str | None, ...]]]:
    return [(at, row) for name, at, row in found if name == query]


TEXTS = [HEAVY, MADE, MADE2, READER, PAIRS]


def left_behind(shards: Shards) -> set[str]:
    """The stored segments that were never live after a batch."""
    return shards.store.names("segments").keys() - shards.named


@pytest.mark.parametrize("shard", [0, 1])
@pytest.mark.parametrize("batch", [0, 1])
def test_queries_deferred_in_one_shard_answer_as_if_they_had_not_waited(
    store: Store, tmp_path: Path, shard: int, batch: int
) -> None:
    undisturbed = Shards(Store((tmp_path / "other").as_uri(), durable=False), TEXTS).run(CUTS, {})
    shards = Shards(store, TEXTS)
    found = shards.run(CUTS, {batch: {shard: {"heavy": "too slow"}}})
    for query in ("made", "made2", "reader", "pairs"):
        assert of(found, query) == of(undisturbed, query) != []
    assert not left_behind(shards)


@pytest.mark.parametrize("shard", [0, 1])
def test_a_maker_that_fails_in_one_shard_has_made_nothing_in_that_batch(store: Store, shard: int) -> None:
    """Its readers, which may have seen what it made, wait for the next batch."""
    shards = Shards(store, [MADE, MADE2, READER])
    shards.batch(CUTS[0])
    before = dict(shards.control.segments)
    found = shards.batch(CUTS[1], {shard: {"made": "too slow"}})
    assert found.failures == {"made": "too slow"}
    assert found.deferred >= {"made2", "reader"}
    assert not found.reports
    assert found.unmade == {"<http://ex/made>", "<http://ex/made2>"}
    for stream in ("<http://ex/made>", "<http://ex/made2>"):
        assert shards.control.segments[stream] == before[stream]
    assert not left_behind(shards)


def test_what_was_never_made_is_in_no_cache(store: Store, tmp_path: Path) -> None:
    """The reader has seen elements of a maker that then failed in another shard. It also reads another
    stream, so it goes on."""
    maker = MADE.replace("?p ?o }\nFROM", ":made ?o }\nFROM")
    assert maker != MADE
    both = READ.replace("WHERE", f"FROM STREAM <{S}> [RANGE 1h STEP 1s] WHERE")
    found = [
        of(Shards(at, [maker, both], cached).run(CUTS, {1: {1: {"made": "too slow"}}}), "read")
        for at, cached in ((store, True), (Store((tmp_path / "other").as_uri(), durable=False), False))
    ]
    assert found[0] == found[1] != []


READ = f"""REGISTER QUERY read AS {PREFIX} SELECT (COUNT(*) AS ?n)
FROM STREAM <http://ex/made> [RANGE 1h STEP 1s] WHERE {{ ?s :made ?o }}"""
COUNTED = f"""REGISTER QUERY counted AS {PREFIX} SELECT ?s (COUNT(*) AS ?n)
FROM STREAM <{S}> [RANGE 5s STEP 1s] WHERE {{ ?s :p ?o }} GROUP BY ?s"""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (duckdb.OutOfMemoryException("no more"), "OutOfMemoryException: no more"),
        (TimeLimitError("it took too long"), "it took too long"),
    ],
)
def test_a_query_whose_answers_cannot_be_merged_fails_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def failing(operator: CSparqlOperator, parts: Sequence[Answers]) -> Answers:
        raise error

    monkeypatch.setattr(CSparqlOperator, "merged", failing)
    shards = Shards(store, [COUNTED, MADE, MADE2, READER])
    shards.control = replace(shards.control, shard_by="variable")
    found = shards.run(CUTS, {})
    assert not of(found, "counted")
    assert of(found, "reader")
    assert shards.streaming.registry.handles["counted"].failure == reason


def test_a_merge_ends_at_the_deadline_and_has_a_limit_of_memory() -> None:
    rows = pa.table({"n": range(1000)})
    with within(60), merging.database() as connection:
        (limit,) = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    assert "GiB" in limit or "MiB" in limit
    assert merging.in_order(rows).equals(rows)
    with pytest.raises(TimeLimitError), within(0.1), merging.database() as connection:
        connection.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b").fetchall()


def test_segments_of_which_nothing_is_needed_are_passing(store: Store) -> None:
    """All that came is dropped in the same batch: no record names the segment, so it is deleted at once."""
    shards = Shards(store, [HEAVY])
    found = shards.batch([("a", "p", "x", 1), ("b", "p", "x", 9)])
    assert not found.files
    found = shards.batch([("c", "p", "x", 10), ("d", "p", "x", 11)], ended=True)
    assert len(found.files) == 1
    assert not left_behind(shards)
