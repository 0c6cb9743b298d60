"""What is inside a term that is known at run time only: its SQL comes in, the SQL of its parts goes out.

The form of a term makes cheap tests possible: only a simple literal ends in a quotation mark, only a
typed one starts with a quotation mark and ends in `>`, and the end of a term tells its datatype
(comparing ends is ten times as fast as taking them off). Regular expressions come after those tests.
"""

from __future__ import annotations

import re

from rheos.sql import constants as c
from rheos.sql.dialect import EXACT, Dialect
from rheos.terms import XSD, literal

# Both engines write these the same way.
QUOTE = "'\"'"
EMPTY_TAGGED = "'\"\"@'"


_NAMES = "|".join(datatype.removeprefix(XSD) for datatype in c.DERIVED_INTEGERS)
_END = rf'"\^\^<{re.escape(XSD)}'

# To take a number out by a regular expression is slow, but short: for what is rare. A number that is too
# long for DECIMAL gives its whole digits, as a double has no room for the others.
_DERIVED = rf'\A"({c.INTEGER_FORM}){_END}(?:{_NAMES})>\z'
_LONG = rf'\A"([+-]?[0-9]{{20,}})(?:{_END}(?:integer|{_NAMES})|(?:\.[0-9]*)?{_END}decimal)>\z'


def suffix_of(datatype: str) -> str:
    return f"^^<{datatype}>"


# --- kinds of terms ------------------------------------------------------------------------------


def is_iri(d: Dialect, term: str) -> str:
    return d.starts_with(term, "'<'")


def is_blank(d: Dialect, term: str) -> str:
    return d.starts_with(term, "'_'")


def is_literal(d: Dialect, term: str) -> str:
    return d.starts_with(term, QUOTE)


def is_simple(d: Dialect, term: str) -> str:
    return d.ends_with(term, QUOTE)


def _ends_in_bracket(d: Dialect, term: str) -> str:
    return d.ends_with(term, "'>'")


def is_typed(d: Dialect, term: str) -> str:
    return f"({is_literal(d, term)} AND {_ends_in_bracket(d, term)})"


def is_tagged(d: Dialect, term: str) -> str:
    """Whether a term is a literal with a language tag."""
    return f"({is_literal(d, term)} AND NOT {is_simple(d, term)} AND NOT {_ends_in_bracket(d, term)})"


def has_datatype(d: Dialect, term: str, datatype: str) -> str:
    return d.ends_with(term, d.string('"' + suffix_of(datatype)))


def has_datatype_in(d: Dialect, term: str, datatypes: tuple[str, ...]) -> str:
    listed = ", ".join(d.string(suffix_of(datatype)) for datatype in datatypes)
    return f"({is_typed(d, term)} AND {suffix(d, term)} IN ({listed}))"


# --- parts of literals ---------------------------------------------------------------------------


def suffix(d: Dialect, term: str) -> str:
    """What follows the lexical form of a literal: nothing, `@lang` or `^^<datatype>`."""
    return d.after_last(term, '"')


def lexical(d: Dialect, term: str) -> str:
    """The lexical form of a term that is known to be a literal."""
    return d.substring(term, 2, f"{d.length(term)} - 2 - {d.length(suffix(d, term))}")


def lexical_of(d: Dialect, term: str, datatype: str) -> str:
    """The lexical form of a term that is known to have a datatype."""
    return d.substring(term, 2, f"{d.length(term)} - {len(datatype) + 6}")


def simple(d: Dialect, term: str) -> str:
    """The text of a simple literal."""
    return f"CASE WHEN {is_simple(d, term)} THEN {d.substring(term, 2, f'{d.length(term)} - 2')} END"


def text_lexical(d: Dialect, term: str) -> str:
    """The text of a string literal, simple or with a language tag."""
    return (
        f"CASE WHEN {is_simple(d, term)} THEN {d.substring(term, 2, f'{d.length(term)} - 2')}"
        f" WHEN {is_tagged(d, term)} THEN {lexical(d, term)} END"
    )


def text_suffix(d: Dialect, term: str) -> str:
    """The language tag of a string literal with its `@`, or nothing."""
    return f"CASE WHEN {is_simple(d, term)} THEN '' WHEN {is_tagged(d, term)} THEN {suffix(d, term)} END"


