"""Work in DuckDB or Spark that is stopped, with a TimeLimitError, when its deadline has come."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from rheos import deadline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An interrupt that reaches DuckDB while it plans is lost, and so is one that reaches Spark before it knows
# the job. Both are asked again until they listen; this often, in seconds.
_AGAIN = 0.05


class Interrupted(Protocol):
    """A cursor of DuckDB, or what has some."""

    def interrupt(self) -> None: ...


@contextmanager
def limited_cursor(cursor: Interrupted) -> Iterator[None]:
    """What DuckDB does through the cursor."""
    with _stopped(cursor.interrupt):
        yield


@contextmanager
def limited_jobs(spark: SparkSession) -> Iterator[None]:
    """The Spark jobs that this thread starts."""
    context, tag = spark.sparkContext, f"rheos-{uuid.uuid4().hex}"
    if deadline.current() is None:
        yield
        return
    context.addJobTag(tag)
    try:
        with _stopped(lambda: context.cancelJobsWithTag(tag)):
            yield
    finally:
        context.removeJobTag(tag)


@contextmanager
def _stopped(stop: Callable[[], object]) -> Iterator[None]:
    limit = deadline.current()
    if limit is None:
        yield
        return
    deadline.check()
    late, done = threading.Event(), threading.Event()

    def interrupt() -> None:
        while not done.wait(_AGAIN):
            if limit.left > 0:
                continue
            late.set()
            with suppress(Exception):  # it may have come to its end, and be closed, in this very moment
                stop()

    thread = threading.Thread(target=interrupt, daemon=True, name="rheos-limit")
    thread.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            raise limit.error from error
        raise
    finally:
        done.set()
        thread.join()  # or it would interrupt what comes next
