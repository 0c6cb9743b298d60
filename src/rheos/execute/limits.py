"""Work that may not take for ever: a cursor or a session and a number of seconds come in; what runs in the
block is stopped after so long, with a TimeLimitError."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from rheos.errors import EvaluationError, TimeLimitError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def limited_cursor(cursor: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """What DuckDB does through the cursor; without a number of seconds, without a limit."""
    with _stopped(cursor.interrupt, seconds):
        yield


@contextmanager
def limited_jobs(spark: SparkSession, seconds: float | None) -> Iterator[None]:
    """The Spark jobs that this thread starts."""
    context, tag = spark.sparkContext, f"rheos-{uuid.uuid4().hex}"
    if seconds is None:
        yield
        return
    context.addJobTag(tag)
    try:
        with _stopped(lambda: context.cancelJobsWithTag(tag), seconds):
            yield
    finally:
        context.removeJobTag(tag)


@contextmanager
def _stopped(stop: Callable[[], object], seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        with suppress(Exception):  # it may have come to its end, and be closed, in this very moment
            stop()

    timer = threading.Timer(max(seconds, 0.0), interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (EvaluationError, duckdb.Error) as error:
        if late.is_set():
            raise TimeLimitError(f"it took longer than {seconds:g} s, and was stopped") from error
        raise
    finally:
        timer.cancel()
