"""Expressions of the algebra: variables, constants, calls, EXISTS, and the aggregates of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.terms import XSD

if TYPE_CHECKING:
    from rheos.algebra.nodes import Node


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable by its name. Blank nodes of a pattern are variables whose name starts with a dot."""

    name: str

    @property
    def is_blank(self) -> bool:
        return self.name.startswith(".")


@dataclass(frozen=True, slots=True)
class Constant:
    """An RDF term in the form of `rheos.terms`."""

    term: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function applied to its arguments.

    `name` is an operator (`||` `&&` `!` `=` `!=` `<` `>` `<=` `>=` `+` `-` `*` `/` `unary-` `unary+`
    `IN` `NOT IN`), a built-in in capitals (`STRLEN`, `IF`, `COALESCE`, ...), or the full IRI of a cast.
    The functions INTERVAL have no arguments: they read the interval of the solution.
    """

    name: str
    arguments: tuple[Expression, ...]


# The functions that cast a value (17.5), by the IRIs of their datatypes.
CASTS = frozenset(
    XSD + name
    for name in (
        *("string", "boolean", "integer", "decimal", "float", "double", "dateTime", "date"),
        *("duration", "dayTimeDuration", "yearMonthDuration"),
    )
)

# getDURATION(), getSTARTTIME() and getENDTIME() of EP-SPARQL.
INTERVAL = frozenset({"DURATION", "STARTTIME", "ENDTIME"})


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS or, negated, NOT EXISTS of a pattern that sees the variables of the row around it."""

    pattern: Node
    negated: bool = False


Expression = Variable | Constant | Call | Exists


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A set function over a group: COUNT, SUM, MIN, MAX, AVG, SAMPLE, GROUP_CONCAT; in runs also FIRST, LAST.

    `argument` is None for COUNT(*).
    """

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str = " "
