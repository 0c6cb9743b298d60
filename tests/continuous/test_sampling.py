"""SAMPLE against a slow, obvious evaluator, on random streams cut at random; how often bounds hold."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import duckdb
import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.errors import QuerySyntaxError
from rheos.optimize import optimize_csparql
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.operator import Span
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.workbench import Workbench
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.test_incremental import Named, buffer
from tests.spread import spread

SECOND = 1_000_000
STREAM = "<http://ex/s>"
PREFIX = "PREFIX : <http://ex/>"
WHERE = "{ ?a :v ?v }"
Element = tuple[str, str, str, int]


def operator(select: str, rest: str = "", where: str = WHERE, percent: str = "30") -> CSparqlOperator:
    window = f"FROM STREAM {STREAM} [RANGE 10s STEP 2s] SAMPLE {percent}%"
    text = f"REGISTER QUERY q AS {PREFIX} SELECT {select} {window} WHERE {where} {rest}"
    return CSparqlOperator.of(optimize_csparql(translate_csparql(parse(text, "csparql"), "q")))


def elements(chance: random.Random, number: int, values: int) -> list[Element]:
    times = sorted(chance.choices(range(0, 40 * SECOND, SECOND // 4), k=number))
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    return [
        (
            f"<http://ex/a{chance.randrange(4)}>",
            "<http://ex/v>",
            f'"{chance.randrange(values)}"{integer}',
            time,
        )
        for time in times
    ]


def sampled(found: list[Element], parts: int) -> list[Element]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE e (s VARCHAR, p VARCHAR, o VARCHAR, t BIGINT)")
        connection.executemany("INSERT INTO e VALUES (?, ?, ?, ?)", found)
        rows = connection.execute(f"SELECT * FROM e WHERE hash(s, p, o) % 1000000 < {parts} ORDER BY t")
        return [tuple(row) for row in rows.fetchall()]  # type: ignore[misc]


def evaluated(query: CSparqlOperator, stream: Buffer, cuts: list[int]) -> dict[int, list[dict[str, str]]]:
    """The rows of each instant, batch after batch."""
    given: dict[int, list[dict[str, str]]] = {}
    graphs = StaticGraphs()
    for after, until in itertools.pairwise(cuts):
        bench = Workbench(graphs.connection, {STREAM: stream})
        answer = query.answers(bench, [Named()], Span(after, until))["q"]  # type: ignore[list-item]
        given |= {row["at"]: [] for row in answer.instants.to_pylist()}
        for row in answer.rows.to_pylist():
            given[row.pop("at")].append({name: row[name] for name in query.columns})
        bench.close()
    return given


def number(term: str | None) -> float | None:
    return None if term is None else float(term.split('"')[1])


@pytest.mark.parametrize("seed", spread(20, 6))
def test_counts_sums_and_averages_are_scaled(seed: int) -> None:
    chance = random.Random(seed)
    percent = chance.choice(["10", "30", "62.5"])
    part = float(percent) / 100
    stream = elements(chance, 300, 40)
    least = chance.choice([0, 20])  # what is above the grouping sees estimates
    aggregates = "?a (COUNT(*) AS ?n) (SUM(?v) AS ?s) (AVG(?v) AS ?m)"
    query = operator(aggregates, f"GROUP BY ?a HAVING (COUNT(*) > {least})", percent=percent)
    cuts = [NEVER, *sorted(chance.sample(range(1, 50), 4)), 50]
    given = evaluated(query, buffer(stream), [cut if cut == NEVER else cut * SECOND for cut in cuts])
    chosen = sampled(stream, round(part * 1_000_000))
    expected: dict[int, dict[str, list[int]]] = {}
    for at in range(0, 52 * SECOND, 2 * SECOND):
        window = {triple[:3] for triple in chosen if at - 10 * SECOND < triple[3] <= at}
        groups: dict[str, list[int]] = defaultdict(list)
        for s, _, o in window:
            groups[s].append(int(o.split('"')[1]))
        if window and at <= 50 * SECOND:
            expected[at] = groups
    assert given.keys() == expected.keys()
    for at, groups in expected.items():
        shown = {name for name, values in groups.items() if round(len(values) / part) > least}
        assert {row["a"] for row in given[at]} == shown
        for row in given[at]:
            values = groups[row["a"]]
            count = len(values)
            assert number(row["n"]) == round(count / part)
            assert number(row["s"]) == pytest.approx(sum(values) / part)
            assert number(row["m"]) == pytest.approx(sum(values) / count)
            assert number(row["n_error"]) == pytest.approx(
                1.96 * math.sqrt(count * (1 - part)) / part, rel=1e-5
            )
            squares = sum(value * value for value in values)
            assert number(row["s_error"]) == pytest.approx(
                1.96 * math.sqrt(squares * (1 - part)) / part, rel=1e-5
            )
            if count < 2:
                assert row["m_error"] is None
            else:
                variance = max(0, squares - sum(values) ** 2 / count) / (count - 1)
                off = 1.96 * math.sqrt(variance / count * (1 - part))
                assert number(row["m_error"]) == pytest.approx(off, rel=1e-4, abs=1e-4)


def test_the_truth_is_mostly_within_the_bounds() -> None:
    """Of many windows: a hash is no chance, but it should be no worse."""
    chance = random.Random(7)
    stream = elements(chance, 6_000, 100_000)
    query = operator("(COUNT(*) AS ?n) (SUM(?v) AS ?s) (AVG(?v) AS ?m)", percent="20")
    given = evaluated(query, buffer(stream), [NEVER, 50 * SECOND])
    within = dict.fromkeys("nsm", 0)
    for at, [row] in given.items():
        values = [int(o.split('"')[1]) for *_, o, time in stream if at - 10 * SECOND < time <= at]
        truth = {"n": len(values), "s": sum(values), "m": sum(values) / len(values)}
        for name, value in truth.items():
            off, error = number(row[name]), number(row[f"{name}_error"])
            assert off is not None
            within[name] += error is not None and abs(off - value) <= error
    assert min(within.values()) > 0.8 * len(given)


def test_batches_do_not_matter() -> None:
    stream = buffer(elements(random.Random(1), 200, 30))
    query = operator("?a (COUNT(*) AS ?n)", "GROUP BY ?a")
    whole = evaluated(query, stream, [NEVER, 50 * SECOND])
    assert whole == evaluated(query, stream, [NEVER, *(at * SECOND for at in (3, 8, 21, 50))])
    assert any(whole.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(MIN(?v) AS ?n) | { ?a :v ?v }", "MIN of a sample tells nothing"),
        ("(COUNT(DISTINCT ?v) AS ?n) | { ?a :v ?v }", "DISTINCT"),
        ("(COUNT(*) * 2 AS ?n) | { ?a :v ?v }", "not of what is made from them"),
        ("?a | { ?a :v ?v }", "COUNT, SUM or AVG"),
        ("(COUNT(*) AS ?n) | { ?a :v ?v . ?a :p ?b }", "one triple pattern"),
        ("(COUNT(*) AS ?n) | { ?a :v ?v OPTIONAL { ?a :p ?b } }", "one triple pattern, FILTER and BIND"),
        ("(COUNT(*) AS ?n) | { ?a :v ?n_error }", "another name"),
    ],
)
def test_what_cannot_be_scaled_is_refused_at_its_place(text: str, message: str) -> None:
    select, where = text.split(" | ")
    with pytest.raises(QuerySyntaxError, match=message) as caught:
        operator(select, where=where)
    assert caught.value.line == 1
    assert caught.value.column > 20


@pytest.mark.parametrize("percent", ["0", "100", "0.00001"])
def test_a_sample_is_a_part(percent: str) -> None:
    with pytest.raises(QuerySyntaxError, match="more than 0 and less than 100"):
        operator("(COUNT(*) AS ?n)", percent=percent)
