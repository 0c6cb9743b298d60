"""The evaluation of a continuous query on a batch, in DuckDB: live elements and a span of time come in, the
answers of all the instants in it go out.

A pure function: what it gives depends on the elements, the static data and the span, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from rheos.algebra.streams import Continuous
from rheos.runtime.instants import reporting
from rheos.sql.context import DEFAULT_WINDOW
from rheos.sql.continuous import ContinuousStatement, compile_continuous, window_name
from rheos.sql.duckdb import DUCKDB
from rheos.sql.windows import default_sql, window_sql


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A continuous query, compiled: made once when it is registered, run for every batch."""

    query: Continuous
    statement: ContinuousStatement

    @classmethod
    def of(cls, query: Continuous) -> Evaluation:
        return cls(query, compile_continuous(query, DUCKDB))

    def answers(
        self, connection: duckdb.DuckDBPyConnection, elements: Mapping[str, pa.Table], after: int, until: int
    ) -> pa.Table:
        """The answers at the instants e with after < e <= until, in their order: instant, at, columns.

        `connection` has the static graphs; `elements` are those of each stream (s, p, o, time, place) that
        are in a window at one of these instants, and may be more.
        """
        tables = []
        for number, window in enumerate(self.query.windows, start=1):
            name = window_name(number)
            connection.register(f"elements_{number}", elements[window.stream])
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {name} AS {window_sql(window, f'elements_{number}')}"
            )
            tables.append((window, name))
        if any(not window.named for window, _ in tables):
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {DEFAULT_WINDOW} AS {default_sql(tables, DUCKDB)}"
            )
        held = [
            interval
            for _, name in tables
            for interval in connection.execute(
                f"SELECT DISTINCT valid_from, valid_until FROM {name}"
            ).fetchall()
        ]
        instants = reporting(self.query, held, after, until)
        connection.register("instants", pa.table({"instant": instants, "at": instants}))
        return connection.sql(self.statement.sql).to_arrow_table()
