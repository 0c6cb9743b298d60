"""Novelty: patterns for only those solutions of a CQELS-QL query that have a new element.

A query of joins, filters, BIND, UNION and projection is *monotone*: more elements never take a solution away,
so the new solutions are those with at least one new element. A branch without unions is a join of stream
patterns and others. Its new solutions are found by one pattern for each stream pattern: this one matches a
new element, the stream patterns before it match old elements, and those after it any. So each combination is
found once.
"""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import (
    BGP,
    Construct,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Reduced,
    Select,
    Slice,
    StreamPattern,
    TableScan,
    Union,
    Values,
)
from rheos.algebra.rewrite import below, bottom_up, has_streams
from rheos.algebra.variables import exists_in, has_exists, names, used


def is_monotone(query: Query) -> bool:
    """Whether more elements can only add solutions to a query. A query with any other operators, even in its
    static parts, is answered by comparing bags at all ticks."""
    if not isinstance(query.form, Select | Construct):
        return False
    orders, pattern = looked_for(query.form.pattern)
    if orders is not None and any(has_exists(order.expression) for order in orders.conditions):
        return False
    return grows(pattern)


def looked_for(pattern: Node) -> tuple[OrderBy | None, Node]:
    """The ORDER BY of a query, if it has one, and the pattern below it and below the query's own projection.
    An ORDER BY further down belongs to a sub-select."""
    if isinstance(pattern, Reduced):
        pattern = pattern.pattern
    if isinstance(pattern, Project):
        pattern = pattern.pattern
    return (pattern, pattern.pattern) if isinstance(pattern, OrderBy) else (None, pattern)


def grows(node: Node) -> bool:
    match node:
        case BGP() | PathPattern() | Values() | StreamPattern() | TableScan():
            return True
        case Join(left, right) | Union(left, right):
            return grows(left) and grows(right)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return not has_exists(condition) and grows(pattern)
        case Graph(_, pattern):
            return grows(pattern)
    return False


def spreads(node: Node) -> bool:
    """Whether the rows of a pattern must be looked at tick by tick: because a part that is optional, taken
    away or in EXISTS reads streams, or because LIMIT or an order chooses among the rows of a tick."""
    match node:
        case LeftJoin(_, right) | Minus(_, right) if has_streams(right):
            return True
        case Filter(condition) | Extend(_, _, condition) | LeftJoin(_, _, condition) if any(
            map(has_streams, exists_in(condition))
        ):
            return True
        case Slice():
            return True
        case Distinct(Project(OrderBy(_, orders), variables)) if any(
            used(order.expression) - names(variables) for order in orders
        ):
            return True  # of rows with equal variables, the first in the order is taken
        case OrderBy(_, orders) if any(has_exists(order.expression) for order in orders):
            return True
    return any(map(spreads, below(node)))


def branches(node: Node) -> list[Node]:
    """The branches of a monotone pattern: patterns without UNION whose solutions, taken
    together, are its own."""
    match node:
        case Union(left, right):
            return branches(left) + branches(right)
        case Join(left, right):
            return [Join(one, other) for one in branches(left) for other in branches(right)]
        case Filter(condition, pattern):
            return [Filter(condition, branch) for branch in branches(pattern)]
        case Extend(pattern, variable, expression):
            return [Extend(branch, variable, expression) for branch in branches(pattern)]
        case Project(pattern, variables):
            return [Project(branch, variables) for branch in branches(pattern)]
        case Graph(Constant(), pattern):
            return [replace(node, pattern=branch) for branch in branches(pattern)]
    return [node]


def changes(branch: Node) -> list[Node]:
    """Patterns for the solutions of a branch that have a new element: one for each of its stream patterns,
    which matches the new element. A branch without streams stays as it is."""
    if not has_streams(branch):
        return [branch]
    return [_with_parts(branch, new) for new in range(len(stream_patterns(branch)))]


def stream_patterns(node: Node) -> list[StreamPattern]:
    """The stream patterns of a pattern, in its order."""
    if isinstance(node, StreamPattern):
        return [node]
    return [leaf for inner in below(node) for leaf in stream_patterns(inner)]


def _with_parts(branch: Node, new: int) -> Node:
    number = -1

    def part(leaf: StreamPattern) -> StreamPattern:
        nonlocal number
        number += 1
        return replace(leaf, part="new" if number == new else "old" if number < new else "all")

    return bottom_up(branch, lambda node: part(node) if isinstance(node, StreamPattern) else node)
