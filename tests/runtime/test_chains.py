"""Derived streams: what their readers report does not depend on where batches are cut."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from tests.runtime.batches import Batches, Line
from tests.runtime.streams import Element
from tests.spread import spread

S, T = "http://ex/s", "http://ex/t"
PREFIX = "PREFIX : <http://ex/>"


def cut(elements: Sequence[Element], sizes: Sequence[int]) -> list[dict[str, list[Element]]]:
    left, found = list(elements), []
    for size in sizes:
        found.append({S: left[:size]})
        del left[:size]
    return [*found, {S: left}]


def at(found: Sequence[Line], query: str) -> list[str]:
    return [time[14:19] for name, time, _ in found if name == query]


@pytest.mark.parametrize("sizes", [[], [1, 1, 1], [2], [3], [1, 2], [0, 1, 0, 2]])
def test_a_derived_stream_is_complete_as_far_as_its_maker_was_evaluated(sizes: list[int]) -> None:
    elements: list[Element] = [
        ("a", "p", "b", 1),
        ("a", "q", "b", 4),
        ("a", "q", "b", 7),
        ("a", "q", "b", 20),
    ]
    texts = [
        f"REGISTER STREAM d AS {PREFIX} CONSTRUCT {{ ?a :d ?b }} FROM STREAM <{S}> [RANGE 1s STEP 1s]"
        " WHERE { ?a :p ?b }",
        f"REGISTER QUERY r AS {PREFIX} SELECT ?a FROM STREAM <http://ex/d> [RANGE 10s STEP 1s]"
        " WHERE { ?a :d ?b }",
    ]
    found = Batches([S], texts).run(cut(elements, sizes))
    # The element of 00:01 is in the window of ten seconds until 00:10, and the maker was evaluated to 00:20.
    assert at(found, "r") == [f"00:{second:02}" for second in range(1, 11)]


def window(chance: random.Random) -> str:
    if chance.random() < 0.25:
        return f"[RANGE TRIPLES {chance.randint(1, 4)} STEP {chance.randint(1, 3)}]"
    return f"[RANGE {chance.randint(1, 12)}s STEP {chance.randint(1, 5)}s]"


def maker(name: str, reads: Sequence[str], predicate: str, chance: random.Random) -> str:
    every = chance.choice(["", "", "COMPUTED EVERY 3s "])
    clauses = " ".join(f"FROM STREAM <{stream}> {window(chance)}" for stream in reads)
    where = chance.choice(["{ ?a :p ?b }", "{ ?a ?p ?b }", "{ ?a :q ?b OPTIONAL { ?b :p ?c } }"])
    construct = f"CONSTRUCT {{ ?a :{predicate} ?b }}"
    return f"REGISTER STREAM {name} {every}AS {PREFIX} {construct} {clauses} WHERE {where}"


def reader(name: str, reads: Sequence[str], chance: random.Random) -> str:
    kind = chance.choice(["csparql", "csparql", "cqels", "epsparql"])
    if kind == "cqels":
        clauses = " ".join(f"STREAM <{stream}> [RANGE {chance.randint(1, 9)}s] {{ ?a ?p{n} ?b{n} }}"
                           for n, stream in enumerate(reads))  # fmt: skip
        return f"REGISTER QUERY {name} AS {PREFIX} SELECT * WHERE {{ {clauses} }}"
    if kind == "epsparql":
        clauses = " ".join(f"FROM STREAM <{stream}>" for stream in reads)
        where = '{ ?a ?p ?b } SEQ { ?a ?q ?c } FILTER(getDURATION() < "PT6S"^^xsd:duration)'
        xsd = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
        return f"REGISTER QUERY {name} AS {PREFIX} {xsd} SELECT ?a ?b ?c {clauses} WHERE {{ {where} }}"
    clauses = " ".join(f"FROM STREAM <{stream}> {window(chance)}" for stream in reads)
    head = chance.choice(["SELECT ?a ?b", "SELECT (COUNT(*) AS ?n)"])
    return f"REGISTER QUERY {name} AS {PREFIX} {head} {clauses} WHERE {{ ?a ?p ?b }}"


def in_batches(
    streams: Mapping[str, Sequence[Element]], chance: random.Random, count: int
) -> list[dict[str, list[Element]]]:
    """The elements of the streams in so many batches, each stream cut, and ending, where chance wants it."""
    found: list[dict[str, list[Element]]] = [{} for _ in range(count)]
    for name, elements in streams.items():
        ends = chance.randint(1, count)
        places = sorted(chance.randint(0, len(elements)) for _ in range(ends - 1))
        for number, (start, end) in enumerate(zip([0, *places], [*places, len(elements)], strict=True)):
            found[number][name] = list(elements[start:end])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", spread(120, 30))
def test_random_chains_of_three_queries(seed: int) -> None:
    chance = random.Random(seed)
    streams: dict[str, list[Element]] = {}
    for name in (S, T):
        clock, elements = 0.0, list[Element]()
        for _ in range(chance.randint(0, 14)):
            clock += chance.choice([0, 0.5, 1, 1, 2, 9])
            s, p, o = (chance.choice(of) for of in ("abc", "pq", "abc"))
            elements.append((s, p, o, clock))
        streams[name] = elements
    also = chance.choice([[], [T]])
    texts = [
        maker("first", [S, *also], "p", chance),
        maker("second", ["http://ex/first", *chance.choice([[], [T]])], "q", chance),
        reader("last", ["http://ex/second", *chance.choice([[], [S], ["http://ex/first"]])], chance),
    ]
    at_once = Batches([S, T], texts).run(in_batches(streams, chance, 1))
    for count in (2, 5, 12):
        found = Batches([S, T], texts).run(in_batches(streams, chance, count))
        assert sorted(found) == sorted(at_once), "\n".join(texts)
