"""Prune empty branches: removes patterns that no loaded triple can match, or that a filter rules out."""

from __future__ import annotations

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Project,
    Query,
    Reduced,
    Slice,
    Union,
    Values,
)
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.algebra.variables import in_scope
from rheos.optimize.statistics import Statistics
from rheos.terms import XSD, literal

FALSE = Constant(literal("false", XSD + "boolean"))


def empty_branches(query: Query, statistics: Statistics) -> Query:
    return in_query(query, lambda pattern: bottom_up(pattern, lambda node: prune(node, statistics)))


def prune(node: Node, statistics: Statistics) -> Node:
    match node:
        case BGP(patterns):
            known = (p.predicate.term for p in patterns if isinstance(p.predicate, Constant))
            if any(predicate not in statistics.predicates for predicate in known):
                return nothing(node)
        case Join(left, right) if is_nothing(left) or is_nothing(right):
            return nothing(node)
        case LeftJoin(left, right) | Minus(left, right):
            if is_nothing(left):
                return nothing(node)
            if is_nothing(right):
                return left
        case Union(left, right):
            if is_nothing(left):
                return right
            if is_nothing(right):
                return left
        case Filter(condition, pattern) if condition == FALSE or is_nothing(pattern):
            return nothing(node)
        case Slice(_, _, 0):
            return nothing(node)
        case (
            Extend(pattern)
            | Aggregated(pattern)
            | Graph(_, pattern)
            | Project(pattern)
            | Distinct(pattern)
            | Reduced(pattern)
            | OrderBy(pattern)
            | Slice(pattern)
        ) if is_nothing(pattern):
            return nothing(node)
    return node


def nothing(node: Node) -> Values:
    """A pattern without solutions but with the same variables, so that the patterns around
    it need not change."""
    return Values(tuple(Variable(name) for name in sorted(in_scope(node))), ())


def is_nothing(node: Node) -> bool:
    return isinstance(node, Values) and not node.rows
