"""Short numbers among the objects of events: their values, and queries that compare and add them up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from rheos.algebra.epsparql import translate_epsparql
from rheos.runtime.epsparql import operator
from rheos.runtime.epsparql.numbers import short_numbers
from rheos.runtime.epsparql.operator import EPSparqlBatch, EPSparqlOperator
from rheos.runtime.worker.database import Database
from rheos.sources.times import NEVER
from rheos.sql import macros
from rheos.syntax import parse
from rheos.terms import XSD

STREAM = "<http://ex/s>"
SECOND = 1_000_000


def terms(*lexical: str, kind: str = "decimal") -> pa.ChunkedArray:
    return pa.chunked_array([[f'"{form}"^^<{XSD}{kind}>' for form in lexical]])


def test_values() -> None:
    found = short_numbers(terms("1", "-2.50", "+0.000000001", "007.5"))
    assert found is not None
    assert found.kind == "decimal"
    assert found.values.to_pylist() == [Decimal("1"), Decimal("-2.5"), Decimal("1E-9"), Decimal("7.5")]
    whole = short_numbers(terms("12", "-3", kind="integer"))
    assert whole is not None
    assert (whole.kind, whole.values.to_pylist()) == ("integer", [Decimal(12), Decimal(-3)])


@pytest.mark.parametrize(
    "others",
    [
        terms(),
        terms("1", "x"),
        terms("1", "1234567890"),
        terms("1", ".5"),
        terms("1", "1.0000000001"),
        terms("1.5", kind="integer"),
        terms("1", kind="double"),
        terms("1", kind="int"),
        pa.chunked_array([['"1"', "<http://ex/1>"]]),
        pa.chunked_array([[f'"1"^^<{XSD}integer>'], [f'"1"^^<{XSD}decimal>']]),
    ],
)
def test_others(others: pa.ChunkedArray) -> None:
    assert short_numbers(others) is None


# --- in queries -------------------------------------------------------------------------------------------

QUERIES = {
    "compared": "SELECT * { { ?a :v ?x } SEQ { ?a :v ?y } FILTER(?x < ?y && ?y != 3) }",
    "with a constant": "SELECT * { ?a :v ?x FILTER(?x >= 2.5 || ?x = 1e0) }",
    "with a double": "SELECT * { { ?a :v ?x } SEQ { ?a :w ?y } FILTER(?x < ?y) }",
    "computed": "SELECT ?a (?x * 0.5 + ?y AS ?z) (STR(?x) AS ?t) { { ?a :v ?x } SEQ { ?b :v ?y } }",
    "as a condition": "SELECT * { ?a :v ?x FILTER(?x) }",
    "shared": "SELECT * { { ?a :v ?x } SEQ { ?b :v ?x } FILTER(?x > 1) }",
    "optional": "SELECT * { ?a :v ?x OPTIONAL { ?a :w ?y FILTER(?y > ?x) } }",
    "of either": "SELECT * { { ?a :v ?x } UNION { ?a :w ?x } FILTER(?x > 1) }",
    "bound to others": "SELECT * { { ?a :v ?x } UNION { ?a :w ?y BIND(?y AS ?x) } FILTER(?x > 1) }",
    "nothing between": """SELECT * { { ?a :v ?x } SEQ { ?a :v ?y }
               EQUALSOPTIONAL { { ?a :v ?x } SEQ { ?a :w ?z } SEQ { ?a :v ?y } }
               FILTER(?y > ?x && !BOUND(?z)) }""",
    "taken away": "SELECT * { { ?a :v ?x } MINUS { ?a :w ?x } FILTER(?x > 1) }",
    "a rule": "CONSTRUCT { _:b :is ?x } { ?a :v ?x FILTER(?x > 1) }",
    "sums": """SELECT ?a (COUNT(*) AS ?n) (SUM(?x) AS ?s) (AVG(?x) AS ?m) { ?a :v ?x }
               GROUP BY ?a WITHIN 3s""",
    "sums of all": "SELECT (SUM(?x) AS ?s) (COUNT(?a) AS ?n) { ?a :v ?x } WITHIN 2s",
    "extremes": "SELECT ?a (MIN(?x) AS ?l) (MAX(?x) AS ?h) { ?a :v ?x } GROUP BY ?a WITHIN 3s",
    "different ones": "SELECT (SUM(DISTINCT ?x) AS ?s) (AVG(DISTINCT ?x) AS ?m) { ?a :v ?x } WITHIN 3s",
    "sums of doubles": "SELECT (SUM(?y) AS ?s) { ?a :w ?y } WITHIN 3s",
    "and then": """SELECT (AVG(?x) AS ?m) { ?a :v ?x FILTER(?x > 0) }
                   GROUP BY ?a WITHIN 3s HAVING(SUM(?x) > 4)""",
}


def events(kind: str, seed: int) -> pa.Table:
    """Numbers of one kind, now and then several at a time, and doubles."""
    chance = random.Random(f"{kind} {seed}")
    rows = []
    for _ in range(40):
        time = chance.randrange(12) * SECOND
        start = time - chance.choice((0, 0, SECOND))
        subject = f"<http://ex/{chance.choice('abc')}>"
        value = chance.choice(
            ("-1", "0", "1", "2", "03", "4") if kind == "integer" else ("0.0", "1", "2.50", "3")
        )
        rows.append((subject, "<http://ex/v>", f'"{value}"^^<{XSD}{kind}>', start, time))
        rows.append((subject, "<http://ex/w>", f'"{chance.choice("0123")}.5e0"^^<{XSD}double>', time, time))
    columns = zip(*sorted(rows, key=lambda row: row[4]), strict=True)
    table = pa.table(list(map(list, columns)), names=["s", "p", "o", "start", "time"])
    return table.append_column("place", pa.array(range(1, len(rows) + 1), pa.int64()))


@pytest.fixture(scope="module")
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        macros.define(connection)
        yield connection


@pytest.mark.parametrize("kind", ["integer", "decimal"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_values_change_nothing(
    query: str, kind: str, cursor: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is reported does not depend on whether the values were at hand, nor on where batches are cut."""
    text = f"PREFIX : <http://ex/> {query}"
    found = EPSparqlOperator.of(translate_epsparql(parse(text, "epsparql"), "q", "http://ex/"))
    found = replace(found, reads=frozenset((STREAM,)))
    for seed in range(4):
        batch = EPSparqlBatch(Database(cursor), {STREAM: events(kind, seed)})
        quick = batch.answers(found, NEVER, 12 * SECOND, {}).rows
        parts = [
            batch.answers(found, NEVER, 5 * SECOND, {}),
            batch.answers(found, 5 * SECOND, 12 * SECOND, {}),
        ]
        with monkeypatch.context() as patched:
            patched.setattr(operator, "short_numbers", lambda terms: None)
            slow = batch.answers(found, NEVER, 12 * SECOND, {}).rows
        assert quick.num_rows
        assert quick.drop(["instant"]) == slow.drop(["instant"])
        assert pa.concat_tables(part.rows.drop(["instant"]) for part in parts) == slow.drop(["instant"])
