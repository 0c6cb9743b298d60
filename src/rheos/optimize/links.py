"""Links: by which terms the old elements of a new solution are connected with its new element.

From patterns of CQELS-QL or EP-SPARQL for new solutions, this finds the places (subject or object) at
which a new element and an old one must have the same term. Old elements that are linked to no new one
need not be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import (
    Distinct,
    Group,
    Node,
    OrderBy,
    Project,
    Recent,
    Reduced,
    Runs,
    Slice,
    StreamPattern,
    TriplePattern,
)
from rheos.algebra.rewrite import nodes

# Pairs of places (s or o): that of a term in the new element, and that of the same term in another element.
Links = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class NotKept:
    """Why a query is evaluated on all live elements in every batch."""

    reason: str


def not_kept(found: object) -> str | None:
    """Why a query is evaluated on all live elements; None if it is not."""
    return found.reason if isinstance(found, NotKept) else None


def between(new: TriplePattern, other: TriplePattern) -> Links:
    """The pairs of places at which elements that match two patterns of a solution have the same term."""
    return frozenset((a, b) for a, one in _ends(new) for b, two in _ends(other) if one == two)


def _ends(pattern: TriplePattern) -> list[tuple[str, Variable]]:
    ends = (("s", pattern.subject), ("o", pattern.object))
    return [(place, term) for place, term in ends if isinstance(term, Variable)]


def links_of(changes: Iterable[Node]) -> Links | NotKept:
    """The links of patterns for new solutions, or why all live elements must be looked at.

    A stream pattern always binds its variables. So an old element matters to a solution only if it
    shares a term with the new element. This holds whether the old element must be present, is
    optional, or must be absent.
    """
    found: set[tuple[str, str]] = set()
    for change in changes:
        change = _below_projection(change)
        patterns = list[StreamPattern]()
        for node in nodes(change):
            match node:
                case Project() | Distinct() | Reduced() | OrderBy() | Slice() | Group():
                    return NotKept("a sub-select is evaluated as a whole")
                case Recent() | Runs():
                    return NotKept("an aggregate or a run looks at all events before")
                case StreamPattern():
                    patterns.append(node)
        new = [leaf for leaf in patterns if leaf.part == "new"]
        for other in patterns:
            linked = [between(one.pattern, other.pattern) for one in new]
            if other.part != "new" and not all(linked):
                return NotKept("not all elements of a solution are linked to the last by a term")
            found.update(*(linked if other.part != "new" else ()))
    return frozenset(found)


def _below_projection(node: Node) -> Node:
    while isinstance(node, Project | Distinct | Reduced | OrderBy):
        node = node.pattern
    return node
