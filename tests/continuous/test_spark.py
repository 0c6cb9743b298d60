"""A few of the comparisons with the reference, evaluated by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rheos.execute.session import adopt
from rheos.runtime.catalyst import SparkPlace
from rheos.store.graphs import StaticGraphs
from tests.continuous.cases import QUERIES, TIMED, Text
from tests.continuous.test_evaluation import compare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    graphs, places = StaticGraphs(), list[SparkPlace]()

    def place() -> SparkPlace:
        graphs.views(session)
        places.append(SparkPlace(session))
        return places[-1]

    compare(text, seed, graphs, place, cuts=1)
    for used in places:
        used.close()
