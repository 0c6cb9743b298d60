"""A few of the comparisons with the reference, evaluated by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rheos.algebra.arriving import translate_arriving
from rheos.execute.session import adopt
from rheos.runtime.arriving import ArrivingBatch, Prepared
from rheos.runtime.buffers import NEVER
from rheos.runtime.catalyst import SparkPlace
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_batches import table
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


def test_a_path_inside_exists_on_arrivals(session: SparkSession) -> None:
    graphs = StaticGraphs()
    graphs.load(data="@prefix : <http://ex/> . :x :next :y . :y :next :z .", format="turtle")
    graphs.views(session)
    text = "SELECT ?who { STREAM <s> [NOW] { ?who <at> ?room } FILTER EXISTS { ?room <next>+ <z> } }"
    query = translate_arriving(parse(text, "cqels"), "q", "http://ex/", ())
    rooms = [(f"<http://ex/{who}>", "<http://ex/at>", f"<http://ex/{room}>") for who, room in ("ax", "bz")]
    elements = table([(*triple, time) for time, triple in enumerate(rooms)])
    batch = ArrivingBatch(SparkPlace(session), {"<http://ex/s>": elements})
    new = batch.novelty(Prepared.of(query), NEVER, len(rooms))
    assert new.rows.column("who").to_pylist() == ["<http://ex/a>"]
