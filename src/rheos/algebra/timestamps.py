"""timestamp(): triple patterns bind the time of their triples for the expressions that ask for it.

C-SPARQL's `timestamp(?v)` is the latest time of the stream triples that matched a triple pattern with ?v. So
each of these triple patterns binds one more variable, its time, and the call becomes LATEST of these
variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Time,
    TriplePattern,
)
from rheos.algebra.rewrite import bottom_up


def resolve_timestamps(node: Node) -> Node:
    """The pattern with all calls of TIMESTAMP in its filters and expressions replaced."""
    return bottom_up(node, Resolver().resolve)


def is_timed(node: Node) -> bool:
    """Whether some triple pattern binds its time."""
    found = False

    def look(node: Node) -> Node:
        nonlocal found
        found = found or (isinstance(node, BGP) and any(pattern.times for pattern in node.patterns))
        return node

    bottom_up(node, look)
    return found


@dataclass
class Resolver:
    count: int = 0
    found: list[Variable] = field(default_factory=list)

    def resolve(self, node: Node) -> Node:
        match node:
            case Filter(condition, pattern) if asks(condition):
                condition, pattern = self.in_expression(condition, pattern)
                return Filter(condition, pattern)
            case Extend(pattern, variable, expression) if asks(expression):
                expression, pattern = self.in_expression(expression, pattern)
                return Extend(pattern, variable, expression)
            case LeftJoin(left, right, condition) if asks(condition):
                assert condition is not None
                condition, both = self.in_expression(condition, Join(left, right))
                assert isinstance(both, Join)
                return LeftJoin(both.left, both.right, condition)
            case OrderBy(pattern, conditions) if any(asks(order.expression) for order in conditions):
                orders = []
                for order in conditions:
                    expression, pattern = self.in_expression(order.expression, pattern)
                    orders.append(replace(order, expression=expression))
                return OrderBy(pattern, tuple(orders))
            case Group(pattern, _, aggregates) if any(asks(a.argument) for _, a in aggregates):
                found = []
                for variable, aggregate in aggregates:
                    if aggregate.argument is not None:
                        argument, pattern = self.in_expression(aggregate.argument, pattern)
                        aggregate = replace(aggregate, argument=argument)
                    found.append((variable, aggregate))
                return replace(node, pattern=pattern, aggregates=tuple(found))
        return node

    def in_expression(self, expression: Expression, pattern: Node) -> tuple[Expression, Node]:
        """The expression without calls of TIMESTAMP, and the pattern that binds the times for it."""
        if not isinstance(expression, Call):
            return expression, pattern
        if expression.name == "TIMESTAMP":
            self.found = []
            pattern = self.timed(pattern, expression.arguments, None)
            return Call("LATEST", tuple(self.found)), pattern
        arguments = []
        for argument in expression.arguments:
            argument, pattern = self.in_expression(argument, pattern)
            arguments.append(argument)
        return Call(expression.name, tuple(arguments)), pattern

    def timed(self, node: Node, asked: tuple[Expression, ...], graph: Expression | None) -> Node:
        """The pattern in which the triple patterns that the arguments `asked` mean bind their time."""
        match node:
            case BGP(patterns):
                return replace(node, patterns=tuple(self.with_time(p, asked, graph) for p in patterns))
            case Join(left, right):
                return Join(self.timed(left, asked, graph), self.timed(right, asked, graph))
            case Filter(condition, pattern):
                return Filter(condition, self.timed(pattern, asked, graph))
            case Extend(pattern, variable, expression):
                return Extend(self.timed(pattern, asked, graph), variable, expression)
            case Graph(name, pattern):
                return replace(node, pattern=self.timed(pattern, asked, name))
            case LeftJoin(left, right, condition):
                return LeftJoin(self.timed(left, asked, graph), right, condition)
            case Aggregated(pattern):
                return replace(node, pattern=self.timed(pattern, asked, graph))
            case Minus(left, right):
                return Minus(self.timed(left, asked, graph), right)
        return node

    def with_time(
        self, pattern: TriplePattern, asked: tuple[Expression, ...], graph: Expression | None
    ) -> TriplePattern:
        stream = None
        if len(asked) == 3:  # the form of the published engine: the arguments are the triple pattern
            wanted = pattern.terms == asked
        else:
            wanted = asked[0] in pattern.terms
            if len(asked) == 2 and isinstance(asked[1], Constant):
                stream = asked[1].term
            elif len(asked) == 2:
                wanted = wanted and asked[1] == graph
        if not wanted:
            return pattern
        for time in pattern.times:
            if time.stream == stream:
                self.found.append(time.variable)
                return pattern
        self.count += 1
        self.found.append(Variable(f".time{self.count}"))
        return replace(pattern, times=(*pattern.times, Time(self.found[-1], stream)))


def asks(expression: Expression | None) -> bool:
    match expression:
        case Call("TIMESTAMP"):
            return True
        case Call(_, arguments):
            return any(map(asks, arguments))
    return False
