"""Variables of patterns: which a pattern mentions, may bind, and always binds (sections 18.2.1 and 18.4)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rheos.algebra.expressions import INTERVAL, Aggregate, Call, Constant, Exists, Expression, Variable
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
    Union,
    Values,
)
from rheos.terms import XSD

Names = frozenset[str]
NONE: Names = frozenset()

_ON_NUMBERS = {"*", "/", "ABS", "ROUND", "CEIL", "FLOOR"}
_OF_OTHERS = {"RAND", "STRLEN", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"}
NUMERIC_FUNCTIONS = (
    _ON_NUMBERS | _OF_OTHERS | {XSD + name for name in ("integer", "decimal", "float", "double")}
)


def names(terms: Iterable[Term]) -> Names:
    """The variables among some terms."""
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def number_name(kind: str, variable: str) -> str:
    """The name of the column with the values of a variable whose values are all numbers of that kind."""
    return f"${kind} {variable}"


def is_number_name(name: str) -> bool:
    return name.startswith(("$integer ", "$decimal "))


@lru_cache(maxsize=8192)
def in_scope(node: Node) -> Names:
    """The variables that a solution of the pattern may bind."""
    match node:
        case BGP(patterns):
            times = (time.variable for p in patterns for time in p.times)
            return names(times).union(*(names(p.terms) for p in patterns))
        case PathPattern(subject, _, object_):
            return names((subject, object_))
        case StreamPattern(_, pattern, _, objects):
            bound = names(pattern.terms)
            if objects is None or not isinstance(pattern.object, Variable):
                return bound
            return bound | {number_name(objects, pattern.object.name)}
        case TableScan(_, variables) | Pairs(_, variables):
            return frozenset(variables)
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return in_scope(left) | in_scope(right)
        case SeqJoin(left, right) | SeqRightJoin(left, right) | EqJoin(left, right) | EqLeftJoin(left, right):
            return in_scope(left) | in_scope(right)
        case AllenJoin(_, left, right):
            return in_scope(left) | in_scope(right)
        case Minus(left):
            return in_scope(left)
        case Graph(name, pattern):
            return in_scope(pattern) | names((name,))
        case Extend(pattern, variable):
            return in_scope(pattern) | {variable.name}
        case Values(variables):
            return names(variables)
        case Group(_, keys, aggregates) | Recent(_, _, keys, aggregates) | Runs(_, keys, aggregates):
            return names(keys) | names(variable for variable, _ in aggregates)
        case Aggregated(pattern, aggregations):
            return in_scope(pattern) | names(item.variable for item in aggregations)
        case Project(_, variables):
            return names(variables)
        case Filter(_, pattern):
            return in_scope(pattern)
        case Distinct(pattern) | Reduced(pattern) | OrderBy(pattern) | Slice(pattern):
            return in_scope(pattern)
        case Events(pattern) | Broadcast(pattern) | Kept(_, pattern):
            return in_scope(pattern)


@lru_cache(maxsize=8192)
def certain(node: Node) -> Names:
    """The variables that every solution of the pattern binds."""
    match node:
        case BGP(patterns):
            return frozenset().union(*(names(p.terms) for p in patterns))
        case PathPattern() | StreamPattern():
            return in_scope(node)
        case TableScan(certain=always) | Pairs(certain=always):
            return always
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return certain(left) | certain(right)
        case LeftJoin(left) | Minus(left) | EqLeftJoin(left):
            return certain(left)
        case SeqRightJoin(_, right):
            return certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case Graph(name, pattern):
            return certain(pattern) | names((name,))
        case Extend(pattern, variable, expression):
            never_fails = isinstance(expression, Constant) or (
                isinstance(expression, Variable) and expression.name in certain(pattern)
            )
            return certain(pattern) | {variable.name} if never_fails else certain(pattern)
        case Values(variables, rows):
            return frozenset(
                variable.name
                for index, variable in enumerate(variables)
                if all(row[index] is not None for row in rows)
            )
        case (
            Group(pattern, keys, aggregates)
            | Recent(pattern, _, keys, aggregates)
            | Runs(pattern, keys, aggregates)
        ):
            counts = {variable.name for variable, aggregate in aggregates if aggregate.name == "COUNT"}
            return (names(keys) & certain(pattern)) | counts
        case Aggregated(pattern, aggregations):
            counted = (item.variable for item in aggregations if item.aggregate.name == "COUNT")
            return certain(pattern) | names(counted)
        case Project(pattern, variables):
            return certain(pattern) & names(variables)
        case Filter(_, pattern):
            return certain(pattern)
        case Distinct(pattern) | Reduced(pattern) | OrderBy(pattern) | Slice(pattern):
            return certain(pattern)
        case Events(pattern) | Broadcast(pattern) | Kept(_, pattern):
            return certain(pattern)


@lru_cache(maxsize=8192)
def numeric(node: Node) -> Names:
    """The variables that are a number in every solution of the pattern that binds them."""
    match node:
        case StreamPattern(_, pattern, _, objects) if objects is not None:
            return names((pattern.object,))
        case (
            Join(left, right)
            | LeftJoin(left, right)
            | Union(left, right)
            | SeqJoin(left, right)
            | SeqRightJoin(left, right)
            | EqJoin(left, right)
            | EqLeftJoin(left, right)
            | AllenJoin(_, left, right)
        ):
            other = (in_scope(left) - numeric(left)) | (in_scope(right) - numeric(right))
            return (numeric(left) | numeric(right)) - other
        case Minus(left):
            return numeric(left)
        case Extend(pattern, variable, expression):
            inner = numeric(pattern)
            return inner | {variable.name} if gives_number(expression, inner) else inner
        case (
            Group(pattern, keys, aggregates)
            | Recent(pattern, _, keys, aggregates)
            | Runs(pattern, keys, aggregates)
        ):
            inner = numeric(pattern)
            found = (v.name for v, aggregate in aggregates if aggregates_to_number(aggregate, inner))
            return (names(keys) & inner) | frozenset(found)
        case Aggregated(pattern, aggregations):
            inner = numeric(pattern)
            added = (item.variable for item in aggregations if aggregates_to_number(item.aggregate, inner))
            return inner | names(added)
        case Project(pattern, variables):
            return numeric(pattern) & names(variables)
        case Graph(name, pattern):
            return numeric(pattern) - names((name,))
        case Filter(_, pattern):
            return numeric(pattern)
        case Distinct(pattern) | Reduced(pattern) | OrderBy(pattern) | Slice(pattern):
            return numeric(pattern)
        case Events(pattern) | Broadcast(pattern) | Kept(_, pattern):
            return numeric(pattern)
    return NONE


@lru_cache(maxsize=8192)
def resources(node: Node) -> Names:
    """The variables that are an IRI or a blank node in every solution of the pattern that binds them."""
    match node:
        case BGP(patterns):
            return names(term for pattern in patterns for term in (pattern.subject, pattern.predicate))
        case StreamPattern(_, pattern):
            return names((pattern.subject, pattern.predicate))
        case Join(left, right) | SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            always = (resources(left) & certain(left)) | (resources(right) & certain(right))
            return always | _of_both(left, right)
        case LeftJoin(left, right) | EqLeftJoin(left, right) | SeqRightJoin(right, left):
            return (resources(left) & certain(left)) | _of_both(left, right)
        case Union(left, right):
            return _of_both(left, right)
        case Minus(left):
            return resources(left)
        case Extend(pattern, Variable(name), expression):
            inner = resources(pattern)
            return inner | {name} if isinstance(expression, Variable) and expression.name in inner else inner
        case Graph(name, pattern):
            return resources(pattern) | names((name,))
        case Group(pattern, keys) | Recent(pattern, _, keys) | Runs(pattern, keys):
            return resources(pattern) & names(keys)
        case Project(pattern, variables):
            return resources(pattern) & names(variables)
        case Filter(_, pattern) | Aggregated(pattern):
            return resources(pattern)
        case Distinct(pattern) | Reduced(pattern) | OrderBy(pattern) | Slice(pattern):
            return resources(pattern)
        case Events(pattern) | Broadcast(pattern) | Kept(_, pattern):
            return resources(pattern)
    return NONE


def _of_both(left: Node, right: Node) -> Names:
    """The variables that are resources whichever side binds them."""
    other = (in_scope(left) - resources(left)) | (in_scope(right) - resources(right))
    return (resources(left) | resources(right)) - other


def gives_number(expression: Expression | None, numbers: Names) -> bool:
    """Whether an expression gives a number or an error; `numbers` are the variables that are numbers."""
    match expression:
        case Variable(name):
            return name in numbers
        case Call("+" | "-" | "unary-" | "unary+", arguments):
            # A sum that is not a number has a time or duration on each side.
            return any(never_a_time(argument, numbers) for argument in arguments)
        case Call(name):
            return name in NUMERIC_FUNCTIONS
    return False


def never_a_time(expression: Expression, numbers: Names) -> bool:
    if isinstance(expression, Constant):
        return not expression.term.endswith(("uration>", "#dateTime>", "#date>"))
    return gives_number(expression, numbers)


def aggregates_to_number(aggregate: Aggregate, numbers: Names) -> bool:
    if aggregate.name in ("COUNT", "SUM", "AVG"):
        return True
    return aggregate.name != "GROUP_CONCAT" and gives_number(aggregate.argument, numbers)


def used(expression: Expression | Aggregate | None) -> Names:
    """The variables that an expression reads, those inside EXISTS included."""
    match expression:
        case Variable(name):
            return frozenset((name,))
        case Call(_, arguments):
            return frozenset().union(*map(used, arguments))
        case Exists(pattern):
            return mentioned(pattern)
        case Aggregate(_, argument):
            return used(argument)
    return NONE


@lru_cache(maxsize=8192)
def mentioned(node: Node) -> Names:
    """All variables that occur anywhere in the pattern, in scope or not."""
    match node:
        case Join(left, right) | Union(left, right) | Minus(left, right):
            return mentioned(left) | mentioned(right)
        case SeqJoin(left, right, between) if between is not None:
            return mentioned(left) | mentioned(between) | mentioned(right)
        case SeqJoin(left, right) | EqJoin(left, right) | AllenJoin(_, left, right):
            return mentioned(left) | mentioned(right)
        case (
            LeftJoin(left, right, condition)
            | SeqRightJoin(left, right, condition)
            | EqLeftJoin(left, right, condition)
        ):
            return mentioned(left) | mentioned(right) | used(condition)
        case Graph(name, pattern):
            return mentioned(pattern) | names((name,))
        case Extend(pattern, variable, expression):
            return mentioned(pattern) | {variable.name} | used(expression)
        case Filter(condition, pattern):
            return mentioned(pattern) | used(condition)
        case Group(pattern, _, aggregates) | Recent(pattern, _, _, aggregates) | Runs(pattern, _, aggregates):
            read = (used(aggregate) for _, aggregate in aggregates)
            return mentioned(pattern).union(in_scope(node), *read)
        case Aggregated(pattern):
            return mentioned(pattern) | in_scope(node)
        case OrderBy(pattern, conditions):
            return mentioned(pattern).union(*(used(condition.expression) for condition in conditions))
        case (
            Project(pattern)
            | Distinct(pattern)
            | Reduced(pattern)
            | Slice(pattern)
            | Events(pattern)
            | Broadcast(pattern)
            | Kept(_, pattern)
        ):
            return mentioned(pattern) | in_scope(node)
    return in_scope(node)


def exists_in(expression: Expression | None) -> list[Node]:
    """The patterns of every EXISTS in the expression."""
    match expression:
        case Exists(pattern):
            return [pattern]
        case Call(_, arguments):
            return [pattern for argument in arguments for pattern in exists_in(argument)]
    return []


def has_exists(expression: Expression | None) -> bool:
    """Whether an EXISTS occurs anywhere in the expression."""
    match expression:
        case Exists():
            return True
        case Call(_, arguments):
            return any(map(has_exists, arguments))
    return False


def asks_interval(expression: Expression | None) -> bool:
    """Whether the value depends on the interval of the solution, and so on the pattern below.

    Calls inside EXISTS do not count: they ask for the interval of a solution there.
    """
    match expression:
        case Call(name, arguments):
            return name in INTERVAL or any(map(asks_interval, arguments))
    return False
