"""Queries that are registered while streams flow report the same wherever batches are cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from rheos.runtime.worker.batch import Arrivals
from rheos.syntax import parse
from tests.continuous.cases import SECOND
from tests.continuous.rspql_cases import graphs
from tests.continuous.rspql_reference import Element
from tests.runtime.arrivals import arrivals
from tests.runtime.batches import Batches, Line, reported
from tests.runtime.test_graph_streams import chunk_of
from tests.spread import spread

S, T = "http://ex/s", "http://ex/t"
PREFIX = "PREFIX : <http://ex/>"
# Another query holds elements for some time, so that there are some that a new one has not seen.
HOLDS = (
    f"REGISTER QUERY holds AS {PREFIX} SELECT * FROM STREAM <{S}> [RANGE %ds STEP 1s]"
    f" FROM STREAM <{T}> [RANGE %ds STEP 1s] WHERE {{ ?a :none ?b }}"
)

Streams = Mapping[str, Sequence[Element]]


def csparql(chance: random.Random) -> str:
    def window() -> str:
        if chance.random() < 0.3:
            return f"[RANGE TRIPLES {chance.randint(1, 4)} STEP {chance.randint(1, 3)}]"
        return f"[RANGE {chance.randint(1, 12)}s STEP {chance.randint(1, 5)}s]"

    clauses = " ".join(f"FROM STREAM <{name}> {window()}" for name in chance.choice([(S,), (S, T)]))
    operator = chance.choice(["", "ISTREAM", "ISTREAM", "DSTREAM"])
    every = chance.choice(["", "", "COMPUTED EVERY 3s "])
    what = chance.choice(["?a ?b", "?a", "(COUNT(*) AS ?n)"])
    return f"REGISTER QUERY new {every}AS {PREFIX} SELECT {operator} {what} {clauses} WHERE {{ ?a ?p ?b }}"


def rspql(chance: random.Random) -> str:
    def window() -> str:
        kind = chance.random()
        if kind < 0.4:
            return f"[ELEMENTS {chance.randint(1, 4)} STEP {chance.randint(1, 3)}]"
        if kind < 0.6:
            until = chance.randint(1, 5)
            since = until + chance.randint(1, 9)
            return f"[FROM NOW-PT{since}S TO NOW-PT{until}S STEP PT{chance.randint(1, 4)}S]"
        return f"[RANGE PT{chance.randint(1, 12)}S STEP PT{chance.randint(1, 5)}S]"

    streams = list(enumerate(chance.choice([(S,), (S, T), (S, S)])))
    clauses = " ".join(f"FROM NAMED WINDOW :w{number} ON <{name}> {window()}" for number, name in streams)
    parts = " UNION ".join(f"{{ WINDOW :w{number} {{ ?a ?p ?b }} }}" for number, _ in streams)
    operator = chance.choice(["RSTREAM", "ISTREAM", "DSTREAM"])
    return f"{PREFIX} REGISTER {operator} <new> AS SELECT ?a ?b {clauses} WHERE {{ {parts} }}"


def reports(text: str, holds: int, before: Streams, cuts: Sequence[Streams]) -> list[Line]:
    """What a query reports that is registered after some elements have come, when the others come in
    batches."""
    batches = Batches([S, T], [HOLDS % (holds, holds)])

    def batch(arrived: Streams, ended: bool) -> list[Line]:
        chunks = {name: [chunk_of(element) for element in found] for name, found in arrived.items()}
        given = {f"<{name}>": Arrivals(arrivals(found, 0), ended) for name, found in chunks.items()}
        return reported(batches.given(given))

    batch(before, False)
    registry = batches.streaming.registry
    registry.go_on(registry.seen_after, registry.now(batches.control.progress, {}))
    batches.streaming.register(parse(text, "auto"), name=None, base="http://ex/", keep=0)
    batches.control = replace(batches.control, seen_after=dict(registry.seen_after))
    found = [line for number, cut in enumerate(cuts, start=1) for line in batch(cut, number == len(cuts))]
    assert not batches.failures
    return sorted(line for line in found if line[0] == "new")


def cut(streams: Streams, chance: random.Random, count: int) -> list[Streams]:
    """The elements of streams in so many batches."""
    parts: list[dict[str, Sequence[Element]]] = [{} for _ in range(count)]
    for name, elements in streams.items():
        places = sorted(chance.randint(0, len(elements)) for _ in range(count - 1))
        for part, start, end in zip(parts, [0, *places], [*places, len(elements)], strict=True):
            part[name] = elements[start:end]
    return list(parts)


@pytest.mark.parametrize("language", [csparql, rspql])
@pytest.mark.parametrize("seed", spread(200, 15))
def test_random_queries(language: Callable[[random.Random], str], seed: int) -> None:
    chance = random.Random(f"later {seed}")
    before = {name: graphs(chance, 0.5) for name in (S, T)}
    begin = max(found[-1].time for found in before.values()) + chance.choice([0, 1, 5 * SECOND])
    later = {
        name: [replace(element, time=begin + element.time) for element in graphs(chance, 0.5)]
        for name in (S, T)
    }
    text, holds = language(chance), chance.randint(1, 30)
    at_once = reports(text, holds, before, [later])
    for count in (2, 4, 9):
        assert reports(text, holds, before, cut(later, chance, count)) == at_once, text
