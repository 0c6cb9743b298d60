"""Push filters down: each condition moves to the smallest pattern that binds the variables that it reads.

A condition on the interval of a solution (EP-SPARQL) stays above joins, because a solution of a join has
another interval than the solutions that are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rheos.algebra.chains import conjunction, filtered
from rheos.algebra.expressions import Call, Expression
from rheos.algebra.nodes import (
    BGP,
    AllenJoin,
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

# Each call of these functions gives another value, so their conditions must not be tested earlier or more
# often.
VOLATILE = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})

# A solution of these gets its interval from those of two solutions.
JOINS = (Join, LeftJoin, SeqJoin, SeqRightJoin, EqJoin, EqLeftJoin, AllenJoin)


def push_filters(query: Query, statistics: Statistics) -> Query:
    return in_query(query, lambda pattern: bottom_up(pattern, push))


def push(node: Node) -> Node:
    match node:
        case Filter(condition, pattern):
            return place(conjuncts(condition), pattern)
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition) if condition is not None:
            right, kept = restricted(right, condition)
            return replace(node, right=right, condition=kept)
        case SeqRightJoin(left, _, condition) if condition is not None:
            left, kept = restricted(left, condition)
            return replace(node, left=left, condition=kept)
    return node


def restricted(optional: Node, condition: Expression) -> tuple[Node, Expression | None]:
    """The optional part, with those conjuncts of the condition that read only this part; and the conjuncts
    that are left."""
    inside: list[Expression] = []
    kept: list[Expression] = []
    for part in conjuncts(condition):
        alone = movable(part) and not asks_interval(part) and used(part) <= certain(optional)
        (inside if alone else kept).append(part)
    return place(inside, optional), conjunction(kept)


def place(conditions: Sequence[Expression], node: Node) -> Node:
    """The node with each condition at the deepest place where it means the same.

    All conditions are moved together: one at a time, a condition would have to pass the
    earlier ones one by one.
    """
    sides: dict[str, list[Expression]] = {}
    for condition in conditions:
        for side in operands_for(condition, node) or ("",):
            sides.setdefault(side, []).append(condition)
    here = sides.pop("", [])
    lower: dict[str, Any] = {side: place(found, getattr(node, side)) for side, found in sides.items()}
    return filtered(replace(node, **lower), here)


def operands_for(condition: Expression, node: Node) -> tuple[str, ...]:
    """The operands of a node on which a condition means the same as on the node itself."""
    if not movable(condition) or (asks_interval(condition) and isinstance(node, JOINS)):
        return ()
    reads = used(condition)
    match node:
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            if decided_by(reads, left, right):
                return ("left",)
            return ("right",) if decided_by(reads, right, left) else ()
        case LeftJoin(left, right) | EqLeftJoin(left, right) if decided_by(reads, left, right):
            return ("left",)
        case SeqRightJoin(left, right) if decided_by(reads, right, left):
            return ("right",)
        case Minus():
            return ("left",)
        case Union():
            return ("left", "right")
        case Extend(variable=variable) if variable.name not in reads:
            return ("pattern",)
        case Project(variables=variables) if reads <= names(variables):
            return ("pattern",)
        case Distinct() | OrderBy():
            return ("pattern",)
        case Graph(name) if not reads & names((name,)):
            return ("pattern",)
        case Filter(_, pattern) if not isinstance(pattern, BGP):
            return ("pattern",)
    return ()


def decided_by(reads: Names, side: Node, other: Node) -> bool:
    """Whether all variables that a condition reads have the same values in `side` as in
    its join with `other`."""
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
    """The parts of a conjunction. In a filter, each may be tested by itself, since an error
    also drops the row."""
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]
