"""Static parts: the patterns of a continuous query on static data are replaced by tables,
which are filled apart.

Static data changes seldom. So these patterns are evaluated when the data changes, not with every batch. A
join of stream patterns and static ones becomes a join with tables, one for each set of static patterns that
share variables. (Static patterns that share none would only be multiplied with one another.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from rheos.algebra.chains import filtered
from rheos.algebra.entailment import Schema, schema_of, unnamed
from rheos.algebra.expressions import Call, Constant, Expression
from rheos.algebra.nodes import (
    BGP,
    AllenJoin,
    Dataset,
    EqJoin,
    EqLeftJoin,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    Pairs,
    PathPattern,
    Query,
    Select,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    TableScan,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import Rewrite, below, has_streams, in_query
from rheos.algebra.variables import certain, in_scope, used
from rheos.optimize.flows import chain
from rheos.optimize.push_filters import movable

# The graphs that a part can read beside those that it names: the default graph, and all named graphs.
DEFAULT, EVERY = "", "*"


@dataclass(frozen=True, slots=True)
class StaticPart:
    """A table and the query on static data whose solutions it holds, with columns in the order of the query.

    A change of one of the graphs that it `reads` makes the table out of date.
    """

    table: str
    query: Query
    reads: frozenset[str]

    @property
    def variables(self) -> tuple[str, ...]:
        assert isinstance(self.query.form, Select)
        return self.query.form.variables


@dataclass(frozen=True, slots=True)
class Derivations:
    """A table of derivations: what elements of streams entail by a schema, as far as the patterns of a query
    could match it."""

    table: str
    schema: Schema
    patterns: tuple[TriplePattern, ...]
    variables: tuple[str, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        return schema_graphs(self.schema)


Part = StaticPart | Derivations


def derivations_for(query: Query, patterns: Sequence[TriplePattern]) -> Derivations | None:
    """The derivations that these patterns of a query could match; None if the query
    asks for no entailment."""
    schema = schema_of(query)
    if schema is None:
        return None
    asked = unnamed(patterns)
    digest = hashlib.blake2b(repr((schema, asked)).encode(), digest_size=8).hexdigest()
    return Derivations(f"derived_{digest}", schema, asked)


def schema_graphs(schema: Schema) -> frozenset[str]:
    """The graphs that a schema is in."""
    return frozenset(schema or (DEFAULT,))


def static_part(node: Node, dataset: Dataset | None, owner: str = "") -> StaticPart:
    """A pattern on static data as a table. Queries that ask the same of the same graphs share a table; but a
    table with the constants of a family belongs to its `owner` alone."""
    variables = tuple(sorted(in_scope(node)))
    asked = Query(Select(node, variables), dataset)
    of_family = any(name.startswith("$") for name in variables)
    told_apart = repr((asked, owner if of_family else ""))
    table = "kept_" + hashlib.blake2b(told_apart.encode(), digest_size=8).hexdigest()
    return StaticPart(table, asked, reads(node, dataset))


def keep_static(query: Query, owner: str = "") -> tuple[Query, tuple[StaticPart, ...]]:
    """The query with tables in the place of its static parts, and these parts; `owner`
    tells families apart."""
    parts: dict[str, StaticPart] = {}

    def kept(node: Node) -> Node:
        part = static_part(node, query.dataset, owner)
        parts[part.table] = part
        return TableScan(part.table, part.variables, certain(node))

    def rewrite(node: Node) -> Node:
        if is_plain(node):
            return node
        if not has_streams(node):
            return kept(node)
        operands, conditions = chain(node)
        if len(operands) > 1:
            found = [one for operand in operands for one in components(operand)]
            others = [rewrite(one) for one in found if has_streams(one) or isinstance(one, TableScan)]
            about = [condition for one in found if has_streams(one) for condition in conditions_of(one)]
            static = [one for one in found if not has_streams(one) and not isinstance(one, TableScan)]
            for group in connected(static):
                if all(map(is_plain, group)):
                    others += group
                else:
                    part, conditions = restricted(joined(group), conditions)
                    others.append(kept(filtered(part, decided(about, part))))
            return filtered(joined(others), conditions)
        match node:
            case LeftJoin(left, right, condition):
                return LeftJoin(rewrite(left), rewrite(right), condition)
            case Minus(left, right):
                return Minus(rewrite(left), rewrite(right))
            case Union(left, right):
                return Union(rewrite(left), rewrite(right))
        return _rewritten(node, rewrite)

    return in_query(query, rewrite), tuple(parts.values())


def is_plain(node: Node) -> bool:
    """Whether a pattern is static but reads no static graph."""
    return isinstance(node, Values | TableScan) or node == BGP()


def _rewritten(node: Node, rewrite: Rewrite) -> Node:
    """The node with its operand rewritten. Patterns inside EXISTS stay, because they may
    read the row outside."""
    if isinstance(node, StreamPattern):
        return node
    assert not isinstance(node, BGP | PathPattern | Join | LeftJoin | Minus | Union | Values | TableScan)
    assert not isinstance(
        node, SeqJoin | SeqRightJoin | EqJoin | EqLeftJoin | AllenJoin | Pairs
    )  # not of CQELS-QL
    return replace(node, pattern=rewrite(node.pattern))


def restricted(part: Node, conditions: Sequence[Expression]) -> tuple[Node, list[Expression]]:
    """A static part with those conditions on a join that it decides by itself; and the other conditions.
    Conditions between static rows are then tested once, and not for every element."""
    own = decided(conditions, part)
    return filtered(part, own), [condition for condition in conditions if condition not in own]


def decided(conditions: Sequence[Expression], part: Node) -> list[Expression]:
    """The conditions that one part of a join decides: they hold for a row of the join if, and only if, they
    hold for the row of the part."""
    bound = certain(part)
    return [c for c in conditions if used(c) and used(c) <= bound and movable(c) and not tells_time(c)]


def conditions_of(node: Node) -> list[Expression]:
    """The conditions of the filters on a pattern. Rows of a static part that fail them
    can be left out, too."""
    return [node.condition, *conditions_of(node.pattern)] if isinstance(node, Filter) else []


def tells_time(condition: Expression) -> bool:
    return isinstance(condition, Call) and (
        condition.name == "NOW" or any(map(tells_time, condition.arguments))
    )


def joined(nodes: Sequence[Node]) -> Node:
    """The join of patterns. All BGPs become one BGP again."""
    basic = [node for node in nodes if isinstance(node, BGP)]
    others = [node for node in nodes if not isinstance(node, BGP)]
    together = BGP(tuple(pattern for node in basic for pattern in node.patterns))
    return reduce(Join, [*others, together] if together.patterns or not others else others)


def components(node: Node) -> list[Node]:
    """A BGP cut into parts that share no variables, also inside GRAPH <name>."""
    match node:
        case BGP(patterns) if patterns:
            return [joined(group) for group in connected([BGP((pattern,)) for pattern in patterns])]
        case Graph(Constant(), BGP() as basic):
            return [Graph(node.name, part) for part in components(basic)]
    return [node]


def connected(nodes: Iterable[Node]) -> list[list[Node]]:
    """The patterns in groups, such that patterns of different groups share no variable."""
    groups: list[list[Node]] = []
    for node in nodes:
        near = [group for group in groups if any(in_scope(node) & in_scope(other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([other for group in near for other in group] + [node])
    return groups


def reads(node: Node, dataset: Dataset | None, graph: str = DEFAULT) -> frozenset[str]:
    """The graphs that a pattern looks at; `graph` is the one that it is evaluated in."""
    if dataset is not None and dataset.entailed is not None:
        schema = schema_graphs(dataset.entailed)
        return schema | {
            found for found in reads(node, replace(dataset, entailed=None), graph) if found != DEFAULT
        }
    match node:
        case BGP() | PathPattern():
            merged = dataset is not None and dataset.default and graph == DEFAULT
            return frozenset(dataset.default) if dataset is not None and merged else frozenset({graph})
        case Graph(Constant(name), pattern):
            return reads(pattern, dataset, name) | {name}  # at least, whether the graph exists
        case Graph(_, pattern):
            return reads(pattern, dataset, EVERY) | {EVERY}
    return frozenset().union(*(reads(inner, dataset, graph) for inner in below(node)))


def has_static(node: Node) -> bool:
    """Whether a pattern reads static data anywhere."""
    if isinstance(node, BGP | PathPattern | Graph):
        return node != BGP()
    return any(map(has_static, below(node)))


def kept_in(node: Node) -> list[TableScan]:
    """The tables that a pattern reads."""
    if isinstance(node, TableScan):
        return [node]
    return [table for inner in below(node) for table in kept_in(inner)]
