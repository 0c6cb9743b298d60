"""Hash functions (17.4.6) of simple literals, in hexadecimal.

DuckDB lacks SHA-384 and SHA-512. `register` gives a connection the two functions that `DuckDB.digest` calls
for them. A connection without these functions fails only on a query that uses them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from rheos.sql.computed import TextValue
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ErrorValue, Value

if TYPE_CHECKING:
    import duckdb


def _hash(algorithm: str) -> Function:
    def compile(scope: Scope, value: Value) -> Value:
        if value.simple is None:
            return ErrorValue(scope)
        return TextValue(scope, scope.dialect.digest(algorithm, value.simple))

    return compile


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Add to a DuckDB connection the hashes that it lacks; a second call does nothing."""
    known = "SELECT 1 FROM duckdb_functions() WHERE function_name = 'rheos_sha512'"
    if connection.execute(known).fetchall():
        return
    connection.create_function("rheos_sha384", _sha384, ["VARCHAR"], "VARCHAR")
    connection.create_function("rheos_sha512", _sha512, ["VARCHAR"], "VARCHAR")


def _sha384(text: str) -> str:
    return hashlib.sha384(text.encode()).hexdigest()


def _sha512(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest()


FUNCTIONS: dict[str, Function] = {name: _hash(name) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")}
