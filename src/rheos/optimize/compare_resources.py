"""Compare resources as strings: a term that is never a literal is equal only to itself.

In general, `=` must look for numbers, times and languages in both terms. The SQL for that is so long that
DuckDB plans it for longer than a small batch of a stream takes.
"""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.expressions import Call, Expression, Variable
from rheos.algebra.nodes import EqLeftJoin, Filter, Join, LeftJoin, Node, Query, SeqRightJoin
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.algebra.variables import Names, resources
from rheos.optimize.statistics import Statistics


def compare_resources(query: Query, statistics: Statistics) -> Query:
    return in_query(query, lambda pattern: bottom_up(pattern, rewrite))


def rewrite(node: Node) -> Node:
    match node:
        case Filter(condition, pattern):
            return replace(node, condition=compared(condition, resources(pattern)))
        case (
            LeftJoin(left, right, condition)
            | EqLeftJoin(left, right, condition)
            | SeqRightJoin(left, right, condition)
        ) if condition is not None:
            return replace(node, condition=compared(condition, resources(Join(left, right))))
    return node


def compared(condition: Expression, known: Names) -> Expression:
    match condition:
        case Call("=" | "!=" as name, (left, right)):
            if any(isinstance(side, Variable) and side.name in known for side in (left, right)):
                same = Call("SAMETERM", (left, right))
                return same if name == "=" else Call("!", (same,))
        case Call("&&" | "||" | "!" as name, arguments):
            return Call(name, tuple(compared(argument, known) for argument in arguments))
    return condition
