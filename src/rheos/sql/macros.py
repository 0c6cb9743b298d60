"""Macros: long expressions that have a name in DuckDB, so that statements are readable and quick to parse.

`define` must be called for each database of DuckDB that runs statements. For Spark, macros are written out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from rheos.sql.dialect import Dialect

PREFIX = "rdf_"

_BODIES: dict[str, Callable[..., str]] = {}  # ordered: a macro calls only macros before it


def macro(body: Callable[..., str]) -> Callable[..., str]:
    """Decorator of a function from SQL to SQL: where the dialect has macros, it prints a call of a macro.

    The first sentence of the function's docstring explains the macro to users (see `used`).
    """
    name = PREFIX + body.__name__.strip("_")
    _BODIES[name] = body

    @wraps(body)
    def call(d: Dialect, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})" if d.macros else body(d, *arguments)

    return call


@cache
def _written() -> dict[str, tuple[str, str]]:
    """The parameters and the body of each macro."""
    from rheos.sql import decode, durations  # noqa: F401  (they make macros)
    from rheos.sql.duckdb import DUCKDB

    found = {}
    for name, body in _BODIES.items():
        parameters = tuple(inspect.signature(body).parameters)[1:]
        found[name] = ", ".join(parameters), body(DUCKDB, *parameters)
    return found


@cache
def definitions() -> tuple[str, ...]:
    """The statements that create the macros, in order."""
    return tuple(f"CREATE MACRO {name}({given}) AS {body}" for name, (given, body) in _written().items())


def define(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macros in a new database."""
    connection.execute(";\n".join(definitions()))


def used(sql: str) -> dict[str, str]:
    """The part of `rheos explain` that says what each macro in a statement stands for."""
    lines = [
        f"{name}({given}): {(_BODIES[name].__doc__ or '').split('.')[0]}"
        for name, (given, _) in _written().items()
        if f"{name}(" in sql
    ]
    return {"macros in it": "\n".join(lines)} if lines else {}


def length(sql: str) -> int:
    """The length of a text for DuckDB's planner, which writes macros out."""
    return len(sql) + sum(sql.count(f"{name}(") * size for name, size in _lengths().items())


@cache
def _lengths() -> dict[str, int]:
    found: dict[str, int] = {}
    for name, (_, body) in _written().items():
        found[name] = len(body) + sum(body.count(f"{before}(") * size for before, size in found.items())
    return found
