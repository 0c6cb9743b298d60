"""The static graphs in DuckDB: tables of quads without duplicates.

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

# In SQL that Spark accepts, too.
COUNTS = """
SELECT p, count(*), approx_count_distinct(s), approx_count_distinct(o)
FROM (SELECT s, p, o FROM default_graph UNION ALL SELECT s, p, o FROM named_graphs) AS t GROUP BY p
"""


class Tables:
    """The database with the tables. Readers see all of a change or nothing.

    There must be only one writer at a time; `StaticGraphs` takes care of that.
    """

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
        """A cursor that sees all tables as they are now, whatever others write meanwhile."""
        with self.connection.cursor() as cursor:
            cursor.begin()
            yield cursor

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose changes others see after the block; an error in the block undoes them."""
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
        with suppress(OSError):  # the folder does not exist, or other tables of this process use it
            spill_folder().rmdir()


def filled(tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A new database with these tables, as `arrow` gave them, and with the tables of static graphs."""
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
    """The rows of a table."""
    return cursor.sql(f"FROM {name}").to_arrow_table()


def write_parquet(cursor: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    """Write a table to a file, sorted so that the triples of a predicate are next to each other."""
    order = "p, s" if name == "default_graph" else "p, g, s"
    target = str(path).replace("'", "''")
    cursor.execute(
        f"COPY (FROM {name} ORDER BY {order}) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE 50_000)"
    )


def count(cursor: duckdb.DuckDBPyConnection, name: str) -> int:
    """The number of rows of a table."""
    return number(cursor, f"SELECT count(*) FROM {name}")


def size(cursor: duckdb.DuckDBPyConnection) -> int:
    """The number of triples in all graphs."""
    return count(cursor, "default_graph") + count(cursor, "named_graphs")


def graph_names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    return [row[0] for row in cursor.execute("SELECT g FROM graph_names").fetchall()]


def predicate_counts(cursor: duckdb.DuckDBPyConnection) -> dict[str, PredicateCount]:
    rows = cursor.execute(COUNTS).fetchall()
    return {p: PredicateCount(triples, subjects, objects) for p, triples, subjects, objects in rows}


def number(cursor: duckdb.DuckDBPyConnection, sql: str, *values: str) -> int:
    """The single number that a statement returns."""
    # All rows are fetched, because DuckDB does nothing else with the cursor before.
    ((found,),) = cursor.execute(sql, list(values)).fetchall()
    return int(found)
