"""Estimates: how many solutions a pattern may have, guessed from counts of the loaded
data, to compare plans."""

from __future__ import annotations

from collections.abc import Set

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    AllenJoin,
    Broadcast,
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
    Recent,
    Reduced,
    Runs,
    SeqJoin,
    SeqRightJoin,
    Slice,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.variables import in_scope
from rheos.optimize.statistics import Statistics

FILTERED = 0.3  # the part of the rows that a filter is assumed to leave


def triples(pattern: TriplePattern, statistics: Statistics, bound: Set[str] = frozenset()) -> float:
    """The number of triples that match a pattern, for one solution that already binds
    the variables `bound`."""

    def is_known(term: Term) -> bool:
        return isinstance(term, Constant) or term.name in bound

    subject, object_ = is_known(pattern.subject), is_known(pattern.object)
    if isinstance(pattern.predicate, Constant):
        count = statistics.predicates.get(pattern.predicate.term)
        if count is None:
            return 0
        size, subjects, objects = float(count.triples), count.subjects, count.objects
    else:
        # For any predicate: the number of different subjects, or objects, is assumed to be the square root of
        # the number of triples.
        size = float(statistics.triples) / (10 if is_known(pattern.predicate) else 1)
        subjects = objects = max(1, round(size**0.5))
    size /= max(1, subjects) if subject else 1
    size /= max(1, objects) if object_ else 1
    return size


def rows(node: Node, statistics: Statistics) -> float:
    """The rough number of solutions of any pattern."""
    match node:
        case BGP(patterns):
            total, bound = 1.0, frozenset[str]()
            for pattern in patterns:
                total *= triples(pattern, statistics, bound)
                bound |= in_scope(BGP((pattern,)))
            return total
        case PathPattern(subject, _, object_):
            ends = sum(isinstance(term, Variable) for term in (subject, object_))
            return float(max(1, statistics.triples) ** (ends * 0.75))
        case Join(left, right):
            sizes = rows(left, statistics), rows(right, statistics)
            return max(sizes) if in_scope(left) & in_scope(right) else sizes[0] * sizes[1]
        case LeftJoin(left, right):
            return max(rows(left, statistics), rows(right, statistics))
        case Union(left, right):
            return rows(left, statistics) + rows(right, statistics)
        case Minus(left):
            return rows(left, statistics)
        case Filter(_, pattern):
            return FILTERED * rows(pattern, statistics)
        case (
            StreamPattern()
            | TableScan()
            | SeqJoin()
            | SeqRightJoin()
            | EqJoin()
            | EqLeftJoin()
            | AllenJoin()
            | Recent()
            | Runs()
            | Events()
            | Pairs()
        ):
            raise AssertionError("what streams bring, and what is kept, is counted when it is there")
        case Values(_, given):
            return float(len(given))
        case Group(pattern, keys):
            return float(rows(pattern, statistics) ** 0.5) if keys else 1.0
        case Slice(pattern, _, limit):
            size = rows(pattern, statistics)
            return size if limit is None else min(size, float(limit))
        case (
            Graph(_, pattern)
            | Extend(pattern)
            | Aggregated(pattern)
            | Project(pattern)
            | Distinct(pattern)
            | Reduced(pattern)
            | OrderBy(pattern)
            | Broadcast(pattern)
            | Kept(pattern)
        ):
            return rows(pattern, statistics)
