"""Arithmetic (17.3) and functions on numbers (17.4.4), with numeric promotion.

The table of this module has no `+` and `-`: `sums.py` has these, for numbers, durations and times.
"""

from __future__ import annotations

from collections.abc import Callable

from rheos.algebra import literals as c
from rheos.sql.computed import NumberValue
from rheos.sql.dialect import EXACT
from rheos.sql.functions.table import Function
from rheos.sql.scope import Scope
from rheos.sql.values import ErrorValue, Value
from rheos.sql.views import NULL, Number, approx_number, once

HALF = f"CAST(0.5 AS {EXACT})"


def promoted(a: Number, b: Number, at_least: int = 0) -> int | Callable[[], str]:
    """The rank of the result of an operation on two numbers: the wider of both ranks."""
    if a.rank_known is not None and b.rank_known is not None:
        return a.rank_known | b.rank_known | at_least
    for known in (a.rank_known, b.rank_known):
        if known == c.RANK_DOUBLE:
            # The other side may be no number at all, but then the result is NULL and its rank is not used.
            return c.RANK_DOUBLE
    return lambda: f"({a.rank} | {b.rank}{f' | {at_least}' if at_least else ''})"


def shared(scope: Scope, rank: int | Callable[[], str]) -> int | Callable[[], str]:
    """A rank whose SQL may be repeated."""
    return rank if isinstance(rank, int) else lambda: once(scope, rank())


def computed(
    scope: Scope, rank: int | Callable[[], str], exact: Callable[[], str] | None, approx: Callable[[], str]
) -> Value:
    if isinstance(rank, int) and rank <= c.RANK_DECIMAL:
        return NumberValue(scope, Number(scope, rank, exact))
    if isinstance(rank, int):
        floating = approx if rank == c.RANK_DOUBLE else lambda: scope.dialect.to_float(approx())
        return NumberValue(scope, Number(scope, rank, None, floating))
    return NumberValue(scope, Number(scope, rank, exact, approx, rounded=False))


def plus(scope: Scope, left: Value, right: Value) -> Value:
    return _sum(scope, left, right, "+")


def minus(scope: Scope, left: Value, right: Value) -> Value:
    return _sum(scope, left, right, "-")


def _sum(scope: Scope, left: Value, right: Value, sign: str) -> Value:
    a, b = left.number, right.number
    if a is None or b is None:
        return ErrorValue(scope)
    apply = scope.dialect.add if sign == "+" else scope.dialect.subtract
    return computed(
        scope,
        promoted(a, b),
        lambda: apply(a.exact or NULL, b.exact or NULL),
        lambda: f"({a.approx} {sign} {b.approx})",
    )


def times(scope: Scope, left: Value, right: Value) -> Value:
    a, b = left.number, right.number
    if a is None or b is None:
        return ErrorValue(scope)

    rank = shared(scope, promoted(a, b))

    def exact() -> str:
        x, y = a.exact or NULL, b.exact or NULL
        if rank == c.RANK_INTEGER:
            return scope.dialect.multiply_whole(x, y)
        parted = scope.dialect.multiply(parts(scope, left), parts(scope, right))
        if isinstance(rank, int) or not may_be_whole(a, b):
            return parted
        whole = scope.dialect.multiply_whole(once(scope, x), once(scope, y))
        return f"CASE WHEN {rank()} = {c.RANK_INTEGER} THEN {whole} ELSE {parted} END"

    return computed(scope, rank, exact, lambda: f"({a.approx} * {b.approx})")


def may_be_whole(a: Number, b: Number) -> bool:
    """Whether two numbers may both be integers."""
    return all(number.rank_known in (None, c.RANK_INTEGER) for number in (a, b))


def parts(scope: Scope, value: Value) -> tuple[str, str]:
    """The whole part and the fraction of an exact number; the fraction of an integer is `0`."""
    d, number = scope.dialect, value.number
    assert number is not None
    exact = once(scope, number.exact or NULL)
    if number.rank_known == c.RANK_INTEGER:
        return d.whole(exact), "0"
    return once(scope, d.whole_part(exact)), once(scope, d.fraction(exact))


