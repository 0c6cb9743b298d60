"""The one interface of the places where statements run."""

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
    """The data that statements read: the static graphs, or a change of them that is under way."""

    @property
    def size(self) -> int: ...

    @property
    def entailments(self) -> Entailments: ...

    @property
    def indexed(self) -> Indexed | None:
        """What may have an index of the default graph."""

    @property
    def commits(self) -> int:
        """A number that has changed if a change came meanwhile; it is odd while one is being committed."""

    def cursor(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A cursor of DuckDB that sees all the data."""


class SparkGraphs(Graphs, Protocol):
    """Data that statements can read in Spark, too."""

    def views(self, spark: SparkSession) -> SparkSession:
        """A session that sees all the data: the given one, or a sibling."""


class Executor(Protocol):
    """A place that answers statements in its dialect."""

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str:
        """Where that is, in words."""

    @property
    def dialect(self) -> Dialect: ...

    def answer(self, plan: Plan) -> pa.Table:
        """The rows of a query, as of its statement."""

    def run(self, statement: Statement) -> pa.Table:
        """The rows of a statement, one string column for each of its `columns`; TimeLimitError if the
        deadline comes first."""


def named(table: pa.Table, statement: Statement) -> pa.Table:
    """The columns by the names that the statement gives them: SQL's own cannot tell ?x from ?X."""
    names = statement.columns or tuple(table.column_names)
    return table.rename_columns(list(names))
