"""Durations of XML Schema in SQL: their months and microseconds, their order and their text.

A duration is two numbers of the same sign: months, and everything shorter as microseconds. Both have limits,
so that a BIGINT has room for the sum of two durations, or of a duration and a date, and dates stay within the
range of DuckDB. A duration beyond the limits, or with fractions of microseconds, is treated as ill-formed: to
cut off digits would make different durations equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rheos.algebra import literals as c
from rheos.sql import decode
from rheos.sql.conditions import TRUE, all_of, any_of, negated
from rheos.sql.dialect import EXACT, Dialect
from rheos.sql.macros import macro
from rheos.sql.scope import Scope
from rheos.sql.views import Duration, grouped, named, once

DAY_TIME, YEAR_MONTH, ANY = c.DAY_TIME, c.YEAR_MONTH, c.ANY_DURATION
DAY, HOUR, MINUTE, SECOND = c.MICROS_PER_DAY, c.MICROS_PER_HOUR, c.MICROS_PER_MINUTE, c.MICROS_PER_SECOND

# The greatest values of literals in these forms: 183,332 years, and 72,000 years in microseconds.
MOST_MONTHS = 99_999 * 12 + 999_999
MOST_MICROS = 2**61

_ENDS = "|".join(
    form + re.escape('"' + decode.suffix_of(datatype)) for datatype, form in c.DURATION_FORMS.items()
)
_TERM = rf'\A"-?P(?:{_ENDS})\z'

# XSD 1.1, 3.3.6.1: a duration is less than another if it ends earlier from the first of each of these months.
REFERENCES = ((1696, 9), (1697, 2), (1903, 3), (1903, 7))


def read(lexical: str, datatype: str | None) -> Duration | None:
    """The duration of a literal of the query, known when the query is compiled; None if it is not one."""
    found = c.duration(lexical, datatype)
    return None if found is None else Duration(found.kind, found.months, found.micros)


# --- terms that are known at run time only -------------------------------------------------------


def well_formed(scope: Scope, term: str) -> str:
    return scope.share(_is_duration(scope.dialect, term))


@macro
def _is_duration(d: Dialect, term: str) -> str:
    """Whether a term is a duration."""
    matches = d.matches(term, d.string(_TERM))
    unfinished = d.matches(term, d.string('[PT]"'))
    # Only datatypes of durations end like this, so this test rules out other terms quickly.
    ends = d.ends_with(term, d.string("uration>"))
    return all_of([ends, matches, negated(unfinished)])


def of_term(scope: Scope, term: str) -> Duration:
    d, valid = scope.dialect, well_formed(scope, term)
    kind = (
        f"CASE WHEN {decode.has_datatype(d, term, c.DURATION)} THEN {ANY}"
        f" WHEN {decode.has_datatype(d, term, c.DAY_TIME_DURATION)} THEN {DAY_TIME}"
        f" WHEN {decode.has_datatype(d, term, c.YEAR_MONTH_DURATION)} THEN {YEAR_MONTH} END"
    )
    months = scope.share(f"CASE WHEN {valid} THEN {_months_of_duration(d, term)} END")
    micros = scope.share(f"CASE WHEN {valid} THEN {_micros_of_duration(d, term)} END")
    return Duration(kind, months, micros)


def _part(d: Dialect, term: str, pattern: str, kind: str) -> str:
    found = f"NULLIF({d.extract(term, pattern, 1)}, '')"
    return f"COALESCE({d.try_cast(found, kind)}, 0)"


def _sign(d: Dialect, term: str) -> str:
    below_zero = d.starts_with(term, d.string('"-'))
    return f"CASE WHEN {below_zero} THEN -1 ELSE 1 END"


@macro
def _months_of_duration(d: Dialect, term: str) -> str:
    """The years and months of a duration, in months."""
    years = _part(d, term, "P([0-9]+)Y", "INT")
    months = _part(d, term, "P(?:[0-9]+Y)?([0-9]+)M", "INT")
    return f"{_sign(d, term)} * ({years} * 12 + {months})"


@macro
def _micros_of_duration(d: Dialect, term: str) -> str:
    """The rest of a duration, in microseconds."""
    days = _part(d, term, "([0-9]+)D", "BIGINT")
    hours = _part(d, term, "T([0-9]+)H", "BIGINT")
    minutes = _part(d, term, "T(?:[0-9]+H)?([0-9]+)M", "BIGINT")
    seconds = _part(d, term, "([0-9.]+)S", "DECIMAL(18,6)")
    total = f"{days} * {DAY} + {hours} * {HOUR} + {minutes} * {MINUTE}"
    return f"{_sign(d, term)} * ({total} + CAST({seconds} * {SECOND} AS BIGINT))"


# --- order ---------------------------------------------------------------------------------------


def equal(a: Duration, b: Duration) -> str:
    """Part by part (F&O, 8.2.5): P1Y is P12M and P1D is PT24H, but no number of days is a month."""
    if a.months == b.months:
        return f"{a.micros} = {b.micros}"
    # Not AND: months may be a known number in a row that has no duration.
    return f"CASE {a.micros} = {b.micros} WHEN TRUE THEN {a.months} = {b.months} WHEN FALSE THEN FALSE END"


def compare(scope: Scope, operator: str, a: Duration, b: Duration, *, strict: bool = True) -> str:
    """`<`, `>`, `<=` or `>=` by the partial order of XML Schema; NULL for durations that have no order.

    Without `strict`, NULL may stand for FALSE.
    """
    before, after = str(operator[0] == "<").upper(), str(operator[0] == ">").upper()
    if isinstance(a.months, int) and isinstance(b.months, int):
        if a.months == b.months:
            return f"{a.micros} {operator} {b.micros}"
        apart = [_days(at, a.months) - _days(at, b.months) for at in REFERENCES]
        less = f"{a.micros} < {_plus(b.micros, -max(apart) * DAY)}"
        greater = f"{a.micros} > {_plus(b.micros, -min(apart) * DAY)}"
        if not strict:
            return less if before == TRUE else greater
        return f"CASE WHEN {less} THEN {before} WHEN {greater} THEN {after} END"

    def test(a: Duration, b: Duration) -> str:
        pairs = list(zip(_added(scope.dialect, a), _added(scope.dialect, b), strict=True))
        less, greater = (all_of(f"{one} {sign} {other}" for one, other in pairs) for sign in ("<", ">"))
        return (
            f"CASE WHEN {a.months} = {b.months} THEN {a.micros} {operator} {b.micros}"
            f" WHEN {less} THEN {before} WHEN {greater} THEN {after} END"
        )

    return _repeated(scope, a, lambda a: _repeated(scope, b, lambda b: test(a, b)))


def _repeated(scope: Scope, duration: Duration, body: Callable[[Duration], str]) -> str:
    def with_months(months: int | str) -> str:
        if isinstance(duration.micros, int):
            return body(replace(duration, months=months))
        return named(scope, duration.micros, lambda micros: body(Duration(duration.kind, months, micros)))

    return (
        with_months(duration.months)
        if isinstance(duration.months, int)
        else named(scope, duration.months, with_months)
    )


def key(d: Dialect, duration: Duration) -> str:
    """The sort key of a duration: its end if it starts at the first of the references, and then its months.

    The end keeps the partial order. The months are added as a fraction: there are fewer than ten million.
    """
    if isinstance(duration.months, int):
        return str(duration.micros)
    months = f"CAST({duration.months} AS DECIMAL(9,0)) * CAST(0.0000001 AS DECIMAL(8,7))"
    return d.add(f"CAST({_added(d, duration)[0]} AS {EXACT})", months)


def _days(reference: tuple[int, int], months: int) -> int:
    """The first day, in days since 1970, of the month that is `months` after a reference."""
    year, month = divmod(reference[0] * 12 + reference[1] - 3 + months, 12)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 - 719_468


def _added(d: Dialect, duration: Duration) -> list[int | str]:
    """The ends of a duration that starts at each of the references, in microseconds since 1970."""
    months, micros = duration.months, duration.micros
    if isinstance(months, int):
        return [_plus(micros, _days(at, months) * DAY) for at in REFERENCES]
    return [f"{d.months_later(str(_days(at, 0)), months)} * {DAY} + {micros}" for at in REFERENCES]


def _plus(micros: int | str, more: int) -> int | str:
    if isinstance(micros, int):
        return micros + more
    return f"{micros} + {more}" if more >= 0 else f"{micros} - {-more}"


# --- text ----------------------------------------------------------------------------------------


def text(scope: Scope, duration: Duration) -> str:
    """The canonical lexical form (XSD 1.1, E.2): `P1Y2M`, `-P3DT4H`, `PT1.5S`, `PT0S`."""
    d, months = scope.dialect, duration.months
    all_micros = once(scope, str(duration.micros))
    micros = once(scope, f"abs({all_micros})")
    of_day, of_minute = f"({micros} % {DAY})", f"({micros} % {MINUTE})"
    counts = []
    negative, nothing = f"{all_micros} < 0", f"{all_micros} = 0"
    if months != 0:
        all_months = once(scope, str(months))
        counts += [(d.whole_quotient(f"abs({all_months})", 12), "Y"), (f"abs({all_months}) % 12", "M")]
        negative = any_of([negative, f"{all_months} < 0"])
        nothing = all_of([nothing, f"{all_months} = 0"])
    counts.append((d.whole_quotient(micros, DAY), "D"))
    date = " || ".join(_count(d, count, unit) for count, unit in counts)
    hours = d.whole_quotient(of_day, HOUR)
    minutes = d.whole_quotient(f"({micros} % {HOUR})", MINUTE)
    whole, fraction = d.whole_quotient(of_minute, SECOND), f"({micros} % {SECOND})"
    digits = f"{d.cast_text(whole)} || '.' || lpad({d.cast_text(fraction)}, 6, '0')"
    seconds = f"{d.trim_end(d.trim_end(f'({digits})', '0'), '.')} || 'S'"
    time = (
        f"'T' || {_count(d, hours, 'H')} || {_count(d, minutes, 'M')}"
        f" || CASE WHEN {of_minute} = 0 THEN '' ELSE {seconds} END"
    )
    return (
        f"CASE WHEN {nothing} THEN {_nothing(duration.kind)}"
        f" ELSE CASE WHEN {negative} THEN '-P' ELSE 'P' END || {date}"
        f" || CASE WHEN {of_day} = 0 THEN '' ELSE {time} END END"
    )


def _count(d: Dialect, count: str, unit: str) -> str:
    return f"CASE WHEN {count} = 0 THEN '' ELSE {d.cast_text(count)} || '{unit}' END"


def _nothing(kind: int | str) -> str:
    if isinstance(kind, int):
        return "'P0M'" if kind == YEAR_MONTH else "'PT0S'"
    return f"CASE WHEN {kind} = {YEAR_MONTH} THEN 'P0M' ELSE 'PT0S' END"


def suffix(d: Dialect, kind: int | str) -> str:
    """The SQL of what follows the lexical form in a term: the quotation mark and the datatype."""
    ends = {
        number: d.string('"' + decode.suffix_of(datatype)) for datatype, number in c.DURATION_KINDS.items()
    }
    if isinstance(kind, int):
        return ends[kind]
    return f"CASE {kind} {' '.join(f'WHEN {number} THEN {end}' for number, end in ends.items())} END"


# --- sums ----------------------------------------------------------------------------------------


def total(scope: Scope, a: Duration, sign: str, b: Duration) -> Duration:
    """A sum or difference, part by part.

    It is NULL beyond the limits, and if its parts differ in sign: a month minus a day is not a duration.
    """

    def part(one: int | str, other: int | str) -> str:
        return f"{grouped(str(one))} {sign} {grouped(str(other))}"

    def possible(months: str, micros: str) -> str:
        alike = any_of(all_of([f"{months} {sign} 0", f"{micros} {sign} 0"]) for sign in (">=", "<="))
        small = all_of([alike, f"abs({months}) <= {MOST_MONTHS}", limit(micros)])
        return f"CASE WHEN {small} THEN {micros} END"

    def limit(micros: str) -> str:
        return f"{micros} BETWEEN -{MOST_MICROS} AND {MOST_MICROS}"

    kind = (
        a.kind | b.kind if isinstance(a.kind, int) and isinstance(b.kind, int) else f"({a.kind} | {b.kind})"
    )
    micros = part(big(a.micros), big(b.micros))
    if a.months == b.months == 0:
        known = named(scope, micros, lambda micros: f"CASE WHEN {limit(micros)} THEN {micros} END")
        return Duration(kind, 0, once(scope, known))
    months = once(scope, part(a.months, b.months))
    known = named(scope, months, lambda m: named(scope, micros, lambda u: possible(m, u)))
    return Duration(kind, months, once(scope, known))


def negative(scope: Scope, duration: Duration) -> Duration:
    months = duration.months
    opposite = -months if isinstance(months, int) else once(scope, f"(- {grouped(months)})")
    return Duration(duration.kind, opposite, once(scope, f"(- {grouped(big(duration.micros))})"))


def big(micros: int | str) -> str:
    """Microseconds that can be added: a literal is cast to BIGINT, as DuckDB would choose a smaller type."""
    return (
        f"CAST({micros} AS BIGINT)" if isinstance(micros, int) or re.fullmatch(r"-?\d+", micros) else micros
    )
