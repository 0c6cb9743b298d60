"""The engine's evaluation of CQELS-QL against the reference, on random streams and queries cut at random."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from rheos.runtime.cqels import incremental
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from tests.continuous.arrival_batches import Worker, cuts, evaluated, registered, told, translated
from tests.continuous.arrival_cases import NODES, STREAMS, P, Q, V, case, elements, static
from tests.continuous.arrival_query import SECOND, Aggregate, All, Group, Query, Range, Static, Stream, text
from tests.continuous.arrival_reference import Case, answers
from tests.spread import spread


def compare(seed: int, folder: Path, graphs: StaticGraphs, *, changes: bool = False) -> None:
    check(case(seed, changes=changes), seed, folder, graphs)


def check(
    found: Case, seed: int, folder: Path, graphs: StaticGraphs, shards: int = 1, *, keeps: bool = False
) -> bool:
    """Compare with the reference. With several shards, False if the query cannot be sharded by a variable; if
    something is to be kept between batches, False if nothing can be."""
    query = registered(translated(found))
    if shards > 1 and query.operator.sharding.variable is None:
        return False
    if keeps and not query.operator.incremental:
        return False
    expected = [answer for answer in answers(found) if answer[1]]
    times = cuts(found, query, random.Random(seed))
    if times is None:
        assert expected == []
        return True
    worker = Worker(graphs, random.Random(seed)) if keeps else None
    given = evaluated([query], found, folder, graphs, times, shards, worker)["q"]
    if keeps:
        again = evaluated([query], found, folder, graphs, times)["q"]
        assert [answer.rows.to_pylist() for answer in given] == [answer.rows.to_pylist() for answer in again]
    assert [(at, sorted(rows)) for at, rows in told(query, given)] == expected, text(found.query)
    return True


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(10))
def test_agrees_with_all_combinations(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(40 * block, 40 * block + 40):
        compare(seed, tmp_path, graphs)


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(4, 1))
def test_static_data_that_changes(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        compare(seed, tmp_path, graphs, changes=True)


@pytest.mark.parametrize("block", spread(8, 2))
def test_what_is_kept_between_batches(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    kept = 0
    for seed in range(60 * block, 60 * block + 60):
        kept += check(case(20_000 + seed, changes=seed % 5 == 0), seed, tmp_path, graphs, keeps=True)
    assert kept > 5


COUNT = Aggregate("COUNT", "*", "?n")
TWO = (("?a", P, "?b"), ("?a", V, "?v"))
# What is kept of groups: of one pattern and of joins, of one window and of several, of those that end and one
# that does not, of numbers of all kinds, with and without keys.
KEPT = [
    ((Range, (("?a", P, "?b"),)), Query(Group(()), ("?a", COUNT), group_by=("?a",))),
    ((Range, (("?a", P, "?b"),)), Query(Group(()), (COUNT,))),
    ((Range, (("?a", P, "?b"),)), Query(Group(()), (COUNT,), group_by=("?b",), having=1)),
    ((Range, TWO), Query(Group(()), ("?b", COUNT, Aggregate("MAX", "?v", "?m")), group_by=("?b",))),
    ((Range, TWO), Query(Group(()), (Aggregate("SUM", "?v", "?n"), Aggregate("MIN", "?v", "?m")))),
    ((All, TWO), Query(Group(()), ("?b", Aggregate("SUM", "?v", "?n")), group_by=("?b",))),
    ((Range, TWO), Query(Group(()), ("?b", "?v"))),
    ((All, (("?a", P, "?b"), ("?b", P, "?a"))), Query(Group(()), ("?a", "?b"))),
]


@pytest.mark.parametrize("seed", spread(10, 3))
@pytest.mark.parametrize("number", range(len(KEPT)))
def test_groups_that_are_kept(number: int, seed: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    (kind, patterns), query = KEPT[number]
    chance = random.Random(f"kept {number} {seed}")
    window = All() if kind is All else Range(chance.choice([SECOND, 3 * SECOND, 10 * SECOND]))
    parts = [Stream(STREAMS[0], window, patterns)]
    if len(patterns) > 1 and chance.random() < 0.5:  # in windows of their own, on other streams too
        other = Range(chance.choice([SECOND // 2, SECOND, 5 * SECOND]))
        parts = [
            Stream(STREAMS[0], window, patterns[:1]),
            Stream(chance.choice(STREAMS), other, patterns[1:]),
        ]
    if chance.random() < 0.3:
        parts.append(Static("?a :s ?c ."))
    query = replace(query, where=Group(tuple(parts)))
    streams = {part.iri: elements(chance) for part in parts if isinstance(part, Stream)}
    found = Case(query, streams, static(chance))
    assert check(found, seed, tmp_path, graphs, keeps=True)


DOUBLES = [f'"{text}"^^<http://www.w3.org/2001/XMLSchema#double>' for text in ("0.1", "1e16", "-1e16", "3.7")]


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_doubles_are_the_same_with_what_is_kept(
    seed: int, graphs: StaticGraphs, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    times = sorted(chance.choices(range(0, 20 * SECOND, SECOND // 2), k=60))
    sums = tuple(Aggregate(name, "?v", f"?{name}") for name in ("SUM", "AVG"))
    query = Query(Group((Stream(STREAMS[0], Range(4 * SECOND), (("?a", V, "?v"),)),)), sums)
    streams = {STREAMS[0]: [(chance.choice(NODES), V, chance.choice(DOUBLES), time) for time in times]}
    found = registered(translated(Case(query, streams, [])))
    at = [NEVER, *sorted(chance.sample(range(1, 20), 6)), 20]
    spans = [time if time == NEVER else time * SECOND for time in at]
    given = [
        evaluated([found], Case(query, streams, []), tmp_path, graphs, spans, 1, worker)["q"]
        for worker in (None, Worker(graphs, chance))
    ]
    whole, kept = ([answer.rows.to_pylist() for answer in answers] for answers in given)
    assert whole == kept != []


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_what_is_kept_are_written_anew(
    seed: int, graphs: StaticGraphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incremental, "LEAST_GROWTH", 2)
    monkeypatch.setattr(incremental, "PANES", 3)
    test_groups_that_are_kept(seed % 4, 100 + seed, graphs, tmp_path)


WINDOW = Stream(STREAMS[0], Range(SECOND), (("?a", P, "?b"),))
INNER = Query(Group((WINDOW,)), ("?a",))


@pytest.mark.parametrize(
    "query",
    [
        # What goes and comes at a tick is not new in the answer of a sub-select, even if that is all.
        Query(Group((INNER,)), ("?a",)),
        Query(Group((INNER,)), ("?a",), order_by=("?a",)),
        Query(Group((Group((INNER,)),)), ("?a", "?b")),
        # Its other variables cannot be seen.
        Query(Group((INNER,)), template=(("?a", P, "?b"), ("?a", P, NODES[0]))),
        Query(Group((WINDOW,)), ("?unbound", "?a")),
        Query(Group((WINDOW, Static("?b :s ?c ."))), ("?unbound", "?a"), distinct=True),
        Query(Group((WINDOW,)), template=(("?a", P, "?unbound"), ("?b", P, "?a"))),
    ],
)
def test_what_a_query_shows(query: Query, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(3):
        chance = random.Random(seed)
        streams = {STREAMS[0]: elements(chance)}
        check(Case(query, streams, static(chance)), seed, tmp_path, graphs)


def test_windows_that_move_at_the_same_time_do_so_at_one_tick(graphs: StaticGraphs, tmp_path: Path) -> None:
    """At 6 s one window gets the second element, and another loses the first: they never met."""
    first = Stream(STREAMS[0], Range(2 * SECOND, 3 * SECOND), (("?b", P, "?c"),))
    second = Stream(STREAMS[0], Range(2 * SECOND, 2 * SECOND), (("?a", Q, "?b"),))
    one, two, three = NODES
    elements = [(two, P, one, 2 * SECOND), (three, Q, two, 9 * SECOND // 2)]
    found = Case(Query(Group((second, first))), {STREAMS[0]: elements}, [])
    assert answers(found) == []
    check(found, 0, tmp_path, graphs)
