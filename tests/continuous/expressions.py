"""The expressions of queries put together in Python: one and a mapping come in; its value goes out.

A string is a term as in N-Triples, or else a name that the mapping may have: a variable with its question
mark, or a function of EP-SPARQL that asks for the interval of a solution. Numbers are integers and decimals,
exact to 18 digits after the point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_DOWN, Context, Decimal
from functools import lru_cache
from typing import Any

XSD = "http://www.w3.org/2001/XMLSchema#"
SECOND = 1_000_000

Binding = Mapping[str, str]
# A string or one of the nodes below; a language may have more.
Expression = Any


@dataclass(frozen=True)
class Compare:
    left: Expression
    operator: str
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Arithmetic:
    left: Expression
    operator: str
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Abs:
    inner: Expression

    def __str__(self) -> str:
        return f"ABS({self.inner})"


@dataclass(frozen=True)
class Bound:
    variable: str

    def __str__(self) -> str:
        return f"BOUND({self.variable})"


@dataclass(frozen=True)
class Not:
    inner: Expression

    def __str__(self) -> str:
        return f"(! {self.inner})"


@dataclass(frozen=True)
class And:
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} && {self.right})"


@dataclass(frozen=True)
class Or:
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} || {self.right})"


class Failed(Exception):
    """The value of an expression that has none."""


class Evaluator:
    """Section 17.2 of the recommendation; whoever has more kinds of expressions adds to `truth`."""

    def passes(self, conditions: Iterable[Expression], binding: Binding) -> bool:
        try:
            return all(self.truth(condition, binding) for condition in conditions)
        except Failed:
            return False

    def truth(self, expression: Expression, binding: Binding) -> bool:
        match expression:
            case Compare(left, operator, right):
                return compared(self.value(left, binding), operator, self.value(right, binding))
            case Bound(variable):
                return variable in binding
            case Not(inner):
                return not self.truth(inner, binding)
            case And(left, right):
                return not self.either(Not(left), Not(right), binding)
            case Or(left, right):
                return self.either(left, right, binding)
        raise AssertionError(expression)

    def either(self, left: Expression, right: Expression, binding: Binding) -> bool:
        """An error on one side does not matter if the other is true."""
        try:
            if self.truth(left, binding):
                return True
        except Failed:
            if self.truth(right, binding):
                return True
            raise
        return self.truth(right, binding)

    def value(self, expression: Expression, binding: Binding) -> str:
        match expression:
            case str() if expression[0] in '<"_':
                return expression
            case str():
                if expression not in binding:
                    raise Failed
                return binding[expression]
            case Arithmetic(left, operator, right):
                return calculated(self.value(left, binding), operator, self.value(right, binding))
            case Abs(inner):
                found = number(self.value(inner, binding))
                if found is None:
                    raise Failed
                return numeric(abs(found))
        raise AssertionError(expression)


def compared(left: str, operator: str, right: str) -> bool:
    """Numbers, durations and times by value; other terms are only equal or not, and of two different literals
    nobody knows."""
    (kind, one), (other_kind, other) = measured(left), measured(right)
    if kind and kind == other_kind:
        order = (one > other) - (one < other)
        return (
            order in {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[operator]
        )
    if operator not in ("=", "!="):
        raise Failed
    if left != right and left.startswith('"') and right.startswith('"') and "^^" in left + right:
        raise Failed
    return (left == right) is (operator == "=")


def calculated(left: str, operator: str, right: str) -> str:
    """Integers give an integer, unless they are divided."""
    one, other = number(left), number(right)
    if one is None or other is None or (operator == "/" and other == 0):
        raise Failed
    if operator == "/":
        return numeric(cut(Decimal(one), Decimal(other)))
    return numeric({"+": one + other, "-": one - other, "*": one * other}[operator])


# --- literals ---------------------------------------------------------------------------------------------

LITERAL = re.compile(r'"([^"]*)"\^\^<http://www\.w3\.org/2001/XMLSchema#(\w+)>')
DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
PRECISE = Context(prec=60)


@lru_cache(maxsize=10_000)
def measured(term: str) -> tuple[str, int | Decimal]:
    """The kind of a value that has an order, and its measure; no kind for all other terms."""
    found = LITERAL.fullmatch(term)
    match found.groups() if found else ("", ""):
        case lexical, "integer":
            return "number", int(lexical)
        case lexical, "decimal":
            return "number", Decimal(lexical)
        case lexical, "duration":
            return "duration", micros_of(lexical)
        case lexical, "dateTime":
            return "time", round(datetime.fromisoformat(lexical).timestamp() * SECOND)
    return "", 0


def number(term: str) -> int | Decimal | None:
    kind, value = measured(term)
    return value if kind == "number" else None


def micros_of(duration: str) -> int:
    """Of days, hours, minutes and seconds; how long a month is, is no question here."""
    found = DURATION.fullmatch(duration)
    assert found, duration
    days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND)


def literal(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


def integer(value: int) -> str:
    return literal(str(value), "integer")


def numeric(value: int | Decimal) -> str:
    """In canonical form: no zeros at the end, no point where there is no need of one."""
    if isinstance(value, int):
        return integer(value)
    written = f"{value:f}"
    return literal(written.rstrip("0").rstrip(".") if "." in written else written, "decimal")


def cut(dividend: Decimal, divisor: Decimal) -> Decimal:
    """A quotient with 18 digits after the point, as the engine and pyoxigraph have it."""
    return PRECISE.divide(dividend, divisor).quantize(Decimal(1).scaleb(-18), ROUND_DOWN, PRECISE)
