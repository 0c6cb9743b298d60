"""Incremental evaluation of CQELS-QL: which elements a batch must look at, and which parts
of groups can be kept.

A new solution of a monotone query has a new element, and only elements that are linked to it can be
part of the solution. A query that groups a monotone pattern keeps parts of its groups, and finds new
parts in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from rheos.algebra.nodes import (
    Extend,
    Filter,
    Group,
    Kept,
    Node,
    OrderBy,
    Project,
    Query,
    Reduced,
    Select,
    Union,
)
from rheos.algebra.rewrite import bottom_up, has_streams
from rheos.algebra.streams import CqelsQuery, LastWindow, RangeWindow
from rheos.optimize.incremental import unfit_expression
from rheos.optimize.links import Links, NotKept, links_of
from rheos.optimize.novelty import branches, changes, grows, looked_for


def links(query: CqelsQuery, *, monotone: bool) -> Links | NotKept:
    """How the old elements of a new solution are linked to its new element, or why a batch must look at all
    live elements."""
    for clause in query.windows:
        match clause.window:
            case LastWindow():
                return NotKept("a window that counts holds what the elements after it decide")
            case RangeWindow(_, int()):
                return NotKept("a window that slides moves at times at which no element comes")
    pattern = query.query.form.pattern
    if monotone:
        return links_of(new_in(looked_for(pattern)[1]))
    if not isinstance(query.query.form, Select):
        return NotKept("only the rows of SELECT are found from what is kept")
    marked = kept_groups(pattern)
    return marked if isinstance(marked, NotKept) else links_of(new_in(whole_of(marked)))


def new_in(pattern: Node) -> list[Node]:
    """Patterns for the new solutions of a monotone pattern."""
    return [change for branch in branches(pattern) for change in changes(branch)]


def whole_of(node: Node) -> Node:
    """The part of a marked pattern whose solutions are kept."""
    while not isinstance(node, Kept):
        assert isinstance(node, Project | OrderBy | Filter | Extend | Reduced | Group)
        node = node.pattern
    return node.whole


def with_new(query: Query, new: Sequence[Node]) -> Query:
    """A query that keeps groups, with patterns for new solutions in its `Kept`."""
    marked = kept_groups(query.form.pattern)
    assert not isinstance(marked, NotKept)

    def filled(node: Node) -> Node:
        return replace(node, pattern=reduce(Union, new)) if isinstance(node, Kept) else node

    return Query(replace(query.form, pattern=bottom_up(marked, filled)), query.dataset)


def kept_groups(node: Node) -> Node | NotKept:
    """A pattern of CQELS-QL with `Kept` under its grouping, so that parts of groups are kept; or why that is
    not possible."""
    unfit = unfit_expression(node)
    if unfit is not None:
        return NotKept(unfit)
    match node:
        case Project() | OrderBy() | Filter() | Extend() | Reduced():
            inner = kept_groups(node.pattern)
            return inner if isinstance(inner, NotKept) else replace(node, pattern=inner)
        case Group(_, _, aggregates) if any(aggregate.distinct for _, aggregate in aggregates):
            return NotKept("DISTINCT in an aggregate compares all solutions")
        case Group(pattern) if grows(pattern) and all(map(has_streams, branches(pattern))):
            return replace(node, pattern=Kept(pattern, pattern))
        case Group():
            return NotKept("what it groups depends on what is absent, or on static data alone")
    return NotKept("it is no join, and no grouping of one: its answers at all ticks are compared")
