"""The engine's evaluation of EP-SPARQL against the reference, on random streams and queries cut at random."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.entailment import under
from rheos.algebra.epsparql import translate_epsparql
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.epsparql import consumption
from rheos.runtime.epsparql.circle import Fixpoint, Rule
from rheos.runtime.epsparql.operator import EPSparqlBatch, EPSparqlOperator
from rheos.runtime.epsparql.operator import told as as_answers
from rheos.runtime.plan import Registered, components, is_circle
from rheos.runtime.sharding import Shard
from rheos.runtime.state.store import Store
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plans
from rheos.runtime.worker.task import StaticData
from rheos.sources.chunks import LIVE
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_batches import Worker, load
from tests.continuous.arrival_cases import P, Q, S, W, static
from tests.continuous.arrival_query import Aggregate, Filter, Group, Optional, Static
from tests.continuous.conditions import INTEGERS, NODES
from tests.continuous.event_cases import STREAMS, case, events
from tests.continuous.event_query import DURATION, Chain, Query, Triples, duration_term, text
from tests.continuous.event_reference import Answer, Case, Event, anonymous, answers, row_text, triple_text
from tests.continuous.expressions import SECOND, Compare, Expression, Or
from tests.spread import spread


def group(*triple: str) -> Group:
    return Group((Triples((triple,)),))


def table(events: Sequence[Event]) -> pa.Table:
    """Events in order of their end, with their places."""
    found = sorted(events, key=lambda event: event[4])
    columns = list(zip(*found, strict=True)) if found else [()] * 5
    arrays = [pa.array(column, pa.string()) for column in columns[:3]]
    arrays += [pa.array(column, pa.int64()) for column in columns[3:]]
    arrays.append(pa.array(range(1, len(found) + 1), pa.int64()))
    return pa.table(arrays, names=["s", "p", "o", "start", "time", "place"])


def registered(found: Case) -> list[Registered]:
    """The queries of a case; what rules make are streams of their own."""
    queries = []
    for number, query in enumerate(found.queries):
        name = f"q{number}"
        detecting = translate_epsparql(parse(text(query, name), "epsparql"), name, "http://ex/")
        detection = EPSparqlOperator.of(under(detecting, "rdfs" if found.entailment else "none"))
        derived = f"<http://ex/made/{name}>" if query.template else None
        kind = "construct" if query.template else "select"
        queries.append(Registered(QueryInfo(name, kind, occurs=True), detection, derived))
    made = {query.derived: found.queries[number] for number, query in enumerate(queries) if query.derived}
    for number, query in enumerate(queries):
        named = query.operator.query.streams
        read = set(found.streams if named is None else named)
        for other in queries:
            if other.derived and query.operator.could_match(other.operator.query.query.form.template):
                read.add(other.derived)
        queries[number] = replace(query, operator=replace(query.operator, reads=frozenset(read)))
    assert len(made) == sum(bool(query.template) for query in found.queries)
    return queries


def evaluated(
    found: Case,
    queries: Sequence[Registered],
    folder: Path,
    graphs: StaticGraphs,
    cuts: Sequence[int],
    shards: int = 1,
    worker: Worker | None = None,
) -> list[Answer]:
    """What the last query answers batch after batch, each with no more events than the one before kept; if
    there are several `shards`, merged from theirs. With a `worker`, by one that remembers events."""
    load(graphs, found.static)
    tables = StaticTables(graphs, Store(uri_of(folder)), lambda: Local(graphs))
    kept = tables.up_to_date((None, part) for query in queries for part in query.operator.parts)
    filled = frozenset(name for name, table in kept.items() if table.size.rows)
    live = {name: table(events) for name, events in found.streams.items()}
    live |= {query.derived: table([]) for query in queries if query.derived}
    state = {name: LIVE.empty_table() for query in queries for name in query.states}
    given: list[Answer] = []
    with graphs.connection.cursor() as cursor:
        StaticData(cursor).load(kept, tables.store)
        place = Database(cursor, plans=Plans(cursor, at_once=True))
        for after, until in itertools.pairwise(cuts):
            for together in components(queries):
                batch = EPSparqlBatch(place, live, filled)
                if is_circle(together):
                    rules = [Rule(q.name, q.operator, q.derived, after, {}) for q in together]
                    derived = Fixpoint(batch, place, rules, until).derived()
                    assert derived.failure is None
                    found_rows = {name: as_answers(rows).rows for name, rows in derived.solutions.items()}
                elif together[0].operator.stages:
                    (query,) = together
                    reported, later = consumption.answers(
                        batch, place, query.operator, (after, until), {}, state
                    )
                    found_rows, state = {query.name: reported.rows}, {**state, **later}
                else:
                    (query,) = together
                    sharded = shards > 1 and query.operator.variable is not None
                    numbers = [Shard(n, shards) for n in range(shards)] if sharded else [None]
                    over = query.operator.late and until == cuts[-1]
                    cache = None if worker is None else worker.of_batch()
                    parts = [
                        batch.answers(query.operator, after, until + over, {}, shard, over, cache)
                        for shard in numbers
                    ]
                    whole = query.operator.merged(parts) if sharded else parts[0]
                    found_rows = {query.name: whole.rows}
                for query in together:
                    rows = found_rows[query.name]
                    if query.derived:
                        at, start, s, p, o = (column.to_pylist() for column in rows.columns[1:])
                        before = live[query.derived].drop_columns(["place"]).to_pylist()
                        events = [tuple(event.values()) for event in before]
                        live[query.derived] = table([*events, *zip(s, p, o, start, at, strict=True)])
                    if query is queries[-1]:
                        given += told(rows, query)
            live = {
                name: elements.filter(pa.array(kept_of(queries, name, live, until), pa.bool_()))
                for name, elements in live.items()
            }
        for name in kept:
            cursor.execute(f"DROP TABLE {name}")
    return sorted(given) if queries[-1].operator.late else given


def kept_of(queries: Sequence[Registered], stream: str, live: dict[str, pa.Table], until: int) -> list[bool]:
    marks = [q.operator.live(stream, live, until) for q in queries if stream in q.streams]
    return [any(mark) for mark in zip(*marks, strict=True)] if marks else [False] * len(live[stream])


def told(rows: pa.Table, query: Registered) -> list[Answer]:
    late = query.operator.late
    names = rows.column_names[3 + late :]
    found = []
    for _, end, start, *terms in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if late:
            end, *terms = terms
        if query.info.kind == "construct":
            said = triple_text(terms)
        else:
            said = row_text({f"?{name}": term for name, term in zip(names, terms, strict=True) if term})
        found.append((end, start, anonymous(said)))
    return sorted(found)


def compare(seed: int, folder: Path, graphs: StaticGraphs) -> None:
    check(case(seed), seed, folder, graphs)


def check(
    found: Case, seed: int, folder: Path, graphs: StaticGraphs, shards: int = 1, *, keeps: bool = False
) -> bool:
    """Compare with the reference. With several shards, False if no query can be sharded by a variable; if it
    `keeps` something between batches, False if there are several queries, or nothing can be kept."""
    queries = registered(found)
    if keeps and (len(queries) > 1 or not queries[0].operator.incremental):
        return False
    if shards > 1 and all(query.operator.sharding.variable is None for query in queries):
        return False
    chance = random.Random(seed)
    ends = found.ends or [0]
    inner = {chance.randint(ends[0] - 1, ends[-1]) for _ in range(chance.randrange(6))}
    cuts = sorted({NEVER, ends[-1], *inner})
    expected = sorted(answers(found))
    shown = "\n".join(text(query) for query in found.queries)
    worker = Worker(graphs, chance) if keeps else None
    assert evaluated(found, queries, folder, graphs, cuts, shards, worker) == expected, shown
    return True


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(8))
def test_agrees_with_sets_of_mappings(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(40 * block, 40 * block + 40):
        compare(seed, tmp_path, graphs)


@pytest.mark.parametrize("block", spread(6, 2))
def test_events_that_are_looked_up(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    kept = 0
    for seed in range(60 * block, 60 * block + 60):
        kept += check(case(30_000 + seed), seed, tmp_path, graphs, keeps=True)
    assert kept > 5


LINKED = [
    Chain((group("?a", P, "?b"), group("?a", Q, "?c")), ("SEQ",)),
    Chain((group("?a", P, "?b"), group("?b", P, "?a")), ("SEQ",)),
    Chain((group("?a", P, "?b"), group("?a", Q, "?c"), group("?a", P, "?d")), ("SEQ", "SEQ")),
    Chain((group("?a", P, "?b"), group("?a", Q, "?c")), ("OPTIONALSEQ",)),
    Chain((group("?a", P, "?b"), group("?a", P, "?c")), ("EQUALS",)),
]


@pytest.mark.parametrize("seed", spread(12, 3))
@pytest.mark.parametrize("number", range(len(LINKED)))
def test_sequences_about_one_term(number: int, seed: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    chance = random.Random(f"linked {number} {seed}")
    bound = Filter(Compare(DURATION, "<", duration_term(chance.choice([2, 5]))))
    where = Group((LINKED[number], *([bound] if chance.random() < 0.7 else [])))
    streams = {stream: events(chance, 12, "") for stream in STREAMS}
    assert check(Case([Query(where)], streams, static(chance)), seed, tmp_path, graphs, keeps=True)


@pytest.mark.parametrize(
    "condition",
    [
        None,
        Compare("?e", "!=", NODES[1]),
        Or(Compare("?d", "=", NODES[1]), Compare("?e", "=", NODES[0])),
        Compare(DURATION, "<", duration_term(5)),  # which what is static has not
    ],
    ids=str,
)
def test_what_is_static_beside_what_is_static(
    condition: Expression | None, graphs: StaticGraphs, tmp_path: Path
) -> None:
    """It is there, or not, whatever happens: a solution without it is no other one."""
    filters = () if condition is None else (Filter(condition),)
    optional = Optional(Group((Triples((("?a", S, "?e"),)), *filters)))
    where = Group((Triples((("?d", S, "?a"),)), optional, Triples((("?b", P, "?a"),))))
    one, two, three = NODES
    static = [(one, S, two, ""), (two, S, one, ""), (two, S, three, ""), (one, S, one, "")]
    events = [(one, P, node, at, at) for at, node in enumerate(NODES)]
    check(Case([Query(where)], {STREAMS[0]: events}, static), 0, tmp_path, graphs)


@pytest.mark.parametrize("consumption", ["unrestricted", "recent", "chronological"])
@pytest.mark.parametrize("counts", [False, True])
def test_the_steps_of_a_path_are_no_part_of_a_solution(
    counts: bool, consumption: str, graphs: StaticGraphs, tmp_path: Path
) -> None:
    """There are two ways from ?a to ?i: one solution, to be counted and used once."""
    one, two, three = NODES
    left = Group((Triples((("?a", P, "?b"),)), Static("?a :s/:w ?i .")))
    where = Group((Chain((left, Group((Triples((("?a", Q, "?c"),)),))), ("SEQ",)),))
    query = Query(where, consumption=consumption)
    if counts:
        select = ("?a", Aggregate("COUNT", "*", "?n"))
        query = replace(query, select=select, group_by=("?a",), within=SECOND)
    static = [(one, S, one, ""), (one, S, two, ""), (one, W, INTEGERS[1], ""), (two, W, INTEGERS[1], "")]
    events = [(one, P, two, 1, 1), (one, Q, two, 2, 2), (one, Q, three, 3, 3)]
    check(Case([query], {STREAMS[0]: events}, static), 0, tmp_path, graphs)