def truth(d: Dialect, term: str) -> str:
    """The value of a well-formed xsd:boolean."""
    yes, no = (
        ", ".join(d.string(literal(form, c.BOOLEAN)) for form in forms)
        for forms in (("true", "1"), ("false", "0"))
    )
    return f"CASE WHEN {term} IN ({yes}) THEN TRUE WHEN {term} IN ({no}) THEN FALSE END"


# --- numbers -------------------------------------------------------------------------------------


def _read(d: Dialect, text: str, form: str, kind: str) -> str:
    return f"CASE WHEN {d.matches_all(text, form)} THEN {d.try_cast(text, kind)} END"


def exact(d: Dialect, term: str) -> str:
    """The value of an integer or decimal; NULL for all else, and for more digits than DECIMAL has."""
    integer, decimal = (lexical_of(d, term, datatype) for datatype in (c.INTEGER, c.DECIMAL))
    return (
        f"CASE WHEN {has_datatype(d, term, c.INTEGER)} THEN {_read(d, integer, c.INTEGER_FORM, EXACT)}"
        f" WHEN {has_datatype(d, term, c.DECIMAL)} THEN {_read(d, decimal, c.DECIMAL_FORM, EXACT)}"
        f" WHEN {is_typed(d, term)} THEN {d.try_cast(d.extract(term, _DERIVED, 1), EXACT)} END"
    )


def inexact(d: Dialect, term: str) -> str:
    """The value, as a DOUBLE, of a number that is not exact: float, double, or too long for DECIMAL."""
    double, floating = (lexical_of(d, term, datatype) for datatype in (c.DOUBLE, c.FLOAT))
    return (
        f"CASE WHEN {has_datatype(d, term, c.DOUBLE)} THEN {double_of_text(d, double)}"
        f" WHEN {has_datatype(d, term, c.FLOAT)} THEN {float_of_text(d, floating)}"
        f" WHEN {is_typed(d, term)} THEN {d.try_cast(d.extract(term, _LONG, 1), 'DOUBLE')} END"
    )


def double_of_text(d: Dialect, text: str) -> str:
    return _read(d, text, c.DOUBLE_FORM, "DOUBLE")


def float_of_text(d: Dialect, text: str) -> str:
    # Straight from the text: by way of a double it would be rounded twice.
    return f"CAST({_read(d, text, c.DOUBLE_FORM, 'FLOAT')} AS DOUBLE)"


def exact_of_text(d: Dialect, text: str, form: str) -> str:
    return _read(d, text, form, EXACT)


def rank(d: Dialect, term: str, exact_value: str, approx_value: str) -> str:
    """The rank of a number, from the values that were already taken out of it."""
    return (
        f"CASE WHEN {exact_value} IS NOT NULL"
        f" THEN CASE WHEN {has_datatype(d, term, c.DECIMAL)} THEN {c.RANK_DECIMAL} ELSE {c.RANK_INTEGER} END"
        f" WHEN {approx_value} IS NOT NULL"
        f" THEN CASE WHEN {has_datatype(d, term, c.DOUBLE)} THEN {c.RANK_DOUBLE}"
        f" WHEN {has_datatype(d, term, c.FLOAT)} THEN {c.RANK_FLOAT}"
        f" WHEN {has_datatype(d, term, c.DECIMAL)} THEN {c.RANK_DECIMAL} ELSE {c.RANK_INTEGER} END END"
    )


def effective(d: Dialect, term: str, approx_value: str) -> str:
    """The effective boolean value (17.2.2). Ill-formed booleans and numbers are false, not errors."""
    yes = ", ".join(d.string(literal(form, c.BOOLEAN)) for form in ("true", "1"))
    number = f"COALESCE({approx_value} <> 0 AND NOT isnan({approx_value}), FALSE)"
    return (
        f"CASE WHEN {has_datatype(d, term, c.BOOLEAN)} THEN {term} IN ({yes})"
        f" WHEN {is_simple(d, term)} THEN {d.length(term)} > 2"
        f" WHEN {is_tagged(d, term)} THEN NOT {d.starts_with(term, EMPTY_TAGGED)}"
        f" WHEN {has_datatype_in(d, term, tuple(c.RANKS))} THEN {number} END"
    )


