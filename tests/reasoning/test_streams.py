"""RDFS entailment of elements of streams: each rule in each language, what windows count, schemas that
change, queries side by side, in tasks and by Catalyst."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import CheckpointError, Engine
from rheos.runtime.driver.handle import Handle
from tests.runtime.streams import lines, moment, seconds
from tests.runtime.streams import rows as row_dicts
from tests.runtime.test_streams import put, wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = "http://ex/"
PREFIX = f"PREFIX : <{EX}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
TURTLE = f"@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
STREAM = "http://ex/s"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture(params=[1, 2])
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, shards=request.param, entailment="rdfs", batch_bytes=300) as engine:
        yield engine


def windows(name: str, head: str, where: str, window: str = "RANGE 10s STEP 10s") -> str:
    return f"REGISTER QUERY {name} AS {PREFIX} {head} FROM STREAM :s [{window}] WHERE {{ {where} }}"


def arrivals(head: str, where: str, window: str = "NOW") -> str:
    return f"{PREFIX} {head} {{ STREAM :s [{window}] {{ {where} }} }}"


def events(head: str, where: str) -> str:
    hour = '"PT1H"^^<http://www.w3.org/2001/XMLSchema#duration>'
    return f"{PREFIX} {head} FROM STREAM :s WHERE {{ {where} FILTER (getDURATION() < {hour}) }}"


def told(handle: Handle) -> list[tuple[float, list[str]]]:
    """When something was reported, and the terms of its rows."""
    return [
        (seconds(answer), [" ".join(row.values()) for row in row_dicts(answer)]) for answer in handle.results
    ]


def type_line(s: str, c: str, at: float) -> str:
    return f"<{EX}{s}> {TYPE} <{EX}{c}> {moment(at)} .\n"


SCHEMA = """:hears rdfs:subPropertyOf :notices . :notices rdfs:subPropertyOf :feels .
:hears rdfs:domain :Animal ; rdfs:range :Sound .
:Dog rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal . :Animal rdfs:subClassOf :Mammal . """

ELEMENTS = lines([("rex", "hears", "bang", 1)]) + type_line("fido", "Dog", 2) + type_line("tree", "Plant", 3)

# By which rules each question is answered, and the terms of its rows.
QUESTIONS = {
    "7 and 5": ("SELECT ?x ?y", "?x :feels ?y", [(1, "rex bang")]),
    "2": ("SELECT ?x", "?x a :Animal", [(1, "rex"), (2, "fido")]),
    "9 and 11": ("SELECT ?x", "?x a :Mammal", [(1, "rex"), (2, "fido")]),
    "3": ("SELECT ?x", "?x a :Sound", [(1, "bang")]),
    "all of a class": (
        "SELECT ?x ?c", "?x a ?c",
        [(1, "bang Sound"), (1, "rex Animal"), (1, "rex Mammal"),
         (2, "fido Animal"), (2, "fido Dog"), (2, "fido Mammal"), (3, "tree Plant")],
    ),
    "two of one element": ("SELECT ?x ?y", "?x :notices ?y . ?x a :Mammal", [(1, "rex bang")]),
}  # fmt: skip


@pytest.mark.slow
def test_each_rule_in_each_language(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "s.nq"
    file.write_text(ELEMENTS)
    engine.load(data=TURTLE + SCHEMA, format="turtle")
    engine.add_stream(STREAM, file)
    asked: dict[str, list[Handle]] = {}
    for number, (name, (head, where, _)) in enumerate(QUESTIONS.items()):
        asked[name] = [
            engine.register(windows(f"w{number}", head, where, "RANGE 1s STEP 1s")),
            engine.register(arrivals(head, where), name=f"a{number}"),
            engine.register(events(head, where), dialect="epsparql", name=f"e{number}"),
        ]
    plain = [
        engine.register(windows("plain", "SELECT ?x", "?x a :Animal"), entailment="none"),
        engine.register(arrivals("SELECT ?x", "?x a :Animal"), name="plain-a", entailment="none"),
        engine.register(
            events("SELECT ?x", "?x a :Animal"), dialect="epsparql", name="plain-e", entailment="none"
        ),
    ]
    assert engine.run()
    for name, handles in asked.items():
        expected = QUESTIONS[name][2]
        for handle in handles:
            found = [(at, row) for at, rows in told(handle) for row in rows]
            assert sorted(found) == expected, (name, handle.name)
    assert [row for handle in plain for _, rows in told(handle) for row in rows] == []


def test_windows_count_what_came(engine: Engine, tmp_path: Path) -> None:
    """Not what it entails; and by the same element, a triple is entailed once."""
    file = tmp_path / "s.nq"
    elements = [("a", "p", "a", 1), ("b", "q", "c", 2), ("d", "other", "d", 3), ("e", "p", "f", 4)]
    file.write_text(lines(elements))
    schema = ":p rdfs:domain :C ; rdfs:range :C ; rdfs:subPropertyOf :q . :C rdfs:subClassOf :D , :E ."
    engine.load(data=TURTLE + schema + " :q rdfs:domain :D . :D rdfs:subClassOf :E .", format="turtle")
    engine.add_stream(STREAM, file)
    physical = engine.register(windows("physical", "SELECT ?x", "?x a :D", "RANGE TRIPLES 2"))
    last = engine.register(
        f"{PREFIX} SELECT (COUNT(*) AS ?n) {{ STREAM :s [TRIPLES 2] {{ ?x a :D }} }}", name="last"
    )
    every = engine.register(arrivals("SELECT ?x", "?x a :E", "ALL"), name="every")
    assert engine.run()
    assert told(physical) == [(1, ["a"]), (2, ["a", "b"]), (3, ["b"]), (4, ["e", "f"])]
    # The last two that match are a and b, then b and the one that has e and f.
    assert told(last) == [(1, ["1"]), (2, ["2"]), (4, ["3"])]
    assert told(every) == [(1, ["a"]), (2, ["b"]), (4, ["e", "f"])]


def test_a_window_and_its_static_part_are_one_set(engine: Engine, tmp_path: Path) -> None:
    """What is entailed twice, by elements and by static data, is there once; its time is the latest."""
    file = tmp_path / "s.nq"
    file.write_text(lines([("a", "p", "b", 1), ("a", "r", "b", 4), ("c", "p", "d", 5)]))
    engine.load(
        data=TURTLE + ":p rdfs:subPropertyOf :q . :r rdfs:subPropertyOf :q . :a :p :b .", format="turtle"
    )
    engine.add_stream(STREAM, file)
    both = engine.register(windows("both", "SELECT ?x ?y", "?x :q ?y"))
    times = engine.register(windows("times", "SELECT ?x (timestamp(?x) AS ?t)", "?x :q ?y"))
    inside = engine.register(windows("inside", "SELECT ?x ?y", "GRAPH :s { ?x :q ?y }"))
    assert engine.run()
    assert told(both) == [(10, ["a b", "c d"])]
    assert told(inside) == [(10, ["a b", "c d"])]
    assert told(times) == [(10, ["a 2026-01-01T00:00:04Z", "c 2026-01-01T00:00:05Z"])]


@pytest.mark.slow
def test_a_schema_that_changes_while_streams_flow(engine: Engine, tmp_path: Path) -> None:
    engine.load(data=TURTLE + ":Dog rdfs:subClassOf :Animal .", format="turtle")
    engine.add_stream(STREAM, tmp_path, follow=True)
    question = ("SELECT ?x", "?x a :Animal")
    handles = [
        engine.register(windows("w", *question, "RANGE 1s STEP 1s")),
        engine.register(arrivals(*question), name="a"),
        engine.register(events(*question), dialect="epsparql", name="e"),
    ]
    engine.start()
    put(tmp_path, "1.nq", type_line("rex", "Dog", 1) + type_line("tom", "Cat", 2) + type_line("x", "X", 3))
    for handle in handles:
        wait(lambda handle=handle: len(handle.results) >= 1, f"rex in {handle.name}")
    engine.update(
        f"{PREFIX} DELETE DATA {{ :Dog rdfs:subClassOf :Animal }};"
        f"{PREFIX} INSERT DATA {{ :Cat rdfs:subClassOf :Animal . :sees rdfs:domain :Animal }}"
    )
    put(
        tmp_path,
        "2.nq",
        type_line("bello", "Dog", 11) + type_line("minka", "Cat", 12) + lines([("eye", "sees", "x", 13)])
        + type_line("x", "X", 14),
    )  # fmt: skip
    for handle in handles:
        wait(lambda handle=handle: told(handle)[-1][0] >= 13, f"eye in {handle.name}")
    engine.stop()
    for handle in handles:
        found = [row for _, rows in told(handle) for row in rows]
        assert found == ["rex", "minka", "eye"], handle.name


def test_what_rules_and_streams_of_queries_bring(engine: Engine, tmp_path: Path) -> None:
    """A derived element entails what any other does, for readers that ask for it."""
    file = tmp_path / "s.nq"
    file.write_text(lines([("a", "p", "b", 1), ("b", "p", "c", 2)]))
    engine.load(data=TURTLE + ":meets rdfs:subPropertyOf :sees .", format="turtle")
    engine.add_stream(STREAM, file)
    engine.register(f"REGISTER STREAM <http://ex/met> AS {PREFIX} CONSTRUCT {{ ?x :meets ?y }}"
                    " FROM STREAM :s [RANGE 1s STEP 1s] { ?x :p ?y }")  # fmt: skip
    read = engine.register(f"{PREFIX} SELECT ?x {{ STREAM :met [NOW] {{ ?x :sees ?y }} }}", name="read")
    engine.register(
        f"{PREFIX} CONSTRUCT {{ ?x :meets ?y }} FROM STREAM :s WHERE {{ ?x :p ?y }}",
        dialect="epsparql",
        name="rule",
    )
    ruled = engine.register(
        f"{PREFIX} SELECT ?x ?z FROM STREAM :s WHERE {{ {{ ?x :sees ?y }} SEQ {{ ?y :sees ?z }} }}",
        dialect="epsparql",
        name="ruled",
    )
    blind = engine.register(
        f"{PREFIX} SELECT ?x ?y FROM STREAM :s WHERE {{ ?x :sees ?y }}",
        dialect="epsparql",
        name="blind",
        entailment="none",
    )
    assert engine.run()
    assert told(read) == [(1, ["a"]), (2, ["b"])]
    assert told(ruled) == [(2, ["a c"])]
    assert told(blind) == []


def test_members_of_a_family(engine: Engine, tmp_path: Path) -> None:
    """Queries that differ in a class are one plan; one without entailment is none of them."""
    file = tmp_path / "s.nq"
    file.write_text(ELEMENTS)
    engine.load(data=TURTLE + SCHEMA, format="turtle")
    engine.add_stream(STREAM, file)
    handles = {
        name: engine.register(arrivals("SELECT ?x", f"?x a :{name}"), name=name)
        for name in ("Sound", "Mammal", "Plant", "Dog")
    }
    plain = engine.register(arrivals("SELECT ?x", "?x a :Mammal"), name="plain", entailment="none")
    assert engine.run()
    assert {name: [row for _, rows in told(handle) for row in rows] for name, handle in handles.items()} == {
        "Sound": ["bang"], "Mammal": ["rex", "fido"], "Plant": ["tree"], "Dog": ["fido"]
    }  # fmt: skip
    assert told(plain) == []


def test_a_checkpoint_is_of_an_entailment(spark: SparkSession, tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "s.nq", tmp_path / "checkpoint"
    file.write_text(ELEMENTS)
    text = windows("q", "SELECT ?x", "?x a :Animal")
    with Engine(spark, checkpoint=checkpoint, entailment="rdfs") as engine:
        engine.load(data=TURTLE + SCHEMA, format="turtle")
        engine.add_stream(STREAM, file)
        engine.register(text)
        assert engine.run()
    with Engine(checkpoint=checkpoint) as engine:
        engine.add_stream(STREAM, file)
        engine.register(text)
        with pytest.raises(CheckpointError, match="the entailment of the query q was rdfs"):
            engine.start()
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.load(data=TURTLE + SCHEMA, format="turtle")
        engine.add_stream(STREAM, file)
        engine.register(text, entailment="rdfs")
        assert engine.run()
