"""Order the triple patterns of a BGP: the smallest first, then always the one that adds
the fewest solutions."""

from __future__ import annotations

from dataclasses import replace

from rheos.algebra.nodes import BGP, Node, Query, TriplePattern
from rheos.algebra.rewrite import bottom_up, in_query
from rheos.algebra.variables import in_scope
from rheos.deadline import check
from rheos.optimize import estimate
from rheos.optimize.statistics import Statistics


def order_patterns(query: Query, statistics: Statistics) -> Query:
    def order(node: Node) -> Node:
        return replace(node, patterns=ordered(node.patterns, statistics)) if isinstance(node, BGP) else node

    return in_query(query, lambda pattern: bottom_up(pattern, order))


def ordered(patterns: tuple[TriplePattern, ...], statistics: Statistics) -> tuple[TriplePattern, ...]:
    """A greedy order. Patterns that share no variable with those before come last, because
    they multiply rows."""
    rest = list(patterns)
    chosen: list[TriplePattern] = []
    bound: frozenset[str] = frozenset()
    while rest:
        check()

        def cost(pattern: TriplePattern, bound: frozenset[str] = bound) -> tuple[bool, float]:
            apart = bool(bound) and not bound & in_scope(BGP((pattern,)))
            return apart, estimate.triples(pattern, statistics, bound)

        best = min(rest, key=cost)
        rest.remove(best)
        chosen.append(best)
        bound |= in_scope(BGP((best,)))
    return tuple(chosen)
