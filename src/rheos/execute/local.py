"""Statements in DuckDB, in the calling process: no JVM, for static data that is small."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from rheos.execute.base import Graphs, named
from rheos.execute.database import run_query
from rheos.execute.limits import limited_cursor
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.statement import Statement


@dataclass(frozen=True, slots=True)
class Local:
    graphs: Graphs
    name: str = "local"
    where: str = "DuckDB, in this process"
    dialect: Dialect = DUCKDB

    def run(self, statement: Statement) -> pa.Table:
        with self.graphs.cursor() as cursor, limited_cursor(cursor):
            if statement.entailed is not None:
                self.graphs.entailments.make(cursor, statement.entailed, statement.sql)
            return named(run_query(cursor, statement.sql).to_arrow_table(), statement)
