"""The process from which Spark forks its Python workers: it has imported what all of them need.

Otherwise each worker would import it when its first task comes, one after another, before the first answer.
"""

from __future__ import annotations

import pandas  # noqa: F401  (PySpark asks for it)
from pyspark.daemon import manager

import rheos.runtime.languages
import rheos.runtime.worker.task
import rheos.sources.reader  # noqa: F401

if __name__ == "__main__":
    manager()
