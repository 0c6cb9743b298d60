"""The static graphs in DuckDB: Arrow tables of quads come in, SQL tables without duplicates go out.

default_graph(s, p, o)    named_graphs(g, s, p, o)    graph_names(g)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from rheos.optimize.statistics import PredicateCount

NAMES = ("default_graph", "named_graphs", "graph_names")

_CREATE = """
CREATE TABLE default_graph (s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE named_graphs (g VARCHAR NOT NULL, s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE graph_names (g VARCHAR NOT NULL);
"""

# For each table: its columns, and which rows of a table of quads belong to it.
_PARTS = {
    "default_graph": ("s, p, o", "g IS NULL"),
    "named_graphs": ("g, s, p, o", "g IS NOT NULL"),
    "graph_names": ("g", "g IS NOT NULL"),
}

_DELETE_DEFAULT = """
DELETE FROM default_graph AS d USING outgoing AS i
WHERE i.g IS NULL AND d.s = i.s AND d.p = i.p AND d.o = i.o
"""

_DELETE_NAMED = """
DELETE FROM named_graphs AS n USING outgoing AS i
WHERE n.g = i.g AND n.s = i.s AND n.p = i.p AND n.o = i.o
"""

# In plain SQL, so that Spark takes it too.
COUNTS = """
SELECT p, count(*), approx_count_distinct(s), approx_count_distinct(o)
FROM (SELECT s, p, o FROM default_graph UNION ALL SELECT s, p, o FROM named_graphs) AS t GROUP BY p
"""


class Tables:
    """One writer at a time; readers take cursors of `connection` and see all of a change or nothing."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(_CREATE)
        self._writing = threading.RLock()

    @property
    def size(self) -> int:
        with self.snapshot() as cursor:
            return count(cursor, "default_graph") + count(cursor, "named_graphs")

    @property
    def graph_names(self) -> list[str]:
        return [row[0] for row in self.connection.cursor().execute("SELECT g FROM graph_names").fetchall()]

    def counts(self) -> dict[str, PredicateCount]:
        rows = self.connection.cursor().execute(COUNTS).fetchall()
        return {p: PredicateCount(triples, subjects, objects) for p, triples, subjects, objects in rows}

    @contextmanager
    def snapshot(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that sees all tables as they are now, whatever is written meanwhile."""
        with self.connection.cursor() as cursor:
            cursor.begin()
            yield cursor

    def change(
        self,
        *,
        delete: pa.Table | None = None,
        insert: pa.Table | None = None,
        graph_names: Sequence[str] = (),
    ) -> int:
        """Take quads away, then add others, then make graphs known; how many quads went and came."""
        changed = 0
        with self._transaction() as cursor:
            if delete is not None and delete.num_rows:
                cursor.register("outgoing", delete)
                changed += _number(cursor, _DELETE_DEFAULT) + _number(cursor, _DELETE_NAMED)
            if insert is not None and insert.num_rows:
                changed += _insert(cursor, "default_graph", insert)
                if insert["g"].null_count < insert.num_rows:
                    changed += _insert(cursor, "named_graphs", insert)
                    _insert(cursor, "graph_names", insert.select(["g"]))
            if graph_names:
                _insert(cursor, "graph_names", pa.table({"g": pa.array(graph_names, pa.string())}))
        return changed

    def drop_graph(self, name: str) -> int:
        """Forget a named graph and its triples; how many those were."""
        with self._transaction() as cursor:
            cursor.execute("DELETE FROM graph_names WHERE g = ?", [name])
            return _number(cursor, "DELETE FROM named_graphs WHERE g = ?", name)

    def clear(self) -> None:
        with self._transaction() as cursor:
            for name in NAMES:
                cursor.execute(f"DELETE FROM {name}")

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._writing, self.connection.cursor() as cursor:
            cursor.begin()
            try:
                yield cursor
            except BaseException:
                cursor.rollback()
                raise
            cursor.commit()


def _insert(cursor: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> int:
    """Add the rows that are not in the table; how many they are."""
    columns, chosen = _PARTS[name]
    cursor.register("incoming", rows)
    sql = f"INSERT INTO {name} SELECT DISTINCT {columns} FROM incoming AS i WHERE {chosen}"
    # An empty table need not be searched: 0.6 s instead of 1.4 s for a million triples.
    if count(cursor, name):
        same = " AND ".join(f"t.{column} = i.{column}" for column in columns.split(", "))
        sql += f" AND NOT EXISTS (SELECT 1 FROM {name} AS t WHERE {same})"
    return _number(cursor, sql)


def filled(tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A database of its own with these tables, as `arrow` gave them."""
    connection = duckdb.connect(":memory:")
    connection.execute(_CREATE)
    for name, rows in tables.items():
        connection.register("incoming", rows)
        connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
        connection.unregister("incoming")
    return connection


def arrow(cursor: duckdb.DuckDBPyConnection, name: str) -> pa.Table:
    """The rows of one of the tables."""
    return cursor.sql(f"FROM {name}").to_arrow_table()


def write_parquet(cursor: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    """One of the tables as a file, sorted so that the triples of a predicate lie together."""
    order = "p, s" if name == "default_graph" else "p, g, s"
    target = str(path).replace("'", "''")
    cursor.execute(
        f"COPY (FROM {name} ORDER BY {order}) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE 50_000)"
    )


def count(cursor: duckdb.DuckDBPyConnection, name: str) -> int:
    """How many rows one of the tables has."""
    return _number(cursor, f"SELECT count(*) FROM {name}")


def _number(cursor: duckdb.DuckDBPyConnection, sql: str, *values: str) -> int:
    # All rows: DuckDB does nothing else with the cursor until the last one has been fetched.
    ((number,),) = cursor.execute(sql, list(values)).fetchall()
    return int(number)
