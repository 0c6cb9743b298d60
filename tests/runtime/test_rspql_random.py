"""Random queries of RSP-QL on random streams through the whole runtime, in batches of random size, against
stores of windows: on streams of triples that arrive in disorder, and on streams of graphs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.answers.continuous import time_text
from tests.continuous.cases import ONE, TWO
from tests.continuous.rspql_cases import QUERIES, background, case_of, graphs, registered
from tests.continuous.rspql_reference import Element, answers, end
from tests.runtime.test_random import DATE_TIME, LATENESS, reported, ways

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GENERATED_AT = "<http://www.w3.org/ns/prov#generatedAtTime>"


def in_disorder(elements: Sequence[Element], chance: random.Random) -> list[Element]:
    """The elements as they arrive: none is later than allowed."""
    return sorted(elements, key=lambda element: element.time + chance.randrange(LATENESS))


def literal(element: Element) -> str:
    return f'"{time_text(element.time)}"^^<{DATE_TIME}>'


def lines(path: Path, elements: Sequence[Element]) -> Path:
    """A stream file of triples."""
    path = path.with_suffix(".nq")
    path.write_text("".join(f"{' '.join(e.triples[0])} {literal(e)} .\n" for e in elements))
    return path


def documents(path: Path, elements: Sequence[Element]) -> Path:
    """A directory of documents with a graph each."""
    path.mkdir()
    for number, element in enumerate(elements):
        triples = " . ".join(" ".join(triple) for triple in element.triples)
        time = f"{element.name} {GENERATED_AT} {literal(element)} ."
        (path / f"{number:03}.trig").write_text(f"{element.name} {{ {triples} }}\n{time}\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True], ids=["triples", "graphs"])
@pytest.mark.parametrize(
    ("shards", "by", "number", "seed"),
    [(1, None, 25, 0), (2, "time", 4, 1), (2, "variable", 20, 2), (None, "kept", 25, 3)],
)
def test_agrees_with_stores_of_windows(
    shards: int | None,
    by: str | None,
    number: int,
    seed: int,
    named: bool,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    chance = random.Random(f"{seed} {named}")
    arriving: dict[str, list[Element]] = {}
    for name in (ONE, TWO):
        found = graphs(chance, float(named), 40)
        if named:  # a document says the time of a graph by its name
            arriving[name] = [replace(e, name=e.name or "<http://ex/g4>") for e in found]
        else:
            arriving[name] = in_disorder(found, chance)
    ordered = {name: sorted(found, key=lambda element: element.time) for name, found in arriving.items()}
    static = background(chance)
    texts = chance.sample(QUERIES, number)
    queries = {
        f"q{at}": registered(chance, text, chance.choice([ONE, TWO]), f"q{at}")
        for at, text in enumerate(texts)
    }
    size = chance.randrange(200, 1500)
    with Engine(spark, **ways(shards, by), batch_bytes=size) as engine:
        engine.load(data="".join(f"{' '.join(triple)} .\n" for triple in static), format="nt")
        for at, (name, found) in enumerate(arriving.items()):
            write = documents if named else lines
            engine.add_stream(name[1:-1], write(tmp_path / str(at), found), lateness=LATENESS)
        handles = {name: engine.register(query, name=name) for name, query in queries.items()}
        assert engine.run()
        assert engine.metrics.batches > 1
        assert not any(metrics.dead for metrics in engine.metrics.streams.values())
        for (name, handle), text in zip(handles.items(), texts, strict=True):
            read = {stream: ordered[stream] for stream in (ONE, TWO) if f"ON {stream}" in queries[name]}
            case = case_of(queries[name], text, static, read)
            expected = answers(case, list(handle.variables), -1, end(case))
            assert reported(handle) == expected, queries[name]
