"""Durations: how long solutions of EP-SPARQL can last, and how long events must be remembered, by the filters
of a pattern.

Lengths of time are in microseconds; None means that there is no bound. A solution of static data alone has no
interval, and lasts 0.
"""

from __future__ import annotations

from rheos.algebra import literals
from rheos.algebra.expressions import Call, Constant, Expression
from rheos.algebra.nodes import (
    BGP,
    AllenJoin,
    Distinct,
    EqJoin,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Join,
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
    StreamPattern,
    TableScan,
    Union,
    Values,
)
from rheos.algebra.rewrite import below
from rheos.algebra.variables import exists_in

# The length of the longest month: a duration compared with months is bounded from above by it.
MONTH = 31 * literals.MICROS_PER_DAY

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def duration_bound(node: Node) -> int | None:
    """The longest time that a solution of the pattern can last, because of filters on getDURATION()."""
    if not has_events(node):
        return 0
    match node:
        case Filter(condition, pattern):
            return least(condition_bound(condition), duration_bound(pattern))
        case Join(left, right) if not (has_events(left) and has_events(right)):
            return duration_bound(left if has_events(left) else right)
        case EqJoin(left, right):
            return least(occurring_bound(left), occurring_bound(right))
        case AllenJoin("MEETS" | "OVERLAPS", left, right):
            return total(occurring_bound(left), occurring_bound(right))
        case AllenJoin(_, _, right):
            return occurring_bound(right)  # the left interval lies inside the right one
        case LeftJoin(left, right, condition) if has_events(right):
            return greatest(duration_bound(left), condition_bound(condition))
        case SeqRightJoin(_, right, condition):
            return greatest(duration_bound(right), condition_bound(condition))
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return duration_bound(left)
        case Union(left, right):
            return greatest(duration_bound(left), duration_bound(right))
        case Runs(within=within):
            return within
        case Recent(pattern, within):
            longest = duration_bound(pattern)
            return None if longest is None else within - 1 + longest
        case BGP() | PathPattern() | StreamPattern() | Pairs() | Values() | TableScan() | Join() | SeqJoin():
            return None
    return duration_bound(node.pattern)


def occurring_bound(node: Node) -> int | None:
    """The bound for one side of a join that compares intervals. A solution without an interval always fits,
    and takes the interval of the other side, which may be of any length: then there is no bound."""
    return None if may_be_timeless(node) else duration_bound(node)


def may_be_timeless(node: Node) -> bool:
    """Whether a solution of the pattern may have no interval. Every condition on the duration of such a
    solution fails."""
    match node:
        case Filter(condition, pattern):
            return condition_bound(condition) is None and may_be_timeless(pattern)
        case Union(left, right):
            return may_be_timeless(left) or may_be_timeless(right)
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return may_be_timeless(left) and may_be_timeless(right)
        case LeftJoin(left) | EqLeftJoin(left) | Minus(left):
            return may_be_timeless(left)
        case SeqRightJoin(_, right):
            return may_be_timeless(right)
        case Extend(pattern) | Project(pattern) | Distinct(pattern) | Reduced(pattern) | OrderBy(pattern):
            return may_be_timeless(pattern)
    return not isinstance(node, Recent | Runs | StreamPattern | Pairs)


