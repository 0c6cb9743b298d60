"""Random durations in both engines, beside a reference that counts days with Python's calendar."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheos.algebra import literals as c
from rheos.sql import durations, expressions
from rheos.terms import literal
from tests.sql.cases import written as shown
from tests.sql.evaluation import Evaluator, Row, expression
from tests.sql.random_durations import Span, Spans, between, compare, later, total, written

OPERATORS = ("<", ">", "<=", ">=", "=", "!=")
SEEDS = st.integers(min_value=0, max_value=2**32)


def evaluated(
    evaluator: Evaluator, texts: Sequence[str], rows: Sequence[Sequence[str]], *, sharing: bool = True
) -> list[tuple[str | None, ...]]:
    """The terms of some expressions of ?a, ?b and so on, for each row."""
    d = evaluator.dialect
    names = "abc"[: len(rows[0])]
    listed = ", ".join(f"({at}, {', '.join(map(d.string, row))})" for at, row in enumerate(rows))
    source = f"(VALUES {listed}) AS terms(place, {', '.join(names)})"
    row = Row(d, source, frozenset(names), sharing=sharing)
    columns = [expressions.term(expression(text), row) for text in texts]
    return evaluator.run(row.select(columns, "ORDER BY place"))


def check_durations(
    evaluator: Evaluator, pairs: Sequence[tuple[Span, Span]], *, sharing: bool = True
) -> None:
    texts = [f"?a {operator} ?b" for operator in OPERATORS] + (["?a + ?b", "?a - ?b"] if sharing else [])
    found = evaluated(evaluator, texts, [(a.term, b.term) for a, b in pairs], sharing=sharing)
    wrong = []
    for (a, b), terms in zip(pairs, found, strict=True):
        expected: list[bool | str | None] = [compare(a, operator, b) for operator in OPERATORS]
        expected += [total(a, sign, b) for sign in (1, -1)] if sharing else []
        for text, term, must in zip(texts, terms, expected, strict=True):
            if shown(term) != as_term(must):
                wrong.append(
                    f"{text} of {shown(a.term)}, {shown(b.term)}: {shown(term)}, not {as_term(must)}"
                )
    assert not wrong, "\n".join(wrong)


def as_term(expected: bool | str | None) -> str:
    return str(expected).lower() if isinstance(expected, bool) else shown(expected)


def check_moments(evaluator: Evaluator, seed: int, count: int, *, sharing: bool = True) -> None:
    source = Spans(Random(seed))
    cases = [(source.moment(), source.moment(), source.span()) for _ in range(count)]
    texts = ["?a - ?b < ?c", "?a - ?c <= ?b", "?a + ?c > ?b"]
    texts += ["?a - ?b", "?a + ?c", "?c + ?a", "?a - ?c"] if sharing else []
    found = evaluated(
        evaluator, texts, [(written(a), written(b), span.term) for a, b, span in cases], sharing=sharing
    )
    wrong = []
    for (a, b, span), terms in zip(cases, found, strict=True):
        after, before = (later(a, sign, span) for sign in (1, -1))
        expected: list[bool | str | None] = [compare(between(a, b), "<", span), before <= b, after > b]
        expected += [between(a, b).term, *map(written, (after, after, before))]
        for text, term, must in zip(texts, terms, expected, strict=sharing):
            if shown(term) != as_term(must):
                wrong.append(f"{text} of {a}, {b}, {span.term}: {shown(term)}, not {as_term(must)}")
    assert not wrong, "\n".join(wrong)


def pairs(seed: int, count: int) -> list[tuple[Span, Span]]:
    source = Spans(Random(seed))
    return [(source.span(), source.span()) for _ in range(count)]


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_durations_in_duckdb(duckdb: Evaluator, seed: int) -> None:
    check_durations(duckdb, pairs(seed, 300))


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_moments_in_duckdb(duckdb: Evaluator, seed: int) -> None:
    check_moments(duckdb, seed, 200)


def test_where_nothing_can_be_shared(duckdb: Evaluator) -> None:
    check_durations(duckdb, pairs(5, 200), sharing=False)
    check_moments(duckdb, 5, 100, sharing=False)


@pytest.mark.parametrize("constant", ["PT0S", "P1M", "-P1Y1D", "P31D"])
def test_beside_a_constant(duckdb: Evaluator, constant: str) -> None:
    value = durations.read(constant, c.DURATION)
    assert value is not None
    known = Span(int(value.months), int(value.micros), "duration", literal(constant, c.DURATION))
    spans = [span for span, _ in pairs(6, 300)]
    texts = [f"?a {operator} '{constant}'^^xsd:duration" for operator in OPERATORS]
    found = evaluated(duckdb, texts, [(span.term,) for span in spans])
    for span, terms in zip(spans, found, strict=True):
        expected = [as_term(compare(span, operator, known)) for operator in OPERATORS]
        assert [shown(term) for term in terms] == expected, span.term


@pytest.mark.slow
def test_spark(by_spark: Evaluator) -> None:
    check_durations(by_spark, pairs(3, 300))
    check_durations(by_spark, pairs(4, 100), sharing=False)
    check_moments(by_spark, 3, 200)
