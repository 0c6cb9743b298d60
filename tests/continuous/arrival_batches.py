"""Queries of CQELS-QL batch after batch, without Spark: queries of one family, streams and static data come
in, the rows that each reports go out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from rheos.algebra.cqels import translate_cqels
from rheos.algebra.entailment import under
from rheos.algebra.streams import CqelsQuery
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.runtime.cqels.operator import CqelsBatch, CqelsFamily, CqelsOperator, apart
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.operator import Answers, End
from rheos.runtime.plan import Registered
from rheos.runtime.state.store import Store
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plans
from rheos.runtime.worker.task import StaticData
from rheos.sources.times import NEVER
from rheos.sql.sharding import set_shard
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_query import text
from tests.continuous.arrival_reference import Answer, Case, Timed, row_text, triple_text


def table(elements: Sequence[Timed]) -> pa.Table:
    s, p, o, time = zip(*elements, strict=True) if elements else ((), (), (), ())
    terms = {name: pa.array(column, pa.string()) for name, column in zip("spo", (s, p, o), strict=True)}
    numbers = {"time": pa.array(time, pa.int64()), "place": pa.array(range(1, len(time) + 1), pa.int64())}
    return pa.table({**terms, **numbers})


def load(graphs: StaticGraphs, data: Sequence[Quad]) -> None:
    graphs.clear()
    graphs.load(data="".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in data), format="nq")


def translated(case: Case) -> CqelsQuery:
    query = translate_cqels(parse(text(case.query), "cqels"), "q", "http://ex/", ())
    return under(query, "rdfs" if case.entailment else "none")


def registered(query: CqelsQuery, name: str = "q") -> Registered:
    return Registered(QueryInfo(name, "select"), CqelsOperator.of(query))


def cuts(case: Case, query: Registered, chance: random.Random, most: int = 5) -> list[int] | None:
    """Where to cut the streams of a case: at random, and where its data changes; None if they are empty."""
    times = [element[3] for name in query.streams for element in case.streams[name]]
    ends = {
        name: End(max(e[3] for e in case.streams[name]), 0, 0) for name in query.streams if case.streams[name]
    }
    end = query.operator.end(ends)
    if end is None:
        return None
    inner = {chance.randint(min(times) - 1, end) for _ in range(chance.randrange(most + 1))}
    return sorted({NEVER, end, *inner, *(time for time, _ in case.changes if time < end)})


class Worker:
    """A worker with a cache, which it sometimes loses. Some batches are evaluated by others, without one."""

    def __init__(self, graphs: StaticGraphs, chance: random.Random) -> None:
        self.cache = Cache(graphs.connection, incremental=True)
        self.chance = chance

    def of_batch(self) -> Cache | None:
        if self.chance.random() < 0.1:
            self.cache.clear()
        return None if self.chance.random() < 0.25 else self.cache


def evaluated(
    queries: Sequence[Registered],
    case: Case,
    folder: Path,
    graphs: StaticGraphs,
    cuts: Sequence[int],
    shards: int = 1,
    worker: Worker | None = None,
) -> dict[str, list[Answers]]:
    """The answers of queries of one family batch after batch, each with no more elements than the one before
    has kept; if there are several `shards`, merged from theirs. With a `worker`, by one that keeps something
    between batches."""
    relatives = CqelsFamily.of(queries)
    names = [query.name for query in queries]
    live: Mapping[str, pa.Table] = {name: table(elements) for name, elements in case.streams.items()}
    tables = StaticTables(graphs, Store(uri_of(folder)), lambda: Local(graphs))
    given: dict[str, list[Answers]] = {name: [] for name in names}
    static: Sequence[Quad] | None = None
    plans = Plans(graphs.connection, at_once=True)
    for after, until in itertools.pairwise(cuts):
        seen = case.static_at(until)
        if seen != static:
            load(graphs, seen)
            static = seen
            if worker is not None:
                worker.cache.clear()
        filled = tables.up_to_date((relatives.constants, part) for part in relatives.prepared.parts)
        with graphs.connection.cursor() as cursor:
            StaticData(cursor).load(filled, tables.store)
            sizes = {name: table.size for name, table in filled.items()}
            cache = None if worker is None else worker.of_batch()
            batch = CqelsBatch(Database(cursor, plans=plans), live, sizes, cache=cache)
            evaluation = queries[0].operator
            prepared = relatives.prepared if shards == 1 else relatives.prepared.of_shard()
            parts: dict[str, list[Answers]] = {}
            for number in range(shards):
                batch.database.run(set_shard(number, shards))
                kept = None if cache is None else names[0]
                new = batch.novelty(prepared, after, until, constants=relatives.table(names), name=kept)
                for name, found in apart(new, relatives.members).items():
                    parts.setdefault(name, []).append(found)
            entail = batch.entail(relatives.prepared)
            marks = {
                name: evaluation.marks(name, live, until, entail and entail[1]) for name in queries[0].streams
            }
            for name in filled:
                cursor.execute(f"DROP TABLE {name}")
        for name, answers in parts.items():
            given[name].append(evaluation.merged(answers) if shards > 1 else answers[0])
        live = {
            name: elements.filter(pa.array(marks[name])) if name in marks else elements
            for name, elements in live.items()
        }
    return given


def told(query: Registered, answers: Sequence[Answers]) -> list[Answer]:
    """The rows of each tick in their order, as the reference writes them."""
    kind = type(query.operator.query.query.form).__name__
    found = []
    for _, rows in answers:
        names = rows.column_names[2:]
        ticks: dict[tuple[int, int], list[str]] = {}
        for instant, at, *terms in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            if kind == "Ask":
                said = str(terms[0]).lower()
            elif kind == "Construct":
                said = triple_text(terms)
            else:
                said = row_text({f"?{name}": term for name, term in zip(names, terms, strict=True) if term})
            ticks.setdefault((instant, at), []).append(said)
        found += [(at, said) for (_, at), said in ticks.items()]
    return found
