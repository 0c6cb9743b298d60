"""ORDER BY (15.1): the SQL of the sort keys of an expression.

Unbound comes first, then blank nodes, IRIs and literals. Among literals: numbers by value; strings by code
point and then by language; booleans, dates and times by value (without a zone as if in UTC); durations in a
total order that extends their partial order; all others by lexical form and datatype. Values that are equal
in SPARQL (1 and 1.0) have equal keys, so that the next condition of ORDER BY decides.
"""

from __future__ import annotations

from rheos.algebra.expressions import Expression
from rheos.sql import decode, durations
from rheos.sql.computed import BooleanValue, NumberValue, TextValue
from rheos.sql.conditions import negated
from rheos.sql.dialect import EXACT
from rheos.sql.expressions import compiled
from rheos.sql.scope import Scope
from rheos.sql.temporal import DurationValue, MomentValue
from rheos.sql.values import ConstantValue, ErrorValue, NumberTermValue, TermValue, Value
from rheos.sql.views import NULL, Number, once

BLANK, IRI, NUMBER, STRING, BOOLEAN, DATE_TIME, _DATE, DURATION, OTHER = range(1, 10)


def keys(expression: Expression, scope: Scope, descending: bool) -> list[tuple[str, str]]:
    """Pairs of SQL and direction (`ASC NULLS FIRST`, `DESC NULLS LAST`), most significant first."""
    direction = "DESC NULLS LAST" if descending else "ASC NULLS FIRST"
    return [(key, direction) for key in of_value(compiled(expression, scope))]


def of_value(value: Value) -> list[str]:
    """The sort keys of a value, most significant first; NULL is the least."""
    scope = value.scope
    if isinstance(value, ConstantValue | ErrorValue):
        return []
    if isinstance(value, NumberValue):
        number = value.number
        assert number is not None
        return [number.exact or NULL] if number.is_exact else [number.observed, *_rest(number)]
    if isinstance(value, NumberTermValue):
        return [value.number.approx, *_rest(value.number)]
    if isinstance(value, BooleanValue):
        return [value.effective]
    if isinstance(value, TextValue):
        assert value.text is not None
        return [value.text.lexical, *_maybe(value.text.suffix)]
    if isinstance(value, DurationValue):
        return [durations.key(scope.dialect, value.duration)]
    if isinstance(value, MomentValue) and isinstance(value.moment.kind, int):
        return [value.moment.micros]
    return _of_term(scope, once(scope, value.term))


def _rest(number: Number) -> list[str]:
    """The key after a number as a DOUBLE: it orders exact numbers whose DOUBLE values are equal.

    Numbers of few digits always differ as DOUBLE. For them this key is 0, as it is for doubles: so 1, 1.0 and
    1E0 have equal keys.
    """
    if number.exact is None:
        return []
    zero = f"CAST(0 AS {EXACT})"
    few_digits = f"abs({number.exact}) < 1000000 AND {number.exact} % CAST(0.000000001 AS {EXACT}) = 0"
    return [f"COALESCE(CASE WHEN {few_digits} THEN {zero} ELSE {number.exact} END, {zero})"]


def _maybe(sql: str | None) -> list[str]:
    return [] if sql is None else [sql]


def _of_term(scope: Scope, term: str) -> list[str]:
    d, value = scope.dialect, TermValue(scope, term)
    number, moment, truth, duration = value.number, value.moment, value.truth, value.duration
    assert moment is not None
    assert duration is not None
    kind = (
        f"CASE WHEN {term} IS NULL THEN NULL WHEN {decode.is_blank(d, term)} THEN {BLANK}"
        f" WHEN {decode.is_iri(d, term)} THEN {IRI}"
        f" WHEN {number.present} THEN {NUMBER} WHEN {negated(decode.is_typed(d, term))} THEN {STRING}"
        f" WHEN {truth} IS NOT NULL THEN {BOOLEAN}"
        f" WHEN {moment.micros} IS NOT NULL THEN {DATE_TIME} + {moment.kind}"
        f" WHEN {duration.micros} IS NOT NULL THEN {DURATION} ELSE {OTHER} END"
    )
    kind = once(scope, kind)
    [rest] = _rest(number)
    boolean = f"CASE {truth} WHEN TRUE THEN 1 WHEN FALSE THEN 0 END"
    rest = (
        f"CASE WHEN {kind} = {NUMBER} THEN {rest} WHEN {kind} = {BOOLEAN} THEN CAST({boolean} AS {EXACT})"
        f" WHEN {kind} = {DURATION} THEN {durations.key(d, duration)}"
        f" ELSE CAST({moment.micros} AS {EXACT}) END"
    )
    by_text = f"{kind} IN ({STRING}, {OTHER})"
    text = (
        f"CASE WHEN {kind} IN ({BLANK}, {IRI}) THEN {term} WHEN {by_text} THEN {decode.lexical(d, term)} END"
    )
    suffix = f"CASE WHEN {by_text} THEN {decode.suffix(d, term)} END"
    return [kind, number.approx, rest, text, suffix]
