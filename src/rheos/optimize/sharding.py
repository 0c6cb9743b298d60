"""Sharding by a variable: cuts a query into a part that each task answers for its shard,
and a merge of the parts.

The hash of one of its terms decides to which shard a solution belongs. That is exact if every part of a
pattern that mentions the variable always binds it. Then elements with other terms make no difference to the
solutions of a shard, and each triple pattern can leave them out before it is joined.

    whole:  project ─ group ─ pattern
    part:             group ─ pattern, of one shard      merge:  project ─ group ─ parts

The operators above the cut are evaluated once, on the rows of all shards. If the answer has the variable, the
cut is at the top. If a projection takes the variable away, the cut is there, below DISTINCT; a
shard then gives each row once. Otherwise the grouping is cut in two: each shard counts its own solutions, and
the merge adds the counts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import UnionType

from rheos.algebra.expressions import Aggregate, Call, Constant, Expression, Variable
from rheos.algebra.nodes import (
    BGP,
    Aggregated,
    Describe,
    Distinct,
    Extend,
    Filter,
    Form,
    Graph,
    Group,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Reduced,
    Select,
    Slice,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Values,
)
from rheos.algebra.rewrite import below, nodes, operands
from rheos.algebra.variables import certain, has_exists, in_scope, mentioned
from rheos.algebra.variables import names as variables
from rheos.terms import XSD, literal

# The condition that a term belongs to the present shard.
IN_SHARD = "IN SHARD"
# The table of the rows of all shards: an instant, and the columns c1, c2, … for the variables.
PARTIALS = "partials"

_ZERO = Constant(literal("0", XSD + "integer"))


@dataclass(frozen=True, slots=True)
class Cut:
    """A query in two parts: `part` is evaluated in each shard of a variable, `merge` on
    the rows of all shards.

    The sums in the columns `exact` (numbered from 1) can be merged only if no double is among them: the
    rounding of doubles depends on the order in which they are added.
    """

    variable: str
    part: Query
    merge: Query
    exact: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Uncut:
    """Why a query cannot be cut."""

    reason: str


def cut(query: Query) -> Cut | Uncut:
    """A query of C-SPARQL in two parts, or why it cannot be cut."""
    form = query.form
    if isinstance(form, Describe):
        return Uncut("DESCRIBE asks all graphs about each term")
    pattern = form.pattern
    if any(isinstance(node, Slice) for node in nodes(pattern)):
        return Uncut("LIMIT and OFFSET count the solutions of all shards")
    best = _best_cut(pattern)
    if best is not None:
        return _cut_at(query, *best)
    group = _group_of(pattern)
    if group is not None and _looks_down(pattern, group):
        return Uncut("EXISTS above a grouping looks at the elements of all shards")
    if group is None:
        return Uncut("no variable of the answer is bound wherever it is mentioned")
    return _cut_group(query, group)


def shard_variable(pattern: Node, through: type[Node] | UnionType | None = None) -> str | None:
    """The variable by which the solutions of a pattern can be shared out, if there is one: every part that
    mentions it must bind it. Among several, the one that most triple patterns have.

    Operators of the types `through` at the top may take the variable away: for them it is enough to put the
    rows of all shards together.
    """
    if any(isinstance(node, Slice | OrderBy) for node in nodes(pattern)):
        return None
    places = [pattern]
    while through is not None and isinstance(places[-1], through):
        places.append(*below(places[-1]))
    best = _best((place, place) for place in places)
    return None if best is None else best[1]


def of_shard(node: Node, name: str) -> Node:
    """The pattern for those solutions that belong to the present shard, by a variable that is
    `bound_throughout`."""
    match node:
        case BGP() | StreamPattern() | PathPattern() | TableScan() | Values():
            return _only(node, name) if name in certain(node) else node
    inner = operands(node, lambda part: of_shard(part, name))
    match node:
        case Extend(variable=Variable(bound)) | Graph(name=Variable(bound)) if bound == name:
            return _only(inner, name)
    return inner


def _only(node: Node, name: str) -> Node:
    return Filter(Call(IN_SHARD, (Variable(name),)), node)


def bound_throughout(node: Node, name: str) -> bool:
    """Whether every part of a pattern that mentions a variable always binds it, and no part looks at rows
    with different values of it together."""
    if name in mentioned(node) and name not in certain(node):
        return False
    if isinstance(node, Aggregated) and any(Variable(name) not in item.group for item in node.aggregations):
        return False
    return all(bound_throughout(part, name) for part in below(node) if name in mentioned(part))


def triple_patterns(node: Node) -> list[TriplePattern]:
    found: list[TriplePattern] = []
    for part in nodes(node):
        match part:
            case BGP(patterns):
                found += patterns
            case StreamPattern(_, pattern):
                found.append(pattern)
    return found


def wanted(patterns: list[TriplePattern], name: str) -> list[list[tuple[str, Term]]]:
    """The conditions on elements that matter in a shard: for each pattern, its terms that decide, with their
    places s, p, o. A constant must be equal; the variable's term must belong to the shard."""
    found: dict[str, list[tuple[str, Term]]] = {}
    for pattern in patterns:
        places = zip("spo", pattern.terms, strict=True)
        decides = [
            (place, term) for place, term in places if isinstance(term, Constant) or term == Variable(name)
        ]
        found[repr(decides)] = decides
    return list(found.values())


