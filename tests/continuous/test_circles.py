"""Rules that look for the absence of what they derive, and sequences that nothing interrupts, against the
reference: every way in which a circle of rules is evaluated, on random streams cut at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from rheos.algebra.nodes import Node, SeqJoin
from rheos.algebra.rewrite import below
from rheos.optimize.uninterrupted import uninterrupted
from rheos.runtime.epsparql import circle
from rheos.runtime.epsparql.circle import Fixpoint, Rule, Share, Way, united, way
from rheos.runtime.epsparql.operator import EPSparqlBatch, EPSparqlOperator, present
from rheos.runtime.epsparql.shares import shared_places
from rheos.runtime.plan import components, is_circle
from rheos.runtime.worker.database import Database
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from tests.continuous.arrival_cases import P, Q, V
from tests.continuous.arrival_query import Bind, Filter, Group, Pattern
from tests.continuous.event_algebra import TooLarge
from tests.continuous.event_cases import STREAMS, M, N, events, goes_on, plus_one, simple
from tests.continuous.event_query import DURATION, Chain, Query, Triples, duration_term, text
from tests.continuous.event_reference import Case, answers
from tests.continuous.expressions import SECOND, And, Bound, Compare, Expression, Not
from tests.continuous.test_detecting import evaluated, registered, table
from tests.spread import spread


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


def one(*patterns: Pattern) -> Group:
    return Group((Triples(patterns),))


def nothing_between(
    first: Group, between: Group, last: Group, absent: str, limit: int | None = None, *more: Bind
) -> Group:
    """The sequence of the first and the last, if nothing comes between."""
    both = Chain(
        (first, last, Group((Chain((first, between, last), ("SEQ", "SEQ")),))), ("SEQ", "EQUALSOPTIONAL")
    )
    condition: Expression = Not(Bound(absent))
    if limit is not None:
        condition = And(condition, Compare(DURATION, "<", duration_term(limit)))
    return Group((both, *more, Filter(condition)))


def check(case: Case, seed: int, folder: Path, graphs: StaticGraphs) -> list[Way]:
    """Compare the last query in batches with the reference; the ways in which circles were evaluated."""
    chance = random.Random(seed)
    queries = registered(case)
    ends = case.ends or [0]
    inner = {chance.randint(ends[0] - 1, ends[-1]) for _ in range(chance.randrange(4))}
    shown = "\n".join(map(text, case.queries))
    cuts = sorted({NEVER, ends[-1], *inner})
    assert evaluated(case, queries, folder, graphs, cuts) == sorted(answers(case)), shown
    circles = [together for together in components(queries) if is_circle(together)]
    return [
        way([Rule(q.name, q.operator, q.derived, 0, {}) for q in rules], frozenset()) for rules in circles
    ]


def drawn(chance: random.Random, queries: Sequence[Query]) -> Case:
    return Case(queries, {STREAMS[0]: events(chance, 14, "chain")})


# --- sequences that nothing interrupts --------------------------------------------------------------------

FIRST: list[tuple[Pattern, ...]] = [
    (("?a", P, "?b"),),
    (("?a", P, "?b"), ("?b", Q, "?d")),
    (("?e", V, "?i"),),
]
BETWEEN: list[Pattern] = [("?a", P, "?x"), ("?y", P, "?x"), ("?c", Q, "?x"), ("?a", V, "?x"), ("?x", Q, "?c")]
LAST: list[tuple[Pattern, ...]] = [(("?a", P, "?c"),), (("?a", Q, "?c"),), (("?a", Q, "?c"), ("?c", P, "?f"))]


def has_between(node: Node) -> bool:
    return (isinstance(node, SeqJoin) and node.between is not None) or any(map(has_between, below(node)))


@pytest.mark.parametrize("block", spread(4, 1))
def test_nothing_comes_between(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    simpler, said = 0, 0
    for seed in range(40 * block, 40 * block + 40):
        chance = random.Random(f"between {seed}")
        limit = chance.choice([None, SECOND, 3 * SECOND, 9 * SECOND])
        parts = chance.choice(FIRST), (chance.choice(BETWEEN),), chance.choice(LAST)
        case = drawn(chance, [Query(nothing_between(*(one(*part) for part in parts), "?x", limit))])
        try:
            check(case, seed, tmp_path, graphs)
        except TooLarge:
            continue
        detection = registered(case)[0].operator
        assert isinstance(detection, EPSparqlOperator)
        every = frozenset(range(1, len(detection.patterns) + 1))
        simpler += has_between(uninterrupted(present(detection.pattern, every, frozenset())))
        said += bool(answers(case))
    assert simpler > 25
    assert said > 5


# --- circles ----------------------------------------------------------------------------------------------


def circles(chance: random.Random) -> dict[Way, list[Query]]:
    """Rules for each of the ways."""
    begins = simple(("?a", P, "?b"), ("?a", M, "?b"))
    limit = chance.choice([2 * SECOND, 4 * SECOND, 9 * SECOND])
    onward = nothing_between(one(("?a", M, "?b")), one(("?b", Q, "?x")), one(("?b", P, "?c")), "?x", limit)
    first = goes_on("OPTIONALSEQ", ("?a", M, "?c"), ("?a", Q, "?b"), Not(Bound("?c")))
    counted = nothing_between(
        one(("?e", N, "?i")),
        one(("?y", P, "?x")),
        one(("?a", P, "?b")),
        "?x",
        limit,
        Bind(plus_one("?i"), "?j"),
    )
    turns = [
        Query(goes_on("EQUALS", ("?a", M, "?b"), ("?b", P, "?c"), None), template=(("?a", N, "?c"),)),
        Query(goes_on("EQUALS", ("?a", N, "?b"), ("?b", Q, "?c"), None), template=(("?a", M, "?c"),)),
    ]
    return {
        "at once": [simple(("?a", V, "?i"), ("_:e", N, "?i")), Query(counted, template=(("_:e", N, "?j"),))],
        "on trial": chance.choice(
            [
                [begins, Query(onward, template=(("?a", M, "?c"),))],
                [Query(first, template=(("?a", M, "?b"),))],
            ]
        ),
        "end by end": [Query(first, template=(("?a", M, "?b"),)), *turns],
    }


READERS = [("?a", M, "?b"), ("?a", N, "?b")]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["at once", "on trial", "end by end"])
def test_every_way_to_a_fixpoint(chosen: Way, graphs: StaticGraphs, tmp_path: Path) -> None:
    said = 0
    for seed in range(30):
        chance = random.Random(f"circles {seed}")
        rules = circles(chance)[chosen]
        case = drawn(chance, [*rules, Query(one(READERS[1] if chosen == "at once" else READERS[0]))])
        try:
            assert check(case, seed, tmp_path, graphs) == [chosen]
        except TooLarge:
            continue
        said += bool(answers(case))
    assert said > 15


def test_a_mistake_is_noticed(graphs: StaticGraphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many, only the first of each is derived: on trial all are at first."""
    mistakes = []

    class Noticed(circle.Mistaken):
        def __init__(self, end: int) -> None:
            super().__init__(end)
            mistakes.append(end)

    monkeypatch.setattr(circle, "Mistaken", Noticed)
    first = goes_on("OPTIONALSEQ", ("?a", M, "?c"), ("?a", Q, "?b"), Not(Bound("?c")))
    happens = [("<http://ex/a>", Q, f"<http://ex/b{n}>", n * SECOND, n * SECOND) for n in range(20)]
    case = Case(
        [replace(Query(first), template=(("?a", M, "?b"),)), Query(one(("?a", M, "?b")))],
        {STREAMS[0]: happens},
    )
    assert check(case, 0, tmp_path, graphs) == ["on trial"]
    assert mistakes
    assert len(answers(case)) == 1


