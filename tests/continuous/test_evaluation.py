"""The engine's evaluation of batches against a store per evaluation, on random streams cut at random."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.operator import Count
from rheos.runtime.sharding import Shard
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plans
from rheos.store.graphs import StaticGraphs
from tests.continuous.cases import QUERIES, SECOND, TIMED, Text, case, random_text
from tests.continuous.reference import Answer, Case, Element, answers
from tests.spread import spread


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


def table(elements: list[Element]) -> pa.Table:
    s, p, o, time = zip(*elements, strict=True)
    numbers = {"time": pa.array(time, pa.int64()), "place": pa.array(range(1, len(time) + 1), pa.int64())}
    return pa.table({"s": s, "p": p, "o": o, **numbers})


def load(graphs: StaticGraphs, case: Case) -> None:
    graphs.clear()
    if case.static:
        graphs.load(data="".join(f"{' '.join(triple)} .\n" for triple in case.static), format="nt")


def evaluated(
    case: Case,
    evaluation: CSparqlOperator,
    place: Callable[[], Database],
    cuts: Sequence[int],
    kept: frozenset[str] = frozenset(),
    shards: int = 1,
) -> list[Answer]:
    """The answers batch after batch, each with no more elements than the one before has kept; if there are
    several `shards`, merged from theirs."""
    live = {name: table(list(found)) for name, found in case.streams.items()}
    before = {name: Count(count, count) for name, count in case.since.items()}
    found: list[Answer] = []
    for after, until in itertools.pairwise(cuts):
        parts = []
        for number in range(shards):
            here = place()
            names = {}
            for at, (name, elements) in enumerate(live.items()):
                names[name] = f"elements_{at}"
                here.put(names[name], elements)
            shard = Shard(number, shards) if shards > 1 else None
            parts.append(CSparqlBatch(here, names, kept).answers(evaluation, after, until, before, shard))
        answer = evaluation.merged(parts) if shards > 1 else parts[0]
        rows: dict[int, Counter[tuple[object, ...]]] = {
            row["instant"]: Counter() for row in answer.instants.to_pylist()
        }
        for instant, _, *row in zip(*(column.to_pylist() for column in answer.rows.columns), strict=True):
            rows[instant][tuple(row)] += 1
        times = answer.instants.column("at").to_pylist()
        found += zip(times, rows.values(), strict=True)
        live = {
            name: elements.filter(pa.array(evaluation.live(name, live, until, before=before)))
            for name, elements in live.items()
        }
    return found


def compare(
    text: Text,
    seed: int,
    graphs: StaticGraphs,
    place: Callable[[], Database] | None = None,
    cuts: int = 3,
    shards: int = 1,
    *,
    sessions: bool = False,
) -> bool:
    """Compare the answers that a place gives, or else DuckDB, when time is cut into batches at random. With
    several shards, False if the query cannot be sharded by a variable."""
    chance = random.Random(f"{text}{seed}")
    found = case(chance, text, sessions=sessions)
    until = max(element[3] for elements in found.streams.values() for element in elements) + 40 * SECOND
    after = -1
    if chance.random() < 0.25:  # registered while the streams flow
        after = chance.randrange(0, until // 2, SECOND // 2)
        since = {
            name: sum(element[3] <= after for element in elements) for name, elements in found.streams.items()
        }
        found = replace(found, since=since)
    load(graphs, found)
    plans = Plans(graphs.connection, at_once=True)
    place = place or (lambda: Database(graphs.connection.cursor(), plans=plans))
    evaluation = CSparqlOperator.of(found.query, place().dialect)
    if shards > 1 and evaluation.sharding.variable is None:
        return False
    spans = [after, *sorted(chance.sample(range(after + 1, until, SECOND // 2), cuts)), until]
    expected = answers(found, evaluation.statement.columns, after, until)
    assert evaluated(found, evaluation, place, spans, shards=shards) == expected
    return True


@pytest.mark.parametrize("seed", spread(4, 1))
@pytest.mark.parametrize("text", [*QUERIES, *TIMED], ids=str)
def test_agrees_with_a_store_per_evaluation(text: Text, seed: int, graphs: StaticGraphs) -> None:
    compare(text, seed, graphs)


@pytest.mark.parametrize("seed", spread(2, 1))
@pytest.mark.parametrize("text", [*QUERIES, *TIMED], ids=str)
def test_sessions(text: Text, seed: int, graphs: StaticGraphs) -> None:
    compare(text, seed, graphs, cuts=6, sessions=True)


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(4, 1))
def test_conditions_on_both_sides(block: int, graphs: StaticGraphs) -> None:
    for seed in range(40 * block, 40 * block + 40):
        compare(random_text(random.Random(seed)), seed, graphs)
