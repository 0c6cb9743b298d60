"""The engines that the tests of expressions share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sql.evaluation import Evaluator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def duckdb() -> Evaluator:
    return Evaluator.in_duckdb()


@pytest.fixture(scope="session")
def by_spark(spark: SparkSession) -> Evaluator:
    return Evaluator.in_spark(spark)