def divided(scope: Scope, left: Value, right: Value) -> Value:
    """`/`: integers give a decimal; division by an exact zero is an error, by a floating zero an infinity."""
    a, b = left.number, right.number
    if a is None or b is None:
        return ErrorValue(scope)
    rank = shared(scope, promoted(a, b, c.RANK_DECIMAL))

    def exact() -> str:
        x, y = once(scope, a.exact or NULL), once(scope, b.exact or NULL)
        whole = scope.dialect.divide_whole(x, y)
        if a.rank_known == b.rank_known == c.RANK_INTEGER:
            return whole
        if isinstance(rank, int) or not may_be_whole(a, b):
            return quotient(scope, x, y)
        ranks = once(scope, f"({a.rank} | {b.rank})")
        # The shared columns of `quotient` are computed for every row; for integers they get NULL: cheap.
        x, y = (once(scope, f"CASE WHEN {ranks} <> {c.RANK_INTEGER} THEN {side} END") for side in (x, y))
        return f"CASE WHEN {ranks} = {c.RANK_INTEGER} THEN {whole} ELSE {quotient(scope, x, y)} END"

    def floating() -> str:
        # Only for floats and doubles: the quotient by an exact zero must not become an infinity.
        sides = [a.approx, b.approx]
        if not isinstance(rank, int):
            wide = f"{rank()} > {c.RANK_DECIMAL}"
            sides = [f"CASE WHEN {wide} THEN {side} END" for side in sides]
        above, below = (once(scope, side) for side in sides)
        return scope.dialect.divide_double(above, below)

    if isinstance(rank, int):
        return computed(scope, rank, exact, floating)
    return NumberValue(scope, Number(scope, rank, exact, floating=floating, rounded=False))


def quotient(scope: Scope, above: str, below: str) -> str:
    """A decimal quotient; it is computed with doubles if both numbers have too many digits."""
    d = scope.dialect
    above, below = once(scope, above), once(scope, below)
    by_doubles = d.divide_double(d.to_double(above), d.to_double(f"NULLIF({below}, 0)"))
    rounded = d.try_cast(d.scientific(by_doubles, 15), EXACT)
    exactly = d.divide_exact(once(scope, d.dividend(above)), once(scope, d.dividend(below)))
    return f"COALESCE({exactly}, {rounded})"


def mapped(scope: Scope, value: Value, exact: Callable[[str], str], approx: Callable[[str], str]) -> Value:
    """The result of a function that keeps the type of its argument."""
    a = value.number
    if a is None:
        return ErrorValue(scope)
    return NumberValue(
        scope,
        Number(
            scope,
            a.rank_known if a.rank_known is not None else lambda: str(a.rank),
            (lambda: exact(a.exact or NULL)) if a.exact is not None else None,
            floating=None if a.is_exact else lambda: approx(a.floating),
            rounded=a.rank_known is not None,
        ),
    )


def negated(scope: Scope, value: Value) -> Value:
    return mapped(scope, value, lambda x: f"(- {x})", lambda x: f"(- {x})")


def unchanged(scope: Scope, value: Value) -> Value:
    return mapped(scope, value, lambda x: x, lambda x: x)


def absolute(scope: Scope, value: Value) -> Value:
    return mapped(scope, value, lambda x: f"abs({x})", lambda x: f"abs({x})")


def floor(scope: Scope, value: Value) -> Value:
    d = scope.dialect
    return mapped(scope, value, d.floor_exact, lambda x: d.floor_double(once(scope, x)))


def ceiling(scope: Scope, value: Value) -> Value:
    d = scope.dialect
    return mapped(
        scope,
        value,
        lambda x: f"(- {d.floor_exact(f'(- {x})')})",
        lambda x: f"(- {d.floor_double(once(scope, f'(- {x})'))})",
    )


def rounded(scope: Scope, value: Value) -> Value:
    """ROUND, as fn:round: halves are rounded up, so -2.5 becomes -2."""
    d = scope.dialect

    def floating(x: str) -> str:
        x = once(scope, x)
        below = once(scope, d.floor_double(x))
        return f"CASE WHEN {x} - {below} >= 0.5 THEN {below} + 1 ELSE {below} END"

    return mapped(scope, value, lambda x: d.floor_exact(f"({x} + {HALF})"), floating)


def random(scope: Scope) -> Value:
    return NumberValue(scope, approx_number(scope, c.RANK_DOUBLE, scope.dialect.random()))


FUNCTIONS: dict[str, Function] = {
    "*": times,
    "/": divided,
    "ABS": absolute,
    "CEIL": ceiling,
    "FLOOR": floor,
    "ROUND": rounded,
    "RAND": random,
}
