"""ORDER BY in both engines: unbound, blank nodes, IRIs, literals; numbers and times by value."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from rheos.terms import encode
from tests.sql.cases import written
from tests.sql.evaluation import PREFIXES

if TYPE_CHECKING:
    from rheos import Engine

# In the order of 15.1, and what it leaves open as `rheos.sql.ordering` says.
ORDERED = [
    "UNDEF",
    "<u:a>",
    "<u:b>",
    "'-INF'^^xsd:double",
    "-5",
    "-0.5",
    "0.0000000000000000001e0",
    "'1'^^xsd:byte",
    "1.5",
    "'2.5'^^xsd:float",
    "10",
    "9007199254740993",
    "9007199254740994.5",
    "12345678901234567890123",
    "'NaN'^^xsd:double",
    "''",
    "'Z'",
    "'a'",
    "'a'@de",
    "'a'@en",
    "'a b'",
    "'a\"'",
    "'ab'",
    "'é'",
    "'\uffee'",
    "'😀'",
    "false",
    "true",
    "'2020-01-01T00:00:00+02:00'^^xsd:dateTime",
    "'2020-01-01T00:00:00Z'^^xsd:dateTime",
    "'2020-01-01T00:00:00.5Z'^^xsd:dateTime",
    "'2020-01-01'^^xsd:date",
    "'-P1Y'^^xsd:yearMonthDuration",
    "'-PT0.000001S'^^xsd:duration",
    "'PT0S'^^xsd:dayTimeDuration",
    "'PT1H'^^xsd:duration",
    "'P1D'^^xsd:dayTimeDuration",
    "'P29DT24H'^^xsd:duration",
    "'P1M'^^xsd:duration",
    "'P31D'^^xsd:duration",
    "'P1Y'^^xsd:yearMonthDuration",
    "'P366D'^^xsd:duration",
    "'abc'^^xsd:integer",
    "'x'^^<u:t>",
    "'x'^^<u:u>",
    "'y'^^<u:t>",
]


def query(terms: list[str], order: str) -> str:
    rows = " ".join(f"({at} {term})" for at, term in enumerate(terms))
    return f"{PREFIXES} SELECT ?at {{ VALUES (?at ?x) {{ {rows} }} }} ORDER BY {order}"


def ordered(engine: Engine, terms: list[str], order: str) -> list[str]:
    return [terms[int(row["at"].value)] for row in engine.query(query(terms, order)).rows]


def shuffled() -> list[str]:
    return Random(7).sample(ORDERED, len(ORDERED))


@pytest.fixture(params=["local_engine", "catalyst_engine"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def test_ascending(engine: Engine) -> None:
    assert ordered(engine, shuffled(), "?x") == ORDERED


def test_descending(engine: Engine) -> None:
    assert ordered(engine, shuffled(), "DESC(?x)") == ORDERED[::-1]


def test_equal_values_leave_it_to_the_next_condition(engine: Engine) -> None:
    spans = ["'PT24H'^^xsd:duration", "'P1D'^^xsd:dayTimeDuration"]
    assert ordered(engine, spans, "?x ?at") == spans
    assert ordered(engine, spans, "?x DESC(?at)") == spans[::-1]
    terms = ["1.0", "1", "'01'^^xsd:integer", "1e0", "'1'^^xsd:float", "0.5e0", "0.5"]
    assert ordered(engine, terms, "?x ?at") == [*terms[5:], *terms[:5]]
    assert ordered(engine, terms, "?x DESC(?at)") == [*terms[5:][::-1], *terms[:5][::-1]]


def test_expressions(local_engine: Engine) -> None:
    terms = ["<u:ccc>", "'bb'", "'a'", "55555.5"]
    assert ordered(local_engine, terms, "STRLEN(STR(?x))") == ["'a'", "'bb'", "<u:ccc>", "55555.5"]
    assert ordered(local_engine, terms, "DESC(STR(?x))") == ["<u:ccc>", "'bb'", "'a'", "55555.5"]
    assert ordered(local_engine, terms, "(?x > 6) ?at") == ["<u:ccc>", "'bb'", "'a'", "55555.5"]
    assert ordered(local_engine, terms, "(?x * -1) DESC(?at)") == ["'a'", "'bb'", "<u:ccc>", "55555.5"]


def test_blank_nodes_come_before_iris(local_engine: Engine) -> None:
    parts = ("<u:u>", "BNODE()", "1")
    text = f"SELECT ?x {{ {' UNION '.join(f'{{ BIND ({part} AS ?x) }}' for part in parts)} }} ORDER BY ?x"
    kinds = [written(encode(row["x"]))[0] for row in local_engine.query(text).rows]
    assert kinds == ["_", "<", '"']
