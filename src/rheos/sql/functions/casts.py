"""Casts (17.5): functions that convert a value to the datatype that names them.

A string must have the lexical form of the datatype, apart from white space around it. A number is converted
as XPath (F&O 17.1) says. An IRI can only be cast to a string.
"""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra import literals as c
from rheos.sql import decode, durations
from rheos.sql.computed import BooleanValue, LiteralValue, NumberValue, TextValue
from rheos.sql.decode import QUOTE
from rheos.sql.dialect import EXACT, Dialect
from rheos.sql.functions.table import Function
from rheos.sql.functions.times import clock_form, lexical_form
from rheos.sql.lexical import floating_text
from rheos.sql.scope import Scope
from rheos.sql.temporal import DurationValue
from rheos.sql.values import ErrorValue, Value
from rheos.sql.views import NULL, Duration, Number, approx_number, exact_number, once
from rheos.terms import XSD


def _first(branches: list[str | None]) -> str | None:
    """The first of several SQL expressions that is not NULL; None if there are no expressions."""
    found = [branch for branch in branches if branch is not None]
    if not found:
        return None
    return found[0] if len(found) == 1 else f"COALESCE({', '.join(found)})"


def _trimmed(scope: Scope, value: Value) -> str | None:
    """The text of a simple literal without the white space around it; the SQL may be repeated."""
    if value.simple is None:
        return None
    d = scope.dialect
    pattern = d.string(r"\A[ \t\n\r]+|[ \t\n\r]+\z")
    text = once(scope, value.simple)
    spaced = d.matches(text, d.string(r"\A[ \t\n\r]|[ \t\n\r]\z"))
    return once(
        scope, f"CASE WHEN {spaced} THEN {d.replace_all(text, pattern, d.string(''))} ELSE {text} END"
    )


def to_string(scope: Scope, value: Value) -> Value:
    """xsd:string: numbers in the form that XPath gives them (1.0E2 is 100), all else as by STR."""
    number = value.number
    if number is None:
        return TextValue(scope, value.string)
    text = _number_as_string(scope, number)
    if isinstance(value, NumberValue):
        return TextValue(scope, text)
    truth = (
        ""
        if value.truth is None
        else f"CASE {value.truth} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END, "
    )
    return TextValue(scope, f"COALESCE({text}, {truth}{value.string})")


def _number_as_string(scope: Scope, number: Number) -> str:
    """F&O 17.1.2: doubles from 0.000001 to 1000000 are written as decimals."""
    d = scope.dialect
    exact = d.exact_text(number.exact) if number.exact is not None else None
    if number.is_exact:
        return exact or NULL
    approx, floating = once(scope, number.floating), _floating_as_text(scope, number)
    plain = f"abs({approx}) >= 0.000001 AND abs({approx}) < 1000000 OR {approx} = 0"
    signed_zero = f"WHEN {floating} = '-0.0E0' THEN '-0' "
    as_decimal = d.exact_text(d.try_cast(floating, EXACT))
    inexact = f"CASE {signed_zero}WHEN {plain} THEN {as_decimal} ELSE {floating} END"
    return inexact if exact is None else f"COALESCE({exact}, {inexact})"


def _floating_as_text(scope: Scope, number: Number) -> str:
    """The canonical form of a float or double, NULL for an exact number; the SQL may be repeated."""
    approx = once(scope, number.floating)
    single, double = (floating_text(scope, approx, rank) for rank in (c.RANK_FLOAT, c.RANK_DOUBLE))
    if number.rank_known is not None:
        return once(scope, single if number.rank_known == c.RANK_FLOAT else double)
    return once(scope, f"CASE WHEN {number.rank} = {c.RANK_FLOAT} THEN {single} ELSE {double} END")


def to_boolean(scope: Scope, value: Value) -> Value:
    text = _trimmed(scope, value)
    lexical = (
        text and f"CASE WHEN {text} IN ('true', '1') THEN TRUE WHEN {text} IN ('false', '0') THEN FALSE END"
    )
    number = value.number
    not_zero = None
    if number is not None:
        exact = number.exact and f"{number.exact} <> 0"
        floating = once(scope, number.floating)
        inexact = None if number.is_exact else f"({floating} <> 0 AND NOT isnan({floating}))"
        not_zero = _first([exact, inexact])
    found = _first([value.truth, not_zero, lexical])
    return ErrorValue(scope) if found is None else BooleanValue(scope, found)


def to_integer(scope: Scope, value: Value) -> Value:
    """xsd:integer: truncates towards zero."""

    def cut(exact: str) -> str:
        return f"CAST({scope.dialect.whole_part(once(scope, exact))} AS {EXACT})"

    return _to_exact(scope, value, c.RANK_INTEGER, decode.whole_of_text, cut)


def to_decimal(scope: Scope, value: Value) -> Value:
    return _to_exact(scope, value, c.RANK_DECIMAL, decode.decimal_of_text, lambda exact: exact)


