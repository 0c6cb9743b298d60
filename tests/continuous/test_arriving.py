"""The engine's evaluation of CQELS-QL against the reference, on random streams and queries cut at random."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rheos.store.graphs import StaticGraphs
from tests.continuous.arrival_batches import cuts, evaluated, registered, told, translated
from tests.continuous.arrival_cases import NODES, STREAMS, P, Q, case, elements, static
from tests.continuous.arrival_query import SECOND, Group, Query, Range, Static, Stream, text
from tests.continuous.arrival_reference import Case, answers
from tests.spread import spread


def compare(seed: int, folder: Path, graphs: StaticGraphs, *, changes: bool = False) -> None:
    check(case(seed, changes=changes), seed, folder, graphs)


def check(found: Case, seed: int, folder: Path, graphs: StaticGraphs, shards: int = 1) -> bool:
    """Compare with the reference. With several shards, False if the query cannot be sharded by a variable."""
    query = registered(translated(found))
    if shards > 1 and query.operator.sharding.variable is None:
        return False
    expected = [answer for answer in answers(found) if answer[1]]
    times = cuts(found, query, random.Random(seed))
    if times is None:
        assert expected == []
        return True
    given = evaluated([query], found, folder, graphs, times, shards)["q"]
    assert [(at, sorted(rows)) for at, rows in told(query, given)] == expected, text(found.query)
    return True


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.parametrize("block", spread(10))
def test_agrees_with_all_combinations(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(40 * block, 40 * block + 40):
        compare(seed, tmp_path, graphs)


@pytest.mark.parametrize("block", spread(4, 1))
def test_static_data_that_changes(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        compare(seed, tmp_path, graphs, changes=True)


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
