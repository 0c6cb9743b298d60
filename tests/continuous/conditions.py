"""Random conditions with every operator: variables by what they may hold come in, an expression goes out.

They are for filters, and most of all for those inside OPTIONAL, MINUS, EXISTS, UNION and sub-selects: these
speak of variables of both sides, of some that are not bound there, and of values of different types.

Before there were such conditions nobody saw that one of a join was printed as `l.x = r.x AND p OR q`: random
filters of OPTIONAL in CQELS-QL were single comparisons, and those of C-SPARQL a few that were fixed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

from tests.continuous.expressions import (
    And,
    Arithmetic,
    Bound,
    Coalesce,
    Compare,
    Expression,
    If,
    In,
    Not,
    Or,
    boolean,
    integer,
    numeric,
)


def iri(name: str) -> str:
    return f"<http://ex/{name}>"


NODES = [iri(name) for name in "abc"]
INTEGERS = [integer(value) for value in range(3)]
# What an object of :u may be. No two of them are equal without being the same, and none is a boolean: `<` of
# those is an error to pyoxigraph.
MIXED = [*INTEGERS[:2], numeric(Decimal("1.5")), '"b"', '""', NODES[0], NODES[1]]

INTEGER_VARIABLES = ["?i", "?j"]
MIXED_VARIABLES = ["?t", "?u"]

EQUAL = ["=", "!=", "!="]
ORDERED = ["=", "!=", "<", "<=", ">", ">="]


class Conditions:
    """Conditions about variables; a language may have more tests."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def about(self, found: Sequence[str], depth: int = 2) -> Expression:
        """A condition on some of these variables."""
        if depth == 0 or self.chance.random() < 0.5:
            return self.test(found)
        return self.joined(found, found, depth)

    def about_both(self, one: Sequence[str], other: Sequence[str]) -> Expression:
        """A condition on variables of two sides."""
        if not one or not other:
            return self.about([*one, *other])
        if self.chance.random() < 0.25:
            return self.comparison(self.chance.choice(one), other)
        return self.joined(one, other, self.chance.choice([1, 1, 2]))

    def joined(self, one: Sequence[str], other: Sequence[str], depth: int) -> Expression:
        left, right = self.about(one, depth - 1), self.about(other, depth - 1)
        match self.chance.choice(["or", "or", "or", "and", "and", "not", "if", "coalesce", "in"]):
            case "or":
                return Or(left, right)
            case "and":
                return And(left, right)
            case "not":
                return Not(self.chance.choice([left, Or(left, right), And(left, right)]))
            case "if":
                return If(left, right, self.chance.choice([Not(right), boolean(True), left]))
            case "coalesce":
                return Coalesce((left, right))
        value = self.chance.choice(one)
        members = (self.chance.choice(other), self.constant(value))
        return In(value, members[: self.chance.choice([1, 2])], negated=self.chance.random() < 0.4)

    def test(self, found: Sequence[str]) -> Expression:
        variable = self.chance.choice(found)
        kind = self.chance.random()
        if kind < 0.12:
            return Bound(variable)
        if kind < (0.13 if kind_of(variable) == "node" else 0.2):
            return variable  # by its boolean value, which an IRI has not
        if kind < 0.3:
            return In(variable, tuple(self.constant(variable) for _ in range(self.chance.choice([1, 2, 3]))))
        return self.comparison(variable, found)

    def comparison(self, variable: str, others: Sequence[str]) -> Expression:
        """Mostly of what can be compared, with a variable or a constant."""
        alike = [other for other in others if kind_of(other) == kind_of(variable) and other != variable]
        right: Expression = self.constant(variable)
        if alike and self.chance.random() < 0.5:
            right = self.chance.choice(alike)
        elif self.chance.random() < 0.15:
            right = self.chance.choice(others)
        if variable in INTEGER_VARIABLES and self.chance.random() < 0.15:
            right = Arithmetic(right, self.chance.choice(["+", "-", "*", "/"]), self.chance.choice(INTEGERS))
        # To pyoxigraph an IRI is `>=` itself, where the recommendation has an error.
        ordered = variable in INTEGER_VARIABLES or (kind_of(variable) == "mixed" and right[0] == '"')
        return Compare(variable, self.chance.choice(ORDERED if ordered else EQUAL), right)

    def constant(self, variable: str) -> str:
        kinds = {"node": NODES, "integer": INTEGERS, "mixed": MIXED}
        return self.chance.choice(kinds[kind_of(variable) if self.chance.random() < 0.9 else "mixed"])


def kind_of(variable: str) -> str:
    if variable in INTEGER_VARIABLES:
        return "integer"
    return "mixed" if variable in MIXED_VARIABLES else "node"