def detections(*queries: Query) -> list[EPSparqlOperator]:
    found = [query.operator for query in registered(Case(queries, {STREAMS[0]: []}))]
    return [evaluation for evaluation in found if isinstance(evaluation, EPSparqlOperator)]


OF_ONE = Query(goes_on("SEQ", ("?a", M, "?b"), ("?a", Q, "?c"), None), template=(("?a", M, "?c"),))
ALONG = Query(goes_on("SEQ", ("?a", M, "?b"), ("?b", P, "?c"), None), template=(("?a", M, "?c"),))
THERE = Query(goes_on("SEQ", ("?a", M, "?b"), ("?c", Q, "?a"), None), template=(("?b", N, "?a"),))
BACK = Query(goes_on("SEQ", ("?b", N, "?c"), ("?c", P, "?d"), None), template=(("?c", M, "?d"),))
HIDDEN = Query(
    Group((replace(OF_ONE, template=(), select=("?c",)), *one(("?a", Q, "?e")).elements)),
    template=OF_ONE.template,
)


def test_by_what_rules_can_be_shared_out() -> None:
    assert shared_places(detections(OF_ONE)) == ((0, 0),)
    assert shared_places(detections(ALONG)) is None  # where it came from is not where it goes on
    assert shared_places(detections(THERE, BACK)) == ((0, 2), (2, 0))
    assert shared_places(detections(OF_ONE, BACK)) == ((0, 0), (2, 0))
    assert shared_places(detections(OF_ONE, THERE, BACK)) == ((0, 0), (0, 2), (2, 0))
    assert shared_places(detections(OF_ONE, replace(BACK, template=(("?d", M, "?c"),)))) is None
    assert shared_places(detections(HIDDEN)) is None


