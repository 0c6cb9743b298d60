"""Families: queries that differ only in constants come in, one query with a table of constants goes out.

A *skeleton* is a query with marks in the place of the constants that may differ: those of the subject and
object of triple patterns, of the template of a CONSTRUCT, and of what filters compare with. Queries with the
same skeleton are a family. Where all of its members have the same constant, the family's query has it too;
only the others become variables, which a table of constants binds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rheos.algebra.expressions import Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Construct,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Kept,
    Node,
    OrderBy,
    Project,
    Query,
    Reduced,
    Select,
    StreamPattern,
    Term,
    TriplePattern,
    Union,
)
from rheos.algebra.rewrite import below
from rheos.algebra.streams import Arriving, LastWindow

# The table of constants: the number of each member, and a column for each constant that differs. No user can
# write a variable with such a name.
CONSTANTS = "constants"
MEMBER = Variable("$member")

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})

Change = Callable[[Constant], Term]


@dataclass(frozen=True, slots=True)
class Family:
    """One query for several; `rows` are the constants of its members, in the order of `variables`.

    One that has a single member needs no table.
    """

    query: Arriving
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def skeleton(query: Arriving) -> tuple[Arriving, tuple[str, ...]]:
    """The query with marks for its constants, and these in order. One that cannot be in a family keeps its
    name, and so is like no other."""
    if not can_vary(query):
        return query, ()
    found: list[str] = []

    def mark(constant: Constant) -> Term:
        found.append(constant.term)
        return Variable(f"${len(found)}")

    return replace(changed(query, mark), name="", makes_stream=False), tuple(found)


def family(first: Arriving, constants: Sequence[tuple[str, ...]]) -> Family:
    """The query of a family, by its first member and the constants of them all."""
    if len(constants) == 1:
        return Family(first)
    columns = list(zip(*constants, strict=True))
    varying = [at for at, values in enumerate(columns) if len(set(values)) > 1]
    names = {at: f"${at + 1}" for at in varying}
    number = -1

    def put(constant: Constant) -> Term:
        nonlocal number
        number += 1
        return Variable(names[number]) if number in names else constant

    query = changed(first, put)
    rows = tuple(tuple(row[at] for at in varying) for row in constants)
    table = Kept(CONSTANTS, (MEMBER.name, *names.values()), frozenset({MEMBER.name, *names.values()}))
    form = query.query.form
    assert isinstance(form, Select | Construct)
    pattern = beside(form.pattern, table)
    return Family(
        replace(query, query=replace(query.query, form=replace(form, pattern=pattern))),
        tuple(names.values()),
        rows,
    )


def can_vary(query: Arriving) -> bool:
    """Whether a table of constants can be joined with the query: only joins, unions, filters and BIND are
    between it and what reports, and groupings that have keys."""
    form = query.query.form
    if not isinstance(form, Select | Construct):
        return False
    spine = form.pattern
    while isinstance(spine, Project | OrderBy | Reduced | Distinct | Filter | Extend | Group):
        if isinstance(spine, Group) and not spine.keys:
            return False
        spine = spine.pattern
    return True


def beside(node: Node, table: Kept) -> Node:
    """The pattern with the table joined below all that reports; groupings and projections keep the member."""
    match node:
        case Project(pattern, variables):
            return Project(beside(pattern, table), (MEMBER, *variables))
        case Group(pattern, keys, aggregates):
            return Group(beside(pattern, table), (MEMBER, *keys), aggregates)
        case OrderBy() | Reduced() | Distinct() | Filter() | Extend():
            return replace(node, pattern=beside(node.pattern, table))
    return Join(node, table)


def changed(query: Arriving, change: Change) -> Arriving:
    """The query with its constants changed, in one fixed order."""
    fixed = {at for at, clause in enumerate(query.windows, start=1) if isinstance(clause.window, LastWindow)}
    form = query.query.form
    pattern = _spine(form.pattern, change, fixed)
    if isinstance(form, Construct):
        template = tuple(_triple(triple, change) for triple in form.template)
        form = replace(form, pattern=pattern, template=template)
    else:
        form = replace(form, pattern=pattern)
    windows = tuple(
        replace(clause, patterns=tuple(_patterns_of(pattern, number)))
        for number, clause in enumerate(query.windows, start=1)
    )
    return replace(query, query=Query(form, query.query.dataset), windows=windows)


def _spine(node: Node, change: Change, fixed: set[int]) -> Node:
    match node:
        case Project() | OrderBy() | Reduced() | Distinct() | Extend() | Group():
            return replace(node, pattern=_spine(node.pattern, change, fixed))
        case Filter(condition, pattern):
            seen = not _is_grouped(pattern)  # above a grouping only its keys are in scope
            condition = _compared(condition, change) if seen else condition
            return Filter(condition, _spine(pattern, change, fixed))
    return _joined(node, change, fixed)


def _is_grouped(node: Node) -> bool:
    return isinstance(node, Group) or (isinstance(node, Filter | Extend) and _is_grouped(node.pattern))


def _joined(node: Node, change: Change, fixed: set[int]) -> Node:
    """What stands in a join: here a constant may become a variable, as the table will bind it."""
    match node:
        case BGP(patterns):
            return BGP(tuple(_triple(pattern, change) for pattern in patterns))
        case StreamPattern(window, pattern) if window not in fixed:
            # What a window of TRIPLES n holds depends on what matches, so there constants stay.
            return replace(node, pattern=_triple(pattern, change))
        case Join(left, right) | Union(left, right):
            return replace(node, left=_joined(left, change, fixed), right=_joined(right, change, fixed))
        case Filter() | Extend() | Graph():
            return replace(node, pattern=_joined(node.pattern, change, fixed))
    return node


def _triple(triple: TriplePattern, change: Change) -> TriplePattern:
    ends = (change(term) if isinstance(term, Constant) else term for term in (triple.subject, triple.object))
    subject, object_ = ends
    return replace(triple, subject=subject, object=object_)


def _compared(expression: Expression, change: Change) -> Expression:
    match expression:
        case Call(name, arguments) if name in _COMPARISONS:
            changed = (change(part) if isinstance(part, Constant) else part for part in arguments)
            return Call(name, tuple(changed))
        case Call("&&" | "||" | "!" as name, arguments):
            return Call(name, tuple(_compared(part, change) for part in arguments))
    return expression


def _patterns_of(node: Node, window: int) -> list[TriplePattern]:
    """The patterns on a window, in the order of the text."""
    if isinstance(node, StreamPattern):
        return [node.pattern] if node.window == window else []
    return [pattern for inner in below(node) for pattern in _patterns_of(inner, window)]
