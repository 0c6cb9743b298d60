"""Typed columns: which type a column has, what becomes of values that mix, and that types only get wider."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from rheos.answers.continuous import QueryInfo
from rheos.answers.typed import TYPES, Columns, unlike
from rheos.terms import XSD, literal


def number(text: str, kind: str) -> str:
    return literal(text, XSD + kind)


def answers(*values: str | None) -> pa.Table:
    times = pa.array(range(len(values)), pa.int64())
    return pa.table([times, times, pa.array(values, pa.string())], names=["instant", "at", "x"])


SELECT = QueryInfo("q", "select", ("x",))


@pytest.mark.parametrize(
    ("terms", "kind", "values"),
    [
        ([number("3", "integer"), None, number("+004", "byte")], "bigint", [3, None, 4]),
        ([number("3", "integer"), number("0.5", "decimal")], "double", [3.0, 0.5]),
        ([number("-INF", "double"), number("1e3", "float")], "double", [float("-inf"), 1000.0]),
        ([number("99999999999999999999", "integer")], "string", ["99999999999999999999"]),
        ([number("many", "integer")], "string", ["many"]),
        ([number("1", "boolean"), number("false", "boolean")], "boolean", [True, False]),
        (
            [
                number("2026-01-01T00:00:00.1234567", "dateTime"),
                number("2026-01-01T02:00:00+02:00", "dateTime"),
            ],
            "timestamp",
            [datetime(2026, 1, 1, 0, 0, 0, 123456, UTC), datetime(2026, 1, 1, tzinfo=UTC)],
        ),
        ([number("2026-01-01T24:00:00Z", "dateTime")], "string", ["2026-01-01T24:00:00Z"]),
        ([number("2026-02-01", "date")], "date", [date(2026, 2, 1)]),
        ([number("2026-02-30", "date")], "string", ["2026-02-30"]),
        (['"a\nb "c" d"', '"chat"@fr'], "string", ['a\nb "c" d', "chat"]),
        (["<http://ex/a>", "_:b0"], "string", ["http://ex/a", "_:b0"]),
        ([number("3", "integer"), '"three"'], "string", ["3", "three"]),
        ([number("3", "integer"), number("true", "boolean")], "string", ["3", "true"]),
        (['""', '"^^<"'], "string", ["", "^^<"]),
    ],
)
def test_the_type_of_a_column(terms: list[str | None], kind: str, values: list[object]) -> None:
    columns = Columns()
    table = columns.table(SELECT, answers(*terms))
    assert columns.types == {"x": kind}
    assert table.schema.field("x").type == TYPES[kind]
    assert table.column("x").to_pylist() == values


def test_types_only_get_wider() -> None:
    columns = Columns()
    seen = []
    for terms in ([None], [number("1", "integer")], [None], [number("0.5", "decimal")], [number("2", "int")]):
        table = columns.table(SELECT, answers(*terms))
        seen.append((str(table.schema.field("x").type), table.column("x").to_pylist()))
    assert seen == [
        ("string", [None]),
        ("int64", [1]),
        ("int64", [None]),
        ("double", [0.5]),
        ("double", [2.0]),
    ]
    assert columns.table(SELECT, answers("<http://ex/a>")).column("x").to_pylist() == ["http://ex/a"]
    assert columns.table(SELECT, answers(number("7", "integer"))).column("x").to_pylist() == ["7"]


def test_times_are_times_and_names_are_unlike() -> None:
    occurring = QueryInfo("q", "select", ("at", "x", "X"), occurs=True)
    times = [pa.array([1_000_000], pa.int64())] * 3
    terms = [pa.array(['"a"'])] * 3
    table = Columns().table(
        occurring, pa.table([*times, *terms], names=["instant", "at", "start", "at", "x", "X"])
    )
    assert table.column_names == ["at", "start", "end", "at_2", "x", "X_2"]
    assert table.column("at").to_pylist() == [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]
    assert unlike(["a", "A", "a", "a_2"]) == ["a", "A_2", "a_3", "a_2_2"]


def test_terms_as_structs() -> None:
    table = Columns(terms=True).table(
        SELECT, answers("<http://ex/a>", "_:b", '"x"', '"y"@en', number("1", "integer"), None)
    )
    assert table.column("x").to_pylist() == [
        {"type": "uri", "value": "http://ex/a", "datatype": None, "lang": None},
        {"type": "bnode", "value": "b", "datatype": None, "lang": None},
        {"type": "literal", "value": "x", "datatype": XSD + "string", "lang": None},
        {
            "type": "literal",
            "value": "y",
            "datatype": "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
            "lang": "en",
        },
        {"type": "literal", "value": "1", "datatype": XSD + "integer", "lang": None},
        None,
    ]


def test_triples_are_ntriples_and_booleans_are_booleans() -> None:
    graph = QueryInfo("g", "construct")
    row = [pa.array([1]), pa.array([1]), pa.array(["_:b"]), pa.array(["<http://ex/p>"]), pa.array(['"a"b"'])]
    table = Columns().table(graph, pa.table(row, names=["instant", "at", "s", "p", "o"]))
    assert table.to_pylist()[0]["object"] == r'"a\"b"'
    assert table.to_pylist()[0]["subject"] == "_:b"
    ask = QueryInfo("a", "ask")
    found = pa.table([pa.array([1]), pa.array([1]), pa.array([True])], names=["instant", "at", "found"])
    assert Columns().table(ask, found).column("boolean").to_pylist() == [True]
