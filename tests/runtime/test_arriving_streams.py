"""Continuous queries in CQELS-QL through the engine: what each form reports, streams between queries and
languages, and what happens while streams flow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.answers.continuous import Answer
from rheos.runtime.driver.handle import Handle
from rheos.terms import encode
from tests.runtime.streams import EX, lines, seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "PREFIX : <http://ex/>"
STREAM = "http://ex/s"


@pytest.fixture(params=[1, 2])
def shards(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, shards=1, batch_bytes=400) as engine:
        yield engine


def register(engine: Engine, text: str, name: str | None = None) -> Handle:
    return engine.register(f"{PREFIX} {text}", name=name)


def short(term: object) -> str:
    """The last part of an IRI, the text of a literal."""
    return encode(term).removeprefix(f"<{EX}").rstrip(">").split('"^^')[0].strip('"')


def told(handle: Handle) -> list[tuple[float, list[str]]]:
    """When something was reported, and its rows in their order: their terms, or the boolean."""
    return [(seconds(answer), rows(answer, handle)) for answer in handle.results]


def rows(answer: Answer, handle: Handle) -> list[str]:
    if answer.boolean is not None:
        return [str(answer.boolean).lower()]
    if answer.triples is not None:
        return [" ".join(map(short, triple)) for triple in answer.triples]
    return [
        " ".join(short(row[name]) if name in row else "-" for name in handle.variables)
        for row in answer.rows or []
    ]


ELEMENTS = [
    ("a", "p", "x", 1),
    ("b", "p", "x", 2),
    ("a", "p", "y", 4),
    ("b", "p", "y", 4),
    ("a", "p", "x", 9),
    ("c", "q", "x", 10),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.nq"
    path.write_text(lines(ELEMENTS))
    return path


# --- streams between queries and languages ------------------------------------------------------------------


def test_derived_streams_between_the_languages(spark: SparkSession, file: Path, shards: int) -> None:
    """C-SPARQL → CQELS-QL, and CQELS-QL → C-SPARQL and CQELS-QL, registered in no order."""
    with Engine(spark, shards=shards, batch_bytes=400) as engine:
        engine.add_stream(STREAM, file)
        met_twice = register(
            engine, "SELECT ?a (COUNT(*) AS ?n) { STREAM :met [ALL] { ?a :met ?b } } GROUP BY ?a", "twice"
        )
        every_five = engine.register(
            f"REGISTER QUERY five AS {PREFIX} SELECT ?a ?b"
            " FROM STREAM :met [RANGE 5s STEP 5s] { ?a :met ?b }"
        )
        met = register(
            engine,
            "REGISTER STREAM <http://ex/met> AS CONSTRUCT { ?a :met ?b } {"
            " STREAM :s [NOW] { ?a :p ?x } STREAM :s [RANGE 3s] { ?b :p ?x } FILTER (?a != ?b) }",
        )
        seen = engine.register(
            f"REGISTER STREAM <http://ex/seen> AS {PREFIX} CONSTRUCT {{ ?x :seen ?a }}"
            " FROM STREAM :s [RANGE 4s STEP 4s] { ?a :p ?x }"
        )
        reads_seen = register(
            engine,
            "SELECT ?x ?a ?b { STREAM :seen [NOW] { ?x :seen ?a } STREAM :s [RANGE 10s] { ?b :p ?x } }",
        )
        assert engine.run()
        # Two that come at the same time are both there NOW, at the tick of the second.
        assert told(met) == [(2, ["b met a"]), (4, ["a met b", "b met a"])]
        assert told(met_twice)[0] == (2, ["b 1"])
        assert [row for _, found in told(met_twice)[1:] for row in found] == ["a 1", "b 2"]
        assert told(every_five) == [(5, ["a b", "b a"])]
        assert [(at, sorted(found)) for at, found in told(seen)] == [
            (4, ["x seen a", "x seen b", "y seen a", "y seen b"]),
            (12, ["x seen a"]),
        ]
        both = [f"{x} {a} {b}" for x in "xy" for a in "ab" for b in "ab"]
        assert sorted(row for at, found in told(reads_seen) for row in found if at == 4) == both
        assert {engine.metrics.queries[name].execution for name in engine.metrics.queries} == {"task"}


@pytest.mark.slow
def test_a_variable_for_streams(engine: Engine, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "t.nq"
    other.write_text(lines([("a", "p", "z", 3), ("d", "p", "z", 12)]))
    engine.add_stream(STREAM, file)
    engine.add_stream("http://ex/t", other)
    register(
        engine, "REGISTER STREAM <http://ex/made> AS CONSTRUCT { ?x :p ?a } { STREAM :t [NOW] { ?a :p ?x } }"
    )
    # Of all that there are when it is registered, the derived one too.
    anywhere = register(engine, "SELECT ?s ?a ?x { STREAM ?s [NOW] { ?a :p ?x } }")
    both = register(
        engine,
        "SELECT ?s ?t ?a { STREAM ?s [NOW] { ?a :p ?x } STREAM ?t [RANGE 2s] { ?a :p ?y }"
        " FILTER (?s != ?t) }",
    )
    named = register(engine, "SELECT ?s ?a { STREAM ?s [NOW] { ?a :p ?x } ?s :in :here }")
    engine.load(data="@prefix : <http://ex/> . :t :in :here . :made :in :here .", format="turtle")
    engine.run()
    assert told(anywhere) == [
        (1, ["s a x"]),
        (2, ["s b x"]),
        (3, ["t a z"]),
        (3, ["made z a"]),
        (4, ["s a y"]),
        (4, ["s b y"]),
        (9, ["s a x"]),
        (12, ["t d z"]),
        (12, ["made z d"]),
    ]
    # At 3 the one of :s was there, at 4 that of :t is.
    assert told(both) == [(3, ["t s a"]), (4, ["s t a"])]
    assert told(named) == [(3, ["t a"]), (3, ["made z"]), (12, ["t d"]), (12, ["made z"])]


# --- forms and modifiers ------------------------------------------------------------------------------------

STATIC = """@prefix : <http://ex/> .
:x :size 1 . :y :size 2 . :x :near :y .
"""
GRAPHS = {"g": ":x :floor :one . :y :floor :two .", "h": ":x :floor :three ."}


def test_forms_and_modifiers(spark: SparkSession, file: Path, shards: int) -> None:
    with Engine(spark, shards=shards, batch_bytes=600) as engine:
        engine.load(data=STATIC, format="turtle")
        for name, data in GRAPHS.items():
            engine.load(data=f"@prefix : <http://ex/> . {data}", format="turtle", graph=EX + name)
        engine.add_stream(STREAM, file)
        s = "STREAM :s [RANGE 3s] { ?a :p ?x }"
        queries = {
            "ask": f"ASK {{ {s} ?x :size 2 }}",
            "order": f"SELECT ?a ?x {{ {s} STREAM :s [NOW] {{ ?b :p ?y }} }} ORDER BY DESC(?x) ?a",
            "hidden": f"SELECT DISTINCT ?a {{ {s} ?x :size ?n }} ORDER BY DESC(?n)",
            "limit": f"SELECT ?a ?x {{ {s} }} ORDER BY DESC(?x) DESC(?a) LIMIT 1",
            "sub": "SELECT ?x ?n { STREAM :s [NOW] { ?a :p ?x }"
            " { SELECT ?x (COUNT(*) AS ?n) { STREAM :s [RANGE 10s] { ?b :p ?x } } GROUP BY ?x } }",
            "graph": "SELECT ?g ?f { STREAM :s [NOW] { ?a :p ?x } GRAPH ?g { ?x :floor ?f } }",
            "from": "SELECT ?a ?f FROM :h { STREAM :s [NOW] { ?a :p ?x } ?x :floor ?f }",
            "named": "SELECT ?a ?f ?n FROM NAMED :g"
            " { STREAM :s [NOW] { ?a :p ?x } GRAPH ?g { ?x :floor ?f } ?x :size ?n }",
            "distinct": "SELECT DISTINCT ?z { STREAM :s [NOW] { ?a :p ?x } ?x :near* ?z } ORDER BY DESC(?z)",
            "path": "SELECT ?a ?z { STREAM :s [NOW] { ?a :p ?x } ?x :near* ?z"
            " FILTER NOT EXISTS { ?x :near+ ?z } }",
        }
        handles = {name: register(engine, text, name) for name, text in queries.items()}
        assert engine.run()
        found = {name: told(handle) for name, handle in handles.items()}
    assert found["ask"] == [(1, ["false"]), (4, ["true"]), (9, ["false"])]
    assert found["order"] == [
        (1, ["a x"]),
        (2, ["a x", "b x"]),
        (4, ["a y", "a x", "b x"]),
        (4, ["a y", "b y", "b y", "a x", "b x"]),
        (9, ["a x"]),
    ]
    assert found["hidden"] == [(1, ["a"]), (2, ["b"])]
    assert found["distinct"] == [(1, ["y", "x"]), (9, ["x"])]
    assert found["limit"] == [(1, ["a x"]), (2, ["b x"]), (4, ["a y"]), (4, ["b y"]), (9, ["a x"])]
    assert found["sub"] == [(1, ["x 1"]), (2, ["x 2"]), (4, ["y 1"]), (4, ["y 2", "y 2"]), (9, ["x 3"])]
    x = sorted(["g one", "h three"])
    assert [(at, sorted(rows)) for at, rows in found["graph"]] == [
        (1, x), (2, x), (4, ["g two"]), (4, ["g two"]), (9, x)
    ]  # fmt: skip
    assert found["from"] == [(1, ["a three"]), (2, ["b three"]), (9, ["a three"])]
    assert found["named"] == [
        (1, ["a one 1"]), (2, ["b one 1"]), (4, ["a two 2"]), (4, ["b two 2"]), (9, ["a one 1"])
    ]  # fmt: skip
    assert found["path"] == [(1, ["a x"]), (2, ["b x"]), (4, ["a y"]), (4, ["b y"]), (9, ["a x"])]
