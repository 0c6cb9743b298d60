"""The tables of expressions in both engines, with arguments in columns and as constants; and pyoxigraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sql.cases import NAMES, Case, cases, written
from tests.sql.evaluation import Evaluator, by_pyoxigraph, same_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

in_columns_or_not = pytest.mark.parametrize("folded", [False, True], ids=["columns", "constants"])
each_table = pytest.mark.parametrize("name", NAMES)


def check(table: list[Case], evaluator: Evaluator, *, folded: bool) -> None:
    chosen = [case for case in table if folded or not case.constant]
    found = evaluator.evaluate([case.expression for case in chosen], folded=folded)
    wrong = [
        f"{case.expression} => {written(term)}, not {case.expected}"
        for case, term in zip(chosen, found, strict=True)
        if written(term) != case.expected
    ]
    assert not wrong, "\n".join(wrong)


@each_table
@in_columns_or_not
def test_duckdb(duckdb: Evaluator, name: str, folded: bool) -> None:
    check(cases(name), duckdb, folded=folded)


@pytest.mark.slow
@each_table
@pytest.mark.parametrize(
    ("ansi", "folded"),
    [("true", False), ("true", True), ("false", False)],
    ids=["columns", "constants", "columns-without-ansi"],
)
def test_spark(spark: SparkSession, name: str, folded: bool, ansi: str) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        check(cases(name), Evaluator.in_spark(spark), folded=folded)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


@each_table
def test_pyoxigraph_agrees_but_for_what_the_tables_say(name: str) -> None:
    wrong = [
        f"{case.expression} => {written(by_pyoxigraph(case.expression))}, not {case.pyoxigraph}"
        for case in cases(name)
        if case.pyoxigraph != "*" and not same_value(written(by_pyoxigraph(case.expression)), case.pyoxigraph)
    ]
    assert not wrong, "\n".join(wrong)
