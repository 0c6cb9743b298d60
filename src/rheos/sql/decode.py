"""Decoding: the SQL of the parts of a term that is known only at run time.

The form of a term makes cheap tests possible. Only a simple literal ends in a quotation mark. Only a typed
literal starts with a quotation mark and ends in `>`. The end of a term tells its datatype (to compare ends is
ten times as fast as to cut them off). Regular expressions come after these tests.
"""

from __future__ import annotations

import re

from rheos.algebra import literals as c
from rheos.sql.conditions import all_of, negated
from rheos.sql.dialect import Dialect
from rheos.sql.macros import macro
from rheos.terms import XSD, literal

# SQL literals that are the same in both engines.
QUOTE = "'\"'"
EMPTY_TAGGED = "'\"\"@'"


_NAMES = "|".join(datatype.removeprefix(XSD) for datatype in c.DERIVED_INTEGERS)
_END = rf'"\^\^<{re.escape(XSD)}'

# Rare literals are found by a regular expression of the whole term, which is short and fails early on others.
_DERIVED = rf'\A"{c.INTEGER_FORM}{_END}(?:{_NAMES})>\z'
_NUMERIC_END = rf"{_END}(?:integer|decimal|float|double|{_NAMES})>\z"
_LONG = rf'\A"[+-]?[0-9]{{20,}}(?:{_END}(?:integer|{_NAMES})|(?:\.[0-9]*)?{_END}decimal)>\z'


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


@macro
def is_typed(d: Dialect, term: str) -> str:
    """Whether a term is a literal with a datatype."""
    return all_of([is_literal(d, term), _ends_in_bracket(d, term)])


@macro
def is_tagged(d: Dialect, term: str) -> str:
    """Whether a term is a literal with a language tag."""
    others = is_simple(d, term), _ends_in_bracket(d, term)
    return all_of([is_literal(d, term), *map(negated, others)])


def has_datatype(d: Dialect, term: str, datatype: str) -> str:
    return d.ends_with(term, d.string('"' + suffix_of(datatype)))


# --- parts of literals ---------------------------------------------------------------------------


def suffix(d: Dialect, term: str) -> str:
    """What follows the closing quotation mark of a literal: nothing, `@lang` or `^^<datatype>`."""
    return d.after_last(term, '"')


def lexical(d: Dialect, term: str) -> str:
    """The lexical form of a term that is known to be a literal."""
    return d.substring(term, 2, f"{d.length(term)} - 2 - {d.length(suffix(d, term))}")


def lexical_of(d: Dialect, term: str, datatype: str) -> str:
    """The lexical form of a literal that is known to have this datatype."""
    return d.substring(term, 2, f"{d.length(term)} - {len(datatype) + 6}")


def simple(d: Dialect, term: str) -> str:
    """The text of a simple literal; NULL for other terms."""
    return f"CASE WHEN {is_simple(d, term)} THEN {d.substring(term, 2, f'{d.length(term)} - 2')} END"


@macro
def text_lexical(d: Dialect, term: str) -> str:
    """The text of a string literal, simple or with a language tag."""
    return (
        f"CASE WHEN {is_simple(d, term)} THEN {d.substring(term, 2, f'{d.length(term)} - 2')}"
        f" WHEN {is_tagged(d, term)} THEN {lexical(d, term)} END"
    )


@macro
def text_suffix(d: Dialect, term: str) -> str:
    """The language tag of a string literal with its `@`, or nothing."""
    return f"CASE WHEN {is_simple(d, term)} THEN '' WHEN {is_tagged(d, term)} THEN {suffix(d, term)} END"


@macro
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


@macro
def exact(d: Dialect, term: str) -> str:
    """The value of an integer or decimal; NULL for all else, and for more digits than DECIMAL has."""
    integer, decimal = (lexical_of(d, term, datatype) for datatype in (c.INTEGER, c.DECIMAL))
    return (
        f"CASE WHEN {has_datatype(d, term, c.INTEGER)} THEN {whole_of_text(d, integer)}"
        f" WHEN {has_datatype(d, term, c.DECIMAL)} THEN {decimal_of_text(d, decimal)}"
        f" WHEN {d.matches(term, d.string(_DERIVED))} THEN {d.read_whole(lexical(d, term))} END"
    )


def whole_of_text(d: Dialect, text: str) -> str:
    return f"CASE WHEN {d.matches_all(text, c.INTEGER_FORM)} THEN {d.read_whole(text)} END"


def decimal_of_text(d: Dialect, text: str) -> str:
    return f"CASE WHEN {d.matches_all(text, c.DECIMAL_FORM)} THEN {d.read_decimal(text)} END"


@macro
def inexact(d: Dialect, term: str) -> str:
    """The value, as a DOUBLE, of a number that is not exact: float, double, or too long for DECIMAL."""
    double, floating = (lexical_of(d, term, datatype) for datatype in (c.DOUBLE, c.FLOAT))
    return (
        f"CASE WHEN {has_datatype(d, term, c.DOUBLE)} THEN {double_of_text(d, double)}"
        f" WHEN {has_datatype(d, term, c.FLOAT)} THEN {float_of_text(d, floating)}"
        f" WHEN {d.matches(term, d.string(_LONG))} THEN {d.try_cast(lexical(d, term), 'DOUBLE')} END"
    )


