"""A few of the comparisons with the reference, evaluated by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rheos.execute.catalyst import closure_view
from rheos.execute.session import adopt
from rheos.sql.continuous import ContinuousStatement
from rheos.sql.dialect import Dialect
from rheos.sql.spark import SPARK
from rheos.store.graphs import StaticGraphs
from tests.continuous.cases import QUERIES, TIMED, Text
from tests.continuous.test_evaluation import compare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkPlace:
    """A session in which views stand for tables; what is computed once is kept until the test ends."""

    nearby = False
    dialect: Dialect = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def make(self, name: str, sql: str) -> None:
        self.spark.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        self.spark.sql(sql).createOrReplaceTempView(name)

    def put(self, name: str, table: pa.Table) -> None:
        self.spark.createDataFrame(table).createOrReplaceTempView(name)

    def ask(self, sql: str) -> pa.Table:
        return self.spark.sql(sql).toArrow()

    def rows(self, statement: ContinuousStatement) -> pa.Table:
        for closure in statement.closures:
            closure_view(closure, self.spark)
        return self.ask(statement.sql).rename_columns(["instant", "at", *statement.columns])


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = adopt(spark)
    # To compile plans would take longer than to interpret them on a few rows.
    own.conf.set("spark.sql.codegen.wholeStage", "false")
    own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return own


CHOSEN = [
    (QUERIES[3], 3),  # a physical window
    (QUERIES[4], 3),  # a physical and a logical one, and COMPUTED EVERY
    (QUERIES[12], 0),  # a path of any length
    (TIMED[1], 0),  # two logical windows, and the times of their triples
]


@pytest.mark.parametrize(("text", "seed"), CHOSEN, ids=str)
def test_agrees_with_a_store_per_evaluation(text: Text, seed: int, session: SparkSession) -> None:
    graphs = StaticGraphs()

    def place() -> SparkPlace:
        graphs.views(session)
        return SparkPlace(session)

    compare(text, seed, graphs, place, cuts=1)
