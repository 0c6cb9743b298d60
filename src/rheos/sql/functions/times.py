"""Functions on dates and times (17.4.5): the parts of a moment, and NOW().

A well-formed lexical form has its parts at fixed positions, so the parts are cut out of the text.
"""

from __future__ import annotations

from rheos.algebra import literals as c
from rheos.sql import decode, durations
from rheos.sql.computed import LiteralValue, NumberValue, TextValue, integer
from rheos.sql.conditions import all_of, any_of
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.temporal import DurationValue
from rheos.sql.values import ErrorValue, TermValue, Value
from rheos.sql.views import Duration, exact_number, once

DAYS = (c.DATE_TIME, c.DATE)
HOURS = (c.DATE_TIME,)


def now(scope: Scope) -> Value:
    d = scope.dialect
    text = d.statement_time() if d.instant is None else d.string(d.instant)
    return LiteralValue(scope, text, c.DATE_TIME)


def lexical_form(scope: Scope, value: Value, datatypes: tuple[str, ...]) -> str | None:
    """The lexical form of a well-formed moment of the given datatypes; NULL at run time for other values."""
    moment = value.moment
    if moment is None:
        return None
    kinds = [decode.MOMENTS.index(datatype) for datatype in datatypes]
    if isinstance(moment.kind, int):
        return once(scope, value.string) if moment.kind in kinds else None
    d, term = scope.dialect, once(scope, value.term)
    right = any_of(decode.has_datatype(d, term, datatype) for datatype in datatypes)
    text = decode.lexical(d, term)
    known = all_of([f"{moment.micros} IS NOT NULL", right])
    return scope.share(f"CASE WHEN {known} THEN {text} END")


def clock_form(scope: Scope, value: Value, datatypes: tuple[str, ...]) -> str | None:
    """As `lexical_form`, with 24:00:00 as 00:00:00 of the next day, which it means (XSD 1.1, 3.3.7)."""
    text = lexical_form(scope, value, datatypes)
    if text is None or (value.constant is not None and "T24" not in value.constant):
        return text
    d = scope.dialect
    day = d.substring(text, 1, 10)
    midnight = d.micros(f"({day} || {decode.MIDNIGHT} || 'Z')")
    day_after = d.moment_text(f"{midnight} + {c.MICROS_PER_DAY}")
    next_day = f"{d.substring(day_after, 1, 19)} || {d.substring(text, 20)}"
    return scope.share(
        f"CASE WHEN {d.substring(text, 11, 3)} <> 'T24' THEN {text}"
        # The next day after 9999 has a year of five digits: its parts are not at the fixed positions.
        f" WHEN {day} <> '9999-12-31' THEN {next_day} END"
    )


def _field(start: int, length: int, datatypes: tuple[str, ...]) -> Function:
    def compile(scope: Scope, value: Value) -> Value:
        text = clock_form(scope, value, datatypes)
        if text is None:
            return ErrorValue(scope)
        return integer(scope, f"CAST({scope.dialect.substring(text, start, length)} AS INT)")

    return compile


def seconds(scope: Scope, value: Value) -> Value:
    text = clock_form(scope, value, HOURS)
    if text is None:
        return ErrorValue(scope)
    found = scope.dialect.extract(text, r"^.{17}([0-9]{2}(?:\.[0-9]+)?)", 1)
    return NumberValue(
        scope, exact_number(scope, c.RANK_DECIMAL, scope.dialect.read_decimal(once(scope, found)))
    )


def zone(scope: Scope, value: Value) -> str | None:
    """The SQL of the zone of a moment: `Z`, `+hh:mm`, or an empty text. None if it can never be a moment."""
    if value.moment and value.moment.zone is not None:
        return value.moment.zone
    text = lexical_form(scope, value, DAYS)
    return text and once(scope, scope.dialect.extract(text, f"({c.ZONE_FORM})$", 1))


def zone_text(scope: Scope, value: Value) -> Value:
    found = zone(scope, value)
    return ErrorValue(scope) if found is None else TextValue(scope, found)


def zone_duration(scope: Scope, value: Value) -> Value:
    """TIMEZONE: the zone as an xsd:dayTimeDuration; an error without a zone."""
    found = zone(scope, value)
    if found is None:
        return ErrorValue(scope)
    return DurationValue(scope, Duration(durations.DAY_TIME, 0, once(scope, offset(scope, found))))


def offset(scope: Scope, zone: str) -> str:
    """How far the clocks of a zone are ahead of UTC, in microseconds; NULL without a zone."""
    d = scope.dialect
    sign = f"CASE WHEN {d.starts_with(zone, d.string('-'))} THEN -1 ELSE 1 END"
    hours, minutes = (f"CAST({d.substring(zone, start, 2)} AS BIGINT)" for start in (2, 5))
    away = f"{sign} * ({hours} * {durations.HOUR} + {minutes} * {durations.MINUTE})"
    return f"CASE WHEN {zone} = '' THEN NULL WHEN {zone} = 'Z' THEN 0 ELSE {away} END"


def latest(scope: Scope, *values: Value) -> Value:
    """The latest of some moments that `Dialect.moment` made, in its shortest form; NULLs are ignored."""
    d = scope.dialect
    if not values:
        return ErrorValue(scope)
    terms = ", ".join(value.term for value in values)
    found = values[0].term if len(values) == 1 else f"greatest({terms})"
    return TermValue(scope, d.replace_all(found, d.string(r'\.?0+Z"'), d.string('Z"')))


FUNCTIONS: dict[str, Function] = {
    "LATEST": latest,
    "NOW": now,
    "YEAR": _field(1, 4, DAYS),
    "MONTH": _field(6, 2, DAYS),
    "DAY": _field(9, 2, DAYS),
    "HOURS": _field(12, 2, HOURS),
    "MINUTES": _field(15, 2, HOURS),
    "SECONDS": seconds,
    "TIMEZONE": zone_duration,
    "TZ": zone_text,
}
