"""Time limits for work in DuckDB and Spark: it is stopped at its deadline, with a TimeLimitError."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from rheos import deadline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An interrupt is lost if it reaches DuckDB while it plans, or Spark before it knows the job. So interrupts
# are repeated, after this number of seconds.
_AGAIN = 0.05


class Interrupted(Protocol):
    """A cursor of DuckDB, or an object that has cursors."""

    def interrupt(self) -> None: ...


@contextmanager
def limited_cursor(cursor: Interrupted) -> Iterator[None]:
    """Limits what DuckDB does through the cursor in this block."""
    with _stopped(cursor.interrupt):
        yield


@contextmanager
def limited_jobs(spark: SparkSession) -> Iterator[None]:
    """Limits the Spark jobs that this thread starts in this block."""
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
            with suppress(Exception):  # the work may have ended, and its cursor be closed, at this moment
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
        thread.join()  # otherwise the thread could interrupt the work that comes next
