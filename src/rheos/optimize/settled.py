"""Settled events: which stream patterns of an EP-SPARQL query depend on events that may still be derived.

Rules that read their own triples are evaluated to a fixpoint, one end after the other (an end is a time at
which events end). Derived events that ended earlier are settled then. Those that end at the same time are
not: more of them may still be derived. Patterns are given by their numbers.
"""

from __future__ import annotations

from rheos.algebra.expressions import Expression
from rheos.algebra.nodes import (
    AllenJoin,
    EqLeftJoin,
    Extend,
    Filter,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Recent,
    Runs,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
)
from rheos.algebra.rewrite import below
from rheos.algebra.variables import exists_in
from rheos.optimize.events import always_occurs

Numbers = frozenset[int]
NONE: Numbers = frozenset()


def numbers(node: Node) -> Numbers:
    """The numbers of all stream patterns in a pattern."""
    own = {node.window} if isinstance(node, StreamPattern) else set[int]()
    return frozenset(own).union(*map(numbers, below(node)))


def at_end(node: Node, *, static: bool = False) -> Numbers:
    """The patterns whose events may end at the same time as a solution.

    With `static`, a pattern may also match static data instead of an event. Such a match has no interval, so
    the events before it may be the last events of the solution.
    """
    match node:
        case AllenJoin("FINISHES", left, right):
            return at_end(left, static=static) | at_end(right, static=static)
        case SeqJoin(left, right) | SeqRightJoin(left, right) | AllenJoin(_, left, right):
            return _followed(left, right, static) | at_end(right, static=static)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return at_end(pattern, static=static) | _asked(condition)
        case OrderBy(pattern, conditions):
            return at_end(pattern, static=static).union(*(_asked(order.expression) for order in conditions))
        case StreamPattern(number):
            return frozenset({number})
    return NONE.union(*(at_end(operand, static=static) for operand in below(node)))


def _followed(left: Node, right: Node, static: bool) -> Numbers:
    """The patterns on the left of a sequence that may be last, because the right side may be static."""
    return at_end(left, static=static) if static and not always_occurs(right) else NONE


def looked_for(node: Node, single: Numbers = NONE) -> Numbers:
    """The patterns whose absence matters: they are optional, taken away, aggregated, or must not come between
    two others.

    The two others count as well, because it matters which of their events lie next to each other. They do not
    count if they are in `single`: their events have the same values at one time only.
    """

    def inside(inner: Node) -> Numbers:
        return looked_for(inner, single)

    match node:
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition):
            return inside(left) | numbers(right) | _asked(condition)
        case SeqRightJoin(left, right, condition):
            return inside(right) | numbers(left) | _asked(condition)
        case SeqJoin(left, right, between) if between is not None:
            both = (numbers(left) | numbers(right)) - single if node.alike else NONE
            return inside(left) | inside(right) | numbers(between) | both
        case Minus(left, right):
            return inside(left) | numbers(right)
        case Recent(pattern) | Runs(pattern):
            return numbers(pattern)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return inside(pattern) | _asked(condition)
    return NONE.union(*map(inside, below(node)))


def unsettled(node: Node) -> Numbers:
    """The patterns for which it matters that no event ends at the same time as the solution."""
    match node:
        case AllenJoin("FINISHES", left, right):
            return unsettled(left) | unsettled(right)
        case SeqJoin(_, right) | SeqRightJoin(_, right) | AllenJoin(_, _, right):
            return unsettled(right)
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition):
            return unsettled(left) | at_end(right) | _asked(condition)
        case Minus(left, right):
            return unsettled(left) | at_end(right)
        case Recent(pattern) | Runs(pattern):
            return at_end(pattern)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return unsettled(pattern) | _asked(condition)
    return NONE.union(*map(unsettled, below(node)))


def _asked(expression: Expression | None) -> Numbers:
    """The patterns inside EXISTS, which looks at all events."""
    return NONE.union(*map(numbers, exists_in(expression)))
