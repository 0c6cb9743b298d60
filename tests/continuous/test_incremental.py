"""What is kept between micro-batches: answers are the same with it, without it, and when it is lost.

They are compared with a slow, obvious evaluator, and to the letter with an evaluation of all live elements.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.algebra.csparql import translate_csparql
from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import Join, StreamPattern, TriplePattern
from rheos.optimize.links import NotKept, links_of
from rheos.runtime.cqels.explain import explain_cqels
from rheos.runtime.cqels.operator import CqelsOperator
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.csparql.repeats import Repeats
from rheos.runtime.epsparql.explain import explain_epsparql
from rheos.runtime.epsparql.operator import EPSparqlOperator
from rheos.runtime.operator import Count, Span
from rheos.runtime.rspql.operator import RspqlOperator
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.links import Index, Runs, terms_of
from rheos.runtime.worker.links import Run as HashRun
from rheos.runtime.worker.workbench import Workbench
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous import rspql_cases
from tests.continuous.cases import ONE, PREFIX, QUERIES, SECOND, Text, case
from tests.continuous.reference import Answer, Case, Triple, answers
from tests.continuous.rspql_reference import answers as rspql_answers
from tests.spread import spread


class Named:
    """As much of a registered query as an operator looks at."""

    name = "q"


def buffer(elements: list[tuple[str, str, str, int]]) -> Buffer:
    s, p, o, time = zip(*elements, strict=True) if elements else ((), (), (), ())
    times = pa.array(time, pa.int64())
    columns = dict(zip("spo", (pa.array(column, pa.string()) for column in (s, p, o)), strict=True))
    columns |= {"start": times, "time": times, "graph": pa.nulls(len(times), pa.string())}
    columns["partition"] = pa.array(np.zeros(len(times), np.int64))
    return Buffer(pa.table(columns))


@dataclass
class Run:
    """A query on streams and static data, evaluated batch after batch. `since` says how many elements of each
    stream were there before the query."""

    operator: CSparqlOperator
    streams: Mapping[str, Buffer]
    static: Sequence[Triple]
    since: Mapping[str, int]
    cuts: Sequence[int]
    restarts: Collection[int] = ()  # the cuts at which the query is stopped and started again

    def answers(self, chance: random.Random, *, cached: bool = True) -> list[Answer]:
        """The answers, by workers each of which has a cache and sees some of the batches."""
        live = dict(self.streams)
        workers = [StaticGraphs(), StaticGraphs()]
        for graphs in workers if self.static else ():
            graphs.load(data="".join(f"{' '.join(triple)} .\n" for triple in self.static), format="nt")
        caches = [Cache(graphs.connection, incremental=True) for graphs in workers]
        reported: list[Answer] = []
        since = dict(self.since)
        for after, until in itertools.pairwise(self.cuts):
            if after in self.restarts:
                since = {name: elements.up_to(after) for name, elements in live.items()}
            cache = chance.choice(caches)
            if chance.random() < 0.1:
                cache.forget("q")
            cache.begin("run", ["q"])
            kept = {"cache": cache, "plans": cache.plans} if cached else {}
            bench = Workbench(cache.connection, dict(live), **kept)
            before = {name: Count(count, count) for name, count in since.items()}
            span = Span(after, until, tuple(sorted(before.items())))
            answer = self.operator.answers(bench, [Named()], span)["q"]  # type: ignore[list-item]
            if chance.random() < 0.2:  # the batch is done again
                answer = self.operator.answers(bench, [Named()], span)["q"]  # type: ignore[list-item]
            rows: dict[int, Counter[tuple[object, ...]]] = {
                row["instant"]: Counter() for row in answer.instants.to_pylist()
            }
            for instant, _, *row in zip(*(column.to_pylist() for column in answer.rows.columns), strict=True):
                rows[instant][tuple(row)] += 1
            reported += zip(answer.instants.column("at").to_pylist(), rows.values(), strict=True)
            placed = {name: kept.placed for name, kept in live.items()}
            for name, kept in live.items():
                marks = self.operator.live(name, placed, until, before=before)
                first = int(np.argmax(marks)) if marks.any() else len(marks)
                live[name] = kept.part(first, 2**62)
            bench.close()
        return reported


# What is kept: solutions, parts of groups, both under filters, limits and orders; of one stream and of two.
KEPT = [
    *(text for text in QUERIES if CSparqlOperator.of(case(random.Random(0), text).query).incremental),
    Text("SELECT ?a ?b ?c ?d", "{ ?a :p ?b . ?b :q ?c . ?c :p ?d }"),
    Text("SELECT ?b (COUNT(*) AS ?n) (MIN(?c) AS ?x)", "{ ?a :p ?b . ?b :q ?c }", "GROUP BY ?b"),
    Text("SELECT ?a (COUNT(DISTINCT ?b) AS ?n)", "{ ?a :p ?b }", "GROUP BY ?a"),
    Text("SELECT ?t (SUM(?v) AS ?n) (AVG(?v) AS ?m)", "{ ?a :v ?v . ?a :static ?t }", "GROUP BY ?t"),
    Text("SELECT ?a (COUNT(*) AS ?n)", "{ { ?a :p ?b } UNION { ?b :static ?a } }",
         "GROUP BY ?a HAVING (COUNT(*) > 1)"),
    Text("SELECT *", "{ { ?a :p ?b } UNION { ?a :q ?b . ?b :other ?c } UNION { ?c :static ?a } }"),
    Text("SELECT DISTINCT ?a", "{ ?a ?x ?b . ?b ?y ?c }", "ORDER BY ?a LIMIT 3"),
    Text("SELECT ?a ?d", f"{{ GRAPH {ONE} {{ {{ ?a :p ?b }} UNION {{ ?a :q ?b }} }} BIND(STR(?b) AS ?d) }}"),
    Text("ASK", "{ ?a :p ?b . ?b :p ?a }"),
]  # fmt: skip
# SPARQL leaves open what these give, so that only the letter can be compared.
OPEN = [
    Text("CONSTRUCT { ?a :n [ :of ?b ] }", "{ ?a :p ?b }"),
    Text("SELECT ?b (SAMPLE(?a) AS ?y)", "{ ?a :p ?b . ?b :q ?c }", "GROUP BY ?b"),
    Text("SELECT (SUM(?v) AS ?n) (GROUP_CONCAT(?v) AS ?x)", "{ ?a :v ?v FILTER(?v > 1) }"),
]


@pytest.mark.parametrize("seed", spread(12, 4))
@pytest.mark.parametrize("text", [*KEPT, *OPEN], ids=str)
def test_agrees_with_a_store_per_evaluation(text: Text, seed: int) -> None:
    chance = random.Random(f"kept {text}{seed}")
    found = next(filter(is_incremental, (case(chance, text) for _ in range(100))))
    operator = CSparqlOperator.of(found.query)
    until = max(element[3] for elements in found.streams.values() for element in elements) + 40 * SECOND
    after = NEVER
    if chance.random() < 0.25:  # registered while the streams flow
        after = chance.randrange(0, until // 2, SECOND // 2)
        since = {
            name: sum(element[3] <= after for element in elements) for name, elements in found.streams.items()
        }
        found = replace(found, since=since)
    spans = [after, *sorted(chance.sample(range(max(after, 0) + 1, until, SECOND // 2), 6)), until]
    streams = {name: buffer(list(elements)) for name, elements in found.streams.items()}
    run = Run(operator, streams, found.static, found.since or {}, spans)
    given = run.answers(chance)
    assert given == run.answers(chance, cached=False)
    if text not in OPEN:
        assert given == answers(found, operator.statement.columns, max(after, -1), until)


RSPQL = [
    text
    for text in rspql_cases.QUERIES
    if any(
        RspqlOperator.of(rspql_cases.case(random.Random(seed), text, 0.0).query).incremental
        for seed in range(20)
    )
]


@pytest.mark.parametrize("seed", spread(8, 2))
@pytest.mark.parametrize("text", RSPQL, ids=str)
def test_windows_of_rspql(text: rspql_cases.Text, seed: int) -> None:
    chance = random.Random(f"kept {text}{seed}")
    cases = (rspql_cases.case(chance, text, 0.5) for _ in range(200))
    found = next(one for one in cases if RspqlOperator.of(one.query).incremental)
    operator = RspqlOperator.of(found.query)
    until = max(element.time for elements in found.streams.values() for element in elements) + 40 * SECOND
    streams = {
        name: buffer([(*triple, element.time) for element in elements for triple in element.triples])
        for name, elements in found.streams.items()
    }
    cuts = [NEVER, *sorted(chance.sample(range(1, until, SECOND // 2), 6)), until]
    run = Run(operator, streams, found.static, {}, cuts)
    given = run.answers(chance)
    assert given == run.answers(chance, cached=False)
    assert given == rspql_answers(found, operator.statement.columns, -1, until)


@pytest.mark.parametrize("seed", range(12))
def test_a_query_that_is_started_again_sees_what_comes_after(seed: int) -> None:
    query = f"REGISTER QUERY q AS {PREFIX} SELECT (COUNT(*) AS ?n) FROM STREAM {ONE} [RANGE 10s STEP 1s]"
    operator = CSparqlOperator.of(translate_csparql(parse(f"{query} {{ ?a :p ?b }}", "csparql"), "q"))
    elements = [(f"<http://ex/{n}>", "<http://ex/p>", "<http://ex/b>", n * SECOND) for n in range(20)]
    cuts = [NEVER, *(second * SECOND for second in (4, 8, 12, 20))]
    run = Run(operator, {ONE: buffer(elements)}, [], {}, cuts, restarts=[8 * SECOND])
    given = run.answers(random.Random(seed))
    assert given == run.answers(random.Random(seed), cached=False)
    counts = {at // SECOND: int(row[0].split('"')[1]) for at, rows in given for row in rows}
    assert (counts[8], counts[9], counts[10]) == (9, 1, 2)


def is_incremental(found: Case) -> bool:
    """Whether it is: its windows are drawn at random, and some count triples."""
    return CSparqlOperator.of(found.query).incremental


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("{ ?a :p ?b OPTIONAL { ?b :q ?c } }", "OPTIONAL and MINUS"),
        ("{ ?a :p ?b FILTER NOT EXISTS { ?b :q ?c } }", "EXISTS"),
        ("{ ?a :p+ ?b }", "a path"),
        ("{ GRAPH ?g { ?a :p ?b } }", "GRAPH with a variable"),
        ("{ ?a :p ?b FILTER(?b < NOW()) }", "another value each time"),
        ("{ ?a :p ?b FILTER(timestamp(?a) > 5) }", "timestamp()"),
        ("{ ?a :p ?b { SELECT ?b (COUNT(*) AS ?n) { ?b :q ?c } GROUP BY ?b } }", "a sub-select"),
    ],
)
def test_why_a_query_is_not_incremental(where: str, reason: str) -> None:
    query = f"REGISTER QUERY q AS {PREFIX} SELECT * FROM STREAM {ONE} [RANGE 9s STEP 1s] WHERE {where}"
    operator = CSparqlOperator.of(translate_csparql(parse(query, "csparql"), "q"))
    assert isinstance(operator.keeping, NotKept)
    assert reason in operator.keeping.reason


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("SELECT ?a { STREAM :s [RANGE 9s] { ?a :p ?b . ?b :q ?c } }", None),
        ("SELECT ?a (AVG(?b) AS ?n) { STREAM :s [RANGE 9s] { ?a :p ?b } } GROUP BY ?a", None),
        ("SELECT ?a { STREAM :s [TRIPLES 9] { ?a :p ?b } }", "a window that counts"),
        ("SELECT ?a { STREAM :s [RANGE 9s SLIDE 1s] { ?a :p ?b } }", "a window that slides"),
        ("SELECT ?a { STREAM :s [RANGE 9s] { ?a :p ?b } STREAM :t [NOW] { ?c :p ?d } }", "not all elements"),
        ("SELECT ?a { STREAM :s [RANGE 9s] { ?a :p ?b . ?b :p ?c . ?c :p ?d } }", "not all elements"),
        ("SELECT ?a { STREAM :s [RANGE 9s] { ?a :p ?b } OPTIONAL { ?b :q ?c } }", "it is no join"),
        ("SELECT DISTINCT ?a { STREAM :s [RANGE 9s] { ?a :p ?b } }", "it is no join"),
        (
            "SELECT (COUNT(DISTINCT ?a) AS ?n) { STREAM :s [RANGE 9s] { ?a :p ?b } }",
            "DISTINCT in an aggregate",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { { STREAM :s [NOW] { ?a :p ?b } } UNION { ?a :q ?b } }",
            "static data alone",
        ),
        ("ASK { STREAM :s [RANGE 9s] { ?a :p ?b } }", "only the rows of SELECT"),
    ],
)
def test_why_a_query_of_cqels_is_not_incremental(where: str, reason: str | None) -> None:
    tree = parse(f"{PREFIX} {where}", "cqels")
    query = translate_cqels(tree, "q", "http://ex/", ())
    assert CqelsOperator.of(query).incremental is (reason is None)
    assert (reason or "yes, a batch") in explain_cqels(query)["incremental"]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("{ ?a :p ?b } SEQ { ?a :q ?c }", None),
        ("{ ?a :p ?b } SEQ NOT { ?a :r ?x } SEQ { ?a :q ?c }", None),
        ("{ ?a :p ?b } SEQ { ?c :q ?d }", "not all elements"),
        ("{ ?a :p ?b } SEQ NOT { ?x :r ?y } SEQ { ?a :q ?c }", "not all elements"),
        ("{ ?a :p ?b }+ SEQ { ?a :q ?c }", "how long a run goes on"),
    ],
)
def test_why_a_query_of_epsparql_is_not_incremental(where: str, reason: str | None) -> None:
    query = translate_epsparql(parse(f"{PREFIX} SELECT ?a {{ {where} }}", "epsparql"), "q", "http://ex/")
    assert EPSparqlOperator.of(query).incremental is (reason is None)
    assert (reason or "yes, a batch") in explain_epsparql(query)["incremental"]


def test_few_of_many_live_elements_are_looked_at() -> None:
    """Only what is linked to something new, by the term at the place that a link names."""
    live = elements(*(f"a{at % 100} p b{at}" for at in range(1_000)), "a7 p x", "b3 p a8")
    index, database = Index(), Database(duckdb.connect())
    links = links_of([Join(new_pattern("a", "b"), old_pattern("a", "c"))])
    assert links == frozenset({("s", "s")})
    terms = terms_of(links, [live.slice(1_000)], database)
    found = index.rows(terms, live, 0, 1_000, database)
    assert set(found.column("s").to_pylist()) == {"a7"}
    assert len(found) == 10
    assert not len(index.rows(terms, live, 0, 7, database))


def new_pattern(subject: str, object_: str) -> StreamPattern:
    return replace(old_pattern(subject, object_), part="new")


def old_pattern(subject: str, object_: str) -> StreamPattern:
    triple = TriplePattern(Variable(subject), Constant("<http://ex/p>"), Variable(object_))
    return StreamPattern(1, triple, "old")


def elements(*triples: str) -> pa.Table:
    s, p, o = zip(*(triple.split() for triple in triples), strict=True)
    numbers = pa.array(range(1, len(s) + 1), pa.int64())
    return pa.table({"s": s, "p": p, "o": o, "time": numbers, "place": numbers})


def test_repeats_are_found_in_and_between_batches() -> None:
    found = elements("a p b", "a p c", "a p b", "a p b", "x p b", "a p c")
    memory, database = Repeats(), Database(duckdb.connect())
    for until in (2, 3, 6):
        memory.take_in(found, until, database)
    assert memory.again.tolist() == [[3, 1, 1], [4, 3, 3], [6, 2, 2]]
    assert memory.predicates == {"p"}
    assert memory.last == 6


def test_triples_of_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    found = elements("a p b", "a p c", "a p b", "a p c")
    memory, database = Repeats(), Database(duckdb.connect())
    ask = database.ask
    same = lambda sql: ask(sql.replace("hash(s, p, o)", "CAST(7 AS UBIGINT)"))  # noqa: E731
    monkeypatch.setattr(database, "ask", same)
    memory.take_in(found, 2, database)
    memory.take_in(found, 4, database)
    assert memory.again.tolist() == [[3, 1, 1], [4, 2, 2]]


def test_runs_stay_few() -> None:
    found = Runs()
    for place in range(1, 1000):
        found.add(HashRun.of(np.array([place % 100], np.uint64), np.array([place])), 1)
    assert len(found.runs) < 12
    assert sum(len(run.places) for run in found.runs) == 999
    assert found.latest(np.array([7, 200], np.uint64)).tolist() == [907, 0]
    assert sorted(found.all(np.array([7, 200], np.uint64))) == list(range(7, 1000, 100))
