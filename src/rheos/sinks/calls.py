"""Functions as sinks: a function gets each micro-batch of answers as a Spark DataFrame, as
in Spark's foreachBatch.

A batch comes again, with the same number, if the process ended before the function returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rheos.answers.typed import Columns
from rheos.errors import RheosError
from rheos.execute.session import frame_of
from rheos.sinks.base import Batch, Notes, Sink, Taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Function = Callable[["DataFrame", int], object]


class CallSink(Sink):
    """A function that gets every batch with answers, in order. An error that it raises stops the query."""

    def __init__(self, function: Function, session: Callable[[], SparkSession], *, terms: bool) -> None:
        self._function = function
        self._session = session
        self._columns = Columns(terms=terms)

    def open(self, run: str, query: str, notes: Notes) -> None:
        self._columns.types = notes.get("types") or {}
        self._notes = notes

    def take(self, batch: Batch, taken: Taken) -> None:
        table = self._columns.table(batch.query, batch.table)
        self._notes.keep(types=dict(self._columns.types))
        frame = frame_of(self._session(), table)
        try:
            self._function(frame, batch.number)
        except OSError as error:  # otherwise the delivery would try again, as after a lost connection
            raise FunctionError(f"{type(error).__name__}: {error}") from error


class FunctionError(RheosError):
    """The function of a user has raised an OSError, which the engine would otherwise
    take for a passing one."""
