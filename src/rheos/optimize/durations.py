"""How long solutions of EP-SPARQL last: the bounds that the filters of a pattern set.

Times are microseconds, and None is no bound. What has no interval, because it is only static data, lasts 0.
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

# Whether a duration is below some months is only decided where no month can matter, so this is no less.
MONTH = 31 * literals.MICROS_PER_DAY

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def duration_bound(node: Node) -> int | None:
    """The longest that a solution of the pattern can last, because of filters on getDURATION()."""
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
            return occurring_bound(right)  # the left lies in it
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
    """The same for a side of a join that compares intervals: a solution without one always fits, and takes
    that of the other side, which may last for any time."""
    return None if may_be_timeless(node) else duration_bound(node)


def may_be_timeless(node: Node) -> bool:
    """Whether a solution of the pattern may have no interval; then every condition on its duration fails."""
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
    """For how long events have to be remembered, from their start on, because something may still come that
    makes a solution with them; only solutions of at most the bound are asked for.

    An enclosing filter does not help with what is optional or removed: that something was there long ago also
    decides that there is no solution without it. (A match of EQUALSOPTIONAL is never older than its left.)
    """
    match node:
        case Graph() | Values():
            return 0
        case BGP(patterns):
            return bound if len(patterns) > 1 else 0  # one event is whole when it comes
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
            # What lies between both does not last longer than they do together.
            sides = (memory_bound(part, bound) for part in (left, between, right))
            return greatest(bound, *sides)
        case Join(left, right) | SeqJoin(left, right):
            return greatest(bound, memory_bound(left, bound), memory_bound(right, bound))
        case AllenJoin(relation, left, right):
            bound = least(bound, duration_bound(node))
            parts = memory_bound(left, bound), memory_bound(right, bound)
            # Those that end together come together.
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
            # That one is as long as it can be also depends on what came as long before.
            return total(within, within, inner)
        case Recent(pattern, within):
            inner = memory_bound(pattern)
            return None if inner is None else within + inner
        case StreamPattern() | TableScan() | Pairs():
            raise AssertionError("not of EP-SPARQL")
    return memory_bound(node.pattern, bound)


def lateness(node: Node) -> int | None:
    """How much later than they end solutions may be known: longest runs are, when they cannot go on."""
    own = node.within if isinstance(node, Runs) and node.is_late else 0
    return greatest(own, *map(lateness, below(node)))


def optional_bound(optional: Node, condition: Expression | None) -> int | None:
    """The same for an optional part: only its own condition can tell that a match is too long ago."""
    bound = condition_bound(condition)
    return greatest(bound, memory_bound(optional, bound), asked_bound(condition))


def asked_bound(expression: Expression | None) -> int | None:
    """The same for what an expression asks to exist: an event that ever was there did."""
    return None if any(map(has_events, exists_in(expression))) else 0


def condition_bound(condition: Expression | None) -> int | None:
    """The longest that a solution can last for which a condition holds."""
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
