"""Seed paths: a repeated path that is joined with a pattern starts only from the nodes of that pattern."""

from __future__ import annotations

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import (
    Distinct,
    Inverse,
    Join,
    Node,
    OneOrMore,
    PathPattern,
    Project,
    Query,
    Term,
    ZeroOrMore,
)
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.algebra.variables import certain
from rheos.optimize import estimate
from rheos.optimize.statistics import Statistics

# To collect starting points saves time while they are fewer than this part of all triples.
WORTHWHILE = 0.1


def seed_paths(query: Query, statistics: Statistics) -> Query:
    def seed(node: Node) -> Node:
        match node:
            case Join(left, PathPattern() as path) if worthwhile(left, statistics):
                return Join(left, seeded(path, left))
            case Join(PathPattern() as path, right) if worthwhile(right, statistics):
                return Join(seeded(path, right), right)
        return node

    return in_query(query, lambda pattern: bottom_up(pattern, seed))


def worthwhile(node: Node, statistics: Statistics) -> bool:
    return estimate.rows(node, statistics) <= max(1_000, WORTHWHILE * statistics.triples)


def seeded(path: PathPattern, other: Node) -> PathPattern:
    """The path with the other pattern as its starting points, at the end that this pattern binds; unchanged
    if it binds neither end."""
    if not isinstance(path.path, ZeroOrMore | OneOrMore) or path.seeds is not None:
        return path
    if open_end(path.subject, other) and isinstance(path.object, Variable):
        return PathPattern(path.subject, path.path, path.object, values(path.subject, other))
    if open_end(path.object, other) and isinstance(path.subject, Variable):
        backwards = type(path.path)(Inverse(path.path.path))
        return PathPattern(path.object, backwards, path.subject, values(path.object, other))
    return path


def open_end(end: Term, other: Node) -> bool:
    return isinstance(end, Variable) and end.name in certain(other)


def values(end: Term, other: Node) -> Node:
    assert isinstance(end, Variable)
    return Distinct(Project(other, (end,)))
