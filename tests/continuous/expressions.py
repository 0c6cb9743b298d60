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


@dataclass(frozen=True)
class In:
    value: Expression
    members: tuple[Expression, ...]
    negated: bool = False

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.members))
        return f"({self.value} {'NOT IN' if self.negated else 'IN'} ({listed}))"


@dataclass(frozen=True)
class If:
    condition: Expression
    yes: Expression
    no: Expression

    def __str__(self) -> str:
        return f"IF({self.condition}, {self.yes}, {self.no})"


@dataclass(frozen=True)
class Coalesce:
    members: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"COALESCE({', '.join(map(str, self.members))})"


class Failed(Exception):
    """The value of an expression that has none."""


class Evaluator:
    """Section 17.2 of the recommendation; whoever has more kinds of expressions adds to `truth`.

    What is no term of its own (a comparison, `!`, `&&`, IN) has a truth, and by that a value; all else has a
    value, and by that a truth.
    """

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
            case In(value, (first, *others), negated):
                found: Expression = Compare(value, "=", first)
                for other in others:
                    found = Or(found, Compare(value, "=", other))
                return self.truth(Not(found) if negated else found, binding)
        return effective(self.value(expression, binding))

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
            case If(condition, yes, no):
                return self.value(yes if self.truth(condition, binding) else no, binding)
            case Coalesce(members):
                return self.first(members, binding)
        return boolean(self.truth(expression, binding))

    def first(self, members: Iterable[Expression], binding: Binding) -> str:
        for member in members:
            try:
                return self.value(member, binding)
            except Failed:
                pass
        raise Failed


def compared(left: str, operator: str, right: str) -> bool:
    """Values of one kind by value; those of two kinds are different. Other terms are only equal or not, and
    nobody knows that of two different literals."""
    (kind, one), (other_kind, other) = measured(left), measured(right)
    if kind and kind == other_kind:
        order = (one > other) - (one < other)
        return (
            order in {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[operator]
        )
    if operator not in ("=", "!="):
        raise Failed
    literals = left.startswith('"') and right.startswith('"')
    if left != right and literals and not (kind and other_kind):
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
def measured(term: str) -> tuple[str, Any]:
    """The kind of a value that has an order, and its measure; no kind for all other terms."""
    if term[0] == term[-1] == '"':
        return "text", term[1:-1]
    found = LITERAL.fullmatch(term)
    match found.groups() if found else ("", ""):
        case lexical, "integer":
            return "number", int(lexical)
        case lexical, "decimal":
            return "number", Decimal(lexical)
        case lexical, "boolean":
            return "boolean", lexical == "true"
        case lexical, "duration":
            return "duration", micros_of(lexical)
        case lexical, "dateTime":
            return "time", round(datetime.fromisoformat(lexical).timestamp() * SECOND)
    return "", 0


def effective(term: str) -> bool:
    """The effective boolean value, section 17.2.2."""
    kind, value = measured(term)
    if kind not in ("text", "number", "boolean"):
        raise Failed
    return bool(value)


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


def boolean(value: bool) -> str:
    return literal("true" if value else "false", "boolean")


def numeric(value: int | Decimal) -> str:
    """In canonical form: no zeros at the end, no point where there is no need of one."""
    if isinstance(value, int):
        return integer(value)
    written = f"{value:f}"
    return literal(written.rstrip("0").rstrip(".") if "." in written else written, "decimal")


def cut(dividend: Decimal, divisor: Decimal) -> Decimal:
    """A quotient with 18 digits after the point, as the engine and pyoxigraph have it."""
    return PRECISE.divide(dividend, divisor).quantize(Decimal(1).scaleb(-18), ROUND_DOWN, PRECISE)
