"""Finds sequences of EP-SPARQL that nothing must interrupt, and gives them a simpler join.

The language says that nothing came between two events by

    { {A} SEQ {C} EQUALSOPTIONAL { {A} SEQ {B} SEQ {C} } FILTER(!BOUND(?b)) }

To join A, B and C, only to drop what can be joined, would cost more the longer nothing interrupts. It is
enough to know, for each C, when the last B before it began: A must not have ended before that.
"""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.chains import conjunction
from rheos.algebra.expressions import Call, Expression, Variable
from rheos.algebra.nodes import EqLeftJoin, Filter, Node, SeqJoin, StreamPattern, Union
from rheos.algebra.rewrite import below, bottom_up
from rheos.algebra.variables import asks_interval, certain, has_exists, in_scope
from rheos.optimize.events import always_occurs
from rheos.optimize.push_filters import conjuncts, volatile


def uninterrupted(node: Node) -> Node:
    """The pattern, whose stream patterns have numbers, with the simpler join wherever it means the same."""
    return bottom_up(node, _rewritten)


def _rewritten(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    absent = [name for part in conjuncts(node.condition) if (name := _absent(part)) is not None]
    inner, outer = _bare(node.pattern)
    for name in absent:
        found = _joined(inner, name)
        if found is not None:
            rest = [part for part in conjuncts(node.condition) if _absent(part) != name]
            return _filtered(found, [*outer, *rest])
    return node


def _absent(condition: Expression) -> str | None:
    """The variable of a condition that has the form `!BOUND(?variable)`; None for other conditions."""
    match condition:
        case Call("!", (Call("BOUND", (Variable(name),)),)):
            return name
    return None


def _joined(node: Node, absent: str) -> Node | None:
    """The simpler join for a pattern of the form above, if the filter tests the variable
    `absent`; else None."""
    match node:
        case EqLeftJoin(kept, SeqJoin(SeqJoin(first, between, None), last, None), None):
            inner, conditions = _bare(kept)
            if not isinstance(inner, SeqJoin) or inner.between is not None:
                return None
            left, right = inner.left, inner.right
            alike = _same(left, first) and _same(right, last)
            named = absent in certain(between) and absent not in in_scope(inner)
            # All variables that B shares with A must also be in C.
            known = in_scope(between) & in_scope(left) <= in_scope(right)
            if alike and named and known and all(map(_simple, (left, between, right))):
                return _filtered(replace(inner, between=between, alike=True), conditions)
    return None


def _simple(node: Node) -> bool:
    """Whether all solutions have an event and bind all variables, and the pattern has no UNION."""

    def united(inner: Node) -> bool:
        return isinstance(inner, Union) or any(map(united, below(inner)))

    return always_occurs(node) and certain(node) == in_scope(node) and not united(node)


def _same(one: Node, other: Node) -> bool:
    """Whether two patterns are equal, except that the second lacks filters on terms. These hold for the
    second anyway, since its solutions must bind the same terms."""

    def plain(inner: Node, *, filters: bool) -> Node:
        def step(found: Node) -> Node:
            match found:
                case StreamPattern():
                    return replace(found, window=0)
                case Filter(condition, pattern) if not filters and _of_terms(condition):
                    return pattern
            return found

        return bottom_up(inner, step)

    return plain(one, filters=False) == plain(other, filters=True)


def _of_terms(condition: Expression) -> bool:
    return not (asks_interval(condition) or has_exists(condition) or volatile(condition))


def _bare(node: Node) -> tuple[Node, list[Expression]]:
    """A pattern without the filters around it, and the conditions of these filters."""
    conditions: list[Expression] = []
    while isinstance(node, Filter):
        conditions += conjuncts(node.condition)
        node = node.pattern
    return node, conditions


def _filtered(node: Node, conditions: list[Expression]) -> Node:
    condition = conjunction(conditions)
    return node if condition is None else Filter(condition, node)