def _candidates(pattern: Node, names: frozenset[str]) -> list[str]:
    """The variables by which a pattern can be sharded, the one that most patterns have first."""
    if any(isinstance(node, PathPattern) for node in nodes(pattern)):
        return []  # a path goes through elements that have neither of its ends
    counts: Counter[str] = Counter()
    subjects: Counter[str] = Counter()
    for triple in triple_patterns(pattern):
        ends = {term.name for term in (triple.subject, triple.object) if isinstance(term, Variable)}
        counts.update(ends & names)
        subjects.update(names & variables((triple.subject,)))
    usable = [name for name in counts if bound_throughout(pattern, name)]
    # Of two variables that are in equally many patterns, the one that is more often a subject.
    return sorted(usable, key=lambda name: (-counts[name], -subjects[name], name))


def _best_cut(pattern: Node) -> tuple[Node, str] | None:
    """Where to cut so that the solutions of shards only need to be put together, and the variable: the one
    that most patterns have. Among equals the cut is as high as possible."""
    top = _without_order(pattern)
    projects = (node for node in _spine(top) if isinstance(node, Project))
    # The variable is looked for below a projection, which may take it away.
    places = [(top, top), *((node, node.pattern) for node in projects)]
    return _best((place, inner) for place, inner in places if not _looks_down(pattern, place))


def _best(places: Iterable[tuple[Node, Node]]) -> tuple[Node, str] | None:
    """The place and the variable of the pattern beside it that most triple patterns have; the first among
    equals."""
    found = [
        (place, names[0], sum(_has(triple, names[0]) for triple in triple_patterns(inner)))
        for place, inner in places
        if (names := _candidates(inner, certain(inner)))
    ]
    if not found:
        return None
    place, name, _ = max(found, key=lambda option: option[2])
    return place, name


def _has(triple: TriplePattern, name: str) -> bool:
    return Variable(name) in (triple.subject, triple.object)


def _without_order(pattern: Node) -> Node:
    """The pattern below ORDER BY, if the whole answer is ordered."""
    orders = [node for node in _spine(pattern) if isinstance(node, OrderBy)]
    return orders[-1].pattern if orders else pattern


def _spine(pattern: Node) -> Iterator[Node]:
    """The operators on the whole answer, from the top down to the first that is not a simple operator on the
    rows of one operand."""
    node = pattern
    while True:
        yield node
        match node:
            case Project() | Distinct() | Reduced() | OrderBy() | Filter() | Extend():
                node = node.pattern
            case _:
                return


def _looks_down(pattern: Node, cut_at: Node) -> bool:
    """Whether an operator above the cut has an EXISTS, which would look at the data below the cut."""
    return any(len(below(node)) > 1 for node in _upon(pattern, cut_at))


def _parent(pattern: Node, node: Node) -> Node | None:
    """The operator right above a node of the spine."""
    return next(reversed(_upon(pattern, node)), None)


def _upon(pattern: Node, node: Node) -> list[Node]:
    """The operators above a node of the spine, from the top down."""
    return list(itertools.takewhile(lambda found: found is not node, _spine(pattern)))


def _group_of(pattern: Node) -> Group | None:
    last = list(_spine(pattern))[-1]
    return last if isinstance(last, Group) else None


