"""What all floors ask of Spark: sessions with our settings, and tasks that use this interpreter."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

# Settings of both kinds of session. Plans are small and many, so they are not planned again adaptively. ANSI
# mode is off, so that SPARQL's errors are NULLs.
SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.caseSensitive": "true",
}

T = TypeVar("T")
U = TypeVar("U")

_interpreter = threading.RLock()  # held while the interpreter of Python workers is changed


def adopt(spark: SparkSession) -> SparkSession:
    """A sibling of the caller's session with the engine's settings; the caller's session does not change."""
    session = spark.newSession()
    partitions = spark.sparkContext.defaultParallelism
    for name, value in {**SQL_SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}.items():
        session.conf.set(name, value)
    return session


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """`frame.mapInArrow`, whose workers use this interpreter if they run on this machine.

    A caller's session may have been made without PYSPARK_PYTHON; its workers would then use whatever
    `python3` is first in the path. The interpreter is part of the plan, so it is set only while the plan is
    made.
    """
    with this_interpreter(frame.sparkSession.sparkContext):
        return frame.mapInArrow(function, schema)


def in_tasks(
    context: SparkContext, given: Sequence[T], function: Callable[[Iterable[T]], Iterable[U]]
) -> RDD[U]:
    """The results of a function that runs in one task for each given item, on this interpreter as above."""
    with this_interpreter(context):
        made = context.parallelize(given, len(given)).mapPartitions(function)
        _ = made._jrdd  # fixes the interpreter of the tasks
    return made


@contextmanager
def this_interpreter(context: SparkContext) -> Iterator[None]:
    """In this block, functions given to Spark get this interpreter, if workers run on this machine."""
    with _interpreter:
        given = context.pythonExec
        if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable
        try:
            yield
        finally:
            context.pythonExec = given
