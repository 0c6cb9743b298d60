"""STARTTIME, ENDTIME and DURATION: the interval of a row in both engines, and the SQL that filters by it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

import pytest

from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import BGP, Filter, Join, LeftJoin, TriplePattern
from rheos.algebra.variables import gives_number
from rheos.optimize.push_filters import push
from rheos.sql import expressions, ordering
from rheos.sql.context import Context
from rheos.sql.joins import Pair
from rheos.sql.patterns import Compiler
from rheos.sql.relation import Relation, select
from rheos.terms import XSD, literal
from tests.sql.cases import written
from tests.sql.evaluation import Evaluator, Row, expression

START, END, DURATION = (Call(name, ()) for name in ("STARTTIME", "ENDTIME", "DURATION"))
DAY = 86_400_000_000
STATIC = (2**62, -(2**62))
INTERVALS = [
    (0, 0),
    (1_500_000, 3_000_000),
    (-1, 10 * DAY - 1),
    (1_577_836_800_000_000, 1_577_836_800_000_000 + DAY + 7_200_000_000),
    (0, 31 * DAY),
    STATIC,
]


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


def duration(text: str, kind: str = "duration") -> Constant:
    return Constant(literal(text, XSD + kind))


def moment(text: str) -> Constant:
    return duration(text, "dateTime")


@pytest.fixture(params=["duckdb", "by_spark"])
def engine(request: pytest.FixtureRequest) -> Evaluator:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def row_of(engine: Evaluator, intervals: Sequence[tuple[int, int]] = INTERVALS) -> Row:
    columns = (
        f"({at}, CAST({start} AS BIGINT), CAST({end} AS BIGINT))" for at, (start, end) in enumerate(intervals)
    )
    source = f"(VALUES {', '.join(columns)}) AS solutions(place, starting, ending)"
    return Row(engine.dialect, source, frozenset(), interval=("starting", "ending"))


def terms(engine: Evaluator, *nodes: Expression) -> list[tuple[str, ...]]:
    row = row_of(engine)
    found = engine.run(row.select([expressions.term(node, row) for node in nodes], "ORDER BY place"))
    return [tuple(map(written, terms)) for terms in found]


def test_terms(engine: Evaluator) -> None:
    nodes = (
        START,
        END,
        DURATION,
        call("-", END, START),
        call("YEAR", START),
        call("+", END, duration("PT1S")),
    )
    shown = [[term.partition("^^")[0].strip('"') for term in row] for row in terms(engine, *nodes)]
    first = "1970-01-01T00:00:00Z"
    assert shown == [
        [first, first, "PT0S", "PT0S", "1970", "1970-01-01T00:00:01Z"],
        [
            "1970-01-01T00:00:01.5Z",
            "1970-01-01T00:00:03Z",
            "PT1.5S",
            "PT1.5S",
            "1970",
            "1970-01-01T00:00:04Z",
        ],
        [
            "1969-12-31T23:59:59.999999Z",
            "1970-01-10T23:59:59.999999Z",
            "P10D",
            "P10D",
            "1969",
            "1970-01-11T00:00:00.999999Z",
        ],
        ["2020-01-01T00:00:00Z", "2020-01-02T02:00:00Z", "P1DT2H", "P1DT2H", "2020", "2020-01-02T02:00:01Z"],
        [first, "1970-02-01T00:00:00Z", "P31D", "P31D", "1970", "1970-02-01T00:00:01Z"],
        ["-"] * 6,
    ]


def test_datatypes(engine: Evaluator) -> None:
    kinds = terms(engine, *(call("DATATYPE", node) for node in (START, END, DURATION)))[0]
    assert kinds == ("xsd:dateTime", "xsd:dateTime", "xsd:duration")


COMPARED: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
Taken = Callable[[int, int], int]
SIDES: list[tuple[Expression, Expression, Taken, Taken]] = [
    (DURATION, duration("P10D"), lambda s, e: e - s, lambda s, e: 10 * DAY),
    (duration("PT1.5S", "dayTimeDuration"), DURATION, lambda s, e: 1_500_000, lambda s, e: e - s),
    (DURATION, DURATION, lambda s, e: e - s, lambda s, e: e - s),
    (START, moment("1970-01-01T00:00:00Z"), lambda s, e: s, lambda s, e: 0),
    (moment("1970-01-01T01:00:03+01:00"), END, lambda s, e: 3_000_000, lambda s, e: e),
    (START, END, lambda s, e: s, lambda s, e: e),
    (call("-", END, START), DURATION, lambda s, e: e - s, lambda s, e: e - s),
]


def cases() -> Iterator[tuple[Expression, Callable[[int, int], bool]]]:
    for left, right, one, other in SIDES:
        for name, compared in COMPARED.items():
            yield (
                call(name, left, right),
                lambda s, e, one=one, other=other, compared=compared: compared(one(s, e), other(s, e)),
            )


def test_comparisons(engine: Evaluator) -> None:
    row = row_of(engine)
    tested = list(cases())
    columns = []
    for node, _ in tested:
        columns.append(expressions.condition(node, row))
        columns.append(f"COALESCE({expressions.condition(node, row, strict=False)}, FALSE)")
        columns.append(f"COALESCE({expressions.condition(call('!', node), row, strict=False)}, FALSE)")
    found = engine.run(row.select(columns, "ORDER BY place"))
    for values, interval in zip(found, INTERVALS, strict=True):
        for at, (node, expected) in enumerate(tested):
            must = None if interval == STATIC else expected(*interval)
            opposite = must is False
            assert values[3 * at : 3 * at + 3] == (must, bool(must), opposite), (node, interval)


def test_months(engine: Evaluator) -> None:
    """A month has 28 to 31 days."""
    row = row_of(engine, [(0, days * DAY) for days in (27, 28, 31, 32)] + [STATIC])
    nodes = [call(name, DURATION, duration("P1M")) for name in ("<", ">", "<=", ">=", "=", "!=")]
    found = engine.run(row.select([expressions.condition(node, row) for node in nodes], "ORDER BY place"))
    neither = (None, None, None, None, False, True)
    assert found == [
        (True, False, True, False, False, True),
        neither,
        neither,
        (False, True, False, True, False, True),
        (None,) * 6,
    ]


@pytest.mark.parametrize(
    ("node", "sql"),
    [
        (call("<", DURATION, duration("P10D")), "ending - starting < 864000000000 AND starting <= ending"),
        (call(">=", duration("PT1S"), DURATION), "1000000 >= ending - starting AND starting <= ending"),
        (call("=", DURATION, duration("PT0S")), "ending - starting = 0 AND starting <= ending"),
        (
            call("<", DURATION, duration("P1M")),
            "ending - starting < 2419200000000 AND starting <= ending",
        ),
        (call("<", START, moment("1970-01-01T00:00:01Z")), "starting < 1000000 AND starting <= ending"),
        (call("<", START, END), "starting < ending AND starting <= ending"),
    ],
)
def test_filters_are_plain_comparisons(duckdb: Evaluator, node: Expression, sql: str) -> None:
    assert expressions.condition(node, row_of(duckdb), strict=False) == sql


def test_without_intervals_there_is_an_error(duckdb: Evaluator) -> None:
    row = Row(duckdb.dialect, "(VALUES (1)) AS solutions(place)", frozenset())
    nodes = (START, END, DURATION, call("<", DURATION, duration("P1D")))
    [found] = duckdb.run(row.select([expressions.term(node, row) for node in nodes]))
    assert found == (None,) * 4


def test_order(duckdb: Evaluator) -> None:
    row = row_of(duckdb)
    for node in (DURATION, START, call("+", DURATION, duration("P1M"))):
        keys = ordering.keys(node, row, descending=False)
        order = ", ".join(f"{key} {direction}" for key, direction in keys)
        found = [place for [place] in duckdb.run(row.select(["place"], f"ORDER BY {order}, place"))]
        shortest = [5, 0, 1, 3, 2, 4]
        assert found == ([5, 2, 0, 4, 1, 3] if node == START else shortest)


# --- where the interval comes from ---------------------------------------------------------------


def relation(rows: Sequence[tuple[str, int, int]], *, occurs: bool = True) -> Relation:
    listed = ", ".join(
        f"('{name}', CAST({start} AS BIGINT), CAST({end} AS BIGINT))" for name, start, end in rows
    )
    names = "v_x, starting, ending" if occurs else "v_x, a, b"
    return Relation(
        f"SELECT * FROM (VALUES {listed}) AS solutions({names})", ("x",), frozenset("x"), occurs=occurs
    )


def test_rows_have_the_interval_of_their_relation(duckdb: Evaluator) -> None:
    compiler, context = Compiler(duckdb.dialect), Context(None)
    assert compiler.rows(relation([("a", 0, 1)]), context).interval == ("r_1.starting", "r_1.ending")
    assert compiler.rows(relation([("a", 0, 1)], occurs=False), context).interval is None


def test_a_condition_of_a_join_sees_the_interval_of_both_sides(engine: Evaluator) -> None:
    left = relation([("a", 0, 5), ("b", 0, 5), ("c", *STATIC), ("d", *STATIC)])
    right = relation([("a", 3, 9), ("b", 3, 11), ("c", 3, 9), ("d", *STATIC)])
    pair = Pair.of(left, right, Context(None), Compiler(engine.dialect))
    node = call("<", DURATION, duration("PT0.00001S"))
    conditions = [*pair.conditions(), expressions.condition(node, pair, strict=False)]
    source = pair.source("LEFT JOIN", conditions)
    found = engine.run(
        select([f"{pair.left_alias}.v_x", f"{pair.right_alias}.v_x"], source, tail="ORDER BY 1")
    )
    assert found == [("a", "a"), ("b", None), ("c", "c"), ("d", None)]
    one = Pair.of(relation([], occurs=False), right, Context(None), Compiler(engine.dialect))
    assert one.interval == ("r_1.starting", "r_1.ending")
    assert Pair.of(one.left, one.left, Context(None), Compiler(engine.dialect)).interval is None


# --- before SQL ----------------------------------------------------------------------------------


def test_a_filter_on_the_interval_stays_above_what_it_joins() -> None:
    patterns = [BGP((TriplePattern(Variable(name), Constant("<u:p>"), Variable("o")),)) for name in "ab"]
    short = call("<", DURATION, duration("P1D"))
    joined = Join(*patterns)
    assert push(Filter(short, joined)) == Filter(short, joined)
    assert push(LeftJoin(*patterns, short)) == LeftJoin(*patterns, short)
    assert push(Filter(short, LeftJoin(*patterns, None))) == Filter(short, LeftJoin(*patterns, None))


def test_sums_that_are_numbers() -> None:
    numbers = frozenset("n")
    for text in ("?n + ?x", "?x - 1", "-?n", "?x * ?y", "?x + STRLEN(?y)", "?x - ?y - 1"):
        assert gives_number(expression(text), numbers), text
    for text in (
        "?x - ?y",
        "-?x",
        "?x + 'PT1S'^^xsd:duration",
        "?x - '2020-01-01'^^xsd:date",
        "?x + ?y - ?z",
    ):
        assert not gives_number(expression(text), numbers), text
