"""Batches that fail or are stopped: turns Spark's long messages into one line, or suppresses them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rheos.errors import EvaluationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PYTHON = re.compile(r"(?!java|org\.|scala)[\w.]+(Error|Exception|Interrupt)(: |$)")
_OURS = re.compile(r"(?m)^rheos\.errors\.\w+: (.*)$")  # an error of ours in a traceback


class Told(Exception):
    """Raised to end a batch, after its failure was noted for the user, or because the user has stopped it."""


def _is_news(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], Told))


# Py4J logs the traceback of every exception that leaves a batch; that of `Told` is of no use.
logging.getLogger("py4j.clientserver").addFilter(_is_news)


@contextmanager
def quiet(spark: SparkSession) -> Iterator[None]:
    """A block in which Spark does not print the stack of a batch that is stopped in the middle."""
    name = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    before = log4j.LogManager.getLogger(name).getLevel()
    log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)
    try:
        yield
    finally:
        log4j.core.config.Configurator.setLevel(name, before)


def explained(failure: BaseException) -> BaseException:
    """A failure with a message for the user: Spark's own messages are many pages long."""
    from pyspark.errors import PySparkException

    if not isinstance(failure, PySparkException):
        return failure
    told = EvaluationError(f"the streams could not be read or answered: {reason_of(failure)}")
    told.__cause__ = failure
    return told


def reason_of(error: BaseException) -> str:
    """The real cause of a failure, in one line: an error of rheos or of Python, or the last cause in Java."""
    ours = _OURS.findall(str(error))
    if ours:
        return str(ours[-1])
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("at ", "... "))] or [type(error).__name__]
    python = [line for line in lines if _PYTHON.match(line)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (python or causes or lines[:1])[-1]
