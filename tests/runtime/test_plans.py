"""Plans: a statement that is asked for again is not planned again, and sees the rows of now."""

from __future__ import annotations

import gc
import weakref

import duckdb
import pyarrow as pa
import pytest

from rheos.runtime.worker import plans
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plan, Plans, with_views


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def asked(found: Plans, sql: str, rows: pa.Table, settings: dict[str, str] | None = None) -> list[object]:
    """The first column of an answer; `rows` are the table t, and its even numbers the view even."""
    database = Database(found.connection.cursor(), plans=found)
    database.put("t", rows)
    database.view("even", "SELECT * FROM t WHERE n % 2 = 0")
    return list(database.ask(sql, settings or {}).column(0).to_pylist())


def prepared(found: Plans) -> int:
    return sum(isinstance(known, Plan) for known in found._known.values())


def test_a_statement_is_prepared_when_it_comes_again() -> None:
    found = Plans(duckdb.connect())
    sql = "SELECT n FROM even ORDER BY n"
    for count, rows in enumerate([(1, 2, 4), (6, 7), (), (8,)]):
        assert asked(found, sql, numbers(*rows)) == [n for n in rows if n % 2 == 0]
        assert prepared(found) == (count > 0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n FROM t WHERE n > 100 ORDER BY n",
        "SELECT count(*) FROM t a JOIN t b ON a.n < b.n OR a.n = b.n + 1",
        "SELECT count(*) FROM t a JOIN t b ON a.n < b.n",
        "SELECT count(*) FROM t a JOIN t b ON a.n = b.n",
        "SELECT count(b.n) FROM t a LEFT JOIN t b ON a.n = b.n + 5000 AND a.n < b.n + 100000",
        "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.n = a.n + 5000)",
        "SELECT (SELECT max(b.n) FROM t b WHERE b.n < a.n) AS m FROM t a ORDER BY m",
        "SELECT n FROM t WHERE n IN (SELECT n + 5000 FROM t) ORDER BY n",
        "SELECT count(*) FROM t, t u",
        "SELECT sum(x) FROM (SELECT row_number() OVER (PARTITION BY n % 3 ORDER BY n) AS x FROM t)",
        "SELECT sum(x) FROM (SELECT row_number() OVER () AS x FROM t)",
        "SELECT lead(n) OVER (ORDER BY n) AS x FROM t ORDER BY x",
        "SELECT n FROM t ORDER BY n LIMIT 3",
        "SELECT count(*) FROM (SELECT n FROM t LIMIT 7)",
        "SELECT DISTINCT n % 5 AS x FROM t ORDER BY x",
        "SELECT n FROM (SELECT n FROM t UNION SELECT n + 1 FROM t) ORDER BY n",
        "SELECT n FROM (SELECT n FROM t EXCEPT ALL SELECT n + 5000 FROM t) ORDER BY n",
        "WITH x AS MATERIALIZED (SELECT n FROM t) SELECT count(*) FROM x, x AS y",
        "SELECT sum(u) FROM (SELECT unnest(range(n % 7)) AS u FROM t)",
        "SELECT sum(u) FROM t, unnest(range(n % 7)) AS v(u)",
        "SELECT v.x FROM t JOIN (VALUES (1), (2)) AS v(x) ON v.x = t.n ORDER BY v.x",
        "SELECT count(DISTINCT n) FROM t GROUP BY n % 3 ORDER BY 1",
        "SELECT string_agg(n, ',' ORDER BY n) FROM t",
        "SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM t)",
        "SELECT n FROM t WHERE n IS NULL",
        "SELECT n FROM t GROUP BY n ORDER BY n",
        "SELECT a.n FROM t a JOIN fixed b ON a.n = b.n ORDER BY a.n",
        "SELECT count(*) FROM t WHERE n < 3",
        "SELECT max(n) FROM t",
        "WITH other AS (SELECT n + 1 AS n FROM t) SELECT n FROM other ORDER BY n",
        "WITH RECURSIVE r(n) AS (SELECT min(n) FROM t UNION SELECT n + 1 FROM r WHERE n < 3) "
        "SELECT n FROM r ORDER BY n",
    ],
)
def test_a_plan_does_not_remember_rows(sql: str) -> None:
    """Plans of DuckDB 1.5 that were made with statistics give other rows, or fail."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fixed AS SELECT 1000 * i AS n FROM range(50) AS r(i)")
    found = Plans(connection, at_once=True)
    again = Plans(connection, at_once=True)
    for rows in (numbers(), numbers(1, 2, 3), numbers(*range(0, 100_000, 5000)), numbers(), numbers(7)):
        connection.execute(f"INSERT INTO fixed VALUES ({len(rows)})")
        rows = pa.concat_tables([rows, pa.table({"n": pa.array([None], pa.int64())})])
        assert asked(found, sql, rows) == asked(again, sql, rows)
        again.clear()  # it plans each time
    assert prepared(found) == 1


def test_what_duckdb_cannot_run_again_is_not_prepared() -> None:
    """A plan that sorts for a join of intervals fails the second time, and DuckDB with it."""
    found = Plans(duckdb.connect(), at_once=True)
    sorting = {"nested_loop_join_threshold": "0", "merge_join_threshold": "0"}
    for count in (5, 50, 9):
        rows = numbers(*range(count))
        sql = "SELECT count(*) FROM t a JOIN t b ON a.n < b.n AND b.n < a.n + 3"
        assert asked(found, sql, rows, sorting) == [2 * count - 3]
    assert not prepared(found)


def test_another_view_or_another_type_is_another_plan() -> None:
    found = Plans(duckdb.connect(), at_once=True)
    database = Database(found.connection.cursor(), plans=found)
    for sql, rows in (("SELECT 1 AS x FROM t", numbers(1)), ("SELECT 2 AS x FROM t", numbers(1))):
        database.put("t", rows)
        database.view("v", sql)
        assert database.ask("SELECT x FROM v").column(0).to_pylist() == [int(sql[7])]
    database.put("t", pa.table({"n": ["a"]}))
    database.view("v", "SELECT n AS x FROM t")
    assert database.ask("SELECT x FROM v").column(0).to_pylist() == ["a"]
    assert prepared(found) == 3


def test_what_cannot_be_prepared_is_run_as_it_is() -> None:
    found = Plans(duckdb.connect(), at_once=True)
    database = Database(found.connection.cursor(), plans=found)
    database.put("t", numbers(1, 2))
    database.make("made", "SELECT n + 1 AS n FROM t")
    database.run("SET VARIABLE least = 2")
    for sql in ("SELECT n FROM made ORDER BY n", "SELECT n + 1 FROM t WHERE n < getvariable('least')"):
        for _ in range(2):
            assert database.ask(sql).column(0).to_pylist()[0] == 2
    database.run("SET VARIABLE least = 3")
    assert len(database.ask("SELECT n + 1 FROM t WHERE n < getvariable('least')")) == 2
    assert not prepared(found)


def test_large_tables_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_ROWS", 2)
    found = Plans(duckdb.connect(), at_once=True)
    assert asked(found, "SELECT n FROM t", numbers(1, 2, 3)) == [1, 2, 3]
    assert not prepared(found)


def test_rows_that_were_deleted_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "DELETED_ROWS", 10)
    found = Plans(duckdb.connect(), at_once=True)
    for first in range(20):
        assert asked(found, "SELECT sum(n) FROM t", numbers(first, 1, 2)) == [first + 3]
    assert found._deleted <= 10


def test_plans_are_made_again_after_a_change_of_tables() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fixed AS SELECT 1 AS n")
    found = Plans(connection, at_once=True)
    database = Database(connection.cursor(), plans=found)
    assert database.ask("SELECT n FROM fixed").column(0).to_pylist() == [1]
    database.run("CREATE OR REPLACE TABLE fixed AS SELECT 'a' AS n")
    assert not prepared(found)
    assert database.ask("SELECT n FROM fixed").column(0).to_pylist() == ["a"]


def test_settings_are_those_of_the_plan_alone() -> None:
    found = Plans(duckdb.connect(), at_once=True)
    assert asked(found, "SELECT n FROM t", numbers(1), {"disabled_optimizers": "'join_order'"}) == [1]
    assert found.cursor.execute("SELECT current_setting('disabled_optimizers')").fetchall() == [("",)]


def test_a_statement_with_its_views() -> None:
    views = {"a": "SELECT 1"}
    assert with_views("SELECT * FROM a", {}) == "SELECT * FROM a"
    assert with_views("SELECT * FROM a", views) == "WITH a AS NOT MATERIALIZED (SELECT 1)\nSELECT * FROM a"
    own = with_views("WITH RECURSIVE b AS (FROM a) FROM b", views)
    assert own == "WITH RECURSIVE a AS NOT MATERIALIZED (SELECT 1),  b AS (FROM a) FROM b"


def test_statements_that_do_not_come_again_push_no_plan_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_NEW", 3)
    found = Plans(duckdb.connect())
    for number in range(20):
        assert asked(found, "SELECT n FROM t", numbers(number)) == [number]
        assert asked(found, f"SELECT n + {number} FROM t", numbers(1)) == [number + 1]
    assert prepared(found) == 1
    assert len(found._new) <= 3


def test_with_too_many_plans_all_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLANS", 2)
    found = Plans(duckdb.connect(), at_once=True)
    for number in (1, 2, 3, 1, 2, 3):
        assert asked(found, f"SELECT n + {number} FROM t", numbers(1)) == [number + 1]
        assert prepared(found) <= 2


def test_plans_that_nobody_needs_are_let_go_of() -> None:
    """DuckDB keeps what it reads. If that kept the cursor, both would stay, and the database too."""
    plans = Plans(duckdb.connect(":memory:"), at_once=True)
    table = pa.table({"n": [1, 2]})
    found = plans.ask("SELECT sum(n) AS n FROM numbers", {}, {"numbers": table}, {})
    assert found is not None
    assert found.to_pylist() == [{"n": 3}]
    [rows] = plans._rows.values()
    given = weakref.ref(rows._given)
    del plans, rows
    gc.collect()
    assert given() is None
