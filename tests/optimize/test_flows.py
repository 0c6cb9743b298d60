"""The order of joins by what was observed: it follows the sizes, and changes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.algebra.expressions import Call, Constant, Variable
from rheos.algebra.nodes import Filter, Join, LeftJoin, Node, StreamPattern, TableScan, TriplePattern, Values
from rheos.answers.continuous import QueryInfo
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.optimize.flows import Flow, Size, chain, is_new
from rheos.runtime.cqels.operator import CqelsBatch, CqelsFamily, CqelsOperator
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.plan import Registered
from rheos.runtime.state.store import Store
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.task import StaticData
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_batches import table
from tests.continuous.arrival_query import SECOND
from tests.continuous.arrival_reference import Timed


def pattern(text: str) -> TriplePattern:
    s, p, o = (Variable(term[1:]) if term[0] == "?" else Constant(f"<{term}>") for term in text.split())
    return TriplePattern(s, p, o)


def kept(name: str, *variables: str) -> TableScan:
    return TableScan(name, variables, frozenset(variables))


NEW = StreamPattern(1, pattern("?a p ?b"), "new")
ALL = StreamPattern(2, pattern("?c p ?b"), "all")
LEFT, RIGHT = kept("left", "a", "x"), kept("right", "b", "y")
APART = kept("apart", "z")


def order(node: Node) -> list[Node]:
    """The operands of the joins, from the inside out, without the filters between them."""
    match node:
        case Join(left, right):
            return [*order(left), right]
        case Filter(_, inner):
            return order(inner)
    return [node]


def ordered(node: Node, sizes: dict[Node, Size]) -> list[Node]:
    return order(Flow(sizes, {}).ordered(node))


def joined(*nodes: Node) -> Node:
    first, *others = nodes
    for other in others:
        first = Join(first, other)
    return first


def test_a_flow_begins_with_what_is_new_however_much_that_is() -> None:
    sizes = {NEW: Size(5000), ALL: Size(3), LEFT: Size(1)}
    assert ordered(joined(LEFT, ALL, NEW), sizes)[0] == NEW
    # Behind a filter it is new as well; what is behind an OPTIONAL is not.
    condition = Call("!=", (Variable("a"), Constant("<c>")))
    assert ordered(joined(LEFT, Filter(condition, NEW)), sizes)[0] == NEW
    assert is_new(Filter(condition, NEW))
    assert not is_new(LeftJoin(NEW, LEFT, None))


def test_the_operand_with_the_fewest_matches_is_next() -> None:
    values = {"a": 10.0, "b": 10.0, "c": 10.0}
    sizes = {NEW: Size(10, values), ALL: Size(200, values), LEFT: Size(50, values), RIGHT: Size(10, values)}
    whole = joined(NEW, ALL, LEFT, RIGHT)
    assert ordered(whole, sizes) == [NEW, RIGHT, LEFT, ALL]
    # The static table has grown, and what the window holds has gone.
    later = {**sizes, RIGHT: Size(5000, values), ALL: Size(2, values)}
    assert ordered(whole, later) == [NEW, ALL, LEFT, RIGHT]


def test_many_rows_with_many_values_match_few() -> None:
    sizes = {
        NEW: Size(10, {"a": 10.0, "b": 10.0}),
        LEFT: Size(10_000, {"a": 10_000.0, "x": 5.0}),  # one for each ?a
        RIGHT: Size(100, {"b": 5.0, "y": 100.0}),  # ten for each ?b that comes
    }
    assert ordered(joined(NEW, RIGHT, LEFT), sizes) == [NEW, LEFT, RIGHT]


def test_what_shares_nothing_comes_last() -> None:
    sizes = {NEW: Size(10), APART: Size(1), LEFT: Size(10_000, {"a": 2.0})}
    assert ordered(joined(APART, LEFT, NEW), sizes) == [NEW, LEFT, APART]


def test_what_is_bound_on_the_way_connects() -> None:
    far = kept("far", "y", "z")
    sizes = {NEW: Size(10), RIGHT: Size(10, {"b": 10.0}), far: Size(1), APART: Size(1)}
    assert ordered(joined(NEW, far, RIGHT), sizes) == [NEW, RIGHT, far]


def test_a_condition_waits_until_what_it_reads_is_bound() -> None:
    condition = Call("!=", (Variable("x"), Variable("b")))
    sizes = {NEW: Size(1), LEFT: Size(9, {"a": 9.0}), RIGHT: Size(100, {"b": 10.0})}
    whole = Filter(condition, joined(RIGHT, NEW, LEFT))
    assert chain(whole) == ([RIGHT, NEW, LEFT], [condition])
    assert Flow(sizes, {}).ordered(whole) == Join(Filter(condition, Join(NEW, LEFT)), RIGHT)


def test_joins_below_other_operators_are_ordered_by_themselves() -> None:
    inner = joined(LEFT, kept("more", "x"))
    sizes = {NEW: Size(1), LEFT: Size(9), kept("more", "x"): Size(2)}
    found = Flow(sizes, {}).ordered(LeftJoin(NEW, inner, None))
    assert found == LeftJoin(NEW, joined(kept("more", "x"), LEFT), None)


def test_rows_that_are_written_down_are_counted() -> None:
    few = Values((Variable("a"),), (("<u>",),))
    assert ordered(joined(NEW, LEFT, few), {NEW: Size(10), LEFT: Size(50, {"a": 5.0})}) == [NEW, few, LEFT]


def test_the_order_in_words() -> None:
    flow = Flow({NEW: Size(1200, {"a": 40.0, "b": 3.0}), LEFT: Size(500, {"a": 50.0}), APART: Size(2)}, {})
    flow.ordered(joined(LEFT, NEW, APART))
    assert str(flow).splitlines() == [
        "(stream 1 new (?a <p> ?b)): 1,200 rows",
        "  ⋈ (kept left (?a ?x)): by ?a, about 10 for each",
        "  ⋈ (kept apart (?z)): nothing shared, about 2 for each",
    ]


# --- from streams and data ------------------------------------------------------------------------------

QUERY = """PREFIX : <http://ex/> SELECT * {
  STREAM <s> [NOW] { ?who :at ?room }
  STREAM <s> [RANGE 10s] { ?other :at ?room }
  ?who :name ?name . GRAPH :plan { ?room :in ?floor } }"""


def elements(rooms: int, number: int) -> list[Timed]:
    """Different people, one in a second, in so many rooms."""
    return [
        (f"<http://ex/p{at}>", "<http://ex/at>", f"<http://ex/r{at % rooms}>", at * SECOND)
        for at in range(number)
    ]


@pytest.fixture
def graphs() -> StaticGraphs:
    graphs = StaticGraphs()
    graphs.load(
        data="".join(f"<http://ex/p{n}> <http://ex/name> '{n}' .\n" for n in range(100)), format="turtle"
    )
    return graphs


def flow_of(graphs: StaticGraphs, folder: Path, stream: list[Timed]) -> list[str]:
    """The steps of the flow from the new elements of the first window, each by what it reads."""
    query = translate_cqels(parse(QUERY, "cqels"), "q", "http://ex/", ())
    relatives = CqelsFamily.of([Registered(QueryInfo("q", "select"), CqelsOperator.of(query))])
    tables = StaticTables(graphs, Store(uri_of(folder)), lambda: Local(graphs))
    known = tables.up_to_date((relatives.constants, part) for part in relatives.prepared.parts)
    with graphs.connection.cursor() as cursor:
        StaticData(cursor).load(known, tables.store)
        sizes = {name: kept.size for name, kept in known.items()}
        batch = CqelsBatch(Database(cursor), {"<http://ex/s>": table(stream)}, sizes)
        flow = batch.novelty(relatives.prepared, NEVER, 10**9).flow
        for name in known:
            cursor.execute(f"DROP TABLE {name}")
    steps = []
    for line in flow.split("\n(")[0].splitlines():
        steps.append(
            next(word for word in ("?name", "?floor", "?other", "?who") if word in line.split(": ")[0])
        )
    return steps


def test_the_order_follows_the_window_and_the_static_data(graphs: StaticGraphs, tmp_path: Path) -> None:
    def load_floors(number: int) -> None:
        lines = "".join(f"<http://ex/r{n % 4}> <http://ex/in> <http://ex/f{n}> .\n" for n in range(number))
        graphs.load(data=lines, format="turtle", graph="http://ex/plan")

    load_floors(4)
    crowded, spread = elements(2, 40), elements(40, 40)
    # A room has one floor and a person one name, but all the others are in one of two rooms.
    assert flow_of(graphs, tmp_path, crowded)[0] == "?who"
    assert flow_of(graphs, tmp_path, crowded)[-1] == "?other"
    # Now every room has 25 floors, and nobody is where another was.
    load_floors(100)
    assert flow_of(graphs, tmp_path, spread)[-1] == "?floor"
    assert set(flow_of(graphs, tmp_path, spread)) == {"?who", "?name", "?floor", "?other"}
