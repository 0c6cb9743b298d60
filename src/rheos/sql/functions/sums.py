"""Sums: `+` and `-` of numbers, durations and moments, and ADJUST.

Numbers are added as SPARQL says (17.3). Dates, times and durations are added as XPath says (F&O 8.4, 9.7); in
SPARQL that is an error. A sum of two variables can be of any kind, but SQL is only printed for the kinds that
the use of the sum asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rheos.sql import durations
from rheos.sql.conditions import TRUE, all_of
from rheos.sql.durations import big
from rheos.sql.functions import numbers
from rheos.sql.functions.table import Function
from rheos.sql.functions.times import offset, zone
from rheos.sql.scope import Scope
from rheos.sql.temporal import DATE, DATE_TIME, DurationValue, MixedValue, MomentValue
from rheos.sql.values import ErrorValue, Value
from rheos.sql.views import NULL, Duration, Moment, grouped, named, once

# The range of clock times, in microseconds since 1970, of dateTimes whose years have four digits.
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def plus(scope: Scope, left: Value, right: Value) -> Value:
    number = numbers.plus(scope, left, right)
    durations_ = left.may_be_duration and right.may_be_duration
    pairs = _moment_and_duration((left, right), (right, left))
    return one_of(
        scope,
        number,
        (lambda: _total(scope, left, "+", right)) if durations_ else None,
        (lambda: _shifted(scope, "+", pairs)) if pairs else None,
    )


def minus(scope: Scope, left: Value, right: Value) -> Value:
    number = numbers.minus(scope, left, right)
    durations_ = left.may_be_duration and right.may_be_duration
    moments = left.may_be_moment and right.may_be_moment
    pairs = _moment_and_duration((left, right))
    return one_of(
        scope,
        number,
        (lambda: _difference(scope, left, right)) if durations_ or moments else None,
        (lambda: _shifted(scope, "-", pairs)) if pairs else None,
    )


def negated(scope: Scope, value: Value) -> Value:
    def negative() -> Value:
        assert value.duration is not None
        return DurationValue(scope, durations.negative(scope, value.duration))

    return one_of(scope, numbers.negated(scope, value), negative if value.may_be_duration else None)


def unchanged(scope: Scope, value: Value) -> Value:
    def same() -> Value:
        assert value.duration is not None
        return DurationValue(scope, value.duration)

    return one_of(scope, numbers.unchanged(scope, value), same if value.may_be_duration else None)


def one_of(
    scope: Scope,
    number: Value,
    duration: Callable[[], Value] | None,
    moment: Callable[[], Value] | None = None,
) -> Value:
    if not isinstance(number, ErrorValue):
        return MixedValue(scope, number, duration, moment) if duration or moment else number
    if duration and moment:
        return MixedValue(scope, None, duration, moment)
    only = duration or moment
    return only() if only else number


# --- durations -----------------------------------------------------------------------------------


def _total(scope: Scope, left: Value, sign: str, right: Value) -> DurationValue:
    assert left.duration is not None
    assert right.duration is not None
    return DurationValue(scope, durations.total(scope, left.duration, sign, right.duration))


def _difference(scope: Scope, left: Value, right: Value) -> Value:
    """The difference of two durations, or of two moments."""
    if not (left.may_be_duration and right.may_be_duration):
        return _between(scope, left, right)
    one = _total(scope, left, "-", right)
    if not (left.may_be_moment and right.may_be_moment):
        return one
    other = _between(scope, left, right)
    if isinstance(other, ErrorValue):
        return one
    a, b = one.duration, other.duration
    assert b is not None
    is_other = f"{a.micros} IS NULL"
    kind = once(scope, f"CASE WHEN {is_other} THEN {b.kind} ELSE {a.kind} END")
    months = 0 if a.months == 0 else once(scope, f"CASE WHEN {is_other} THEN 0 ELSE {a.months} END")
    micros = once(scope, f"COALESCE({a.micros}, {b.micros})")
    return DurationValue(scope, Duration(kind, months, micros))


def _between(scope: Scope, left: Value, right: Value) -> Value:
    """The duration between two moments of the same kind; both must have a zone, or neither."""
    a, b = left.moment, right.moment
    assert a is not None
    assert b is not None
    if isinstance(a.kind, int) and isinstance(b.kind, int) and a.kind != b.kind:
        return ErrorValue(scope)
    sides = ((a.kind, b.kind), (_truth(a.zoned), _truth(b.zoned)))
    alike = all_of(f"{one} = {other}" for one, other in sides if one != other)
    micros = f"{grouped(big(a.micros))} - {grouped(big(b.micros))}"
    micros = f"CASE WHEN {alike} THEN {micros} END" if alike != TRUE else micros
    return DurationValue(scope, Duration(durations.DAY_TIME, 0, once(scope, micros)))


def _truth(zoned: bool | str) -> str:
    return str(zoned).upper() if isinstance(zoned, bool) else grouped(zoned)


# --- moments -------------------------------------------------------------------------------------


def _moment_and_duration(*pairs: tuple[Value, Value]) -> list[tuple[Value, Value]]:
    return [(value, by) for value, by in pairs if value.may_be_moment and by.may_be_duration]


def _shifted(scope: Scope, sign: str, pairs: Sequence[tuple[Value, Value]]) -> MomentValue:
    """A moment plus or minus a duration. The zone stays.

    Either side of a sum may be the moment, hence the `pairs` (moment, duration). In each row at most one pair
    has both, so the first part that is not NULL is always of the same pair.
    """

    def first(parts: list[int | str]) -> int | str:
        return parts[0] if len(parts) == 1 else once(scope, f"COALESCE({', '.join(map(str, parts))})")

    values = [(value.moment, by.duration) for value, by in pairs]
    known = [(moment, by) for moment, by in values if moment and by]
    kind = first([moment.kind for moment, _ in known])
    micros = big(first([moment.micros for moment, _ in known]))
    zones = str(first([zone(scope, value) or NULL for value, _ in pairs]))
    months = first([_months(by, alone=len(known) == 1) for _, by in known])
    more = big(first([by.micros for _, by in known]))
    away = once(scope, f"COALESCE({named(scope, zones, lambda zone: offset(scope, zone))}, 0)")
    local = f"{grouped(micros)} + {grouped(away)}"
    if months != 0:
        local = named(scope, local, lambda clock: _months_later(scope, clock, sign, months))
    local = f"{grouped(local)} {sign} {grouped(more)}"
    if kind != DATE_TIME:
        local = named(scope, local, lambda clock: _of_kind(kind, clock))
    local = named(scope, local, lambda c: f"CASE WHEN {c} BETWEEN {FIRST} AND {LAST} THEN {c} END")
    local = once(scope, local)
    moment = Moment(kind, once(scope, f"{grouped(local)} - {grouped(away)}"), f"({zones} <> '')", zones)
    return MomentValue(scope, moment, local)


def adjusted(scope: Scope, value: Value, by: Value) -> Value:
    """ADJUST: the same moment as clocks of another zone show it; a moment without a zone gets it (F&O 9.6).

    A zone is a dayTimeDuration of whole minutes, at most 14 hours.
    """
    moment, away, own = value.moment, by.duration, zone(scope, value)
    if moment is None or away is None or own is None:
        return ErrorValue(scope)
    d = scope.dialect
    offset_ = once(scope, big(away.micros))
    is_zone = all_of(
        [
            f"abs({offset_}) <= {14 * durations.HOUR}",
            f"{offset_} % {durations.MINUTE} = 0",
            f"{away.kind} = {durations.DAY_TIME}",
        ]
    )
    shown = f"{grouped(big(moment.micros))} + CASE WHEN {own} = '' THEN 0 ELSE {offset_} END"
    if moment.kind != DATE_TIME:
        shown = named(scope, shown, lambda clock: _of_kind(moment.kind, clock))
    shown = named(scope, shown, lambda c: f"CASE WHEN {c} BETWEEN {FIRST} AND {LAST} THEN {c} END")
    local = once(scope, f"CASE WHEN {is_zone} THEN {shown} END")
    hours = d.whole_quotient(f"abs({offset_})", durations.HOUR)
    minutes = d.whole_quotient(f"(abs({offset_}) % {durations.HOUR})", durations.MINUTE)
    digits = " || ':' || ".join(f"lpad({d.cast_text(count)}, 2, '0')" for count in (hours, minutes))
    signed = f"CASE WHEN {offset_} < 0 THEN '-' ELSE '+' END || {digits}"
    text = once(scope, f"CASE WHEN {offset_} = 0 THEN 'Z' ELSE {signed} END")
    return MomentValue(scope, Moment(moment.kind, f"({local} - {offset_})", True, text), local)


def _months(duration: Duration, *, alone: bool) -> int | str:
    """The months of a duration.

    If there are several pairs, known months must be NULL in other pairs' rows.
    """
    if alone or isinstance(duration.months, str):
        return duration.months
    return f"CASE WHEN {duration.micros} IS NOT NULL THEN {duration.months} END"


def _months_later(scope: Scope, local: str, sign: str, months: int | str) -> str:
    d = scope.dialect
    by = grouped(str(months)) if sign == "+" else f"(- {grouped(str(months))})"

    def later(time: str) -> str:
        # The division has no remainder, so `whole_quotient` is right for negative numbers (before 1970), too.
        day = d.whole_quotient(f"({local} - {time})", durations.DAY)
        return f"{d.months_later(day, by)} * {durations.DAY} + {time}"

    later_day = named(scope, _time_of_day(local), later)
    return f"CASE WHEN {months} = 0 THEN {local} ELSE {later_day} END"


def _of_kind(kind: int | str, local: str) -> str:
    """A clock time of the kind: for a date, the time of day is cut off (F&O 9.7.7)."""
    return f"CASE WHEN {kind} = {DATE} THEN {local} - {_time_of_day(local)} ELSE {local} END"


def _time_of_day(local: str) -> str:
    return f"(({local} % {durations.DAY} + {durations.DAY}) % {durations.DAY})"


FUNCTIONS: dict[str, Function] = {
    "+": plus,
    "-": minus,
    "unary-": negated,
    "unary+": unchanged,
    "ADJUST": adjusted,
}
