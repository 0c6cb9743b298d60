"""RDFS entailment of one-shot queries: each rule, each kind of graph, in both places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine, RheosError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = """PREFIX : <http://ex/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> """
TURTLE = """@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . """
SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"


@pytest.fixture(params=["local", "catalyst"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    spark = request.getfixturevalue("spark") if request.param == "catalyst" else None
    with Engine(spark, execution=request.param, entailment="rdfs") as engine:
        yield engine


def load(engine: Engine, data: str, graph: str | None = None) -> None:
    engine.load(data=TURTLE + data, format="turtle", graph=graph)


def found(engine: Engine, query: str, **options: str) -> list[str]:
    """The rows, each as the last parts of its terms."""
    result = engine.query(PREFIX + query, **options)  # type: ignore[arg-type]
    rows = (
        " ".join(row[name].value.rpartition("/")[2].rpartition("#")[2] or "" for name in result.variables)
        for row in result.rows
    )
    return sorted(rows)


RULES = {
    "2: domain": (":knows rdfs:domain :Person . :a :knows :b .", "{ ?x a :Person }", ["a"]),
    "3: range": (":knows rdfs:range :Person . :a :knows :b , 'nobody' .", "{ ?x a :Person }", ["b"]),
    "5: sub-properties of sub-properties": (
        ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r .",
        "{ ?x rdfs:subPropertyOf :r }",
        ["p", "q"],
    ),
    "7: sub-property": (":p rdfs:subPropertyOf :q . :a :p 'text' .", "{ ?x :q 'text' }", ["a"]),
    "9: sub-class": (":C rdfs:subClassOf :D . :a a :C .", "{ ?x a :D }", ["a"]),
    "11: sub-classes of sub-classes": (
        ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E .",
        "{ ?x rdfs:subClassOf :E }",
        ["C", "D"],
    ),
    "all but one of them": (
        ":p rdfs:subPropertyOf :q . :q rdfs:domain :C ; rdfs:range :E . :C rdfs:subClassOf :D ."
        " :D rdfs:subClassOf :E . :a :p :b .",
        "{ ?x a :E }",
        ["a", "b"],
    ),
    "classes in a circle": (
        ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C . :a a :C . :b a :D .",
        "{ ?x a :C }",
        ["a", "b"],
    ),
    "properties in a circle": (
        ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p . :a :p :b . :b :q :a .",
        "{ ?x :p ?y }",
        ["a", "b"],
    ),
    "a property of schemas of its own": (
        ":below rdfs:subPropertyOf rdfs:subClassOf . :C :below :D . :a a :C .",
        "{ ?x a :D }",
        ["a"],
    ),
    "what is said of rdf:type": (
        "rdf:type rdfs:range rdfs:Class ; rdfs:subPropertyOf :is . :a a :C .",
        "{ :a :is ?c . ?c a rdfs:Class . ?x :is ?c }",
        ["a"],
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, engine: Engine) -> None:
    data, where, expected = RULES[rule]
    load(engine, data)
    assert found(engine, f"SELECT ?x {where}") == expected
    assert found(engine, f"SELECT ?x {where}", entailment="none") != expected


def test_a_triple_is_there_once(engine: Engine) -> None:
    load(
        engine,
        ":C rdfs:subClassOf :D , :E . :D rdfs:subClassOf :F . :E rdfs:subClassOf :F ."
        " :p rdfs:domain :C , :F ; rdfs:range :F . :a a :C , :F ; :p :a .",
    )
    assert found(engine, "SELECT ?c { :a a ?c }") == ["C", "D", "E", "F"]
    assert found(engine, "SELECT (COUNT(*) AS ?n) { ?x a ?c }") == ["4"]


def test_paths_go_over_what_is_entailed(engine: Engine) -> None:
    load(engine, ":road rdfs:subPropertyOf :way . :a :road :b . :b :way :c . :c :road :d .")
    assert found(engine, "SELECT ?x { :a :way+ ?x }") == ["b", "c", "d"]
    assert found(engine, "SELECT ?x { :a :way/:way ?x }") == ["c"]
    assert found(engine, "SELECT ?x { :a (:road|:way)* ?x }") == ["a", "b", "c", "d"]


def test_one_schema_for_all_graphs(engine: Engine) -> None:
    """That of the default graph; what other graphs say of classes is of no use to anybody."""
    load(engine, ":C rdfs:subClassOf :D .")
    load(engine, ":a a :C . :D rdfs:subClassOf :E .", "http://ex/g")
    assert found(engine, "SELECT ?c { GRAPH :g { :a a ?c } }") == ["C", "D"]
    assert found(engine, "SELECT ?g ?x { GRAPH ?g { ?x a :D } }") == ["g a"]
    assert found(engine, "SELECT ?c { :a a ?c }") == []
    assert found(engine, "SELECT ?c { GRAPH :g { :C rdfs:subClassOf ?c } }") == []


def test_from_says_what_the_default_graph_is(engine: Engine) -> None:
    load(engine, ":C rdfs:subClassOf :Wrong .")
    load(engine, ":C rdfs:subClassOf :D .", "http://ex/schema")
    load(engine, ":D rdfs:subClassOf :E . :a a :C .", "http://ex/data")
    assert found(engine, "SELECT ?c FROM :schema FROM :data { :a a ?c }") == ["C", "D", "E"]
    assert found(engine, "SELECT ?c FROM :schema FROM :data { :C rdfs:subClassOf ?c }") == ["D", "E"]
    assert found(engine, "SELECT ?c FROM :data { :a a ?c }") == ["C"]
    assert found(engine, "SELECT ?c FROM :schema FROM NAMED :data { GRAPH :data { :a a ?c } }") == ["C", "D"]
    # Where there is no default graph, there is no schema.
    assert found(engine, "SELECT ?c FROM NAMED :data { GRAPH :data { :a a ?c } }") == ["C"]


def test_the_schema_may_change(engine: Engine) -> None:
    load(engine, ":C rdfs:subClassOf :D . :a a :C .")
    load(engine, ":b a :C .", "http://ex/g")
    assert found(engine, "SELECT ?x { ?x a :D }") == ["a"]
    engine.update(PREFIX + "INSERT DATA { :c a :C . GRAPH :g { :d a :C } }")
    assert found(engine, "SELECT ?x { ?x a :D }") == ["a", "c"]
    assert found(engine, "SELECT ?x { GRAPH :g { ?x a :D } }") == ["b", "d"]
    engine.update(PREFIX + "DELETE DATA { :C rdfs:subClassOf :D } ; INSERT DATA { :C rdfs:subClassOf :E }")
    assert found(engine, "SELECT ?x { ?x a :D }") == []
    assert found(engine, "SELECT ?x { ?x a :E }") == ["a", "c"]
    assert found(engine, "SELECT ?x { GRAPH :g { ?x a :E } }") == ["b", "d"]
    engine.clear()
    assert found(engine, "SELECT ?x { ?x a :E }") == []


def test_updates_look_at_what_is_there(engine: Engine) -> None:
    load(engine, ":C rdfs:subClassOf :D . :a a :C .")
    assert engine.update(PREFIX + "INSERT { ?x :is :d } WHERE { ?x a :D }") == 0
    assert engine.update(PREFIX + "DELETE WHERE { ?x a :D }") == 0
    assert found(engine, "SELECT ?x { ?x a :D }") == ["a"]


def test_describe_and_construct(engine: Engine) -> None:
    load(engine, ":C rdfs:subClassOf :D . :a a :C .")
    assert len(engine.query(PREFIX + "DESCRIBE :a").triples) == 2
    assert len(engine.query(PREFIX + "CONSTRUCT WHERE { ?x a ?c }").triples) == 2


def test_what_spark_keeps(spark: SparkSession, tmp_path: Path) -> None:
    """Data that Spark reads and keeps, the schema among it."""
    below = "<http://ex/C> <" + SUB_CLASS + "> <http://ex/D> .\n"
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    file = tmp_path / "data.nt"
    file.write_text(below + "".join(f"<http://ex/x{n}> {kind} <http://ex/C> .\n" for n in range(50)))
    with Engine(spark, entailment="rdfs", parallel_bytes=100) as engine:
        engine.load(file)
        assert engine.graphs.in_spark
        assert found(engine, "SELECT (COUNT(*) AS ?n) { ?x a :D }") == ["50"]
        assert found(engine, "SELECT ?c { :x7 a ?c }") == ["C", "D"]


def test_an_entailment_that_is_unknown() -> None:
    message = "entailment 'owl' is not one of: none, rdfs"
    with pytest.raises(RheosError, match=message):
        Engine(entailment="owl")
    with Engine() as engine:
        for asked in (engine.query, engine.explain, engine.register):
            with pytest.raises(RheosError, match=message):
                asked("SELECT * { ?s ?p ?o }", entailment="owl")


def test_explain_says_what_the_schema_is() -> None:
    with Engine(execution="local", entailment="rdfs") as engine:
        shown = engine.explain(PREFIX + "SELECT ?x FROM :g { ?x a :C }")
        assert "entailment:\n  RDFS, by the schema in\n    <http://ex/g>" in shown
        windows = f"REGISTER QUERY q AS {PREFIX} SELECT ?x FROM STREAM :s [RANGE 1s STEP 1s] {{ ?x a :C }}"
        arrivals = PREFIX + "SELECT ?x { STREAM :s [NOW] { ?x a :C } }"
        events = PREFIX + "SELECT ?x { { ?x a :C } SEQ { ?x a :D } }"
        for text in (windows, arrivals, events):
            assert "entailment:\n  RDFS, by the schema in\n    the default graph" in engine.explain(text)
            assert "entailment" not in engine.explain(text, entailment="none")
