"""Runs statements in DuckDB, and turns its errors into those of rheos.

DuckDB cannot be interrupted while it plans. The time of two of its optimisers grows at least with the third
power of the number of joins. So statements with many joins are planned without these optimisers, and joins
keep the order in which they are written. A large statement is first planned in a process of its own, on empty
tables, because that process can be ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO

import duckdb
import pyarrow as pa

from rheos import deadline
from rheos.errors import EvaluationError, ResourceError
from rheos.sql import macros
from rheos.sql.functions import hashes

# With 50 joins, DuckDB 1.5 plans a star in 0.4 s and a clique in 0.9 s; with 100, in 10 s and more than 30 s.
MANY_JOINS = 50
# The two optimisers. Without them, a star of 300 joins is planned in 1 s.
SIMPLY = "join_order,filter_pullup"
# A statement of at least this many characters, with macros written out, is first planned in another process.
LARGE = 50_000

_LOOK = 0.1  # seconds between two checks of the deadline

# The settings of a DuckDB database are those of all its cursors.
_planning = threading.Lock()


def many_joins(sql: str) -> bool:
    return sql.count("JOIN ") > MANY_JOINS


def is_large(sql: str) -> bool:
    return macros.length(sql) >= LARGE


def failed(error: Exception) -> EvaluationError:
    """An error of DuckDB as an error of rheos, with the first line of its message."""
    first, *_ = str(error).splitlines() or [type(error).__name__]
    kind = ResourceError if isinstance(error, duckdb.OutOfMemoryException) else EvaluationError
    return kind(f"DuckDB could not run the query: {first}")


def run(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Run a statement; the cursor then has its rows."""
    try:
        return cursor.execute(sql)
    except duckdb.Error as error:
        raise failed(error) from error


def run_query(
    cursor: duckdb.DuckDBPyConnection, sql: str, tables: Mapping[str, pa.Table] = MappingProxyType({})
) -> duckdb.DuckDBPyConnection:
    """Run the statement of a user's query, in a database that others use at the same time.

    It may read `tables` of terms beside those of the database.
    """
    for name, table in tables.items():
        cursor.register(name, table)
    if "rheos_sha" in sql:
        hashes.register(cursor)
    if not many_joins(sql) and not is_large(sql):
        # Not `sql`, whose relation binds the statement twice: to know its columns, and to run it.
        return run(cursor, sql)
    try_to_plan(cursor, sql, tables)
    if not many_joins(sql):
        return run(cursor, sql)
    with _planned_simply(cursor):
        run(cursor, f"PREPARE large AS {sql}")
    return run(cursor, "EXECUTE large")


@contextmanager
def _planned_simply(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    seconds = deadline.left()
    if not _planning.acquire(timeout=-1 if seconds is None else seconds):
        deadline.check()
    try:
        cursor.execute(f"SET disabled_optimizers = '{SIMPLY}'")
        yield
    finally:
        cursor.execute("RESET disabled_optimizers")
        _planning.release()


def try_to_plan(
    cursor: duckdb.DuckDBPyConnection, sql: str, given: Mapping[str, pa.Table] = MappingProxyType({})
) -> None:
    """Plan a statement in a process of its own, on empty copies of the tables of the cursor and those given.

    EvaluationError if it cannot be planned, TimeLimitError if that takes too long.
    """
    deadline.check()
    tables = [row[0] for row in cursor.execute("SELECT sql FROM duckdb_tables()").fetchall()]
    found = cursor.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    views = [sql for name, sql in found if name not in given]
    for name, table in given.items():
        columns = ", ".join(f"{column} VARCHAR" for column in table.column_names)
        tables.append(f"CREATE TABLE {name} ({columns})")
    asked = {
        "macros": macros.definitions(),
        "tables": tables,
        "views": views,
        "sql": sql,
        "without": SIMPLY if many_joins(sql) else "",
    }
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(asked).encode())
        file.seek(0)
        script = str(Path(__file__).with_name("planner.py"))
        code, said = finished([sys.executable, "-P", script], file)
    if code and not said:
        raise ResourceError("the query is too large: DuckDB falls over when it plans it")
    if code:
        raise EvaluationError(f"DuckDB could not plan the query: {said}")


def finished(command: Sequence[str], given: IO[bytes]) -> tuple[int, str]:
    """Run a process on some input; returns its exit status and its output. It is ended at the deadline."""
    limit = deadline.current()
    process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                said, _ = process.communicate(timeout=_LOOK)
                return process.returncode, said.decode(errors="replace").strip()
            except subprocess.TimeoutExpired:
                if limit is not None and not limit.left:
                    raise limit.error from None
    finally:
        process.kill()
        process.wait()
