"""Push filters down: each condition moves to the smallest pattern that binds what it reads.

One that asks for the interval of a solution (EP-SPARQL) stays above joins, whose solutions have intervals of
their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from rheos.algebra.expressions import Call, Expression
from rheos.algebra.nodes import (
    BGP,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Project,
    Query,
    SeqJoin,
    SeqRightJoin,
    Union,
)
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.algebra.variables import Names, asks_interval, certain, has_exists, in_scope, names, used
from rheos.optimize.statistics import Statistics

# Each call of these has a value of its own, so a row must not be tested earlier or more often.
VOLATILE = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})

# The interval of a solution of these is made of two others.
JOINS = (Join, LeftJoin, SeqJoin, SeqRightJoin, EqJoin, EqLeftJoin)


def push_filters(query: Query, statistics: Statistics) -> Query:
    return in_query(query, lambda pattern: bottom_up(pattern, push))


def push(node: Node) -> Node:
    match node:
        case Filter(condition, pattern):
            return reduce(lambda inner, part: place(part, inner), conjuncts(condition), pattern)
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition) if condition is not None:
            right, kept = restricted(right, condition)
            return replace(node, right=right, condition=kept)
        case SeqRightJoin(left, _, condition) if condition is not None:
            left, kept = restricted(left, condition)
            return replace(node, left=left, condition=kept)
    return node


def restricted(optional: Node, condition: Expression) -> tuple[Node, Expression | None]:
    """The optional part with those conjuncts of the condition that read it alone, and what is left."""
    kept = []
    for part in conjuncts(condition):
        if movable(part) and not asks_interval(part) and used(part) <= certain(optional):
            optional = place(part, optional)
        else:
            kept.append(part)
    return optional, conjunction(kept)


def place(condition: Expression, node: Node) -> Node:
    """The node with the condition at the deepest place where it means the same."""
    if not movable(condition):
        return Filter(condition, node)
    if asks_interval(condition) and isinstance(node, JOINS):
        return Filter(condition, node)
    reads = used(condition)
    match node:
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right):
            if decided_by(reads, left, right):
                return replace(node, left=place(condition, left))
            if decided_by(reads, right, left):
                return replace(node, right=place(condition, right))
        case LeftJoin(left, right) | EqLeftJoin(left, right) if decided_by(reads, left, right):
            return replace(node, left=place(condition, left))
        case SeqRightJoin(left, right) if decided_by(reads, right, left):
            return replace(node, right=place(condition, right))
        case Minus(left, right):
            return Minus(place(condition, left), right)
        case Union(left, right):
            return Union(place(condition, left), place(condition, right))
        case Extend(pattern, variable, expression) if variable.name not in reads:
            return Extend(place(condition, pattern), variable, expression)
        case Project(pattern, variables) if reads <= names(variables):
            return Project(place(condition, pattern), variables)
        case Distinct(pattern):
            return Distinct(place(condition, pattern))
        case OrderBy(pattern, conditions):
            return OrderBy(place(condition, pattern), conditions)
        case Graph(name, pattern) if not reads & names((name,)):
            return Graph(name, place(condition, pattern))
        case Filter(other, pattern) if not isinstance(pattern, BGP):
            return Filter(other, place(condition, pattern))
    return Filter(condition, node)


def decided_by(reads: Names, side: Node, other: Node) -> bool:
    """Whether what a condition reads has the same value in `side` as in its join with `other`."""
    return reads <= in_scope(side) and all(
        name in certain(side) or name not in in_scope(other) for name in reads
    )


def movable(condition: Expression) -> bool:
    return not has_exists(condition) and not volatile(condition)


def volatile(condition: Expression) -> bool:
    if not isinstance(condition, Call):
        return False
    return condition.name in VOLATILE or any(map(volatile, condition.arguments))


def conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a conjunction; in a filter each may be tested by itself, as an error drops the row too."""
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def conjunction(parts: Iterable[Expression]) -> Expression | None:
    found = list(parts)
    return reduce(lambda left, right: Call("&&", (left, right)), found) if found else None
