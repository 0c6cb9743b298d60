"""Aggregates over VALUES, in both engines: what 18.5.1 asks for, and pyoxigraph where it says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rheos.terms import encode
from tests.sql.cases import written
from tests.sql.evaluation import PREFIXES, STORE, same_value

if TYPE_CHECKING:
    from rheos import Engine

INTEGER, DECIMAL, DOUBLE = "^^xsd:integer", "^^xsd:decimal", "^^xsd:double"

# Aggregate, values, result; and what pyoxigraph gives where it differs.
AGGREGATES = [
    ("COUNT(?x)", "1 UNDEF 1 'a'", f'"3"{INTEGER}', None),
    ("COUNT(?x)", "", f'"0"{INTEGER}', None),
    ("COUNT(*)", "1 UNDEF 1", f'"3"{INTEGER}', None),
    ("COUNT(DISTINCT ?x)", "1 1.0 1 UNDEF", f'"2"{INTEGER}', None),
    ("COUNT(DISTINCT *)", "1 1 UNDEF UNDEF", f'"2"{INTEGER}', None),
    ("COUNT(?x + 1)", "1 'a' 2", f'"2"{INTEGER}', "-"),
    ("SUM(?x)", "1 2 3", f'"6"{INTEGER}', None),
    ("SUM(?x)", "1 2.5", f'"3.5"{DECIMAL}', None),
    ("SUM(?x)", "0.5 0.5", f'"1"{DECIMAL}', None),
    ("SUM(?x)", "1 2.5 1e0", f'"4.5E0"{DOUBLE}', None),
    ("SUM(?x)", "'1'^^xsd:float 1", '"2.0E0"^^xsd:float', None),
    ("SUM(?x)", "'5'^^xsd:byte 1", f'"6"{INTEGER}', None),
    ("SUM(?x)", "", f'"0"{INTEGER}', None),
    ("SUM(?x)", "1 'a'", "-", None),
    ("SUM(?x)", "1 UNDEF", "-", None),
    ("SUM(?x)", "<u:u>", "-", None),
    ("SUM(DISTINCT ?x)", "1 1 1.0 2", f'"4"{DECIMAL}', None),
    ("SUM(?x)", "123456789012345678 1", f'"123456789012345679"{INTEGER}', None),
    ("SUM(?x)", "9999999999999999.5 0.25 -10000000000.125", f'"9999989999999999.625"{DECIMAL}', None),
    ("SUM(?x)", "9223372036854775807 9223372036854775807", "-", None),
    ("SUM(?x + 1)", "1 2", f'"5"{INTEGER}', None),
    ("SUM(STRLEN(?x))", "'ab' 'c'@en", f'"3"{INTEGER}', None),
    ("AVG(?x)", "1 2", f'"1.5"{DECIMAL}', None),
    ("AVG(?x)", "1 2 2", f'"1.666666666666666666"{DECIMAL}', None),
    ("AVG(?x)", "1 2.5 3e0", f'"2.1666666666666665E0"{DOUBLE}', None),
    ("AVG(?x)", "", f'"0"{INTEGER}', None),
    ("AVG(?x)", "1 'a'", "-", None),
    ("AVG(DISTINCT ?x)", "1 1 2", f'"1.5"{DECIMAL}', None),
    ("MIN(?x)", "3 1 2", f'"1"{INTEGER}', None),
    ("MIN(?x)", "3 1.5 2e0", f'"1.5"{DECIMAL}', None),
    ("MAX(?x)", "10 9 2.5", f'"10"{INTEGER}', None),
    ("MAX(?x)", "'b' 'a' 'B'", '"b"', None),
    ("MIN(?x)", "'b' <u:u> 5", "<u:u>", None),
    ("MAX(?x)", "'b' <u:u> 5", '"b"', None),
    ("MIN(?x)", "'2020-01-02T00:00:00Z'^^xsd:dateTime '2020-01-01T23:00:00-05:00'^^xsd:dateTime",
     '"2020-01-02T00:00:00Z"^^xsd:dateTime', None),
    ("MIN(?x)", "'P1D'^^xsd:duration 'PT25H'^^xsd:dayTimeDuration 'PT90M'^^xsd:duration",
     '"PT90M"^^xsd:duration', '"PT1H30M"^^xsd:duration'),
    ("MAX(?x)", "'P1D'^^xsd:duration 'PT25H'^^xsd:dayTimeDuration 'P1M'^^xsd:yearMonthDuration",
     '"P1M"^^xsd:yearMonthDuration', None),
    ("MAX(?x - ?x)", "'2020-01-01T00:00:00Z'^^xsd:dateTime '2020-01-02T00:00:00Z'^^xsd:dateTime",
     '"PT0S"^^xsd:dayTimeDuration', None),
    ("COUNT(DISTINCT ?x)", "'P1D'^^xsd:duration 'PT24H'^^xsd:duration", f'"2"{INTEGER}', "*"),
    ("SAMPLE(?x)", "'P1D'^^xsd:duration", '"P1D"^^xsd:duration', None),
    ("SUM(?x)", "'P1D'^^xsd:duration", "-", None),
    ("MIN(?x)", "", "-", None),
    ("MAX(?x)", "1 UNDEF", "-", None),
    ("MIN(?x + 1)", "1 'a'", "-", None),
    ("MAX(DISTINCT ?x)", "1 1 2", f'"2"{INTEGER}', None),
    ("SAMPLE(?x)", "1 1", f'"1"{INTEGER}', None),
    ("SAMPLE(?x)", "1 UNDEF", f'"1"{INTEGER}', None),
    ("SAMPLE(?x)", "", "-", None),
    ("GROUP_CONCAT(?x)", "'a' 'b'", '"a b"', None),
    ("GROUP_CONCAT(?x; SEPARATOR = ', ')", "'a' 'b' 'b'", '"a, b, b"', None),
    ("GROUP_CONCAT(DISTINCT ?x; SEPARATOR = '')", "'a' 'b' 'b'", '"ab"', None),
    ("GROUP_CONCAT(?x; SEPARATOR = '\\\\\\'\\n')", "'a' 'b'", "\"a\\\\'\\nb\"", None),
    ("GROUP_CONCAT(?x)", "", '""', None),
    ("GROUP_CONCAT(?x)", "5 <u:u> 'a'@en", '"5 a u:u"', "-"),
    ("GROUP_CONCAT(?x)", "'a' UNDEF", "-", None),
]  # fmt: skip

each_aggregate = pytest.mark.parametrize(("aggregate", "values", "expected", "other"), AGGREGATES)


def query(aggregate: str, values: str) -> str:
    return f"{PREFIXES} SELECT ({aggregate} AS ?r) {{ VALUES ?x {{ {values} }} }}"


def found_by(engine: Engine, aggregate: str, values: str) -> str:
    [row] = engine.query(query(aggregate, values)).rows
    return written(encode(row["r"]) if row.get("r") is not None else None)


@each_aggregate
def test_duckdb(local_engine: Engine, aggregate: str, values: str, expected: str, other: str | None) -> None:
    assert found_by(local_engine, aggregate, values) == expected


@each_aggregate
def test_pyoxigraph(aggregate: str, values: str, expected: str, other: str | None) -> None:
    [row] = STORE.query(query(aggregate, values))
    found = written(None if row["r"] is None else encode(row["r"]))
    assert other == "*" or same_value(found, other or expected)


@pytest.mark.slow
def test_spark(catalyst_engine: Engine) -> None:
    """All of them in one query: a job for each would take long."""
    parts = [
        f"{{ SELECT ({at} AS ?at) ({aggregate} AS ?r) {{ VALUES ?x {{ {values} }} }} }}"
        for at, (aggregate, values, _, _) in enumerate(AGGREGATES)
    ]
    wrong = []
    for start in range(0, len(parts), 12):
        rows = catalyst_engine.query(
            f"{PREFIXES} SELECT * {{ {' UNION '.join(parts[start : start + 12])} }}"
        ).rows
        for row in rows:
            aggregate, values, expected, _ = AGGREGATES[int(row["at"].value)]
            found = written(encode(row["r"]) if row.get("r") is not None else None)
            if found != expected:
                wrong.append(f"{aggregate} of {values}: {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_groups(local_engine: Engine) -> None:
    text = """SELECT ?k (SUM(?x) AS ?s) (COUNT(DISTINCT ?x) AS ?c) (MAX(?x) AS ?m)
        { VALUES (?k ?x) { ("a" 1) ("a" 1) ("b" 2.5) ("b" 1) ("c" "z") (UNDEF 7) } }
        GROUP BY ?k ORDER BY ?k"""
    ours = [
        [written(encode(row[v]) if row.get(v) is not None else None) for v in "kscm"]
        for row in local_engine.query(text).rows
    ]
    theirs = [
        [written(None if row[v] is None else encode(row[v])) for v in "kscm"] for row in STORE.query(text)
    ]
    assert ours == theirs
