"""The interfaces of executors, which run statements, and of the data that statements read."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import duckdb
import pyarrow as pa

from rheos.sql.dialect import Dialect
from rheos.sql.statement import Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheos.execute.plan import Plan
    from rheos.store.entailed import Entailments
    from rheos.store.indexed import Indexed


class Graphs(Protocol):
    """The data that statements read: the static graphs, a revision of them, or an overlay."""

    @property
    def size(self) -> int: ...

    @property
    def entailments(self) -> Entailments: ...

    @property
    def indexed(self) -> Indexed | None:
        """The object that may have an index of the default graph; None if there can be no index."""

    @property
    def commits(self) -> int:
        """A number that grows with every change of the graphs; it is odd during a commit."""

    def cursor(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A cursor of DuckDB that sees all data."""


class SparkGraphs(Graphs, Protocol):
    """Data that statements can also read in Spark."""

    def views(self, spark: SparkSession) -> SparkSession:
        """A session that has views of all data: the given session, or a sibling of it."""


class Executor(Protocol):
    """Runs queries and statements in one engine, in its dialect."""

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str:
        """The engine and where it runs, in words."""

    @property
    def dialect(self) -> Dialect: ...

    def answer(self, plan: Plan) -> pa.Table:
        """The rows of a query, in the form in which `run` returns those of its statement."""

    def run(self, statement: Statement) -> pa.Table:
        """The rows of a statement, with a string column for each of its `columns`.

        TimeLimitError if the deadline comes first.
        """


def named(table: pa.Table, statement: Statement) -> pa.Table:
    """The table with the column names of the statement. Names in SQL cannot distinguish ?x from ?X."""
    names = statement.columns or tuple(table.column_names)
    return table.rename_columns(list(names))
