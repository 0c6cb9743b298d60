"""What is read out of a variable is computed below the operator that needs it: conditions are short."""

from __future__ import annotations

import pytest

from rheos import Engine
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.spark import SPARK

PREFIX = "PREFIX : <http://ex/> "
DATA = (
    PREFIX.replace("PREFIX", "@prefix").replace("> ", "> .")
    + ':a :p 1, 2.5, "x", true . :b :q 1.0, 2, "x", "y" .'
)
BOTH = "?v1 != ?v3 || ?v1 = ?v3"


def statement(engine: Engine, query: str, dialect: Dialect) -> str:
    plan, _ = engine._plan(PREFIX + query, "auto", engine.base, "none", (), ())
    return plan.statement(dialect).sql


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["duckdb", "spark"])
def test_a_condition_of_a_join_compares_columns(dialect: Dialect) -> None:
    with Engine(execution="local") as engine:
        engine.load(data=DATA, format="turtle")
        sql = statement(engine, f"SELECT * {{ ?s :p ?v1 OPTIONAL {{ ?t :q ?v3 FILTER({BOTH}) }} }}", dialect)
    assert len(sql) < (5_000 if dialect.macros else 20_000)
    assert len(sql.rpartition("\n    ON ")[2]) < 2_500


@pytest.mark.parametrize("place", ["OPTIONAL { ?t :q ?v3 FILTER(%s) }", "?t :q ?v3 FILTER(%s)"])
def test_a_further_comparison_is_short(place: str) -> None:
    """Of two variables, and of one with a constant."""
    with Engine(execution="local") as engine:
        engine.load(data=DATA, format="turtle")
        for test, most in (("?v1 != ?v3", 900), ("?v1 = %d", 150), ("?v1 != %d", 320)):
            lengths = []
            for count in (20, 40):
                tests = " || ".join(test % at if "%" in test else test for at in range(count))
                lengths.append(len(statement(engine, f"SELECT * {{ ?s :p ?v1 . {place % tests} }}", DUCKDB)))
            assert lengths[1] - lengths[0] < 20 * most


def test_many_comparisons_are_answered() -> None:
    with Engine(execution="local") as engine:
        engine.load(data=DATA, format="turtle")
        for test, rows in (("?v1 = ?v3", 4), ("?v1 != ?v3", 14)):
            query = "SELECT * { ?s :p ?v1 OPTIONAL { ?t :q ?v3 FILTER(%s) } }"
            alone = engine.query(PREFIX + query % test)
            many = engine.query(PREFIX + query % " || ".join([test] * 200))
            assert len(alone) == len(many) == rows


def test_a_variable_that_either_side_binds() -> None:
    """It is of no side alone, so what is read out of it cannot be a column of one."""
    with Engine(execution="local") as engine:
        engine.load(data=DATA, format="turtle")
        optional = "OPTIONAL { ?s :none ?x } OPTIONAL { ?t :q ?x FILTER(?v1 = ?x || ?x > 1.5) }"
        query = f"SELECT * {{ ?s :p ?v1 {optional} }}"
        found = [(row["v1"].value, row["x"].value) for row in engine.query(PREFIX + query).rows]
        assert sorted(found) == sorted(
            [("1", "1.0"), ("1", "2"), ("2.5", "2"), ("x", "x"), ("x", "2"), ("true", "2")]
        )
