"""Prune unused columns: a pattern drops the variables that nothing above it reads."""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    AllenJoin,
    Broadcast,
    Construct,
    Describe,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Events,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Kept,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Pairs,
    PathPattern,
    Project,
    Query,
    Recent,
    Reduced,
    Runs,
    Select,
    SeqJoin,
    SeqRightJoin,
    Slice,
    StreamPattern,
    TableScan,
    Union,
    Values,
)
from rheos.algebra.rewrite import in_query
from rheos.algebra.variables import NONE, Names, in_scope, names, used
from rheos.optimize.statistics import Statistics


def prune_columns(query: Query, statistics: Statistics) -> Query:
    match query.form:
        case Select(_, variables):
            needed = frozenset(variables)
        case Construct(_, template):
            needed = names(term for triple in template for term in triple.terms)
        case Describe(_, terms):
            needed = names(terms)
        case _:
            needed = NONE
    return in_query(query, lambda pattern: narrow(pattern, needed))


def narrow(node: Node, needed: Names) -> Node:
    """The pattern without variables that are not needed; the needed variables have the
    same values as before."""
    match node:
        case BGP() | PathPattern():
            scope = in_scope(node)
            if scope <= needed:
                return node
            return Project(node, tuple(Variable(name) for name in sorted(scope & needed)))
        case Values() | StreamPattern() | TableScan() | Pairs():
            return node
        case SeqJoin(left, right, between) if between is not None:
            shared = needed | (in_scope(left) & in_scope(right)) | in_scope(between)
            outer = in_scope(left) | in_scope(right)
            left, right = narrow(left, shared), narrow(right, shared)
            return replace(node, left=left, right=right, between=narrow(between, outer))
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            shared = needed | (in_scope(left) & in_scope(right))
            return replace(node, left=narrow(left, shared), right=narrow(right, shared))
        case (
            LeftJoin(left, right, condition)
            | SeqRightJoin(left, right, condition)
            | EqLeftJoin(left, right, condition)
        ):
            shared = needed | (in_scope(left) & in_scope(right)) | used(condition)
            return replace(node, left=narrow(left, shared), right=narrow(right, shared))
        case Minus(left, right):
            shared = in_scope(left) & in_scope(right)
            return Minus(narrow(left, needed | shared), narrow(right, shared))
        case Union(left, right):
            return Union(narrow(left, needed), narrow(right, needed))
        case Filter(condition, pattern):
            return Filter(condition, narrow(pattern, needed | used(condition)))
        case Extend(pattern, variable, expression):
            if variable.name not in needed:
                return narrow(pattern, needed)
            return Extend(
                narrow(pattern, (needed - {variable.name}) | used(expression)), variable, expression
            )
        case Graph(name, pattern):
            return replace(node, pattern=narrow(pattern, needed | names((name,))))
        case Group(pattern, keys, aggregates):
            kept = tuple(item for item in aggregates if item[0].name in needed)
            if any(aggregate.argument is None and aggregate.distinct for _, aggregate in kept):
                return Group(pattern, keys, kept)  # COUNT(DISTINCT *) compares whole solutions
            inner = names(keys).union(*(used(aggregate) for _, aggregate in kept))
            return Group(narrow(pattern, inner), keys, kept)
        case Runs(pattern) | Events(pattern):
            return replace(node, pattern=narrow(pattern, in_scope(pattern)))
        case Recent(pattern, within, group, aggregates):
            kept = tuple(item for item in aggregates if item[0].name in needed)
            # The solutions of its pattern are a set: with fewer variables there could be fewer solutions.
            return Recent(narrow(pattern, in_scope(pattern)), within, group, kept)
        case Aggregated(pattern, aggregations):
            added = tuple(item for item in aggregations if item.variable.name in needed)
            reads = (used(item.aggregate) | names(item.group) for item in added)
            return Aggregated(narrow(pattern, needed.union(*reads)), added)
        case Project(pattern, variables):
            read = tuple(variable for variable in variables if variable.name in needed)
            return Project(narrow(pattern, names(read)), read)
        case Distinct(pattern):
            return Distinct(narrow(pattern, in_scope(pattern)))
        case OrderBy(pattern, conditions):
            ordering = (used(condition.expression) for condition in conditions)
            return OrderBy(narrow(pattern, needed.union(*ordering)), conditions)
        case Reduced(pattern):
            return Reduced(narrow(pattern, needed))
        case Slice(pattern, offset, limit):
            return Slice(narrow(pattern, needed), offset, limit)
        case Broadcast(pattern):
            return Broadcast(narrow(pattern, needed))
        case Kept():
            return node