def double_of_text(d: Dialect, text: str) -> str:
    return _read(d, text, c.DOUBLE_FORM, "DOUBLE")


def float_of_text(d: Dialect, text: str) -> str:
    # The text is cast directly to FLOAT: through a DOUBLE it would be rounded twice.
    return f"CAST({_read(d, text, c.DOUBLE_FORM, 'FLOAT')} AS DOUBLE)"


@macro
def rank(d: Dialect, term: str, exact_value: str, inexact_value: str) -> str:
    """The rank of a number, from the values that were already taken out of it."""
    return (
        f"CASE WHEN {exact_value} IS NULL AND {inexact_value} IS NULL THEN NULL"
        f" WHEN {has_datatype(d, term, c.DECIMAL)} THEN {c.RANK_DECIMAL}"
        f" WHEN {exact_value} IS NOT NULL THEN {c.RANK_INTEGER}"
        f" WHEN {has_datatype(d, term, c.DOUBLE)} THEN {c.RANK_DOUBLE}"
        f" WHEN {has_datatype(d, term, c.FLOAT)} THEN {c.RANK_FLOAT} ELSE {c.RANK_INTEGER} END"
    )


@macro
def effective(d: Dialect, term: str, exact_value: str, inexact_value: str) -> str:
    """The effective boolean value (17.2.2). Ill-formed booleans and numbers are false, not errors."""
    yes = ", ".join(d.string(literal(form, c.BOOLEAN)) for form in ("true", "1"))
    return (
        f"CASE WHEN {has_datatype(d, term, c.BOOLEAN)} THEN {term} IN ({yes})"
        f" WHEN {is_simple(d, term)} THEN {d.length(term)} > 2"
        f" WHEN {exact_value} IS NOT NULL THEN {exact_value} <> 0"
        f" WHEN {inexact_value} IS NOT NULL THEN {inexact_value} <> 0 AND NOT isnan({inexact_value})"
        f" WHEN {is_tagged(d, term)} THEN NOT {d.starts_with(term, EMPTY_TAGGED)}"
        f" WHEN {d.matches(term, d.string(_NUMERIC_END))} THEN FALSE END"
    )


# --- time ----------------------------------------------------------------------------------------

MOMENTS = (c.DATE_TIME, c.DATE)
MIDNIGHT = "'T00:00:00'"


@macro
def zoned_text(d: Dialect, text: str) -> str:
    """Whether the lexical form of a dateTime has a zone."""
    return d.matches(text, d.string(rf"{c.ZONE_FORM}\z"))


def moment_text(d: Dialect, text: str, datatype: str) -> str:
    """The lexical form of a dateTime, from that of a date or dateTime."""
    if datatype == c.DATE_TIME:
        return text
    return f"{d.substring(text, 1, 10)} || {MIDNIGHT} || {d.substring(text, 11)}"


@macro
def micros_of_text(d: Dialect, text: str) -> str:
    """Microseconds since 1970 of the lexical form of a dateTime; without a zone, as if in UTC.

    The text is repeated: pass a column.
    """
    form, end_of_day = f"{c.DATE_FORM}T{c.TIME_FORM}", f"{c.DATE_FORM}T{c.END_OF_DAY_FORM}{c.ZONE_FORM}?"
    utc = f"({text} || 'Z')"
    zone = f"COALESCE(NULLIF({d.extract(text, f'({c.ZONE_FORM})$', 1)}, ''), 'Z')"
    midnight = f"({d.substring(text, 1, 10)} || {MIDNIGHT} || {zone})"
    return (
        f"CASE WHEN {d.matches_all(text, form + c.ZONE_FORM)} THEN {d.micros(text)}"
        f" WHEN {d.matches_all(text, form)} THEN {d.micros(utc)}"
        # 24:00:00 is the first instant of the next day; the engines cannot read it.
        f" WHEN {d.matches_all(text, end_of_day)} THEN {d.micros(midnight)} + {c.MICROS_PER_DAY} END"
    )


@macro
def moment(d: Dialect, term: str) -> str:
    """The text of a dateTime for a term that is one or a date, well-formed or not."""
    return f"CASE {' '.join(_as_moment(d, term, datatype) for datatype in MOMENTS)} END"


def moment_of(d: Dialect, term: str, datatype: str) -> str:
    """As `moment`, for terms of one given datatype."""
    return f"CASE {_as_moment(d, term, datatype)} END"


def _as_moment(d: Dialect, term: str, datatype: str) -> str:
    text = moment_text(d, lexical_of(d, term, datatype), datatype)
    return f"WHEN {has_datatype(d, term, datatype)} THEN {text}"


@macro
def moment_kind(d: Dialect, term: str, micros_value: str) -> str:
    """Which of `MOMENTS` a term is, as a number; NULL where it is none, or ill-formed."""
    return (
        f"CASE WHEN {micros_value} IS NOT NULL"
        f" THEN CASE WHEN {has_datatype(d, term, c.DATE_TIME)} THEN 0 ELSE 1 END END"
    )
