"""Traversal of the algebra: functions that rewrite the operands of a node, or look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rheos.algebra.expressions import Aggregate, Call, Constant, Exists, Expression
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    AllenJoin,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Pairs,
    PathPattern,
    Query,
    Recent,
    Runs,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    TableScan,
    Union,
    Values,
)

Rewrite = Callable[[Node], Node]


def operands(node: Node, rewrite: Rewrite) -> Node:
    """The node with `rewrite` applied to each pattern directly under it, those inside EXISTS included."""
    match node:
        case BGP() | Values() | StreamPattern() | TableScan() | Pairs():
            return node
        case PathPattern(seeds=seeds):
            return node if seeds is None else replace(node, seeds=rewrite(seeds))
        case Join(left, right) | Union(left, right) | Minus(left, right):
            return replace(node, left=rewrite(left), right=rewrite(right))
        case SeqJoin(left, right, between) if between is not None:
            return replace(node, left=rewrite(left), right=rewrite(right), between=rewrite(between))
        case SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return replace(node, left=rewrite(left), right=rewrite(right))
        case (
            LeftJoin(left, right, condition)
            | SeqRightJoin(left, right, condition)
            | EqLeftJoin(left, right, condition)
        ):
            kept = None if condition is None else in_expression(condition, rewrite)
            return replace(node, left=rewrite(left), right=rewrite(right), condition=kept)
        case Filter(condition, pattern):
            return Filter(in_expression(condition, rewrite), rewrite(pattern))
        case Extend(pattern, variable, expression):
            return Extend(rewrite(pattern), variable, in_expression(expression, rewrite))
        case OrderBy(pattern, conditions):
            orders = tuple(
                replace(order, expression=in_expression(order.expression, rewrite)) for order in conditions
            )
            return OrderBy(rewrite(pattern), orders)
    return replace(node, pattern=rewrite(node.pattern))


def below(node: Node) -> list[Node]:
    """The patterns directly under a node, those inside EXISTS included."""
    found: list[Node] = []

    def look(inner: Node) -> Node:
        found.append(inner)
        return inner

    operands(node, look)
    for aggregate in aggregates_of(node):
        if aggregate.argument is not None:
            in_expression(aggregate.argument, look)
    return found


def graphs_of(query: Query) -> set[str]:
    """The terms of the graphs that a query names: in GRAPH, FROM or FROM NAMED."""
    dataset = query.dataset
    found = set() if dataset is None else {*dataset.default, *(dataset.named or ())}
    left = [query.form.pattern]
    while left:
        node = left.pop()
        if isinstance(node, Graph) and isinstance(node.name, Constant):
            found.add(node.name.term)
        left += below(node)
    return found


def aggregates_of(node: Node) -> list[Aggregate]:
    """The aggregates that a node computes."""
    match node:
        case Group(aggregates=found) | Recent(aggregates=found) | Runs(aggregates=found):
            return [aggregate for _, aggregate in found]
        case Aggregated(aggregations=aggregations):
            return [aggregation.aggregate for aggregation in aggregations]
    return []


def has_streams(node: Node) -> bool:
    """Whether a pattern of CQELS-QL or EP-SPARQL looks at a stream anywhere, inside EXISTS too."""
    return isinstance(node, StreamPattern | Pairs) or any(map(has_streams, below(node)))


def in_expression(expression: Expression, rewrite: Rewrite) -> Expression:
    """The expression with `rewrite` applied to the pattern of every EXISTS in it."""
    match expression:
        case Exists(pattern, negated):
            return Exists(rewrite(pattern), negated)
        case Call(name, arguments):
            return Call(name, tuple(in_expression(argument, rewrite) for argument in arguments))
    return expression


def bottom_up(node: Node, rewrite: Rewrite) -> Node:
    """The pattern with `rewrite` applied to every node in it, the innermost first."""
    return rewrite(operands(node, lambda inner: bottom_up(inner, rewrite)))


def in_query(query: Query, rewrite: Rewrite) -> Query:
    """The query with `rewrite` applied to its whole pattern."""
    return replace(query, form=replace(query.form, pattern=rewrite(query.form.pattern)))


def nodes(node: Node) -> Iterator[Node]:
    """A pattern and all patterns in it."""
    yield node
    for part in below(node):
        yield from nodes(part)
