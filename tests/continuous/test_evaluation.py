"""Random streams and queries: the engine's evaluation of batches against a store per window.

Streams have equal times, gaps and repeated triples; windows do not divide each other; time is cut at random.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pyarrow as pa
import pytest

from rheos.algebra.translate import translate_continuous
from rheos.runtime.evaluation import Batch, DuckPlace, Evaluation, retained
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.reference import Answers, Case, Element, Triple, answers

SECOND = 1_000_000
PREFIX = "PREFIX : <http://ex/>"
ONE, TWO = "<http://ex/one>", "<http://ex/two>"

# Head, pattern, modifiers. A path of length zero starts at a variable: from a constant that is not in the
# graph pyoxigraph finds none, where the recommendation has one.
QUERIES = [
    ("SELECT ?a ?b", "{ ?a :p ?b }", ""),
    ("SELECT ?a (COUNT(*) AS ?n)", "{ ?a :p ?b }", "GROUP BY ?a"),
    ("SELECT (COUNT(*) AS ?n)", "{ ?a :q ?b }", ""),
    ("SELECT ?a ?c", "{ ?a :p ?b . ?b :q ?c }", ""),
    ("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c } }", ""),
    ("SELECT *", "{ ?a :static ?t OPTIONAL { ?a :q ?c } }", ""),
    ("SELECT *", "{ ?a :p ?b MINUS { ?b :q ?c } }", ""),
    ("SELECT DISTINCT ?b", "{ { ?a :p ?b } UNION { ?b :static ?a } }", ""),
    ("SELECT *", "{ ?a :static ?t FILTER NOT EXISTS { ?a :p ?x } }", ""),
    ("SELECT *", "{ ?a :p ?x FILTER EXISTS { ?x :q ?y . FILTER(?y != ?a) } }", ""),
    ("SELECT *", "{ ?a :p ?x OPTIONAL { ?x :q ?y FILTER NOT EXISTS { ?y :p ?a } } }", ""),
    ("SELECT *", "{ ?a :p/:q ?x . ?a :static ?z }", ""),
    ("SELECT *", "{ ?a :p+ ?x }", ""),
    ("SELECT *", "{ ?a (:p|:q)* ?x }", ""),
    ("SELECT *", f"{{ GRAPH {ONE} {{ ?a :p ?b }} }}", ""),
    ("SELECT *", "{ GRAPH ?g { ?a :p ?b } }", ""),
    ("SELECT ?g (COUNT(?a) AS ?n)", "{ GRAPH ?g { ?a :q ?b } }", "GROUP BY ?g"),
    ("SELECT ?a ?b", "{ ?a :p ?b }", "ORDER BY ?b ?a LIMIT 2"),
    ("SELECT ?a ?n", "{ ?a :static ?t { SELECT ?a (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a } }", ""),
    ("SELECT *", "{ VALUES ?a { :a :b } OPTIONAL { ?a :p ?b } }", ""),
    ("CONSTRUCT { ?b :r ?a }", "{ ?a :p ?b }", ""),
    ("ASK", "{ ?a :p ?a }", ""),
]


def triple(chance: random.Random, predicates: list[str]) -> Triple:
    s, o = (f"<http://ex/{chance.choice('abcd')}>" for _ in range(2))
    return s, f"<http://ex/{chance.choice(predicates)}>", o


def stream(chance: random.Random) -> list[Element]:
    elements, time = [], 0
    for _ in range(chance.randrange(1, 25)):
        time += chance.choice([0, 0, SECOND // 2, SECOND, 2 * SECOND, 30 * SECOND * (chance.random() < 0.1)])
        elements.append((*triple(chance, ["p", "q"]), time))
    return elements


def make_case(chance: random.Random, query: tuple[str, str, str]) -> Case:
    head, where, tail = query
    streams = {ONE: stream(chance)}
    clauses = "FROM STREAM {} [RANGE {}s STEP {}s]".format(
        ONE, *chance.choice([(5, 5), (10, 5), (7, 3), (4, 6), (12, 4)])
    )
    if chance.random() < 0.5:
        streams[TWO] = stream(chance)
        named = chance.choice(["", "NAMED "])
        clauses += " FROM {}STREAM {} [RANGE {}s STEP {}s]".format(
            named, TWO, *chance.choice([(5, 5), (9, 4)])
        )
    every = chance.choice(["", "", "COMPUTED EVERY 4s", "COMPUTED EVERY 10s"])
    text = f"REGISTER QUERY q {every} AS {PREFIX} {head} {clauses} WHERE {where} {tail}"
    continuous = translate_continuous(parse(text, "csparql"), "q")
    static = [triple(chance, ["static", "p", "other"]) for _ in range(chance.randrange(6))]
    return Case(continuous, f"{PREFIX} {head} WHERE {where} {tail}", static, streams)


def table(elements: list[Element]) -> pa.Table:
    s, p, o, time = zip(*elements, strict=True)
    numbers = {"time": pa.array(time, pa.int64()), "place": pa.array(range(1, len(time) + 1), pa.int64())}
    return pa.table({"s": s, "p": p, "o": o, **numbers})


def evaluated(case: Case, evaluation: Evaluation, cuts: list[int]) -> Answers:
    """The answers batch after batch, each with no more elements than the one before has kept."""
    graphs = StaticGraphs()
    graphs.load(data="".join(f"{' '.join(triple)} .\n" for triple in case.static), format="nt")
    live = {name: table(list(found)) for name, found in case.streams.items()}
    found: Answers = Counter()
    for after, until in itertools.pairwise(cuts):
        with graphs.connection.cursor() as cursor:
            names = {}
            for number, (name, elements) in enumerate(live.items()):
                names[name] = f"elements_{number}"
                cursor.register(names[name], elements)
            answer = Batch(DuckPlace(cursor), names).answers(evaluation, after, until)
            found.update(tuple(row.values())[1:] for row in answer.rows.to_pylist())
        live = {name: retained([(evaluation, until)], name, elements) for name, elements in live.items()}
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: " ".join(query).strip())
def test_agrees_with_a_store_per_window(query: tuple[str, str, str], seed: int) -> None:
    chance = random.Random(f"{query}{seed}")
    case = make_case(chance, query)
    evaluation = Evaluation.of(case.query)
    until = max(element[3] for found in case.streams.values() for element in found) + 40 * SECOND
    cuts = [-1, *sorted(chance.sample(range(0, until, SECOND // 2), 2)), until]
    expected = answers(case, evaluation.statement.columns, until)
    assert evaluated(case, evaluation, cuts) == expected
