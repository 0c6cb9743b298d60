"""The database of a worker: runs the SQL of an evaluation in DuckDB, on Arrow tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType

import duckdb
import pyarrow as pa

from rheos.errors import EvaluationError
from rheos.execute.database import SIMPLY, many_joins, run
from rheos.runtime.worker.plans import MOST_ROWS, Plans
from rheos.sql.cqels import CqelsStatement
from rheos.sql.csparql import CSparqlStatement
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.epsparql import EPSparqlStatement
from rheos.sql.functions import hashes
from rheos.sql.relation import KNOWN, OCCURRENCE

# DuckDB assumes that Arrow tables have few rows, so it compares each row with every instant (nested loops).
# Up to so many instants that is the quickest way; above, these settings make DuckDB sort both sides.
FEW_INSTANTS = 200
SORTING = {"nested_loop_join_threshold": "0", "merge_join_threshold": "0"}
# DuckDB also pulls filters up above expressions, which are then computed even for rows that the filter drops.
DETECTING = {**SORTING, "disabled_optimizers": "'filter_pullup'"}
UNKNOWN_FILTER = "Pushdown Filter Type"
AS_WRITTEN = {"disabled_optimizers": "'join_order'"}
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

# Statements that change tables of the catalog, which all cursors share. Plans made before are invalid then.
CHANGES = re.compile(r"CREATE (OR REPLACE )?TABLE\b|DROP TABLE\b")
_WORD = re.compile(r"\w+")


def typed(rows: pa.Table, times: Sequence[str], columns: Sequence[str], *, asks: bool = False) -> pa.Table:
    """An answer with the right names and types: columns of times, then terms or, for ASK, a boolean.

    An engine may give a column that is always NULL another type. Tables of the same query are concatenated,
    so their types must not differ.
    """
    terms = pa.bool_() if asks else pa.string()
    kinds = [pa.int64()] * len(times) + [terms] * len(columns)
    schema = pa.schema(list(zip((*times, *columns), kinds, strict=True)))
    return pa.Table.from_arrays(
        [column.cast(kind) for column, kind in zip(rows.columns, kinds, strict=True)], schema=schema
    )


def without_pushdown(disabled: str) -> str:
    """The setting with one more disabled optimizer: with it, a join can push a filter down to the scan of its
    other side that Arrow scans do not support."""
    return f"'{','.join(filter(None, (disabled, 'join_filter_pushdown')))}'"


class Database:
    """A cursor of a DuckDB database. Temporary tables and views are gone when the cursor is closed.

    `view` and `put` only note a view or an Arrow table. The cursor gets it when a statement
    without a plan reads it.
    """

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, dialect: Dialect = DUCKDB, plans: Plans | None = None
    ) -> None:
        self.cursor = cursor
        self.dialect = dialect
        self.plans = plans
        self._tables: dict[str, pa.Table] = {}
        self._views: dict[str, str] = {}
        self._made: set[str] = set()
        self._there: dict[str, pa.Table | str] = {}  # the tables, and texts of views, that the cursor has

    def make(self, name: str, sql: str) -> None:
        statement = f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}"
        try:
            self.run(statement)
        except EvaluationError as error:
            if UNKNOWN_FILTER not in str(error):
                raise
            known = self.run("SELECT current_setting('disabled_optimizers')").fetchall()[0][0] or ""
            self.run(f"SET disabled_optimizers = {without_pushdown(known)}")
            try:
                self.run(statement)
            finally:
                self.run(f"SET disabled_optimizers = '{known}'")
        self._made.add(name)

    def view(self, name: str, sql: str) -> None:
        self._tables.pop(name, None)
        self._views[name] = sql

    def put(self, name: str, table: pa.Table) -> None:
        self._views.pop(name, None)
        self._tables[name] = table

    def can_plan(self, table: pa.Table) -> bool:
        """Whether plans can read a table. They copy it themselves, so no other copy is needed."""
        return self.plans is not None and len(table) <= MOST_ROWS

    def ask(self, sql: str, settings: Mapping[str, str] = NO_SETTINGS) -> pa.Table:
        if many_joins(sql):
            settings = {**settings, "disabled_optimizers": f"'{SIMPLY}'"}
        read = self._read(sql)
        if self.plans is not None and self._made.isdisjoint(read):
            tables = {name: self._tables[name] for name in read if name in self._tables}
            views = {name: self._views[name] for name in read if name in self._views}
            found = self.plans.ask(sql, settings, tables, views)
            if found is not None:
                return found
        with self.set(sql, settings):
            return self.run(sql).to_arrow_table()

    def interrupt(self) -> None:
        """Stop what is being done."""
        self.cursor.interrupt()
        if self.plans is not None:
            self.plans.cursor.interrupt()

    def rows(self, statement: CSparqlStatement, instants: int) -> pa.Table:
        settings = SORTING if instants > FEW_INSTANTS else {}
        rows = self._answers(statement.sql, settings)
        return typed(rows, ("instant", "at"), statement.columns, asks=statement.asks)

    def new(self, statement: CqelsStatement) -> pa.Table:
        rows = self._answers(statement.sql, AS_WRITTEN)
        return typed(rows, ("member", "instant", "at"), statement.columns, asks=statement.asks)

    def nothing_new(self, statement: CqelsStatement) -> pa.Table:
        """The answer of `new` if there are no ticks: no rows."""
        names = ("member", "instant", "at", *(f"c{at}" for at, _ in enumerate(statement.columns)))
        return typed(
            pa.table({name: pa.nulls(0) for name in names}), names[:3], statement.columns, asks=statement.asks
        )

    def solutions(self, statement: EPSparqlStatement) -> pa.Table:
        rows = self._answers(statement.sql, DETECTING)
        times = (KNOWN, *OCCURRENCE) if statement.late else OCCURRENCE[::-1]
        return typed(rows, times, statement.columns, asks=statement.asks)

    def make_solutions(self, name: str, statement: EPSparqlStatement) -> None:
        """Make a table of the rows that `solutions` would give, in any order."""
        columns = ", ".join([*OCCURRENCE[::-1], *statement.columns])
        settings = DETECTING | ({"disabled_optimizers": f"'{SIMPLY}'"} if many_joins(statement.sql) else {})
        with self.set(statement.sql, settings):
            self.make(name, f"SELECT * FROM (\n{statement.unordered}\n) AS solutions({columns})")

    def _answers(self, sql: str, settings: Mapping[str, str]) -> pa.Table:
        try:
            return self.ask(sql, settings)
        except EvaluationError as error:
            if UNKNOWN_FILTER not in str(error):
                raise
        without = without_pushdown(settings.get("disabled_optimizers", "''").strip("'"))
        return self.ask(sql, {**settings, "disabled_optimizers": without})

    @contextmanager
    def set(self, sql: str, settings: Mapping[str, str]) -> Iterator[None]:
        """Have the settings and functions that a statement needs, while it runs."""
        if "rheos_sha" in sql:
            hashes.register(self.cursor)
        for name, value in settings.items():
            self.run(f"SET {name} = {value}")
        try:
            yield
        finally:
            for name in settings:
                self.run(f"RESET {name}")

    def run(self, sql: str) -> duckdb.DuckDBPyConnection:
        for name in self._read(sql):
            self._show(name)
        if self.plans is not None and CHANGES.match(sql):
            self.plans.clear()
        return run(self.cursor, sql)

    def _read(self, sql: str) -> dict[str, None]:
        """The names of tables and views that a statement reads, directly or through views. A view stands
        after the names that it reads."""
        found = dict[str, None]()
        looked_at = set[str]()

        def look(text: str) -> None:
            for name in words(text):
                if name in looked_at:
                    continue
                looked_at.add(name)
                if name in self._views:
                    look(self._views[name])
                if name in self._views or name in self._tables or name in self._made:
                    found[name] = None

        look(sql)
        return found

    def _show(self, name: str) -> None:
        """Create a view, or register an Arrow table, in the cursor, unless the cursor has it already."""
        there = self._there.get(name)
        if name in self._views:
            wanted = self._views[name]
            if there != wanted:
                run(self.cursor, f"CREATE OR REPLACE TEMP VIEW {name} AS {wanted}")
                self._there[name] = wanted
        elif name in self._tables and there is not self._tables[name]:
            # DuckDB replaces what was registered under the name, but not a view that was created.
            if isinstance(there, str):
                run(self.cursor, f"DROP VIEW {name}")
            self.cursor.register(name, self._tables[name])
            self._there[name] = self._tables[name]


@lru_cache(maxsize=300)
def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))