def _cut_at(query: Query, below_cut: Node, name: str) -> Cut:
    columns = tuple(sorted(in_scope(below_cut)))
    found = TableScan(PARTIALS, columns, certain(below_cut), by_instant=True)
    part = of_shard(below_cut, name)
    if isinstance(_parent(query.form.pattern, below_cut), Distinct):
        part = Distinct(part)  # a shard gives each row once, so that the merge has less to read
    whole = replace(query, form=_above(query.form, below_cut, found))
    return Cut(name, replace(query, form=Select(part, columns)), whole)


def _above(form: Form, old: Node, new: Node) -> Form:
    """The form of a query with a node of its spine replaced."""

    def replaced(node: Node) -> Node:
        if node is old:
            return new
        assert isinstance(node, Project | Distinct | Reduced | OrderBy | Filter | Extend)
        return replace(node, pattern=replaced(node.pattern))

    return replace(form, pattern=replaced(form.pattern))


# --- groups in two phases ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Phases:
    """An aggregate in two phases: what shards compute, what the merge computes from that, and the expression
    for the result."""

    parts: tuple[tuple[Variable, Aggregate], ...]
    merged: tuple[tuple[Variable, Aggregate], ...]
    result: Expression


def _cut_group(query: Query, group: Group) -> Cut | Uncut:
    names = _candidates(group.pattern, certain(group.pattern))
    if not names:
        return Uncut("no variable is bound wherever it is mentioned")
    distinct = {aggregate.argument for _, aggregate in group.aggregates if aggregate.distinct}
    if any(aggregate.distinct and aggregate.argument is None for _, aggregate in group.aggregates):
        return Uncut("COUNT(DISTINCT *) compares the solutions of all shards")
    if distinct:
        # Equal values of the variable are in the same shard, so each shard can count its own values.
        names = [name for name in names if distinct == {Variable(name)}]
        if not names:
            return Uncut("DISTINCT inside an aggregate compares the solutions of all shards")
    phases: list[_Phases] = []
    for number, (_, aggregate) in enumerate(group.aggregates):
        found = _phases(aggregate, number)
        if found is None:
            return Uncut(f"{aggregate.name} cannot be put together from parts")
        phases.append(found)
    rows = Variable("$rows")
    parts = [part for found in phases for part in found.parts]
    grouped = Group(of_shard(group.pattern, names[0]), group.keys, (*parts, (rows, Aggregate("COUNT", None))))
    # Without keys, even a shard without solutions has a group. Its sums are right, but it has no MIN, so it
    # is left out.
    there = Filter(Call(">", (rows, _ZERO)), grouped)
    columns = tuple(key.name for key in group.keys) + tuple(variable.name for variable, _ in parts)
    always = certain(grouped) & set(columns)
    merged: Node = Group(
        TableScan(PARTIALS, columns, always, by_instant=True),
        group.keys,
        tuple(part for found in phases for part in found.merged),
    )
    for (variable, _), found in zip(group.aggregates, phases, strict=True):
        merged = Extend(merged, variable, found.result)
    exact = tuple(
        columns.index(variable.name) + 1 for variable, aggregate in parts if aggregate.name == "SUM"
    )
    whole = replace(query, form=_above(query.form, group, merged))
    return Cut(names[0], replace(query, form=Select(there, columns)), whole, exact)


def _phases(aggregate: Aggregate, number: int) -> _Phases | None:
    if has_exists(aggregate.argument):
        return None
    part, whole = Variable(f"$part {number}"), Variable(f"$merged {number}")
    match aggregate.name:
        case "COUNT":
            return _Phases(((part, aggregate),), ((whole, Aggregate("SUM", part)),), whole)
        case "SUM" | "MIN" | "MAX" | "SAMPLE" as name if not aggregate.distinct:
            return _Phases(((part, aggregate),), ((whole, Aggregate(name, part)),), whole)
        case "AVG" if not aggregate.distinct:
            count, counted = Variable(f"$count {number}"), Variable(f"$counted {number}")
            mean = Call("/", (whole, counted))
            return _Phases(
                ((part, replace(aggregate, name="SUM")), (count, Aggregate("COUNT", None))),
                ((whole, Aggregate("SUM", part)), (counted, Aggregate("SUM", count))),
                Call("IF", (Call("=", (counted, _ZERO)), _ZERO, mean)),
            )
    return None
