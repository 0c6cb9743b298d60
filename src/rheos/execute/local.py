"""Statements in DuckDB, in the calling process: no JVM, for static data that is small."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from rheos.errors import EvaluationError
from rheos.execute.base import Graphs, named
from rheos.execute.limits import limited_cursor
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.functions import hashes
from rheos.sql.statement import Statement


@dataclass(frozen=True, slots=True)
class Local:
    graphs: Graphs
    name: str = "local"
    where: str = "DuckDB, in this process"
    dialect: Dialect = DUCKDB

    def run(self, statement: Statement, timeout: float | None = None) -> pa.Table:
        with self.graphs.cursor() as cursor, limited_cursor(cursor, timeout):
            if statement.entailed is not None:
                self.graphs.entailments.make(cursor, statement.entailed, statement.sql)
            if "rheos_sha" in statement.sql:
                hashes.register(cursor)
            try:
                # `execute`, not `sql`: a relation binds its statement to know its columns, and again to run.
                return named(cursor.execute(statement.sql).to_arrow_table(), statement)
            except duckdb.Error as error:
                first, *_ = str(error).splitlines() or [type(error).__name__]
                raise EvaluationError(f"DuckDB could not run the query: {first}") from error
