"""What of a pattern is known when: a pattern of EP-SPARQL with numbered stream patterns comes in, the numbers
of those go out that events at the very end of a solution match, or whose absence is looked at.

Rules that read what they make themselves are evaluated to a fixpoint. What they made that ended before is
settled by then, what ends at the same time is not.
"""

from __future__ import annotations

from rheos.algebra.expressions import Expression
from rheos.algebra.nodes import (
    EqLeftJoin,
    Extend,
    Filter,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Recent,
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
    """Those of all stream patterns in a pattern."""
    own = {node.window} if isinstance(node, StreamPattern) else set[int]()
    return frozenset(own).union(*map(numbers, below(node)))


def at_end(node: Node, *, static: bool = False) -> Numbers:
    """Those whose events may end together with a solution. With `static` data a leaf may match that, and add
    nothing to the interval; the pattern then has none that cannot be."""
    match node:
        case SeqJoin(left, right) | SeqRightJoin(left, right):
            return _followed(left, right, static) | at_end(right, static=static)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return at_end(pattern, static=static) | _asked(condition)
        case OrderBy(pattern, conditions):
            return at_end(pattern, static=static).union(*(_asked(order.expression) for order in conditions))
        case StreamPattern(number):
            return frozenset({number})
    return NONE.union(*(at_end(operand, static=static) for operand in below(node)))


def _followed(left: Node, right: Node, static: bool) -> Numbers:
    """Of what something must follow, unless that is static."""
    return at_end(left, static=static) if static and not always_occurs(right) else NONE


def looked_for(node: Node, single: Numbers = NONE) -> Numbers:
    """Those of which it also matters that there is no event: they are optional, taken away or aggregated, or
    must not come between. What they must not come between counts too, as the interval of others that bind the
    same matters, but for those patterns whose events bind the same only at a `single` time."""

    def inside(inner: Node) -> Numbers:
        return looked_for(inner, single)

    match node:
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition):
            return inside(left) | numbers(right) | _asked(condition)
        case SeqRightJoin(left, right, condition):
            return inside(right) | numbers(left) | _asked(condition)
        case SeqJoin(left, right, between) if between is not None:
            both = numbers(left) | numbers(right)
            return inside(left) | inside(right) | numbers(between) | (both - single)
        case Minus(left, right):
            return inside(left) | numbers(right)
        case Recent(pattern):
            return numbers(pattern)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return inside(pattern) | _asked(condition)
    return NONE.union(*map(inside, below(node)))


def unsettled(node: Node) -> Numbers:
    """Those of which it also matters that there is no event at the very end of a solution."""
    match node:
        case SeqJoin(_, right) | SeqRightJoin(_, right):
            return unsettled(right)
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition):
            return unsettled(left) | at_end(right) | _asked(condition)
        case Minus(left, right):
            return unsettled(left) | at_end(right)
        case Recent(pattern):
            return at_end(pattern)
        case Filter(condition, pattern) | Extend(pattern, _, condition):
            return unsettled(pattern) | _asked(condition)
    return NONE.union(*map(unsettled, below(node)))


def _asked(expression: Expression | None) -> Numbers:
    """Those inside EXISTS, which looks at all events."""
    return NONE.union(*map(numbers, exists_in(expression)))
