"""Chains of associative operators as balanced trees, whose depth stays small however long the chain is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

from rheos.algebra.expressions import Call, Expression
from rheos.algebra.nodes import Filter, Node
from rheos.algebra.variables import has_exists
from rheos.syntax.limits import ROW

T = TypeVar("T")


def balanced(combine: Callable[[T, T], T], operands: Iterable[T]) -> T:
    """The operands combined in order: ROW at a time from the left, then the results likewise, and so on."""
    parts = list(operands)
    while len(parts) > 1:
        parts = [reduce(combine, parts[start : start + ROW]) for start in range(0, len(parts), ROW)]
    return parts[0]


def conjunction(conditions: Iterable[Expression]) -> Expression | None:
    """The conjunction of conditions as one expression; None for no conditions."""
    found = list(conditions)
    return balanced(lambda left, right: Call("&&", (left, right)), found) if found else None


def filtered(pattern: Node, conditions: Iterable[Expression]) -> Node:
    """The solutions of a pattern that meet all conditions; the first condition is the innermost filter.

    Many conditions become one filter, but a condition with EXISTS is always alone, since it can be a join.
    """
    found = list(conditions)
    plain = [condition for condition in found if not has_exists(condition)]
    if len(plain) > ROW:
        together = conjunction(plain)
        assert together is not None
        found = [together, *(condition for condition in found if has_exists(condition))]
    return reduce(lambda inner, condition: Filter(condition, inner), found, pattern)
