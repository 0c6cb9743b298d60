"""The static data of an engine: documents come in, SQL tables in DuckDB and views in Spark go out.

    default_graph(s, p, o)    named_graphs(g, s, p, o)    graph_names(g)

A graph is a set of triples, so a triple that is there already is not added again.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.errors import LoadError
from rheos.optimize.statistics import PredicateCount, Statistics
from rheos.store.documents import documents
from rheos.store.reader import SCHEMA, read
from rheos.terms import iri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLES = """
CREATE TABLE default_graph (s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE named_graphs (g VARCHAR NOT NULL, s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE graph_names (g VARCHAR NOT NULL);
"""

_INSERT_DEFAULT = """
INSERT INTO default_graph
SELECT DISTINCT s, p, o FROM incoming AS i WHERE g IS NULL AND NOT EXISTS (
    SELECT 1 FROM default_graph AS d WHERE d.s = i.s AND d.p = i.p AND d.o = i.o)
"""

_INSERT_NAMED = """
INSERT INTO named_graphs
SELECT DISTINCT g, s, p, o FROM incoming AS i WHERE g IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM named_graphs AS n WHERE n.g = i.g AND n.s = i.s AND n.p = i.p AND n.o = i.o)
"""

_INSERT_NAMES = """
INSERT INTO graph_names
SELECT DISTINCT g FROM incoming AS i WHERE g IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM graph_names AS n WHERE n.g = i.g)
"""

_DELETE_DEFAULT = """
DELETE FROM default_graph AS d USING outgoing AS i
WHERE i.g IS NULL AND d.s = i.s AND d.p = i.p AND d.o = i.o
"""

_DELETE_NAMED = """
DELETE FROM named_graphs AS n USING outgoing AS i
WHERE n.g = i.g AND n.s = i.s AND n.p = i.p AND n.o = i.o
"""

_STATISTICS = """
SELECT p, count(*), approx_count_distinct(s), approx_count_distinct(o)
FROM (SELECT s, p, o FROM default_graph UNION ALL SELECT s, p, o FROM named_graphs) GROUP BY p
"""


class StaticGraphs:
    """The default graph and the named graphs; readers take cursors of `connection`, at any time."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(_TABLES)
        self._writing = threading.RLock()
        self._files = itertools.count(1)
        self._version = 0
        self._statistics: tuple[int, Statistics] | None = None
        self._views: dict[int, tuple[int, SparkSession]] = {}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB database of the tables; take a `cursor()` of it in every thread."""
        return self._connection

    @property
    def version(self) -> int:
        """A number that grows whenever the data changes."""
        return self._version

    @property
    def size(self) -> int:
        """The number of triples in all graphs."""
        (count,) = self._row(
            "SELECT (SELECT count(*) FROM default_graph) + (SELECT count(*) FROM named_graphs)"
        )
        return int(count)

    @property
    def graph_names(self) -> list[str]:
        """The names of the named graphs, as terms, in order."""
        rows = self._connection.cursor().execute("SELECT g FROM graph_names ORDER BY g").fetchall()
        return [row[0] for row in rows]

    @property
    def statistics(self) -> Statistics:
        """Counts for the optimiser; the numbers of different subjects and objects are approximate."""
        version = self._version
        if self._statistics is None or self._statistics[0] != version:
            rows = self._connection.cursor().execute(_STATISTICS).fetchall()
            counts = {p: PredicateCount(triples, subjects, objects) for p, triples, subjects, objects in rows}
            total = sum(count.triples for count in counts.values())
            self._statistics = version, Statistics(total, counts)
        return self._statistics[1]

    def load(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        graph: str | None = None,
        base: str | None = None,
        data: str | bytes | None = None,
        format: str | None = None,
    ) -> int:
        """Add a file, all files of a glob, or a text, and say how many triples are new.

        What a document puts into its default graph goes into `graph`, if that is given. All documents are
        read before anything is added: with one broken file, nothing is.
        """
        name = _graph_term(graph)
        sources = documents(source, data=data, format=format, base=base)
        batches = [batch for document in sources for batch in read(document, f"f{next(self._files)}_")]
        table = pa.Table.from_batches(batches, SCHEMA)
        if name is not None:
            table = table.set_column(0, "g", pc.fill_null(table["g"], name))
        return self._change(insert=table, names=[name] if name else [])

    def insert(self, rows: pa.Table) -> int:
        """Add quads (g, s, p, o; g NULL: the default graph) and say how many are new."""
        return self._change(insert=rows)

    def delete(self, rows: pa.Table) -> int:
        """Take quads away and say how many there were."""
        return self._change(delete=rows)

    def change(self, delete: pa.Table, insert: pa.Table) -> int:
        """Take quads away and then add others, as one step for readers; how many rows changed."""
        return self._change(delete=delete, insert=insert)

    def clear(self) -> None:
        """Drop all triples and all graphs."""
        with self._transaction() as cursor:
            for table in ("default_graph", "named_graphs", "graph_names"):
                cursor.execute(f"DELETE FROM {table}")

    def views(self, spark: SparkSession) -> None:
        """Make the tables known in the session as temporary views; does nothing if they are up to date."""
        version = self._version
        known = self._views.get(id(spark))
        if known is not None and known == (version, spark):
            return
        cursor = self._connection.cursor()
        for table in ("default_graph", "named_graphs", "graph_names"):
            arrow = cursor.sql(f"SELECT * FROM {table}").to_arrow_table()
            spark.createDataFrame(arrow).coalesce(1).createOrReplaceTempView(table)
        self._views[id(spark)] = version, spark

    def close(self) -> None:
        self._connection.close()

    def _change(
        self,
        delete: pa.Table | None = None,
        insert: pa.Table | None = None,
        names: list[str] | None = None,
    ) -> int:
        changed = 0
        with self._transaction() as cursor:
            if delete is not None and delete.num_rows:
                cursor.register("outgoing", delete)
                changed += _count(cursor, _DELETE_DEFAULT) + _count(cursor, _DELETE_NAMED)
            if insert is not None and insert.num_rows:
                cursor.register("incoming", insert)
                changed += _count(cursor, _INSERT_DEFAULT) + _count(cursor, _INSERT_NAMED)
                _count(cursor, _INSERT_NAMES)
            if names:
                cursor.register("incoming", pa.table({"g": pa.array(names, pa.string())}))
                _count(cursor, _INSERT_NAMES)
        return changed

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """One writer at a time; readers see all of what it does or nothing."""
        with self._writing:
            cursor = self._connection.cursor()
            cursor.begin()
            try:
                yield cursor
            except BaseException:
                cursor.rollback()
                raise
            else:
                cursor.commit()
                # After the commit: what a reader keeps under a version is never older than the version.
                self._version += 1
            finally:
                cursor.close()

    def _row(self, sql: str) -> tuple[int, ...]:
        row = self._connection.cursor().execute(sql).fetchone()
        assert row is not None
        return row


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _graph_term(graph: str | None) -> str | None:
    if graph is None:
        return None
    try:
        return iri(ox.NamedNode(graph).value)
    except ValueError:
        raise LoadError(f"the graph's name is not an absolute IRI: {graph}", "load") from None
