"""Events: the pattern of an EP-SPARQL query comes in, patterns for the solutions that new events complete go
out, and how long events must be remembered for them.

A solution occurs in an interval of time. By the semantics of the operators it depends on nothing that ends
after it does, so what a batch adds are the solutions that end in it; each has a new event where it ends.
Background knowledge matches at any time and takes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from rheos.algebra.expressions import Call, Constant, Expression
from rheos.algebra.nodes import (
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
    Project,
    Recent,
    Reduced,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import below, bottom_up, has_streams
from rheos.optimize.push_filters import conjuncts
from rheos.sql import constants

NOTHING = Values((), ())
Wrap = Callable[[Node], Node]


def branches(node: Node) -> list[Node]:
    """A pattern as patterns whose solutions, taken together, are its own, and of which each either is static
    or has an event in every solution.

    A static solution holds at any time, so what is optional beside it may be there or not.
    """
    match node:
        case Union(left, right):
            return branches(left) + branches(right)
        case Join(left, right):
            return [Join(one, other) for one in branches(left) for other in branches(right)]
        case SeqJoin(left, right) | EqJoin(left, right):
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
        case Recent(pattern):
            return [replace(node, pattern=whole(pattern, events_only=True))]
    return [node]


def timed(node: SeqJoin | EqJoin, left: Node, right: Node) -> Node:
    """The join of two sides in time; a static one is there whenever the other is."""
    if has_streams(left) and has_streams(right):
        return replace(node, left=left, right=right)
    return Join(left, right)


def _beside(
    node: LeftJoin | EqLeftJoin | SeqRightJoin,
    kept: Node,
    optional: Node,
    condition: Expression | None,
    join: Callable[[Node, Node], Node],
) -> list[Node]:
    """The solutions with something optional, for those of one branch of what is not."""
    if has_streams(kept):
        if isinstance(node, SeqRightJoin):
            return [replace(node, left=whole(optional), right=kept)]
        return [replace(node, left=kept, right=whole(optional))]
    joined = (join(kept, other) for other in branches(optional))
    return [kept, *(one if condition is None else Filter(condition, one) for one in joined)]


def whole(node: Node, *, static_only: bool = False, events_only: bool = False) -> Node:
    """The pattern as the union of its branches."""
    found = [
        branch
        for branch in branches(node)
        if not (static_only and has_streams(branch)) and not (events_only and not has_streams(branch))
    ]
    return reduce(Union, found) if found else NOTHING


def completed(node: Node) -> list[Node]:
    """The patterns of the solutions that new events complete, for a pattern without UNION."""
    match node:
        case StreamPattern():
            return [replace(node, part="new")]
        case Join(left, right):
            found: list[Node] = [Join(one, right) for one in completed(left)]
            return found + [Join(old(left), other) for other in completed(right)]
        case SeqJoin(left, right):
            return [SeqJoin(left, other) for other in completed(right)]
        case EqJoin(left, right):
            return [EqJoin(one, other) for one in completed(left) for other in completed(right)]
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return [replace(node, left=one) for one in completed(left)]
        case SeqRightJoin(_, right):
            return [replace(node, right=one) for one in completed(right)]
        case Filter() | Extend() | Project() | Distinct() | Reduced() | OrderBy():
            return [replace(node, pattern=one) for one in completed(node.pattern)]
        case Recent():
            return [node]
    return []


def without_nothing(node: Node) -> Node:
    """The node, or something simpler if one of its operands has no solutions."""

    def empty(operand: Node) -> bool:
        return isinstance(operand, Values) and not operand.rows

    match node:
        case Union(left, right):
            return right if empty(left) else left if empty(right) else node
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right):
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
        ):
            return NOTHING if empty(pattern) else node
    return node


def always_occurs(node: Node) -> bool:
    """Whether every solution of a pattern has an event."""
    match node:
        case StreamPattern() | Recent():
            return True
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right):
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
        node, lambda leaf: replace(leaf, part="old") if isinstance(leaf, StreamPattern) else leaf
    )


# --- how long --------------------------------------------------------------------------------------------


def longest(condition: Expression | None) -> int | None:
    """The longest duration in microseconds of a solution that meets a condition; None if it sets no bound."""
    found: list[int] = []
    for part in conjuncts(condition) if condition is not None else ():
        match part:
            case Call("<" | "<=" as operator, (Call("DURATION"), Constant(term))):
                bound = _microseconds(term)
            case Call(">" | ">=" as operator, (Constant(term), Call("DURATION"))):
                bound = _microseconds(term)
            case _:
                continue
        if bound is not None:
            found.append(bound if operator in ("<=", ">=") else bound - 1)
    return min(found, default=None)


def _microseconds(term: str) -> int | None:
    found = constants.parts(term)
    if found is None:
        return None
    duration = constants.duration(found[0], constants.datatype(found[1]))
    return duration.micros if duration is not None and duration.months == 0 else None


def shorter(one: int | None, other: int | None) -> int | None:
    known = [bound for bound in (one, other) if bound is not None]
    return min(known, default=None)


def bounds(node: Node, bound: int | None = None) -> dict[Node, int | None]:
    """For every pattern in a pattern, itself included, the longest duration of those of its solutions that
    can be part of one that is not longer than the bound; None if there is no longest."""
    found: dict[Node, int | None] = {}

    def note(inner: Node, limit: int | None) -> None:
        # The same pattern may stand in two places: it has the longer of the two.
        known = found.get(inner, limit)
        found[inner] = None if known is None or limit is None else max(known, limit)
        match inner:
            case Filter(condition, pattern):
                note(pattern, shorter(limit, longest(condition)))
            case LeftJoin(left, right, condition):
                note(left, limit)
                note(right, longest(condition))
            case SeqRightJoin(left, right, condition):
                note(left, longest(condition))
                note(right, limit)
            case EqLeftJoin(left, right):
                note(left, limit)
                note(right, limit)
            case Minus(left, right):
                note(left, limit)
                note(right, None)
            case Recent(pattern):
                note(pattern, None)
            case _:
                for operand in below(inner):
                    note(operand, limit)

    note(node, bound)
    return found


def remembered(node: Node) -> dict[int, int | None]:
    """For each stream pattern, by its number, how long before a solution is complete its event may have
    ended; None if any time. Where one event is all that a solution has, it is the one that completes it."""
    leaves = [leaf for leaf in below_all(node) if isinstance(leaf, StreamPattern)]
    if len(leaves) == 1 and not any(isinstance(inner, Recent) for inner in below_all(node)):
        return {leaves[0].window: 0}
    return _remembered(node, None)


def _remembered(node: Node, bound: int | None) -> dict[int, int | None]:
    match node:
        case StreamPattern(window):
            return {window: bound}
        case Filter(condition, pattern):
            return _remembered(pattern, shorter(bound, longest(condition)))
        case LeftJoin(left, right, condition):
            return _longer(_remembered(left, bound), _remembered(right, longest(condition)))
        case SeqRightJoin(left, right, condition):
            return _longer(_remembered(left, longest(condition)), _remembered(right, bound))
        case Minus(left, right):
            return _longer(_remembered(left, bound), _remembered(right, None))
        case Recent(pattern, within):
            inner = remembered(pattern)
            return {number: None if known is None else known + within for number, known in inner.items()}
    found: dict[int, int | None] = {}
    for operand in below(node):
        found = _longer(found, _remembered(operand, bound))
    return found


def below_all(node: Node) -> list[Node]:
    """A pattern and all patterns in it."""
    return [node, *(inner for operand in below(node) for inner in below_all(operand))]


def _longer(one: Mapping[int, int | None], other: Mapping[int, int | None]) -> dict[int, int | None]:
    def of(number: int) -> int | None:
        given = [found[number] for found in (one, other) if number in found]
        return None if None in given else max(bound for bound in given if bound is not None)

    return {number: of(number) for number in {*one, *other}}


def all_patterns(nodes: Iterable[Node]) -> Node:
    """The union of patterns."""
    found = list(nodes)
    return reduce(Union, found) if found else NOTHING
