"""Runs statements in DuckDB, in the calling process and without a JVM, for small static data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType

import duckdb
import pyarrow as pa

from rheos import memory
from rheos.errors import ResourceError
from rheos.execute.base import Graphs, named
from rheos.execute.database import failed, run_query
from rheos.execute.limits import limited_cursor
from rheos.execute.matching import Matcher
from rheos.execute.plan import Plan
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.statement import Statement

_ROWS = 100_000  # rows that are fetched at once


@dataclass(frozen=True, slots=True)
class Local:
    graphs: Graphs
    name: str = "local"
    where: str = "DuckDB, in this process"
    dialect: Dialect = DUCKDB

    def answer(self, plan: Plan) -> pa.Table:
        indexed = self.graphs.indexed if plan.is_selective else None
        if indexed is None:
            return self.run(plan.statement(self.dialect))
        commits = self.graphs.commits
        index = indexed.current()
        if index is not None and commits % 2 == 0:
            matched, matcher = plan.matched(index), Matcher(index)
            if matched.is_whole:
                return matched.answer(matcher)
            if matched.parts:
                tables = {name: matcher.table(node) for name, node in matched.parts.items()}
                table = self.run(matched.statement, tables)
                if self.graphs.commits == commits:  # else tables and graphs can be of different versions
                    return table
        began = perf_counter()
        table = self.run(plan.statement(self.dialect))
        if index is None:
            indexed.missed(perf_counter() - began)
        return table

    def run(self, statement: Statement, tables: Mapping[str, pa.Table] = MappingProxyType({})) -> pa.Table:
        """The rows of a statement, which may read `tables` beside the graphs."""
        with self.graphs.cursor() as cursor, limited_cursor(cursor):
            if statement.entailed is not None:
                self.graphs.entailments.make(cursor, statement.entailed, statement.sql)
            return named(fetched(run_query(cursor, statement.sql, tables)), statement)


def fetched(cursor: duckdb.DuckDBPyConnection) -> pa.Table:
    """All rows of an answer; ResourceError if they take more memory than this process may use."""
    most, size = memory.of_process(), 0
    reader = cursor.to_arrow_reader(_ROWS)
    batches = []
    try:
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size > most:
                raise ResourceError(f"the answer takes more than {most >> 20:,} MB of memory")
    except (duckdb.Error, OSError) as error:  # Arrow turns errors of DuckDB into its own
        raise failed(error) from error
    return pa.Table.from_batches(batches, reader.schema)
