"""RSP-QL against stores of windows, on random streams of graphs cut at random."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from rheos.optimize import optimize_csparql
from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.operator import Count
from rheos.runtime.rspql.operator import RspqlOperator
from rheos.runtime.sharding import Shard
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plans
from rheos.store.graphs import StaticGraphs
from tests.continuous import test_evaluation
from tests.continuous.cases import QUERIES as CSPARQL
from tests.continuous.cases import SECOND
from tests.continuous.cases import Text as CSparqlText
from tests.continuous.cases import case as csparql_case
from tests.continuous.reference import Answer
from tests.continuous.reference import answers as csparql_answers
from tests.continuous.rspql_cases import QUERIES, Text, case
from tests.continuous.rspql_reference import Case, Element, answers
from tests.spread import spread


@pytest.fixture(scope="module")
def static() -> StaticGraphs:
    return StaticGraphs()


def table(elements: Sequence[Element]) -> pa.Table:
    """The triples of graphs as a stream has them."""
    rows = [
        (*triple, element.time, place, element.name, number)
        for place, (number, element, triple) in enumerate(
            (
                (number, element, triple)
                for number, element in enumerate(elements, start=1)
                for triple in element.triples
            ),
            start=1,
        )
    ]
    types = [pa.string()] * 3 + [pa.int64()] * 2 + [pa.string(), pa.int64()]
    names = ["s", "p", "o", "time", "place", "graph", "element"]
    arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.table(arrays, names=names)


def evaluated(
    case: Case,
    operator: RspqlOperator,
    place: Callable[[], Database],
    cuts: Sequence[int],
    filled: frozenset[str] = frozenset(),
    shards: int = 1,
) -> list[Answer]:
    """The answers batch after batch, each with no more elements than the one before has kept."""
    live = {name: table(elements) for name, elements in case.streams.items()}
    before = {
        name: Count(sum(len(element.triples) for element in case.streams[name][:count]), count)
        for name, count in case.since.items()
    }
    found: list[Answer] = []
    for after, until in itertools.pairwise(cuts):
        parts = []
        for number in range(shards):
            database = place()
            names = {}
            for at, (name, elements) in enumerate(live.items()):
                names[name] = f"elements_{at}"
                database.put(names[name], elements)
            shard = Shard(number, shards) if shards > 1 else None
            parts.append(CSparqlBatch(database, names, filled).answers(operator, after, until, before, shard))
        answer = operator.merged(parts) if shards > 1 else parts[0]
        rows: dict[int, Counter[tuple[object, ...]]] = {
            row["instant"]: Counter() for row in answer.instants.to_pylist()
        }
        for instant, _, *row in zip(*(column.to_pylist() for column in answer.rows.columns), strict=True):
            rows[instant][tuple(row)] += 1
        found += zip(answer.instants.column("at").to_pylist(), rows.values(), strict=True)
        live = {
            name: elements.filter(pa.array(operator.live(name, live, until, before=before)))
            for name, elements in live.items()
        }
    return found


def compare(
    text: Text,
    seed: int,
    static: StaticGraphs,
    *,
    named: float = 0.5,
    shards: int = 1,
    sessions: bool = False,
) -> bool:
    """Compare the answers when time is cut into batches at random. False if the query cannot be sharded by a
    variable, but should be."""
    chance = random.Random(f"{text}{seed}")
    found = case(chance, text, named, sessions=sessions)
    until = max(element.time for elements in found.streams.values() for element in elements) + 40 * SECOND
    after = -1
    if chance.random() < 0.25 and len(found.streams) == 1:  # registered while the stream flows
        after = chance.randrange(0, until // 2, SECOND // 2)
        since = {
            name: sum(element.time <= after for element in elements)
            for name, elements in found.streams.items()
        }
        found = replace(found, since=since)
    static.clear()
    if found.static:
        static.load(data="".join(f"{' '.join(triple)} .\n" for triple in found.static), format="nt")
    operator = RspqlOperator.of(optimize_csparql(found.query))
    if shards > 1 and operator.sharding.variable is None:
        return False
    spans = [after, *sorted(chance.sample(range(after + 1, until, SECOND // 2), 3)), until]
    expected = answers(found, operator.statement.columns, after, until)
    plans = Plans(static.connection, at_once=True)
    place = lambda: Database(static.connection.cursor(), plans=plans)  # noqa: E731
    assert evaluated(found, operator, place, spans, shards=shards) == expected
    return True


@pytest.mark.parametrize("seed", spread(6, 2))
@pytest.mark.parametrize("text", QUERIES, ids=str)
def test_agrees_with_stores_of_windows(text: Text, seed: int, static: StaticGraphs) -> None:
    compare(text, seed, static)


@pytest.mark.parametrize("seed", spread(2, 1))
@pytest.mark.parametrize("text", QUERIES, ids=str)
def test_triple_streams(text: Text, seed: int, static: StaticGraphs) -> None:
    compare(text, seed, static, named=0)


@pytest.mark.parametrize("seed", spread(2, 1))
@pytest.mark.parametrize("text", QUERIES, ids=str)
def test_shards(text: Text, seed: int, static: StaticGraphs) -> None:
    compare(text, seed, static, shards=3)


@pytest.mark.parametrize("seed", spread(4, 1))
@pytest.mark.parametrize("text", QUERIES, ids=str)
def test_sessions(text: Text, seed: int, static: StaticGraphs) -> None:
    compare(text, seed, static, named=(seed % 3) / 2, sessions=True)


@pytest.mark.parametrize("seed", spread(4, 1))
@pytest.mark.parametrize("text", [text for text in CSPARQL if text.head != "ASK"], ids=str)
def test_istream_of_csparql(text: CSparqlText, seed: int, static: StaticGraphs) -> None:
    """What is new is what a reference of the whole answers has more than the evaluation before."""
    chance = random.Random(f"new {text}{seed}")
    found = csparql_case(chance, text)
    until = max(element[3] for elements in found.streams.values() for element in elements) + 40 * SECOND
    test_evaluation.load(static, found)
    operator = CSparqlOperator.of(replace(found.query, operator="ISTREAM"))
    cuts = [-1, *sorted(chance.sample(range(until), 3)), until]
    whole = csparql_answers(found, operator.statement.columns, -1, until)
    before = [Counter[tuple[object, ...]](), *(rows for _, rows in whole)]
    expected = [(at, rows - old) for (at, rows), old in zip(whole, before, strict=False)]
    place = lambda: Database(static.connection.cursor())  # noqa: E731
    assert test_evaluation.evaluated(found, operator, place, cuts) == expected
