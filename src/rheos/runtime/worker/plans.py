"""Plans: the statements of a worker that DuckDB has planned once and runs again in every micro-batch.

To parse, bind and optimise a statement takes several times as long as to run it on the elements of a short
window. So a statement that is asked for a second time is prepared. The views that it reads become part of it.
The tables that it reads are filled anew each time. DuckDB's catalog stays as it is, because DuckDB would plan
again after a change of that.

DuckDB 1.5 plans with statistics of the rows that a table has at the moment. When the plan runs on other rows,
some of these would be missing from the answer. So plans are made without statistics, as in later versions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal

import duckdb
import pyarrow as pa

# To copy a table with more rows takes longer than to plan the statement again.
MOST_ROWS = 50_000
# So many plans are kept, and so many statements are remembered that were asked for only once.
MOST_PLANS = 2000
MOST_NEW = 500
# After so many deleted rows, a CHECKPOINT makes DuckDB release their memory.
DELETED_ROWS = 1_000_000
# A table with at most so many rows is compared with the one before it, and not copied if they are equal:
# several queries may read the same instants.
FEW_ROWS = 100
# Optimisers that are switched off for plans: one depends on the rows of the moment, the other makes filters
# that scans of Arrow tables do not know.
WITHOUT = ("statistics_propagation", "join_filter_pushdown")
# Statements with these words get no plan. DuckDB replaces the first two by a value when it plans; the
# function exists only in the cursor of a batch.
_OF_ITS_TIME = ("getvariable(", "now()", "rheos_sha")
# The operators of DuckDB that can run a second time; a test tries each. IE_JOIN cannot: it fails, and the
# whole database with it.
REPEATABLE = frozenset(
    [
        "BLOCKWISE_NL_JOIN",
        "COLUMN_DATA_SCAN",
        "CROSS_PRODUCT",
        "CTE",
        "CTE_SCAN",
        "DELIM_SCAN",
        "DUMMY_SCAN",
        "EMPTY_RESULT",
        "FILTER",
        "HASH_GROUP_BY",
        "HASH_JOIN",
        "INOUT_FUNCTION",
        "LEFT_DELIM_JOIN",
        "NESTED_LOOP_JOIN",
        "ORDER_BY",
        "PIECEWISE_MERGE_JOIN",
        "PROJECTION",
        "RANGE",
        "REC_CTE",
        "RIGHT_DELIM_JOIN",
        "REC_CTE_SCAN",
        "SEQ_SCAN",
        "STREAMING_LIMIT",
        "STREAMING_WINDOW",
        "TOP_N",
        "UNGROUPED_AGGREGATE",
        "UNION",
        "UNNEST",
        "WINDOW",
    ]
)
_BEGIN = re.compile(r"\s*WITH\b(\s+RECURSIVE\b)?")

Key = tuple[object, ...]


@dataclass
class Given:
    """The Arrow table from which DuckDB fills a table of a plan. The cursor refers to this object, so the
    object must not refer to the cursor: Python cannot free circles of references that go through DuckDB."""

    table: pa.Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class Rows:
    """A table of DuckDB that plans read, and that is filled with other rows for each batch."""

    def __init__(self, name: str, table: pa.Table, cursor: duckdb.DuckDBPyConnection) -> None:
        self.name = name
        self.cursor = cursor
        self.filled: pa.Table | None = None
        self._given = Given(table)
        cursor.register(f"given_{name}", self._given)
        cursor.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given_{name} LIMIT 0")
        cursor.execute(f"PREPARE clear_{name} AS DELETE FROM {name}")
        cursor.execute(f"PREPARE fill_{name} AS INSERT INTO {name} SELECT * FROM given_{name}")

    def fill(self, table: pa.Table) -> int:
        """Replace the rows by those of a table; the number of rows that were deleted."""
        before, self.filled = self.filled, None
        if before is not table and not (
            before is not None and len(before) == len(table) <= FEW_ROWS and before.equals(table)
        ):
            self._given.table = table
            self.cursor.execute(f"EXECUTE clear_{self.name}")
            self.cursor.execute(f"EXECUTE fill_{self.name}")
            self._given.table = table.slice(0, 0)
        self.filled = table
        return 0 if before is None or before is table else len(before)


@dataclass(frozen=True, slots=True)
class Plan:
    """A prepared statement, and the tables that it reads, by their names in the original statement."""

    name: str
    rows: Mapping[str, Rows]


@dataclass
class Plans:
    """The plans of a worker's database. With `at_once`, a statement is prepared when it is asked for the
    first time, not the second."""

    connection: duckdb.DuckDBPyConnection
    at_once: bool = False
    _known: dict[Key, Plan | Literal["unfit"]] = field(default_factory=dict)  # unfit: it cannot be prepared
    _new: dict[Key, None] = field(default_factory=dict)  # asked for once; the latest are at the end
    _rows: dict[tuple[str, pa.Schema], Rows] = field(default_factory=dict)
    _made: int = 0
    _deleted: int = 0

    def __post_init__(self) -> None:
        self.cursor = self.connection.cursor()

    def clear(self) -> None:
        """Forget all plans, because something has changed in DuckDB's catalog."""
        if self._known:
            self.cursor.close()
            self.cursor = self.connection.cursor()
            self._known.clear()
            self._rows.clear()
            self._deleted = 0

    def ask(
        self,
        sql: str,
        settings: Mapping[str, str],
        tables: Mapping[str, pa.Table],
        views: Mapping[str, str],
    ) -> pa.Table | None:
        """The rows of a statement that reads these tables and views; None if there is no plan for it. A view
        stands after the views that it reads."""
        if any(len(table) > MOST_ROWS for table in tables.values()):
            return None
        schemas = sorted(((name, table.schema) for name, table in tables.items()), key=itemgetter(0))
        key = sql, *settings.items(), *views.items(), *schemas
        known = self._known.get(key)
        if known is None and not self._comes_again(key):
            return None
        try:
            if known is None:
                known = self._known[key] = self._prepared(sql, settings, tables, views)
            return None if known == "unfit" else self._run(known, tables)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            self._known[key] = "unfit"  # run without a plan it may succeed, or give a better error
            return None

    def _comes_again(self, key: Key) -> bool:
        """Whether a statement should be prepared: because it is asked for again, or `at_once`."""
        if self.at_once or key in self._new:
            self._new.pop(key, None)
            if len(self._known) >= MOST_PLANS:
                self.clear()
            return True
        if len(self._new) >= MOST_NEW:
            del self._new[next(iter(self._new))]
        self._new[key] = None
        return False

    def _prepared(
        self,
        sql: str,
        settings: Mapping[str, str],
        tables: Mapping[str, pa.Table],
        views: Mapping[str, str],
    ) -> Plan | Literal["unfit"]:
        if any(word in text for text in (sql, *views.values()) for word in _OF_ITS_TIME):
            return "unfit"
        rows = {name: self._rows_of(name, table) for name, table in tables.items()}
        read = {name: f"SELECT * FROM {found.name}" for name, found in rows.items()} | dict(views)
        self._made += 1
        plan = Plan(f"plan_{self._made}", rows)
        known = settings.get("disabled_optimizers", "''").strip("'")
        without = ",".join(filter(None, (known, *WITHOUT)))
        settings = {**settings, "disabled_optimizers": f"'{without}'"}
        text = with_views(sql, read)
        try:
            for name, value in settings.items():
                self.cursor.execute(f"SET {name} = {value}")
            if not operators(self.cursor, text) <= REPEATABLE:
                return "unfit"
            self.cursor.execute(f"PREPARE {plan.name} AS {text}")
        finally:
            for name in settings:
                self.cursor.execute(f"RESET {name}")
        return plan

    def _rows_of(self, name: str, table: pa.Table) -> Rows:
        key = name, table.schema
        if key not in self._rows:
            # A new number each time: an interruption may leave a table that is not in `_rows`.
            self._made += 1
            self._rows[key] = Rows(f"rows_{self._made}", table, self.cursor)
        return self._rows[key]

    def _run(self, plan: Plan, tables: Mapping[str, pa.Table]) -> pa.Table:
        self._deleted += sum(rows.fill(tables[name]) for name, rows in plan.rows.items())
        if self._deleted > DELETED_ROWS:
            self.cursor.execute("CHECKPOINT temp")
            self._deleted = 0
        return self.cursor.execute(f"EXECUTE {plan.name}").to_arrow_table()


def operators(cursor: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    """The names of the operators in the plan that DuckDB makes for a statement."""
    ((_, explained),) = cursor.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
    found, left = set[str](), json.loads(explained)
    while left:
        operator = left.pop()
        found.add(operator["name"].strip())
        left += operator["children"]
    return found


def with_views(sql: str, views: Mapping[str, str]) -> str:
    """A statement that defines the views that it reads itself, in a WITH clause."""
    if not views:
        return sql
    own = _BEGIN.match(sql)
    first = "WITH" if own is None else own[0]
    listed = ", ".join(f"{name} AS NOT MATERIALIZED ({text})" for name, text in views.items())
    return f"{first} {listed}\n{sql}" if own is None else f"{first} {listed}, {sql[own.end() :]}"
