"""The process from which Spark forks its Python workers. It has imported the modules that all of them need.

Otherwise each worker would import them with its first task, and delay the first answers.
"""

from __future__ import annotations

import pandas  # noqa: F401  (PySpark asks for it)
from pyspark.daemon import manager

import rheos.runtime.languages
import rheos.runtime.worker.task
import rheos.sources.reader  # noqa: F401

if __name__ == "__main__":
    manager()
