"""Events: from the pattern of an EP-SPARQL query, makes patterns for only those solutions that new events
complete, and computes how long each of their parts may last.

A solution occurs in an interval of time. By the semantics of the operators, it does not depend on anything
that ends after it. So a batch adds the solutions that end in it, and each of these has a new event where it
ends. Static data matches at any time, and its matches have no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from rheos.algebra.expressions import Exists, Expression
from rheos.algebra.nodes import (
    AllenJoin,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Pairs,
    Project,
    Recent,
    Reduced,
    Runs,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import below, bottom_up, has_streams
from rheos.optimize.durations import condition_bound, duration_bound, least

NOTHING = Values((), ())
Wrap = Callable[[Node], Node]
Twins = frozenset[tuple[int, int]]


def branches(node: Node) -> list[Node]:
    """The branches of a pattern: patterns whose solutions, taken together, are those of the pattern. Each
    branch is either static, or has an event in every solution.

    A static solution holds at any time. So an optional event beside it is there at some times and not at
    others, whereas an optional static part is either always there or never.
    """
    match node:
        case Union(left, right):
            return branches(left) + branches(right)
        case Join(left, right):
            return [Join(one, other) for one in branches(left) for other in branches(right)]
        case SeqJoin(left, right, _, pairs) if pairs is not None:
            both = [(one, other) for one in branches(left) for other in branches(right)]
            static = [Join(*pair) for pair in both if not all(map(has_streams, pair))]
            return [pairs, *(found for found in map(without_nothing, static) if found != NOTHING)]
        case SeqJoin(left, right, between) if between is not None:
            sides = [(one, other) for one in branches(left) for other in branches(right)]
            return [_without(node, *pair, between) for pair in sides]
        case SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return [timed(node, one, other) for one in branches(left) for other in branches(right)]
        case LeftJoin(left, right, condition) | EqLeftJoin(left, right, condition):
            return [found for one in branches(left) for found in _beside(node, one, right, condition, Join)]
        case SeqRightJoin(left, right, condition):
            return [
                found
                for one in branches(right)
                for found in _beside(node, one, left, condition, lambda kept, other: Join(other, kept))
            ]
        case Minus(left, right):
            return [
                Minus(one, whole(right) if has_streams(one) else whole(right, static_only=True))
                for one in branches(left)
            ]
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy():
            return [replace(node, pattern=branch) for branch in branches(node.pattern)]
        case Recent(pattern) | Runs(pattern):
            return [replace(node, pattern=whole(pattern, events_only=True))]
    return [node]


def timed(node: SeqJoin | EqJoin | AllenJoin, left: Node, right: Node) -> Node:
    """The join of two sides by their times. A static side holds whenever the other does, so a plain join is
    enough then."""
    if has_streams(left) and has_streams(right):
        return replace(node, left=left, right=right)
    return Join(left, right)


def _without(node: SeqJoin, left: Node, right: Node, between: Node) -> Node:
    """A sequence with nothing in between, for one branch of each side. A static match of `between` is always
    in between; an event can be in between only if both sides have events."""
    events = whole(between, events_only=True)
    joined = timed(replace(node, between=None if events == NOTHING else events), left, right)
    static = without_nothing(whole(between, static_only=True))
    return joined if static == NOTHING else Filter(Exists(static, negated=True), joined)


def _beside(
    node: LeftJoin | EqLeftJoin | SeqRightJoin,
    kept: Node,
    optional: Node,
    condition: Expression | None,
    join: Callable[[Node, Node], Node],
) -> list[Node]:
    """The patterns for an optional part beside `kept`, which is one branch of the part
    that is not optional."""
    if has_streams(kept):
        if isinstance(node, SeqRightJoin):
            return [replace(node, left=whole(optional), right=kept)]
        return [replace(node, left=kept, right=whole(optional))]
    events = (join(kept, other) for other in branches(optional) if has_streams(other))
    static = without_nothing(LeftJoin(kept, whole(optional, static_only=True), condition))
    return [static, *(one if condition is None else Filter(condition, one) for one in events)]


def whole(node: Node, *, static_only: bool = False, events_only: bool = False) -> Node:
    """The pattern as the union of its branches, or of only its static ones, or of only those with events."""
    found = [
        branch
        for branch in branches(node)
        if not (static_only and has_streams(branch)) and not (events_only and not has_streams(branch))
    ]
    return all_patterns(found)


def completed(node: Node) -> list[Node]:
    """Patterns for the solutions that new events complete, given a pattern without UNION."""
    match node:
        case StreamPattern() | Pairs():
            return [replace(node, part="new")]
        case Join(left, right):
            found: list[Node] = [Join(one, right) for one in completed(left)]
            return found + [Join(old(left), other) for other in completed(right)]
        case SeqJoin(left, right, between) if between is not None:
            # All solutions that end at the same time must be looked at together.
            ending = completed(right)
            return [replace(node, right=all_patterns(ending))] if ending else []
        case SeqJoin(left, right):
            return [replace(node, right=other) for other in completed(right)]
        case EqJoin(left, right) | AllenJoin("FINISHES", left, right):
            ends = completed(right)
            return [replace(node, left=one, right=other) for one in completed(left) for other in ends]
        case AllenJoin(_, left, right):
            return [replace(node, right=other) for other in completed(right)]
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return [replace(node, left=one) for one in completed(left)]
        case SeqRightJoin(_, right):
            return [replace(node, right=one) for one in completed(right)]
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy():
            return [replace(node, pattern=one) for one in completed(node.pattern)]
        case Recent() | Runs():
            return [node]
    return []


def changed(node: Node, derived: frozenset[int], twins: Twins = frozenset()) -> list[Node]:
    """Patterns for the solutions in which at least one new event matches one of the patterns with the numbers
    `derived`, given a pattern without UNION: the differences of a semi-naive evaluation.

    Operators that treat each solution by itself stand once above the union of all differences, because their
    expressions take the most time. If new events can only change something that is optional, taken away or
    aggregated, there is no difference: what follows from that is found when everything is evaluated anew. The
    events of two patterns that are `twins` are joined only if both were derived in the same round.
    """

    def inside(inner: Node) -> list[Node]:
        return changed(inner, derived, twins)

    def together(inner: Node) -> list[Node]:
        found = inside(inner)
        return [all_patterns(found)] if found else []

    match node:
        case StreamPattern(number):
            return [replace(node, part="new")] if number in derived else []
        case SeqJoin(left, right, between) if between is not None:
            begins: list[Node] = [replace(node, left=one) for one in together(left)]
            return begins + [replace(node, left=old(left), right=other) for other in together(right)]
        case Join(StreamPattern(one), StreamPattern(other)) if (one, other) in twins:
            return [bottom_up(node, _new)] if {one, other} <= derived else []
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            found: list[Node] = [replace(node, left=one) for one in inside(left)]
            return found + [replace(node, left=old(left), right=other) for other in inside(right)]
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return [replace(node, left=one) for one in inside(left)]
        case SeqRightJoin(_, right):
            return [replace(node, right=one) for one in inside(right)]
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy():
            return [replace(node, pattern=one) for one in together(node.pattern)]
    return []


def _new(node: Node) -> Node:
    return replace(node, part="new") if isinstance(node, StreamPattern) else node


def without_nothing(node: Node) -> Node:
    """The node, or something simpler if one of its operands has no solutions."""

    def empty(operand: Node) -> bool:
        return isinstance(operand, Values) and not operand.rows

    match node:
        case SeqJoin(left, right, Values(rows=())) if not (empty(left) or empty(right)):
            return replace(node, between=None)
        case SeqJoin(pairs=pairs) if pairs is not None:
            return node  # it may have made pairs of events that are no longer there
        case Union(left, right):
            return right if empty(left) else left if empty(right) else node
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return NOTHING if empty(left) or empty(right) else node
        case LeftJoin(kept, other) | EqLeftJoin(kept, other) | SeqRightJoin(other, kept) | Minus(kept, other):
            return NOTHING if empty(kept) else kept if empty(other) else node
        case (
            Filter(pattern=pattern)
            | Extend(pattern)
            | Project(pattern)
            | Distinct(pattern)
            | Reduced(pattern)
            | OrderBy(pattern)
            | Recent(pattern)
            | Runs(pattern)
        ):
            return NOTHING if empty(pattern) else node
    return node


def always_occurs(node: Node) -> bool:
    """Whether every solution of a pattern has an event."""
    match node:
        case StreamPattern() | Recent() | Runs() | Pairs():
            return True
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return always_occurs(left) or always_occurs(right)
        case Union(left, right):
            return always_occurs(left) and always_occurs(right)
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return always_occurs(left)
        case SeqRightJoin(_, right):
            return always_occurs(right)
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy():
            return always_occurs(node.pattern)
    return False


def old(node: Node) -> Node:
    """A pattern on the events before the batch, and on static data."""
    return bottom_up(
        node, lambda leaf: replace(leaf, part="old") if isinstance(leaf, StreamPattern | Pairs) else leaf
    )


# --- how long --------------------------------------------------------------------------------------------


def bounds(node: Node, bound: int | None = None) -> dict[Node, int | None]:
    """For a pattern and every pattern in it, the longest time that a solution of it can last if it is part of
    a solution of the whole that lasts at most `bound`; None if there is no limit."""
    found: dict[Node, int | None] = {}

    def note(inner: Node, limit: int | None) -> None:
        if isinstance(inner, AllenJoin):
            limit = least(limit, duration_bound(inner))
        # The same pattern may stand in two places: the longer time counts.
        known = found.get(inner, limit)
        found[inner] = None if known is None or limit is None else max(known, limit)
        match inner:
            case Filter(condition, pattern):
                note(pattern, least(limit, condition_bound(condition)))
            case LeftJoin(left, right, condition):
                note(left, limit)
                note(right, condition_bound(condition))
            case SeqRightJoin(left, right, condition):
                note(left, condition_bound(condition))
                note(right, limit)
            case EqLeftJoin(left, right):
                note(left, limit)
                note(right, limit)
            case Minus(left, right):
                note(left, limit)
                note(right, None)
            case Recent(pattern) | Runs(pattern):
                note(pattern, None)
            case _:
                for operand in below(inner):
                    note(operand, limit)

    note(node, bound)
    return found


def all_patterns(nodes: Iterable[Node]) -> Node:
    """The union of patterns, as a balanced tree: there may be many, and the tree must not be deep."""
    found = list(nodes)
    if len(found) < 2:
        return found[0] if found else NOTHING
    half = (len(found) + 1) // 2
    return Union(all_patterns(found[:half]), all_patterns(found[half:]))
