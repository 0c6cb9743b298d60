"""The static graphs in DuckDB: SQL tables of quads, without duplicates.

default_graph(s, p, o)    named_graphs(g, s, p, o)    graph_names(g)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rheos import memory
from rheos.memory import spill_folder
from rheos.optimize.statistics import PredicateCount
from rheos.sql import macros

GRAPH_NAMES = "graph_names"
NAMES = ("default_graph", "named_graphs", GRAPH_NAMES)

_CREATE = """
CREATE TABLE default_graph (s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE named_graphs (g VARCHAR NOT NULL, s VARCHAR NOT NULL, p VARCHAR NOT NULL, o VARCHAR NOT NULL);
CREATE TABLE graph_names (g VARCHAR NOT NULL);
"""

# In plain SQL, so that Spark takes it too.
COUNTS = """
SELECT p, count(*), approx_count_distinct(s), approx_count_distinct(o)
FROM (SELECT s, p, o FROM default_graph UNION ALL SELECT s, p, o FROM named_graphs) AS t GROUP BY p
"""


class Tables:
    """One writer at a time, and `StaticGraphs` sees to that; readers see all of a change or nothing."""

    def __init__(self) -> None:
        settings: dict[str, Any] = {
            "memory_limit": f"{memory.of_process() >> 20}MiB",
            "temp_directory": str(spill_folder()),
        }
        self.connection = duckdb.connect(":memory:", config=settings)
        self.connection.execute(_CREATE)
        macros.define(self.connection)

    @contextmanager
    def snapshot(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that sees all tables as they are now, whatever is written meanwhile."""
        with self.connection.cursor() as cursor:
            cursor.begin()
            yield cursor

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose changes others see when the block has ended; after an error there are none."""
        with self.connection.cursor() as cursor:
            cursor.begin()
            try:
                yield cursor
            except BaseException:
                cursor.rollback()
                raise
            cursor.commit()

    def close(self) -> None:
        self.connection.close()
        with suppress(OSError):  # it is not there, or other tables of this process use it
            spill_folder().rmdir()


def filled(tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A database of its own with these tables, as `arrow` gave them; others than ours are made for them."""
    connection = duckdb.connect(":memory:")
    connection.execute(_CREATE)
    macros.define(connection)
    for name, rows in tables.items():
        connection.register("incoming", rows)
        into = f"INSERT INTO {name}" if name in NAMES else f"CREATE TABLE {name} AS"
        connection.execute(f"{into} SELECT * FROM incoming")
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
    return number(cursor, f"SELECT count(*) FROM {name}")


def size(cursor: duckdb.DuckDBPyConnection) -> int:
    """How many triples there are in all graphs."""
    return count(cursor, "default_graph") + count(cursor, "named_graphs")


def graph_names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    return [row[0] for row in cursor.execute("SELECT g FROM graph_names").fetchall()]


def predicate_counts(cursor: duckdb.DuckDBPyConnection) -> dict[str, PredicateCount]:
    rows = cursor.execute(COUNTS).fetchall()
    return {p: PredicateCount(triples, subjects, objects) for p, triples, subjects, objects in rows}


def number(cursor: duckdb.DuckDBPyConnection, sql: str, *values: str) -> int:
    """The one number that a statement gives."""
    # All rows: DuckDB does nothing else with the cursor until the last one has been fetched.
    ((found,),) = cursor.execute(sql, list(values)).fetchall()
    return int(found)
