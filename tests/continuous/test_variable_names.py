"""Variables of any legal name: one-shot queries, and batches of each language of streams, give them back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheos
from rheos.algebra.cqels import translate_cqels
from rheos.algebra.csparql import translate_csparql
from rheos.algebra.epsparql import translate_epsparql
from rheos.answers.continuous import QueryInfo, answers
from rheos.runtime.cqels.operator import CqelsBatch, CqelsFamily, CqelsOperator, apart
from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.epsparql.operator import EPSparqlBatch, EPSparqlOperator
from rheos.runtime.plan import Registered
from rheos.runtime.worker.database import Database
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse

STREAM = "<http://ex/s>"
TRIPLE = ("http://ex/a", "http://ex/p", "http://ex/b")

# Rules 164 to 167 of the grammar: what a name may begin with, and what else it may hold.
BEGINNINGS = [
    *((ord("A"), ord("Z")), (ord("a"), ord("z")), (ord("_"), ord("_")), (ord("0"), ord("9"))),
    *((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D)),
    *((0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD)),
    (0x10000, 0xEFFFF),
]
REST = [*BEGINNINGS, (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)]


def characters(ranges: list[tuple[int, int]]) -> st.SearchStrategy[str]:
    return st.one_of(*(st.integers(low, high).map(chr) for low, high in ranges))


NAME = st.builds(
    lambda first, rest: first + "".join(rest), characters(BEGINNINGS), st.lists(characters(REST), max_size=8)
)
NAMES = st.lists(NAME, min_size=3, max_size=3, unique=True)

# Names that SQL takes for others, or that we use ourselves.
HARD = [
    ["हिन्दी", "x·y", "é"],
    ["x", "X", "x__1"],
    ["x__1", "x", "X"],
    ["É", "é", "e\u0301"],
    ["\u017f", "s", "S"],
    ["\u212a", "k", "K"],
    ["İ", "i", "I"],
    ["ß", "ss", "ẞ"],
    ["ﬁ", "fi", "FI"],
    ["_", "__", "·".join("ab")],
    ["a" * 70, "a" * 71, "A" * 70],
    ["n" * 5_000, "n" * 5_001, "1"],
    ["instant", "at", "member"],
    ["start", "end", "starting"],
    ["ending", "valid_from", "valid_until"],
    ["s", "p", "o"],
    ["subject", "predicate", "object"],
    ["time", "place", "bucket"],
    ["select", "FROM", "null"],
    ["v_x", "x", "solution"],
    ["x·SEQ", "y\u0300STREAM", "REGISTER"],
]


def select(names: list[str]) -> str:
    return f"{{ ?{names[0]} ?{names[1]} ?{names[2]} }}"


def check(names: list[str], rows: list[dict[str, object]] | None) -> None:
    assert rows is not None
    assert [{name: term.value for name, term in row.items()} for row in rows] == [  # type: ignore[attr-defined]
        dict(zip(names, TRIPLE, strict=True))
    ]
    assert [list(row) for row in rows] == [names]


def elements() -> pa.Table:
    s, p, o = (f"<{iri}>" for iri in TRIPLE)
    number = pa.array([1], pa.int64())
    return pa.table({"s": [s], "p": [p], "o": [o], "start": number, "time": number, "place": number})


@pytest.fixture(scope="module")
def engine() -> rheos.Engine:
    engine = rheos.Engine(execution="local")
    engine.load(data=" ".join(f"<{iri}>" for iri in TRIPLE) + " .", format="ntriples")
    return engine


def hard(test):  # type: ignore[no-untyped-def]
    for names in HARD:
        test = example(names)(test)
    return settings(max_examples=60, deadline=None, derandomize=True)(given(NAMES)(test))


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


def test_one_shot(engine: rheos.Engine) -> None:
    @hard
    def run(names: list[str]) -> None:
        rheos.parse(f"SELECT * {select(names)}")
        result = engine.query(f"SELECT * {select(names)}")
        check(names, result.rows)
        assert result.serialize("json")
        assert result.serialize("table")

    run()


@pytest.mark.slow
def test_operators(engine: rheos.Engine) -> None:
    for names in HARD:
        check(names, engine.query(joined(names)).rows)


def test_spark(spark: SparkSession) -> None:
    """The same in the other dialect, which folds and compares names in its own way."""
    engine = rheos.Engine(spark, execution="catalyst")
    engine.load(data=" ".join(f"<{iri}>" for iri in TRIPLE) + " .", format="ntriples")
    for names in HARD[:8]:
        check(names, engine.query(f"SELECT * {select(names)}").rows)


def joined(names: list[str]) -> str:
    s, p, o = names
    return f"""SELECT DISTINCT * {{ {{ SELECT * {select(names)} ORDER BY ?{s} ?{p} LIMIT 3 }}
        OPTIONAL {{ ?{s} ?{p} ?{o} }} MINUS {{ ?{o} ?{p} ?{s} }} }} ORDER BY ?{o}"""


def test_windows(graphs: StaticGraphs) -> None:
    @hard
    def run(names: list[str]) -> None:
        text = f"SELECT * FROM STREAM {STREAM} [RANGE 1s STEP 1s] {select(names)}"
        evaluation = CSparqlOperator.of(translate_csparql(parse(text, "csparql"), "q"))
        with graphs.connection.cursor() as cursor:
            cursor.register("elements", elements())
            found = CSparqlBatch(Database(cursor), {STREAM: "elements"}).answers(evaluation, 0, 1_000_000)
        info = QueryInfo("q", "select", tuple(evaluation.statement.columns))
        (answer,) = answers(info, found.instants, found.rows)
        check(names, answer.rows)  # type: ignore[arg-type]

    run()


def test_hyphens_of_csparql(graphs: StaticGraphs) -> None:
    names = ["total-sensor", "total_sensor", "total-Sensor"]
    text = f"SELECT * FROM STREAM {STREAM} [RANGE 1s STEP 1s] {select(names)}"
    evaluation = CSparqlOperator.of(translate_csparql(parse(text, "csparql"), "q"))
    with graphs.connection.cursor() as cursor:
        cursor.register("elements", elements())
        found = CSparqlBatch(Database(cursor), {STREAM: "elements"}).answers(evaluation, 0, 1_000_000)
    assert found.rows.column_names[2:] == names


def test_arrivals(graphs: StaticGraphs) -> None:
    @hard
    def run(names: list[str]) -> None:
        text = f"SELECT * {{ STREAM {STREAM} [NOW] {select(names)} }}"
        query = Registered(
            QueryInfo("q", "select", tuple(names)),
            CqelsOperator.of(translate_cqels(parse(text, "cqels"), "q", "http://ex/", ())),
        )
        relatives = CqelsFamily.of([query])
        with graphs.connection.cursor() as cursor:
            batch = CqelsBatch(Database(cursor), {STREAM: elements()}, {})
            new = batch.novelty(relatives.prepared, 0, 10, constants=relatives.table(["q"]))
        (found,) = apart(new, relatives.members).values()
        (answer,) = answers(query.info, found.instants, found.rows)
        check(names, answer.rows)  # type: ignore[arg-type]

    run()


def test_events(graphs: StaticGraphs) -> None:
    @hard
    def run(names: list[str]) -> None:
        text = f"SELECT * FROM STREAM {STREAM} {select(names)}"
        detection = EPSparqlOperator.of(translate_epsparql(parse(text, "epsparql"), "q", "http://ex/"))
        with graphs.connection.cursor() as cursor:
            found = EPSparqlBatch(Database(cursor), {STREAM: elements()}, frozenset()).answers(
                detection, 0, 10, {}
            )
        info = QueryInfo("q", "select", tuple(names), occurs=True)
        (answer,) = answers(info, found.instants, found.rows)
        check(names, answer.rows)  # type: ignore[arg-type]

    run()
