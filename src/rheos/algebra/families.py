"""Families: queries that differ only in constants become one query with a table of constants.

A *skeleton* is a query with marks in place of the constants that may differ: subjects and objects of triple
patterns and of the template of a CONSTRUCT, and constants that filters compare with. Queries with the same
skeleton are a family. If all members have the same constant at a place, the family's query has it, too. Other
constants become variables, which a table of constants binds.
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
    Node,
    OrderBy,
    Project,
    Query,
    Reduced,
    Select,
    Slice,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Union,
    makes_blanks,
)
from rheos.algebra.rewrite import below
from rheos.algebra.streams import CqelsQuery, LastWindow, mark_of

# The table of constants: the number of each member, and a column for each constant that differs. Users cannot
# write variables whose names begin with $ .
CONSTANTS = "constants"
MEMBER = Variable("$member")
# If a template makes blank nodes, the table also has the mark in the labels of each member's blank nodes.
NAME = Variable("$name")

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})

Change = Callable[[Constant], Term]


@dataclass(frozen=True, slots=True)
class Family:
    """One query for several; `rows` are the constants of its members, in the order of `variables`.

    A family with a single member has neither variables nor rows.
    """

    query: CqelsQuery
    variables: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def skeleton(query: CqelsQuery) -> tuple[CqelsQuery, tuple[str, ...]]:
    """The query with marks in place of its constants, and the constants in order."""
    found: list[str] = []

    def mark(constant: Constant) -> Term:
        found.append(constant.term)
        return Variable(f"${len(found)}")

    if not can_vary(query):
        return query, ()  # the name is kept, so the skeleton is equal to no other
    marked = changed(query, mark)
    return replace(marked, name="", makes_stream=False), tuple(found)


def family(first: CqelsQuery, constants: Sequence[tuple[str, ...]], names: Sequence[str]) -> Family:
    """The family with this first member and with the constants and names of all members."""
    if len(constants) == 1:
        return Family(first)
    columns = list(zip(*constants, strict=True))
    varying = [at for at, values in enumerate(columns) if len(set(values)) > 1]
    put_in = {at: f"${at + 1}" for at in varying}
    number = -1

    def put(constant: Constant) -> Term:
        nonlocal number
        number += 1
        return Variable(put_in[number]) if number in put_in else constant

    query = changed(first, put)
    form = query.query.form
    assert isinstance(form, Select | Construct)
    variables = tuple(put_in.values())
    rows = tuple(tuple(row[at] for at in varying) for row in constants)
    if isinstance(form, Construct) and makes_blanks(form.template):
        variables = (NAME.name, *variables)
        rows = tuple((mark_of(name), *row) for name, row in zip(names, rows, strict=True))
    table = TableScan(CONSTANTS, (MEMBER.name, *variables), frozenset({MEMBER.name, *variables}))
    form = replace(form, pattern=beside(form.pattern, table))
    return Family(replace(query, query=replace(query.query, form=form)), variables, rows)


def can_vary(query: CqelsQuery) -> bool:
    """Whether a table of constants can be joined with the query, so that it can be part of a family.

    The query may have only projections, DISTINCT, ORDER BY, filters, BIND and groupings above the join. A
    grouping must have keys, and cannot be in a CONSTRUCT, whose template reads the constants.
    """
    form = query.query.form
    if not isinstance(form, Select | Construct):
        return False
    spine = form.pattern
    while isinstance(spine, Project | OrderBy | Reduced | Distinct | Filter | Extend | Group):
        if isinstance(spine, Group) and (not spine.keys or isinstance(form, Construct)):
            return False
        spine = spine.pattern
    return not isinstance(spine, Slice)  # LIMIT would count the rows of all members together


def beside(node: Node, table: TableScan) -> Node:
    """The pattern with the table joined below its projections, groupings and the like.

    Projections keep all columns of the table. Groupings keep only the member, which determines the others.
    """
    match node:
        case Project(pattern, variables):
            return Project(beside(pattern, table), (*map(Variable, table.variables), *variables))
        case Group(pattern, keys, aggregates):
            return Group(beside(pattern, table), (MEMBER, *keys), aggregates)
        case OrderBy() | Reduced() | Distinct() | Filter() | Extend():
            return replace(node, pattern=beside(node.pattern, table))
    return Join(node, table)


def changed(query: CqelsQuery, change: Change) -> CqelsQuery:
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
    if isinstance(node, Project | OrderBy | Reduced | Distinct | Filter | Extend):
        return _is_grouped(node.pattern)
    return isinstance(node, Group)


def _joined(node: Node, change: Change, fixed: set[int]) -> Node:
    """The part that is joined with the table: its constants may become variables, which the table binds."""
    match node:
        case BGP(patterns):
            return BGP(tuple(_triple(pattern, change) for pattern in patterns))
        case StreamPattern(window, pattern) if window not in fixed:
            # The content of a window TRIPLES n depends on its patterns, so its constants stay.
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