def _to_exact(
    scope: Scope, value: Value, rank: int, read: Callable[[Dialect, str], str], cut: Callable[[str], str]
) -> Value:
    d, number, text = scope.dialect, value.number, _trimmed(scope, value)
    exact = inexact = None
    if number is not None:
        exact = cut(number.exact) if number.exact is not None else None
        if not number.is_exact:
            # Through text: the result has the digits that a double is printed with, not its binary value.
            inexact = cut(d.try_cast(_floating_as_text(scope, number), EXACT))
    found = _first([exact, inexact, _from_boolean(value, EXACT), text and read(d, text)])
    return ErrorValue(scope) if found is None else NumberValue(scope, exact_number(scope, rank, found))


def _from_boolean(value: Value, kind: str) -> str | None:
    return value.truth and f"CAST(CASE {value.truth} WHEN TRUE THEN 1 WHEN FALSE THEN 0 END AS {kind})"


def to_double(scope: Scope, value: Value) -> Value:
    number, text = value.number, _trimmed(scope, value)
    found = _first([
        number.observed if number else None,
        _from_boolean(value, "DOUBLE"),
        text and decode.double_of_text(scope.dialect, text),
    ])  # fmt: skip
    return (
        ErrorValue(scope) if found is None else NumberValue(scope, approx_number(scope, c.RANK_DOUBLE, found))
    )


def to_float(scope: Scope, value: Value) -> Value:
    number, text = value.number, _trimmed(scope, value)
    found = _first([
        scope.dialect.to_float(number.approx) if number else None,
        _from_boolean(value, "DOUBLE"),
        text and decode.float_of_text(scope.dialect, text),
    ])  # fmt: skip
    return (
        ErrorValue(scope) if found is None else NumberValue(scope, approx_number(scope, c.RANK_FLOAT, found))
    )


def _to_moment(
    datatype: str, others: dict[str, Callable[[Scope, str], str]]
) -> Callable[[Scope, Value], Value]:
    """A cast from a string or from a moment; the lexical form of a moment of another kind is rewritten."""

    def compile(scope: Scope, value: Value) -> Value:
        d, text = scope.dialect, _trimmed(scope, value)
        branches = [lexical_form(scope, value, (datatype,))]
        for other, rewrite in others.items():
            form = clock_form(scope, value, (other,))
            branches.append(form and rewrite(scope, form))
        if text:
            full = once(scope, decode.moment_text(d, text, datatype))
            well_formed = decode.micros_of_text(d, full)
            branches.append(f"CASE WHEN {well_formed} IS NOT NULL THEN {text} END")
        found = _first(branches)
        return ErrorValue(scope) if found is None else LiteralValue(scope, once(scope, found), datatype)

    return compile


def _date_to_date_time(scope: Scope, text: str) -> str:
    d = scope.dialect
    return f"{d.substring(text, 1, 10)} || 'T00:00:00' || {d.substring(text, 11)}"


def _date_time_to_date(scope: Scope, text: str) -> str:
    d = scope.dialect
    return f"{d.substring(text, 1, 10)} || {d.extract(text, f'({c.ZONE_FORM})$', 1)}"


def _to_duration(kind: int, datatype: str) -> Callable[[Scope, Value], Value]:
    """A cast from a string or from a duration; only the parts that the datatype has are kept (F&O 19.1.5)."""

    def compile(scope: Scope, value: Value) -> Value:
        text, found = _trimmed(scope, value), []
        if value.duration is not None:
            found.append(value.duration)
        if text:
            suffix = scope.dialect.string('"' + decode.suffix_of(datatype))
            found.append(durations.of_term(scope, once(scope, f"{QUOTE} || {text} || {suffix}")))
        micros = _first([str(duration.micros) for duration in found])
        months = _first([str(duration.months) for duration in found])
        if micros is None or months is None:
            return ErrorValue(scope)
        if kind == durations.DAY_TIME:
            return DurationValue(scope, Duration(kind, 0, once(scope, micros)))
        # The microseconds of a duration must be NULL exactly in rows without a duration.
        own = micros if kind == durations.ANY else f"CASE WHEN {micros} IS NOT NULL THEN 0 END"
        return DurationValue(scope, Duration(kind, once(scope, months), once(scope, own)))

    return compile


_CASTS: dict[str, Callable[[Scope, Value], Value]] = {
    "string": to_string,
    "boolean": to_boolean,
    "integer": to_integer,
    "decimal": to_decimal,
    "float": to_float,
    "double": to_double,
    "dateTime": _to_moment(c.DATE_TIME, {c.DATE: _date_to_date_time}),
    "date": _to_moment(c.DATE, {c.DATE_TIME: _date_time_to_date}),
    "duration": _to_duration(durations.ANY, c.DURATION),
    "dayTimeDuration": _to_duration(durations.DAY_TIME, c.DAY_TIME_DURATION),
    "yearMonthDuration": _to_duration(durations.YEAR_MONTH, c.YEAR_MONTH_DURATION),
}

FUNCTIONS: dict[str, Function] = {XSD + name: cast for name, cast in _CASTS.items()}