# --- time ----------------------------------------------------------------------------------------

_ZONE_AT_END = f"{c.ZONE_FORM}$"


def zoned_text(d: Dialect, text: str) -> str:
    return d.matches(text, d.string(_ZONE_AT_END))


def micros_of_text(d: Dialect, text: str, datatype: str) -> str:
    """Microseconds since 1970 of a lexical form; without a zone, as if in UTC."""
    form = {
        c.DATE_TIME: f"{c.DATE_FORM}T{c.TIME_FORM}",
        c.DATE: c.DATE_FORM,
        c.TIME: c.TIME_FORM,
    }[datatype]
    full = {
        c.DATE_TIME: d.replace(text, "T24:", "T00:"),
        c.DATE: f"{d.substring(text, 1, 10)} || 'T00:00:00' || {d.substring(text, 11)}",
        c.TIME: f"'1970-01-01T' || {d.replace(text, '24:00:00', '00:00:00')}",
    }[datatype]
    with_zone = f"CASE WHEN {zoned_text(d, text)} THEN {full} ELSE {full} || 'Z' END"
    micros = d.micros(with_zone)
    if datatype != c.DATE:
        # 24:00:00 is the first instant of the next day, which the engines do not read.
        start = 12 if datatype == c.DATE_TIME else 1
        micros = (
            f"{micros} + CASE WHEN {d.substring(text, start, 2)} = '24' THEN {c.MICROS_PER_DAY} ELSE 0 END"
        )
    return f"CASE WHEN {d.matches_all(text, f'(?:{form}){c.ZONE_FORM}?')} THEN {micros} END"


MOMENTS = (c.DATE_TIME, c.DATE, c.TIME)


def micros(d: Dialect, term: str) -> str:
    branches = (
        f"WHEN {has_datatype(d, term, kind)} THEN {micros_of_text(d, lexical_of(d, term, kind), kind)}"
        for kind in MOMENTS
    )
    return f"CASE {' '.join(branches)} END"


def moment_kind(d: Dialect, term: str, micros_value: str) -> str:
    """Which of `MOMENTS` a term is, as a number; NULL where it is none, or ill-formed."""
    branches = (f"WHEN {has_datatype(d, term, kind)} THEN {at}" for at, kind in enumerate(MOMENTS))
    return f"CASE WHEN {micros_value} IS NOT NULL THEN CASE {' '.join(branches)} END END"


def zoned(d: Dialect, term: str) -> str:
    return d.matches(term, d.string(f'{c.ZONE_FORM}"'))


def is_duration_text(d: Dialect, text: str) -> str:
    unfinished = d.matches(text, "'[PT]$'")
    return f"({d.matches_all(text, c.DURATION_FORM)} AND NOT {unfinished})"


def _part(d: Dialect, text: str, pattern: str, kind: str) -> str:
    found = f"NULLIF({d.extract(text, pattern, 1)}, '')"
    return f"COALESCE({d.try_cast(found, kind)}, 0)"


def _sign(d: Dialect, text: str) -> str:
    negative = d.starts_with(text, "'-'")
    return f"CASE WHEN {negative} THEN -1 ELSE 1 END"


def duration_months(d: Dialect, text: str) -> str:
    years, months = (_part(d, text, rf"^-?P[^T]*?([0-9]+){unit}", "INT") for unit in "YM")
    return f"{_sign(d, text)} * ({years} * 12 + {months})"


def duration_micros(d: Dialect, text: str) -> str:
    days = _part(d, text, r"^-?P[^T]*?([0-9]+)D", "BIGINT")
    hours, minutes = (_part(d, text, rf"T[^S]*?([0-9]+){unit}", "BIGINT") for unit in "HM")
    seconds = _part(d, text, r"([0-9]+(?:\.[0-9]+)?)S", "DECIMAL(18,6)")
    total = f"{days} * {c.MICROS_PER_DAY} + {hours} * 3600000000 + {minutes} * 60000000"
    return f"{_sign(d, text)} * ({total} + CAST({seconds} * 1000000 AS BIGINT))"