@pytest.mark.parametrize("rules", [[OF_ONE], [THERE, BACK]])
def test_shares_come_to_the_same(rules: list[Query]) -> None:
    derived = 0
    for seed in range(10):
        chance = random.Random(f"shares {seed}")
        happens = [
            (s, M if chance.random() < 0.3 else p, *rest) for s, p, *rest in events(chance, 24, "chain")
        ]
        queries = registered(Case(rules, {STREAMS[0]: happens}))
        live = {STREAMS[0]: table(happens)} | {query.derived or "": table([]) for query in queries}
        found = [Rule(q.name, q.operator, q.derived or "", NEVER, {}) for q in queries]  # type: ignore[arg-type]
        places = shared_places([rule.detection for rule in found])
        assert places is not None
        with duckdb.connect() as connection:
            place = Database(connection)
            parts = [
                Fixpoint(EPSparqlBatch(place, live), place, found, 10**9, share).derived()
                for share in (None, *(Share(number, 3, places) for number in range(3)))
            ]
        whole, *shares = parts
        assert {n: rows.to_pylist() for n, rows in united(shares).solutions.items()} == {
            n: rows.to_pylist() for n, rows in whole.solutions.items()
        }
        derived += sum(map(len, whole.solutions.values()))
    assert derived > 20


def test_what_is_endless_keeps_what_ended_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circle, "MOST_ROUNDS", 20)
    groups = one(("?e", M, "?x")), one(("?x", Q, "?y")), one(("?z", P, "?x"))
    rule = Query(Group((Chain(groups, ("EQUALS", "UNION")),)), template=(("_:e", M, "?x"),))
    a, b, c = (f"<http://ex/{name}>" for name in "abc")
    happens = [(a, P, b, 1, 1), (a, P, b, 9, 9), (b, Q, c, 9, 9), (a, P, c, 20, 20)]
    (query,) = registered(Case([rule], {STREAMS[0]: happens}))
    assert isinstance(query.operator, EPSparqlOperator)
    assert query.derived is not None
    live = {STREAMS[0]: table(happens), query.derived: table([])}
    with duckdb.connect() as connection:
        place = Database(connection)
        rules = [Rule(query.name, query.operator, query.derived, NEVER, {})]
        found = Fixpoint(EPSparqlBatch(place, live), place, rules, 20).derived()
    assert found.solutions[query.name].column("ending").to_pylist() == [1]
    assert found.failure is not None
    assert "the rule q0 derives more and more" in found.failure
