"""The engine's evaluation of CQELS-QL against the reference, on random streams and queries cut at random."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.arriving import translate_arriving
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.runtime.arriving import Arrival, ArrivingBatch
from rheos.runtime.buffers import NEVER
from rheos.runtime.instants import End
from rheos.runtime.kept import KeptTables, load_kept
from rheos.runtime.place import DuckPlace
from rheos.runtime.plan import Registered, Relatives
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_cases import case
from tests.continuous.arrival_query import text
from tests.continuous.arrival_reference import Answer, Case, Timed, answers, row_text, triple_text


def table(elements: Sequence[Timed]) -> pa.Table:
    s, p, o, time = zip(*elements, strict=True) if elements else ((), (), (), ())
    terms = {name: pa.array(column, pa.string()) for name, column in zip("spo", (s, p, o), strict=True)}
    numbers = {"time": pa.array(time, pa.int64()), "place": pa.array(range(1, len(time) + 1), pa.int64())}
    return pa.table({**terms, **numbers})


def load(graphs: StaticGraphs, data: Sequence[Quad]) -> None:
    graphs.clear()
    graphs.load(data="".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in data), format="nq")


def registered(found: Case) -> Registered:
    query = translate_arriving(parse(text(found.query), "cqels"), "q", "http://ex/", ())
    return Registered(QueryInfo("q", "select"), Arrival.of(query))


def evaluated(found: Case, folder: Path, graphs: StaticGraphs, cuts: Sequence[int]) -> list[Answer]:
    """The answers batch after batch, each with no more elements than the one before has kept."""
    query = registered(found)
    relatives = Relatives.of([query])
    assert isinstance(query.evaluation, Arrival)
    live = {name: table(elements) for name, elements in found.streams.items()}
    tables = KeptTables(graphs, folder, lambda: Local(graphs))
    given: list[Answer] = []
    static: Sequence[Quad] | None = None
    for after, until in itertools.pairwise(cuts):
        seen = found.static_at(until)
        if seen != static:
            load(graphs, seen)
            static = seen
        kept = tables.up_to_date((relatives.family, part) for part in relatives.prepared.parts)
        with graphs.connection.cursor() as cursor:
            load_kept(cursor, kept, {})
            sizes = {name: table.size for name, table in kept.items()}
            batch = ArrivingBatch(DuckPlace(cursor), live, sizes, copies=len(cuts) % 2 == 0)
            new = batch.novelty(relatives.prepared, after, until)
            for name in kept:
                cursor.execute(f"DROP TABLE {name}")
        given += told(new.rows, kind_of(query))
        live = {
            name: elements.filter(pa.array(query.evaluation.live(name, live, until)))
            if name in query.streams
            else elements
            for name, elements in live.items()
        }
    return given


def kind_of(query: Registered) -> str:
    return type(query.evaluation.query.query.form).__name__


def told(rows: pa.Table, kind: str) -> list[Answer]:
    """The rows of each tick, as the reference writes them."""
    names = rows.column_names[3:]
    found: dict[tuple[int, int], list[str]] = {}
    for _, instant, at, *terms in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if kind == "Ask":
            said = str(terms[0]).lower()
        elif kind == "Construct":
            said = triple_text(terms)
        else:
            said = row_text({f"?{name}": term for name, term in zip(names, terms, strict=True) if term})
        found.setdefault((instant, at), []).append(said)
    return [(at, sorted(said)) for (_, at), said in found.items()]


def compare(seed: int, folder: Path, graphs: StaticGraphs, *, changes: bool = False) -> None:
    found = case(seed, changes=changes)
    chance = random.Random(seed)
    query = registered(found)
    times = [element[3] for name in query.streams for element in found.streams[name]]
    ends = {
        name: End(max(e[3] for e in found.streams[name]), 0, 0)
        for name in query.streams
        if found.streams[name]
    }
    end = query.evaluation.end(ends)
    expected = [answer for answer in answers(found) if answer[1]]
    if end is None:
        assert expected == []
        return
    inner = {chance.randint(min(times) - 1, end) for _ in range(chance.randrange(6))}
    cuts = sorted({NEVER, end, *inner, *(time for time, _ in found.changes if time < end)})
    assert evaluated(found, folder, graphs, cuts) == expected, text(found.query)


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.parametrize("block", range(10))
def test_agrees_with_all_combinations(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(40 * block, 40 * block + 40):
        compare(seed, tmp_path, graphs)


@pytest.mark.parametrize("block", range(4))
def test_static_data_that_changes(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        compare(seed, tmp_path, graphs, changes=True)
