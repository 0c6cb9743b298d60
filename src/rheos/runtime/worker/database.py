"""The database of a worker: runs the SQL of an evaluation in DuckDB, on Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from rheos.errors import EvaluationError
from rheos.execute.database import SIMPLY, many_joins, run
from rheos.sql.cqels import CqelsStatement
from rheos.sql.csparql import CSparqlStatement
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.epsparql import EPSparqlStatement
from rheos.sql.functions import hashes
from rheos.sql.relation import KNOWN, OCCURRENCE

# DuckDB takes what comes from Arrow for few rows, and looks at all instants to spread one over them. Up to so
# many instants nothing is quicker; above, it is told to sort both.
FEW_INSTANTS = 200
SORTING = {"nested_loop_join_threshold": "0", "merge_join_threshold": "0"}
# It also lifts filters above expressions, which then are computed for what the filter drops.
DETECTING = {**SORTING, "disabled_optimizers": "'filter_pullup'"}
UNKNOWN_FILTER = "Pushdown Filter Type"
AS_WRITTEN = {"disabled_optimizers": "'join_order'"}


def typed(rows: pa.Table, times: Sequence[str], columns: Sequence[str], *, asks: bool = False) -> pa.Table:
    """An answer with its own names and types: numbers, then terms or, of ASK, whether there is one.

    What an engine gives depends on what it knows: a column that is always NULL may come as a number. Tables
    of the same query are put together, so they must not differ.
    """
    terms = pa.bool_() if asks else pa.string()
    kinds = [pa.int64()] * len(times) + [terms] * len(columns)
    schema = pa.schema(list(zip((*times, *columns), kinds, strict=True)))
    return pa.Table.from_arrays(
        [column.cast(kind) for column, kind in zip(rows.columns, kinds, strict=True)], schema=schema
    )


class Database:
    """A cursor of a DuckDB database; what is made in it is gone when the cursor is closed."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, dialect: Dialect = DUCKDB) -> None:
        self.cursor = cursor
        self.dialect = dialect
        self._views: set[str] = set()

    def make(self, name: str, sql: str) -> None:
        self.run(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def view(self, name: str, sql: str) -> None:
        self.run(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        self._views.add(name)

    def put(self, name: str, table: pa.Table) -> None:
        # DuckDB replaces what was registered under the name, but not a view that was created.
        if name in self._views:
            self.run(f"DROP VIEW {name}")
            self._views.discard(name)
        self.cursor.register(name, table)

    def ask(self, sql: str) -> pa.Table:
        return self.run(sql).to_arrow_table()

    def rows(self, statement: CSparqlStatement, instants: int) -> pa.Table:
        settings = SORTING if instants > FEW_INSTANTS else {}
        rows = self._answers(statement.sql, settings)
        return typed(rows, ("instant", "at"), statement.columns, asks=statement.asks)

    def new(self, statement: CqelsStatement) -> pa.Table:
        rows = self._answers(statement.sql, AS_WRITTEN)
        return typed(rows, ("member", "instant", "at"), statement.columns, asks=statement.asks)

    def nothing_new(self, statement: CqelsStatement) -> pa.Table:
        """The same, if there are no ticks."""
        names = ("member", "instant", "at", *(f"c{at}" for at, _ in enumerate(statement.columns)))
        return typed(
            pa.table({name: pa.nulls(0) for name in names}), names[:3], statement.columns, asks=statement.asks
        )

    def solutions(self, statement: EPSparqlStatement) -> pa.Table:
        rows = self._answers(statement.sql, DETECTING)
        times = (KNOWN, *OCCURRENCE) if statement.late else OCCURRENCE[::-1]
        return typed(rows, times, statement.columns, asks=statement.asks)

    def make_solutions(self, name: str, statement: EPSparqlStatement) -> None:
        """The same as a table, in any order."""
        columns = ", ".join([*OCCURRENCE[::-1], *statement.columns])
        with self.set(statement.sql, DETECTING):
            self.make(name, f"SELECT * FROM (\n{statement.unordered}\n) AS solutions({columns})")

    def _answers(self, sql: str, settings: Mapping[str, str]) -> pa.Table:
        try:
            with self.set(sql, settings):
                return self.ask(sql)
        except EvaluationError as error:
            if UNKNOWN_FILTER not in str(error):
                raise
        # A join may tell the scan of the other side what to look for, in a way that Arrow does not know.
        known = settings.get("disabled_optimizers", "''").strip("'")
        without = f"'{','.join(filter(None, (known, 'join_filter_pushdown')))}'"
        with self.set(sql, {**settings, "disabled_optimizers": without}):
            return self.ask(sql)

    @contextmanager
    def set(self, sql: str, settings: Mapping[str, str]) -> Iterator[None]:
        """Have what a statement needs while it runs."""
        if "rheos_sha" in sql:
            hashes.register(self.cursor)
        if many_joins(sql):
            settings = {**settings, "disabled_optimizers": f"'{SIMPLY}'"}
        for name, value in settings.items():
            self.run(f"SET {name} = {value}")
        try:
            yield
        finally:
            for name in settings:
                self.run(f"RESET {name}")

    def run(self, sql: str) -> duckdb.DuckDBPyConnection:
        return run(self.cursor, sql)
