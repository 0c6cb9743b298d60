"""Aggregates of rows that hold for intervals: collected in parts, and from the rows of each instant.

Both ways are the compiler's own; the second is tested against the recommendation elsewhere. Intervals
are random: they touch, overlap and lie in each other, as those of joined windows do.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.algebra.nodes import LeftJoin, Node, Select
from rheos.algebra.translate import translate
from rheos.sql import macros
from rheos.sql.context import Context
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.patterns import Compiler
from rheos.sql.relation import Relation
from rheos.sql.spark import SPARK
from rheos.sql.validity import ALWAYS, at_every_instant, spread
from rheos.syntax import parse
from rheos.terms import XSD, literal
from tests.sql.evaluation import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[str | None, str, str | None, int, int]
Found = Counter[tuple[object, ...]]

COLUMNS = ("v_k", "v_y", "v_x", "valid_from", "valid_until")
PATTERN = "{ ?k :p ?y OPTIONAL { ?y :q ?x } }"

INTEGERS = [literal(text, XSD + "integer") for text in ("1", "2", "-3", "40000000000", "9007199254740993")]
DECIMALS = [literal(text, XSD + "decimal") for text in ("0.5", "1.0", "-2.25", "12345678901.5")]
# Their sums are exact, in whatever order they are added.
DOUBLES = [literal(text, XSD + "double") for text in ("5.0E-1", "1.0E0", "-2.25E0", "NaN")]
FLOATS = [literal(text, XSD + "float") for text in ("0.25", "1")]
OTHERS = [
    literal("text"),
    literal("Text"),
    '"chat"@fr',
    literal("true", XSD + "boolean"),
    literal("2020-01-02T00:00:00Z", XSD + "dateTime"),
    literal("no number", XSD + "integer"),
    "<http://ex/a>",
    "<http://ex/b>",
]
# What the values of a group are: most groups have no errors, or all would give nothing.
KINDS: list[list[str | None]] = [
    [*INTEGERS],
    [*INTEGERS, *DECIMALS],
    [*DECIMALS, *DOUBLES, *FLOATS],
    [*INTEGERS, *FLOATS],
    [*OTHERS],
    [*INTEGERS, *OTHERS],
    [*DECIMALS, None],
    [None],
]

FUNCTIONS = ["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"]
AGGREGATES = [
    "COUNT(*)",
    "COUNT(DISTINCT *)",
    *(f"{function}({distinct}?x)" for function in FUNCTIONS for distinct in ("", "DISTINCT ")),
    "SUM(?x + 1)",
    "AVG(?x * 0.5)",
    "MIN(STRLEN(STR(?x)))",
    "MAX(?x > 1)",
    "COUNT(DISTINCT DATATYPE(?x))",
    "SUM(IF(BOUND(?x), 1, 0.5))",
    "GROUP_CONCAT(DISTINCT ?y; SEPARATOR = ', ')",
]


@dataclass
class Given(Compiler):
    """A compiler for which the only join of a query is a table of rows with intervals, `given`."""

    spread_first: bool = False

    def relation(self, node: Node, context: Context) -> Relation:
        if not isinstance(node, LeftJoin):
            return super().relation(node, context)
        for name in ("k", "y", "x"):
            assert self.column(name) == f"v_{name}"
        given = Relation(
            f"SELECT {', '.join(COLUMNS)} FROM given", ("k", "y", "x"), frozenset("y"), valid=True
        )
        return spread(given, self) if self.spread_first else given


def statement(query: str, dialect: Dialect, *, spread_first: bool) -> str:
    if "AGGREGATE" in query:
        register = f"REGISTER QUERY q AS {PREFIXES} {query}"
        form = translate_csparql(parse(register, "csparql"), "q").query.form
    else:
        form = translate(parse(PREFIXES + query)).form
    assert isinstance(form, Select)
    compiler = Given(dialect, spread_first=spread_first)
    relation = at_every_instant(compiler.node(form.pattern, Context(None)), compiler)
    columns = ", ".join(["instant", *map(compiler.column, form.variables)])
    return f"SELECT {columns} FROM ({relation.sql}) AS answers"


def make_rows(chance: random.Random) -> list[Row]:
    kinds = {key: chance.choice(KINDS) for key in ("<k:1>", "<k:2>", "<k:3>", "<k:4>", "<k:5>", None)}
    rows: list[Row] = []
    for number in range(chance.randrange(100)):
        key = chance.choice(list(kinds))
        begin = chance.randrange(20)
        interval = (begin, begin + chance.randrange(1, 10))
        if chance.random() < 0.1:
            interval = (int(ALWAYS[0]), int(ALWAYS[1]))
        rows.append((key, f"<y:{number % 7}>", chance.choice(kinds[key]), *interval))
    return rows


def table(rows: list[Row]) -> pa.Table:
    types = [pa.string()] * 3 + [pa.int64()] * 2
    columns = zip(*rows, strict=True) if rows else [()] * 5
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=list(COLUMNS))


def instants(chance: random.Random) -> pa.Table:
    """Every other number, with gaps: an instant at which nothing holds is one, or not."""
    chosen = [number for number in range(0, 30, 2) if chance.random() < 0.8]
    return pa.table({"instant": pa.array(chosen, pa.int64())})


def in_duckdb(query: str, rows: list[Row], times: pa.Table, *, spread_first: bool) -> Found:
    with duckdb.connect() as connection:
        macros.define(connection)
        connection.register("given", table(rows))
        connection.register("instants", times)
        sql = statement(query, DUCKDB, spread_first=spread_first)
        return Counter(connection.execute(sql).fetchall())


def check(query: str, chance: random.Random) -> Found:
    """What comes of a query, which is the same whether its rows are spread first or grouped first."""
    rows, times = make_rows(chance), instants(chance)
    found = in_duckdb(query, rows, times, spread_first=False)
    assert found == in_duckdb(query, rows, times, spread_first=True)
    return found


def listed(aggregates: list[str]) -> str:
    return " ".join(f"({aggregate} AS ?r{number})" for number, aggregate in enumerate(aggregates))


@pytest.mark.parametrize("by", ["?k", "", "?y"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_one_aggregate(aggregate: str, by: str) -> None:
    chance = random.Random(f"{aggregate}{by}")
    query = f"SELECT {by} ({aggregate} AS ?r) {PATTERN} {f'GROUP BY {by}' if by else ''}"
    for _ in range(2):
        check(query, chance)


@pytest.mark.parametrize("seed", range(8))
def test_several_aggregates(seed: int) -> None:
    chance = random.Random(seed)
    chosen = chance.sample(AGGREGATES, 5)
    having = "HAVING (COUNT(DISTINCT ?x) > 1 && SUM(?x) < 1000)" if seed % 2 else ""
    query = f"SELECT ?k {listed(chosen)} {PATTERN} GROUP BY ?k {having}"
    check(query, chance)


@pytest.mark.parametrize("seed", range(3))
def test_distinct(seed: int) -> None:
    found = check(f"SELECT DISTINCT ?k ?x {PATTERN}", random.Random(seed))
    assert set(found.values()) == {1}


@pytest.mark.parametrize("seed", range(3))
def test_aggregates_beside_rows(seed: int) -> None:
    """The AGGREGATE clause of C-SPARQL: every row has what its group collects."""
    chance = random.Random(seed)
    rows, times = make_rows(chance), instants(chance)
    window = "FROM STREAM <http://ex/s> [RANGE 10s STEP 1s]"
    clause = "AGGREGATE {(?n, COUNT, {?k}) FILTER(?n > 1)} AGGREGATE {(?most, MAX(?x), {?k, ?y})}"
    query = f"SELECT ?k ?y ?x ?n ?most {window} WHERE {PATTERN} {clause}"
    found = in_duckdb(query, rows, times, spread_first=False)
    assert found == in_duckdb(query, rows, times, spread_first=True)
    sizes = Counter((instant, key) for instant, key, *_ in found.elements())
    assert all(row[4] == literal(str(sizes[row[0], row[1]]), XSD + "integer") for row in found)


def test_no_rows_are_a_group_at_every_instant() -> None:
    times = pa.table({"instant": pa.array([2, 4, 6], pa.int64())})
    rows: list[Row] = [("<k:1>", "<y:1>", INTEGERS[1], 3, 5)]
    found = in_duckdb(f"SELECT {listed(['COUNT(*)', 'SUM(?x)', 'MAX(?x)'])} {PATTERN}", rows, times,
                      spread_first=False)  # fmt: skip
    none = literal("0", XSD + "integer")
    one, two = INTEGERS[0], INTEGERS[1]
    assert found == Counter([(2, none, none, None), (4, one, two, two), (6, none, none, None)])


def test_a_sum_of_doubles_depends_on_nothing_but_the_doubles() -> None:
    """Neither on the order of the rows nor on where their intervals were cut: batches cut them."""
    chance = random.Random(1)
    values = [
        literal(repr(chance.uniform(-1, 1) * 10 ** chance.randrange(20)), XSD + "double") for _ in range(50)
    ]
    times = pa.table({"instant": pa.array([10], pa.int64())})
    found = set()
    for _ in range(10):
        rows: list[Row] = [
            ("<k:1>", "<y:1>", value, chance.randrange(10), chance.randrange(11, 20)) for value in values
        ]
        chance.shuffle(rows)
        query = f"SELECT (SUM(?x) AS ?sum) (AVG(?x) AS ?average) {PATTERN}"
        found.update(in_duckdb(query, rows, times, spread_first=False))
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_spark_agrees(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    rows, times = make_rows(chance) + make_rows(chance), instants(chance)
    session = spark.newSession()
    session.createDataFrame(table(rows)).createOrReplaceTempView("given")
    session.createDataFrame(times).createOrReplaceTempView("instants")
    query = f"SELECT ?k {listed(AGGREGATES)} {PATTERN} GROUP BY ?k"
    found = session.sql(statement(query, SPARK, spread_first=False)).collect()
    assert Counter(map(tuple, found)) == in_duckdb(query, rows, times, spread_first=False)
