"""The SQL itself: literals survive any text, expressions stay short, a filter may take NULL for FALSE."""

from __future__ import annotations

from random import Random

import pytest

from rheos.algebra.expressions import CASTS
from rheos.iris import resolve
from rheos.sql import expressions
from rheos.sql.dialect import Dialect, is_atom
from rheos.sql.duckdb import DuckDB
from rheos.sql.functions import FUNCTIONS
from rheos.sql.spark import Spark
from tests.sql.evaluation import Columns, Evaluator, Row, expression
from tests.sql.random_expressions import Expressions

TEXTS = [
    "", "a", "it's", '"', "\\", "\\\\", "\\n", "\\'", "'; --", "a\nb\r\n\tc", "é食", "${x}", "{{}}", "%s",
    "r'x'", "\\u0041", "\x01", "a\\", "''", "\ufeff", "😀", "${", "`", "/* */",
]  # fmt: skip


def columns(dialect: Dialect, *, sharing: bool = True) -> Row:
    return Row(dialect, "t", frozenset("abcxy"), sharing=sharing)


@pytest.mark.parametrize("text", TEXTS)
def test_literals_in_duckdb(duckdb: Evaluator, text: str) -> None:
    assert duckdb.run(f"SELECT {duckdb.dialect.string(text)}") == [(text,)]


def test_literals_in_spark(by_spark: Evaluator) -> None:
    listed = ", ".join(by_spark.dialect.string(text) for text in TEXTS)
    assert by_spark.run(f"SELECT {listed}") == [tuple(TEXTS)]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("?x = <u:u>", "x = '<u:u>'"),
        ('?x = "a"', "x = '\"a\"'"),
        ('?x = "a"@en', "x = '\"a\"@en'"),
        ('?x IN (<u:u>, "a")', "x IN ('<u:u>', '\"a\"')"),
        ('STR(?x) = "a" || isIRI(?x)', None),
        ("sameTerm(?x, ?y)", "(x = y)"),
        ("isIRI(?x)", "(starts_with(x, '<'))"),
    ],
)
def test_short_filters(text: str, sql: str | None) -> None:
    found = expressions.condition(expression(text), columns(DuckDB()), strict=False)
    assert found == sql if sql else len(found) < 300


def test_a_comparison_with_a_number_looks_for_numbers_only() -> None:
    row = columns(DuckDB())
    found = expressions.condition(expression("?x < 5"), row)
    shared = " ".join(row.shared)
    assert "BETWEEN" not in found
    assert "TIMESTAMP" not in found + shared
    assert "boolean" not in found + shared


@pytest.mark.parametrize("dialect", [DuckDB(), Spark()], ids=["duckdb", "spark"])
@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_nesting_does_not_multiply_the_text(dialect: Dialect, operator: str) -> None:
    def length(depth: int) -> int:
        row = columns(dialect)
        text = f" {operator} ".join(["?x", *(["?y"] * depth)])
        return len(row.select([expressions.term(expression(text), row)]))

    assert length(16) < 2.5 * length(8)


@pytest.mark.parametrize("dialect", [DuckDB(), Spark()], ids=["duckdb", "spark"])
def test_sums_and_comparisons_stay_short_where_nothing_can_be_shared(dialect: Dialect) -> None:
    row = columns(dialect, sharing=False)
    assert len(expressions.condition(expression("?a + ?b + ?c + ?x + ?y > 5"), row)) < 120_000


@pytest.mark.slow
def test_a_filter_may_take_null_for_false(duckdb: Evaluator) -> None:
    source = Expressions(Random(11))
    nodes = [expression(source.boolean(3)) for _ in range(300)]
    terms = Columns()
    nodes = [terms.unfolded(node) for node in nodes]
    row = Row(duckdb.dialect, terms.source(duckdb.dialect), frozenset(terms.names.values()))
    found = [
        f"COALESCE({expressions.condition(node, row, strict=strict)}, FALSE)"
        for node in nodes
        for strict in (True, False)
    ]
    [values] = duckdb.run(row.select(found))
    assert values[::2] == values[1::2]


@pytest.mark.parametrize("base", ["http://ex/a/b/c?q#f", "http://ex", "http://ex/a/b/"])
def test_references_are_resolved_at_run_time(duckdb: Evaluator, base: str) -> None:
    references = [
        "", "x", "./x", "../x", "../../x", "../../../x", "/x", "/x/./y/../z", "//other/x", "?y", "#z", "http://o/x",
        "x/y", "x/../y", ".", "..", "x?y=/../z", "g;x=1/../y", "...", ".x",
    ]  # fmt: skip
    row = Row(duckdb.dialect, "(VALUES (1)) AS row_of_terms(unit)", frozenset())
    wrong = []
    for reference in references:
        try:
            expected = f"<{resolve(reference, base)}>"
        except ValueError:
            continue
        text = f'IRI(CONCAT("{reference}", STR("")))'
        node = expression(text)
        node = type(node)("IRI", (node.arguments[0], expression(f'"{base}"')))  # type: ignore[union-attr,call-arg]
        [[found]] = duckdb.run(row.select([expressions.term(node, row)]))
        row = Row(duckdb.dialect, row.source, frozenset())
        if found != expected:
            wrong.append(f"{reference}: {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_the_table_of_functions() -> None:
    assert "STRLEN" in FUNCTIONS
    assert FUNCTIONS.keys() >= CASTS


def test_atoms() -> None:
    assert all(map(is_atom, ["x", "r_1.shared_2", '"a b"', "5", "'a'", "CAST(5 AS DECIMAL(37,18))"]))
    assert not any(map(is_atom, ["x + 1", "f(x)", "x || 'a'", "CAST(x AS INT)"]))
