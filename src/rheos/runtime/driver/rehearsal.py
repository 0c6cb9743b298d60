"""Rehearsals: a query is evaluated once on made-up elements before it is registered.

So a statement that DuckDB refuses, or cannot plan in time, is found before it runs beside others. There is
one element for each pattern of the query, so that no part of its statement is left out.

A large statement is rehearsed in a process of its own: DuckDB cannot be interrupted while it plans, but a
process can be ended.
"""

from __future__ import annotations

import pickle
import sys
import tempfile

from rheos import deadline
from rheos.algebra.entailment import schema_of
from rheos.errors import EvaluationError
from rheos.execute.database import finished
from rheos.execute.limits import limited_cursor
from rheos.runtime.operator import Operator
from rheos.runtime.worker.workbench import Workbench
from rheos.sql.entailed import entailed_names
from rheos.store.tables import NAMES, filled


def rehearse(operator: Operator, text: str) -> None:
    """Evaluate a query with this text on made-up elements; errors are raised."""
    if deadline.current() is not None and operator.is_large(text):
        _elsewhere(operator)
    else:
        _here(operator)


def _here(operator: Operator) -> None:
    with filled({}) as connection:
        connection.execute("SET threads = 1")
        schema = schema_of(operator.algebra)
        if schema is not None:
            for name, plain in zip(entailed_names(schema), NAMES, strict=False):
                connection.execute(f"CREATE TABLE {name} AS FROM {plain}")
        bench = Workbench(connection, {})
        try:
            with limited_cursor(bench.database):
                operator.rehearse(bench)
        finally:
            bench.close()


def _elsewhere(operator: Operator) -> None:
    with tempfile.TemporaryFile() as given:
        pickle.dump(operator, given)
        given.seek(0)
        code, said = finished([sys.executable, "-c", f"from {__name__} import main; main()"], given)
    if code:
        raise EvaluationError(said or "it is too large: DuckDB falls over when it plans it")


def main() -> None:
    """Rehearse the pickled query on standard input; an error goes to standard output."""
    try:
        _here(pickle.load(sys.stdin.buffer))
    except Exception as error:
        print((str(error).splitlines() or [type(error).__name__])[0])
        sys.exit(1)
