"""Numbers as text: the lexical form or term of a computed number, the same in both engines.

The forms are the canonical ones of XSD 1.1: `5`, `2.5`, `3` (a whole decimal), `1.0E0`, `-INF`, `NaN`. A
double is printed with the fewest of 15, 16 or 17 digits that read back as the same double, a float with the
fewest of 7, 8 or 9. The engines' own output differs (Java 17 does not print the shortest form). One
difference remains: of doubles above 1E17 and below 1E-307, one in ten thousand differs in its last digit.
"""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra import literals as c
from rheos.sql.decode import QUOTE, suffix_of
from rheos.sql.scope import Scope
from rheos.sql.views import Number, once

_DIGITS = {c.RANK_DOUBLE: (14, 15, 16), c.RANK_FLOAT: (6, 7, 8)}


def number_text(number: Number) -> str:
    """The canonical lexical form."""
    return _by_rank(number, lambda rank: _text(number, rank))


def number_term(number: Number) -> str:
    """The term with its canonical lexical form."""

    def term(rank: int) -> str:
        end = number.scope.dialect.string('"' + suffix_of(c.DATATYPE_OF_RANK[rank]))
        return f"{QUOTE} || {_text(number, rank)} || {end}"

    return _by_rank(number, term)


def _by_rank(number: Number, printed: Callable[[int], str]) -> str:
    if number.rank_known is not None:
        return printed(number.rank_known)
    exact = () if number.exact is None else (c.RANK_INTEGER, c.RANK_DECIMAL)
    ranks = (*exact, c.RANK_FLOAT, c.RANK_DOUBLE)
    rank = once(number.scope, str(number.rank))
    return f"CASE {' '.join(f'WHEN {rank} = {known} THEN {printed(known)}' for known in ranks)} END"


def _text(number: Number, rank: int) -> str:
    scope = number.scope
    if number.whole is not None:
        return scope.dialect.cast_text(number.whole)
    if rank == c.RANK_INTEGER:
        return scope.dialect.whole_text(once(scope, number.exact or "NULL"))
    if rank == c.RANK_DECIMAL:
        return scope.dialect.exact_text(once(scope, number.exact or "NULL"))
    return floating_text(scope, number.floating, rank)


def floating_text(scope: Scope, approx: str, rank: int) -> str:
    d = scope.dialect
    value = once(scope, approx)
    kind = "DOUBLE" if rank == c.RANK_DOUBLE else "FLOAT"
    # If a value is halfway between two decimal forms, C rounds to the even digit and Java rounds up. The
    # factor moves each float a little, so that none is halfway.
    printed = value if rank == c.RANK_DOUBLE else f"{value} * {d.double(1 + 1e-12)}"
    *shorter, longest = (d.scientific(printed, digits) for digits in _DIGITS[rank])
    branches = " ".join(
        f"WHEN CAST(CAST({text} AS {kind}) AS DOUBLE) = {value} THEN {text}" for text in shorter
    )
    none = f"{value} IS NULL OR isnan({value}) OR abs({value}) = CAST('Infinity' AS DOUBLE)"
    digits = once(scope, f"CASE WHEN {none} THEN NULL {branches} ELSE {longest} END")
    mantissa = d.trim_end(d.before_first(digits, "e"), "0")
    # At least one digit stays after the point: a text that ends in the point gets a 0.
    mantissa = d.replace(f"({mantissa} || '~')", ".~", ".0~")
    mantissa = d.replace(mantissa, "~", "")
    exponent = d.cast_text(f"CAST({d.after_last(digits, 'e')} AS INT)")
    return (
        f"CASE WHEN isnan({value}) THEN 'NaN'"
        f" WHEN {value} = CAST('Infinity' AS DOUBLE) THEN 'INF'"
        f" WHEN {value} = CAST('-Infinity' AS DOUBLE) THEN '-INF'"
        f" ELSE {mantissa} || 'E' || {exponent} END"
    )
