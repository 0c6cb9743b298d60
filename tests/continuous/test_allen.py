"""Allen's relations on all pairs of small intervals, and what they cost."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from rheos.store.graphs import StaticGraphs
from tests.continuous.arrival_cases import P, Q
from tests.continuous.arrival_query import Group
from tests.continuous.conditions import iri
from tests.continuous.event_cases import STREAMS
from tests.continuous.event_query import ALLEN, Chain, Query, Triples
from tests.continuous.event_reference import Case, Event, answers
from tests.continuous.test_detecting import check, evaluated, registered

# By the definitions, between [a, b] and [c, d]; the thirteenth is EQUALS.
DEFINITIONS = {
    "BEFORE": "b < c",
    "AFTER": "d < a",
    "MEETS": "b == c and a < b and c < d",
    "MET BY": "d == a and c < d and a < b",
    "OVERLAPS": "a < c < b < d",
    "OVERLAPPED BY": "c < a < d < b",
    "STARTS": "a == c and b < d",
    "STARTED BY": "a == c and d < b",
    "DURING": "c < a and b < d",
    "CONTAINS": "a < c and d < b",
    "FINISHES": "b == d and c < a",
    "FINISHED BY": "b == d and a < c",
    "EQUALS": "a == c and b == d",
}
INTERVALS = [(start, end) for start in range(5) for end in range(start, 5)]


def related(operator: str, *, shared: bool) -> Query:
    other = "?x" if shared else "?y"
    groups = (Group((Triples((("?x", P, "?a"),)),)), Group((Triples(((other, Q, "?b"),)),)))
    return Query(Group((Chain(groups, (operator,)),)))


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "shared"])
@pytest.mark.parametrize("operator", DEFINITIONS)
def test_all_pairs_of_small_intervals(
    operator: str, shared: bool, graphs: StaticGraphs, tmp_path: Path
) -> None:
    one = iri("x")
    events: list[Event] = [(one, p, iri(f"i{s}{e}"), s, e) for p in (P, Q) for s, e in INTERVALS]
    case = Case([related(operator, shared=shared)], {STREAMS[0]: events})
    expected = sorted(
        (max(b, d), min(a, c))
        for (a, b), (c, d) in itertools.product(INTERVALS, repeat=2)
        if eval(DEFINITIONS[operator], {}, {"a": a, "b": b, "c": c, "d": d})
    )
    assert [(end, start) for end, start, _ in answers(case)] == expected
    for seed in range(3):  # other cuts
        check(case, seed, tmp_path, graphs)


@pytest.mark.parametrize("operator", ["MEETS", "OVERLAPS", "STARTS", "DURING", "FINISHES"])
def test_is_not_quadratic(operator: str, graphs: StaticGraphs, tmp_path: Path) -> None:
    """Of 20,000 intervals of one subject on each side few are so related: all pairs would take minutes."""
    chance = random.Random(1)
    events = []
    for predicate, number in itertools.product((P, Q), range(20_000)):
        start = chance.randrange(10**9)
        events.append((iri("x"), predicate, iri(f"n{number}"), start, start + chance.randrange(10_000)))
    case = Case([related(operator, shared=True)], {STREAMS[0]: events})
    until = max(end for *_, end in events)
    began = time.monotonic()
    evaluated(case, registered(case), tmp_path, graphs, [-1, until])
    assert time.monotonic() - began < 30


def test_there_are_thirteen() -> None:
    assert {*ALLEN, "EQUALS"} == set(DEFINITIONS)