def memory_bound(node: Node, bound: int | None = None) -> int | None:
    """For how long, from their start on, events must be remembered, because a later event may make a solution
    with them. Only solutions that last at most `bound` are asked for.

    An enclosing filter does not bound optional or removed patterns: even a match of long ago decides that
    there is no solution without it. (A match of EQUALSOPTIONAL is never older than its left side.)
    """
    match node:
        case Graph() | Values():
            return 0
        case BGP(patterns):
            return bound if len(patterns) > 1 else 0  # a single event is a complete solution when it comes
        case PathPattern():
            return bound
        case Filter(condition, pattern):
            inner = memory_bound(pattern, least(bound, condition_bound(condition)))
            return greatest(inner, asked_bound(condition))
        case Extend(pattern, _, expression):
            return greatest(memory_bound(pattern, bound), asked_bound(expression))
        case OrderBy(pattern, conditions):
            asked = (asked_bound(order.expression) for order in conditions)
            return greatest(memory_bound(pattern, bound), *asked)
        case Join(left, right) if not (has_events(left) and has_events(right)):
            return greatest(memory_bound(left, bound), memory_bound(right, bound))
        case SeqJoin(left, right, between) if between is not None:
            # A match between both sides does not last longer than the whole solution.
            sides = (memory_bound(part, bound) for part in (left, between, right))
            return greatest(bound, *sides)
        case Join(left, right) | SeqJoin(left, right):
            return greatest(bound, memory_bound(left, bound), memory_bound(right, bound))
        case AllenJoin(relation, left, right):
            bound = least(bound, duration_bound(node))
            parts = memory_bound(left, bound), memory_bound(right, bound)
            # Both sides end at the same time, so neither waits for the other.
            return greatest(*parts) if relation == "FINISHES" else greatest(bound, *parts)
        case EqJoin(left, right):
            bound = least(bound, duration_bound(node))
            return greatest(memory_bound(left, bound), memory_bound(right, bound))
        case EqLeftJoin(left, right, condition):
            bound = least(bound, occurring_bound(left))
            parts = memory_bound(left, bound), memory_bound(right, bound)
            return greatest(*parts, asked_bound(condition))
        case LeftJoin(left, right, condition) if has_events(right):
            return greatest(memory_bound(left, bound), optional_bound(right, condition))
        case SeqRightJoin(left, right, condition):
            return greatest(memory_bound(right, bound), optional_bound(left, condition))
        case LeftJoin(left, _, condition):
            return greatest(memory_bound(left, bound), asked_bound(condition))
        case Minus(left, right):
            return None if has_events(right) else memory_bound(left, bound)
        case Union(left, right):
            return greatest(memory_bound(left, bound), memory_bound(right, bound))
        case Runs(pattern, most=most, within=within):
            inner = memory_bound(pattern)
            if most is not None:
                return total(least(bound, within), inner)
            # Whether a run is as long as it can be also depends on the events before it, as far back as it is
            # long.
            return total(within, within, inner)
        case Recent(pattern, within):
            inner = memory_bound(pattern)
            return None if inner is None else within + inner
        case StreamPattern() | TableScan() | Pairs():
            raise AssertionError("not of EP-SPARQL")
    return memory_bound(node.pattern, bound)


def lateness(node: Node) -> int | None:
    """How much later than its end a solution may become known: a longest run is known only
    when it cannot go on."""
    own = node.within if isinstance(node, Runs) and node.is_late else 0
    return greatest(own, *map(lateness, below(node)))


def optional_bound(optional: Node, condition: Expression | None) -> int | None:
    """The memory bound of an optional part: only its own condition can say that a match is too old."""
    bound = condition_bound(condition)
    return greatest(bound, memory_bound(optional, bound), asked_bound(condition))


def asked_bound(expression: Expression | None) -> int | None:
    """The memory bound of the EXISTS in an expression: none if it asks for events, since an
    event of any age counts."""
    return None if any(map(has_events, exists_in(expression))) else 0


def condition_bound(condition: Expression | None) -> int | None:
    """The longest time that a solution can last if a condition holds for it."""
    match condition:
        case Call("&&", parts):
            return least(*map(condition_bound, parts))
        case Call("||", parts):
            return greatest(*map(condition_bound, parts))
        case Call(operator, (Call("DURATION"), Constant(term))):
            return compared_bound(operator, term)
        case Call(operator, (Constant(term), Call("DURATION"))):
            return compared_bound(_MIRRORED.get(operator, operator), term)
    return None


def compared_bound(operator: str, term: str) -> int | None:
    found = literals.parts(term)
    length = None if found is None else literals.duration(found[0], literals.datatype(found[1]))
    if length is None or operator not in ("<", "<=", "="):
        return None
    longest = int(length.months) * MONTH + int(length.micros)
    return max(0, longest - 1 if operator == "<" else longest)


def has_events(node: Node) -> bool:
    """Whether a pattern looks at events: named graphs and VALUES are static."""
    match node:
        case BGP(patterns):
            return bool(patterns)
        case PathPattern() | StreamPattern() | Pairs():
            return True
        case Graph():
            return False
        case Minus(left):
            return has_events(left)
    return any(map(has_events, below(node)))


def least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def total(*bounds: int | None) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None


def greatest(*bounds: int | None) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known, default=0) if len(known) == len(bounds) else None
