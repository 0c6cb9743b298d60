"""Graphs beside the static ones: one query sees them, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rheos import Engine
from rheos.errors import RheosError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BESIDE = {
    "http://h/tolls": pa.table(
        {
            "s": ["<http://gate1>"] * 2,
            "p": ["<http://sees>"] * 2,
            "o": ["<http://car>"] * 2,
            "time": ["1", "2"],
        }
    ),
    "http://h/old": pa.table({"s": ["<http://new>"], "p": ["<http://p>"], "o": ["<http://o>"]}),
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(execution="local", base="http://h/") as engine:
        engine.load(data="<http://gate1> <http://in> <http://north> .", format="turtle")
        engine.load(data="<http://before> <http://p> <http://o> .", format="turtle", graph="http://h/old")
        engine.load(data="<http://z> <http://p> <http://o> .", format="turtle", graph="http://h/other")
        yield engine


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT ?s ?d { GRAPH <tolls> { ?s ?p ?c } ?s <http://in> ?d }", [("gate1", "north")]),
        ("SELECT ?s ?o FROM <tolls> { ?s ?p ?o }", [("gate1", "car")]),
        ("SELECT ?s ?o { GRAPH <tolls> { ?s <http://sees>+ ?o } }", [("gate1", "car")]),
        ("SELECT ?d { ?s <http://in> ?d FILTER EXISTS { GRAPH <tolls> { ?s ?p ?c } } }", [("north",)]),
        ("SELECT ?s { GRAPH <old> { ?s ?p ?o } }", [("new",)]),
        ("SELECT ?s FROM NAMED <tolls> FROM NAMED <other> { GRAPH ?g { ?s ?p ?o } }", [("gate1",), ("z",)]),
        # A query that names none of them sees only what is static.
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o } }", [("before",), ("z",)]),
    ],
)
def test_a_query_sees_the_graphs_that_it_names(engine: Engine, text: str, found: list[tuple[str]]) -> None:
    rows = engine.query(text, beside=BESIDE).arrow.to_pylist()
    shown = [tuple(term.removeprefix("<http://").rstrip(">") for term in row.values()) for row in rows]
    assert sorted(shown) == found
    assert engine.graphs.size == 3


def test_nothing_is_left_of_them(engine: Engine) -> None:
    asked = "ASK { GRAPH <tolls> { ?s ?p ?o } }"
    assert engine.query(asked, beside=BESIDE).boolean
    assert not engine.query(asked).boolean
    assert not engine.query(asked, beside={"http://h/tolls": BESIDE["http://h/tolls"].slice(0, 0)}).boolean
    assert engine.graphs.graph_names == ["<http://h/old>", "<http://h/other>"]


def test_a_graph_given_beside_the_text_counts_as_named(engine: Engine) -> None:
    found = engine.query("ASK { ?s ?p ?o }", default_graphs=["http://h/tolls"], beside=BESIDE)
    assert found.boolean


def test_what_spark_keeps_is_not_moved_here_for_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "large.nt").write_text("<http://a> <http://p> <http://o> .\n")
    with Engine(spark, base="http://h/", parallel_bytes=0) as engine:
        engine.load(tmp_path / "large.nt")
        assert engine.graphs.in_spark
        with pytest.raises(RheosError, match="static data that Spark keeps cannot be asked together"):
            engine.query("ASK { GRAPH <tolls> { ?s ?p ?o } }", beside=BESIDE)
        assert engine.graphs.in_spark
