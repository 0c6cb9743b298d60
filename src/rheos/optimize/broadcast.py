"""Broadcast small sides: marks operands of joins that are small enough to be sent to every worker, so that
they need not be shuffled."""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.nodes import BGP, Broadcast, Join, LeftJoin, Minus, Node, Query
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.optimize import estimate
from rheos.optimize.statistics import Statistics

SMALL = 50_000  # solutions: some megabytes of terms


def broadcast(query: Query, statistics: Statistics) -> Query:
    return in_query(query, lambda pattern: bottom_up(pattern, lambda node: mark(node, statistics)))


def mark(node: Node, statistics: Statistics) -> Node:
    match node:
        case BGP(patterns) if len(patterns) > 1:
            sizes = [estimate.triples(pattern, statistics) for pattern in patterns]
            largest = sizes.index(max(sizes))
            small = (at for at, size in enumerate(sizes) if at != largest and size <= SMALL)
            return BGP(patterns, frozenset(small))
        case Join(left, right):
            sizes = [estimate.rows(left, statistics), estimate.rows(right, statistics)]
            if min(sizes) > SMALL:
                return node
            return Join(Broadcast(left), right) if sizes[0] < sizes[1] else Join(left, Broadcast(right))
        case LeftJoin(_, right) | Minus(_, right) if estimate.rows(right, statistics) <= SMALL:
            # Of an outer join or an anti join, only the right side can be broadcast.
            return replace(node, right=Broadcast(right))
    return node
