"""Merging: the database in which the driver puts the answers of shards together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from rheos import memory
from rheos.execute.limits import limited_cursor

# The part of the memory for queries that a merge may use. The tasks that have evaluated keep most of theirs.
_SHARE = 0.25


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database with a limit of memory; what is done with it ends at the deadline of this thread."""
    settings: dict[str, Any] = {
        "memory_limit": f"{int(memory.of_process() * _SHARE) >> 20}MiB",
        "temp_directory": str(memory.spill_folder()),
    }
    with duckdb.connect(config=settings) as connection, limited_cursor(connection):
        yield connection


def in_order(rows: pa.Table, *, distinct: bool = False) -> pa.Table:
    """Rows sorted by their columns, unbound values first: the order in which statements give them. With
    `distinct`, equal rows are one."""
    numbered = rows.rename_columns([f"c{number}" for number in range(rows.num_columns)])
    with database() as connection:
        connection.register("numbered", numbered)
        select = "SELECT DISTINCT" if distinct else "SELECT"
        found = connection.execute(f"{select} * FROM numbered ORDER BY ALL NULLS FIRST").to_arrow_table()
    return found.rename_columns(rows.column_names).cast(rows.schema)
