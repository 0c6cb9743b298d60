"""Rules in a circle and policies of consumption through the engine: in tasks and by Catalyst, cut into
batches, stopped and started again, and cut off where they would not end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rheos import Engine
from rheos.answers.continuous import Answer
from rheos.errors import RheosError
from tests.runtime.streams import NEW_YEAR, lines, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://ex/s"
PREFIX = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
# Along a way, while the whole of it takes less than five seconds.
WAYS = {
    "first": f"{PREFIX} CONSTRUCT {{ ?a :way ?b }} FROM STREAM <{STREAM}> {{ ?a :step ?b }}",
    "further": f"""{PREFIX} CONSTRUCT {{ ?a :way ?c }} {{
        {{ ?a :way ?b }} SEQ {{ ?b :step ?c }} FILTER(getDURATION() < "PT5S"^^xsd:duration) }}""",
}
ENDLESS = f"{PREFIX} CONSTRUCT {{ _:e :made ?e }} {{ ?e :made ?x }}"
STEPS = [("a", "step", "b", 1), ("b", "step", "c", 2), ("c", "step", "d", 4), ("d", "step", "e", 6.5)]
# From, to, and when: all that is short enough.
FOUND = [
    ("a", "b", 1, 1), ("a", "c", 1, 2), ("b", "c", 2, 2), ("a", "d", 1, 4), ("b", "d", 2, 4),
    ("c", "d", 4, 4), ("b", "e", 2, 6.5), ("c", "e", 4, 6.5), ("d", "e", 6.5, 6.5),
]  # fmt: skip
Opened = Callable[..., Engine]


@pytest.fixture(params=[1, 2])
def shards(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path) -> Iterator[Opened]:
    """Engines over a file of steps that is read in very small batches."""
    engines: list[Engine] = []
    path = tmp_path / "s.nq"

    def open_engine(elements: list[Any], **options: Any) -> Engine:
        path.write_text(lines(elements))
        engines.append(Engine(spark, batch_bytes=150, **options))
        engines[-1].add_stream(STREAM, path)
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def times(answer: Answer) -> tuple[float, float]:
    assert answer.start is not None
    assert answer.end is not None
    return answer.start.timestamp() - NEW_YEAR, answer.end.timestamp() - NEW_YEAR


def ways(answers: list[Answer]) -> list[tuple[str, str, float, float]]:
    found = [
        (triple.subject.value[10:], triple.object.value[10:], *times(answer))
        for answer in answers
        for triple in answer.triples or []
    ]
    return sorted(found, key=lambda way: (way[3], way))


def test_a_rule_that_reads_what_it_makes(opened: Opened, shards: int) -> None:
    engine = opened(STEPS, shards=shards)
    handles = [engine.register(text, name=name, dialect="epsparql") for name, text in WAYS.items()]
    seen = engine.register(f"{PREFIX} SELECT ?b {{ :b :way ?b }}", name="seen", dialect="epsparql")
    assert engine.run()
    assert ways([answer for handle in handles for answer in handle.results]) == sorted(
        FOUND, key=lambda way: (way[3], way)
    )
    assert [row["b"] for answer in seen.results for row in rows(answer)] == ["c", "d", "e"]


def test_a_circle_through_what_is_entailed(opened: Opened, shards: int) -> None:
    """A step is a way by the schema, and what goes further is called otherwise."""
    engine = opened(STEPS, shards=shards, entailment="rdfs")
    engine.load(
        data="""@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :step rdfs:subPropertyOf :way . :long rdfs:subPropertyOf :way .""",
        format="turtle",
    )
    longer = WAYS["further"].replace("CONSTRUCT { ?a :way", "CONSTRUCT { ?a :long")
    engine.register(longer, name="longer", dialect="epsparql")
    asked = f"{PREFIX} SELECT ?a ?b {{ ?a :way ?b }}"
    all_ways = engine.register(asked, name="all", dialect="epsparql")
    none = engine.register(asked, name="none", dialect="epsparql", entailment="none")
    assert engine.run()
    found = [
        (row["a"].value[10:], row["b"].value[10:], *times(answer))
        for answer in all_ways.results
        for row in answer.rows or []
    ]
    assert sorted(found, key=lambda way: (way[3], way)) == FOUND
    assert none.results == []


@pytest.mark.slow
@pytest.mark.parametrize("way", ["one", "variable"])
def test_rules_that_are_shared_out(opened: Opened, way: str) -> None:
    """All is about one who does something, and in tasks of their own for each of those."""
    text = f"{PREFIX} CONSTRUCT {{ ?a :did ?c }} {{ {{ ?a :did ?b }} SEQ {{ ?a :does ?c }} }}"
    who = [f"who{number}" for number in range(8)]
    happens = [(name, "did", "x", 1) for name in who] + [(name, "does", "y", 2) for name in who]
    later = [("who0", "does", "z", 3), *((name, "does", "late", 4) for name in who)]
    engine = opened([*happens, *later], shards=1 if way == "one" else 2)
    handle = engine.register(text, name="doing", dialect="epsparql")
    assert engine.run()
    found = [*((name, "y", 1, 2) for name in who), ("who0", "z", 1, 3)]
    assert ways(handle.results) == [*found, *sorted((name, "late", 1, 4) for name in who)]
    assert handle.metrics.sharding == way


@pytest.mark.slow
def test_nothing_comes_between(opened: Opened, shards: int) -> None:
    engine = opened(DOOR, shards=shards)
    sides = "{ ?from :opens ?door }", "{ ?to :closes ?door }"
    handle = engine.register(
        f"""{PREFIX} SELECT ?from ?to {{
            {sides[0]} SEQ {sides[1]} EQUALSOPTIONAL {{ {sides[0]} SEQ {{ ?x :opens ?door }} SEQ {sides[1]} }}
            FILTER(!BOUND(?x) && getDURATION() < "PT2S"^^xsd:duration) }}""",
        name="next",
    )
    assert engine.run()
    found = [(row["from"], row["to"]) for answer in handle.results for row in rows(answer)]
    assert found == [("b", "x"), ("c", "z")]


@pytest.mark.slow
def test_it_goes_on_from_a_checkpoint(opened: Opened, shards: int, tmp_path: Path) -> None:
    """What was derived, and what was used, is known to the run that goes on."""
    found: list[Answer] = []
    paired: list[Answer] = []
    elements = sorted([*STEPS, *DOOR], key=lambda element: element[3])
    for last in (False, True):
        engine = opened(elements, checkpoint=tmp_path / "run", shards=shards)
        for name, text in WAYS.items():
            engine.register(text, name=name, dialect="epsparql").subscribe(found.append)
        engine.register(PAIRS["CHRONOLOGICAL"]).subscribe(paired.append)
        if last:
            assert engine.run()
        else:
            engine.start()
            loop = engine.streaming.loop
            while loop is not None and loop.batches < 3:
                assert not loop.finished.wait(0.01)
            engine.close()
            assert 0 < len(ways(found)) < len(FOUND)
    assert ways(found) == sorted(FOUND, key=lambda way: (way[3], way))
    together = [(row["from"], row["to"]) for answer in paired for row in rows(answer)]
    assert together == TOGETHER["CHRONOLOGICAL"]


@pytest.mark.slow
def test_rules_without_end_are_cut_off_and_the_others_go_on(
    opened: Opened, shards: int, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = opened([*STEPS, ("x", "made", "y", 7), ("f", "step", "g", 20)], shards=shards)
    endless = engine.register(ENDLESS, name="endless", dialect="epsparql")
    steps = engine.register(f"{PREFIX} SELECT ?a {{ ?a :step ?b }}", name="steps", dialect="epsparql")
    assert engine.run()
    assert len(steps.results) == 5
    assert not endless.running
    assert endless.metrics.failure is not None
    assert "the rule endless derives more and more" in endless.metrics.failure
    assert "2026-01-01T00:00:07Z" in endless.metrics.failure
    assert endless.metrics.failure in capsys.readouterr().err


PAIRS = {
    policy: f"""REGISTER QUERY pairs CONSUMPTION {policy} AS {PREFIX} SELECT ?from ?to {{
        {{ ?from :opens :door }} SEQ {{ ?to :closes :door }} }}"""
    for policy in ("RECENT", "CHRONOLOGICAL", "UNRESTRICTED")
}
DOOR = [
    ("a", "opens", "door", 1), ("b", "opens", "door", 2), ("x", "closes", "door", 3),
    ("y", "closes", "door", 4), ("c", "opens", "door", 5), ("z", "closes", "door", 6),
    ("w", "closes", "door", 7),
]  # fmt: skip
TOGETHER = {
    "RECENT": [("b", "x"), ("b", "y"), ("c", "z"), ("c", "w")],
    "CHRONOLOGICAL": [("a", "x"), ("b", "y"), ("c", "z")],
    "UNRESTRICTED": [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", "z"), ("b", "z"), ("c", "z"),
                     ("a", "w"), ("b", "w"), ("c", "w")],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("policy", TOGETHER)
def test_what_goes_together(policy: str, opened: Opened, shards: int) -> None:
    engine = opened(DOOR, shards=shards)
    handle = engine.register(PAIRS[policy])
    assert engine.run()
    found = [(row["from"], row["to"]) for answer in handle.results for row in rows(answer)]
    assert sorted(found) == sorted(TOGETHER[policy])
    assert engine.streaming.loop is not None
    assert engine.streaming.loop.batches > 2


def test_what_is_not_needed_any_more_is_not_kept(opened: Opened) -> None:
    engine = opened(DOOR, shards=1)
    engine.register(PAIRS["CHRONOLOGICAL"])
    assert engine.run()
    loop = engine.streaming.loop
    assert loop is not None
    (left,) = (found for name, found in loop.segments.items() if name.endswith("/left>"))
    assert left.rows == 0  # all were used


# --- what is refused --------------------------------------------------------------------------------------


def refused(engine: Engine, text: str) -> str:
    with pytest.raises(RheosError) as caught:
        engine.register(text, dialect="epsparql", name="own")
    return str(caught.value)


def test_a_circle_with_a_policy(opened: Opened) -> None:
    text = f"""REGISTER QUERY own CONSUMPTION RECENT AS {PREFIX} CONSTRUCT {{ ?a :way ?c }}
        {{ {{ ?a :way ?b }} SEQ {{ ?b :step ?c }} }}"""
    assert "own has the policy of consumption recent" in refused(opened(STEPS), text)


@pytest.mark.parametrize(
    "where",
    [
        "?a :step ?b OPTIONAL { ?a :way ?c } FILTER(!BOUND(?c))",
        "?a :step ?b MINUS { ?a :way ?c }",
        "?a :step ?b FILTER NOT EXISTS { ?a :way ?c }",
    ],
)
def test_a_rule_that_holds_if_it_does_not(where: str, opened: Opened) -> None:
    text = f"{PREFIX} CONSTRUCT {{ ?a :way ?b }} {{ {where} }}"
    assert "own looks for the absence" in refused(opened(STEPS), text)


def test_a_circle_can_be_taken_apart(opened: Opened) -> None:
    engine = opened(STEPS)
    handles = [engine.register(text, name=name, dialect="epsparql") for name, text in WAYS.items()]
    for handle in handles:
        handle.unregister()
    assert not engine.streaming.registry.handles
