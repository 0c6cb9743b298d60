"""The patterns of a query of EP-SPARQL: numbers them, splits off static parts, and finds the sequences that
have a policy of consumption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import (
    BGP,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Node,
    Pairs,
    PathPattern,
    Query,
    Recent,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    TableScan,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import below, bottom_up, operands
from rheos.algebra.variables import Names, certain, in_scope, used
from rheos.optimize.durations import memory_bound
from rheos.optimize.events import (
    NOTHING,
    without_nothing,
)
from rheos.optimize.static_parts import Part, static_part
from rheos.runtime.epsparql.numbers import Kind

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A sequence of a query with a policy of consumption: its number, its sides, and for how long its
    solutions have to be remembered for the pattern that it is part of."""

    number: int
    left: Node
    right: Node
    memory: int | None

    def pattern(self, side: Side) -> Node:
        return self.left if side == "left" else self.right

    def variables(self, side: Side) -> tuple[str, ...]:
        """The variables of one side, sorted by name."""
        return tuple(sorted(in_scope(self.pattern(side))))

    @property
    def both(self) -> tuple[str, ...]:
        return tuple(sorted(in_scope(self.left) | in_scope(self.right)))

    @property
    def shared(self) -> tuple[str, ...]:
        return tuple(sorted(in_scope(self.left) & in_scope(self.right)))

    def shared_columns(self, side: Side) -> list[str]:
        names = self.variables(side)
        return [f"c{names.index(name) + 1}" for name in self.shared]

    @property
    def sure(self) -> bool:
        """Whether both sides always bind the variables that they share."""
        return set(self.shared) <= certain(self.left) & certain(self.right)


Shape = tuple[str | int, ...]


def read(node: Node) -> Names:
    """The variables that expressions in a pattern use."""
    found: Names = frozenset()
    match node:
        case Filter(condition) | LeftJoin(condition=condition) | EqLeftJoin(condition=condition):
            found = used(condition)
        case SeqRightJoin(condition=condition):
            found = used(condition)
        case Extend(expression=expression):
            found = used(expression)
        case Recent(aggregates=aggregates):
            found = found.union(*(used(aggregate) for _, aggregate in aggregates))
    return found.union(*map(read, below(node)))


def shape(pattern: TriplePattern) -> Shape:
    """The part of a pattern that decides which triples match: patterns that differ only in the names of
    variables have the same shape."""
    terms = pattern.terms
    return tuple(term.term if isinstance(term, Constant) else terms.index(term) for term in terms)


def could_match(template: Sequence[TriplePattern], pattern: TriplePattern) -> bool:
    """Whether a triple of a template could match a pattern."""

    def alike(made: Term, asked: Term) -> bool:
        return not (isinstance(made, Constant) and isinstance(asked, Constant)) or made == asked

    return any(all(map(alike, triple.terms, pattern.terms)) for triple in template)


@dataclass
class Leaves:
    """The leaves of a query's pattern: triple patterns on events and static data, and static parts."""

    query: Query
    consumes: bool = False
    patterns: list[TriplePattern] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    memory: list[int | None] = field(default_factory=list)  # for how long sides of stages need their events
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outer = memory_bound(self.query.form.pattern)

    def numbered(self, node: Node) -> Node:
        match node:
            case BGP(()) | Values() | TableScan():
                return node
            case BGP(patterns):
                leaves = [self.leaf(pattern) for pattern in patterns]
                joined = leaves[0]
                for leaf in leaves[1:]:
                    joined = Join(joined, leaf)
                return joined
            case PathPattern() | Graph() | Group():
                return self.kept(node)
        if isinstance(node, SeqJoin) and self.consumes:
            return self.stage(node)
        return operands(node, self.numbered)

    def stage(self, node: SeqJoin) -> SeqJoin:
        """A sequence that is evaluated apart: its pairs become a table of the pattern around it. So how long
        the events of a side are remembered depends on that side alone."""
        bounds = [memory_bound(side) for side in (node.left, node.right)]
        self.memory += bounds
        outer, self.outer = self.outer, bounds[0]
        left = self.numbered(node.left)
        self.outer = bounds[1]
        right = self.numbered(node.right)
        self.outer = outer
        stage = Stage(len(self.stages) + 1, left, right, outer)
        self.stages.append(stage)
        pairs = Pairs(stage.number, stage.both, certain(left) | certain(right))
        return SeqJoin(left, right, None, pairs)

    def leaf(self, pattern: TriplePattern) -> Node:
        self.patterns.append(pattern)
        return Union(StreamPattern(len(self.patterns), pattern), self.kept(BGP((pattern,))))

    def kept(self, node: Node) -> TableScan:
        part = static_part(node, self.query.dataset)
        self.parts[part.table] = part
        return TableScan(part.table, part.variables, certain(node))


def present(
    pattern: Node,
    events: frozenset[int],
    static: frozenset[str],
    objects: frozenset[tuple[int, Kind]] = frozenset(),
) -> Node:
    """The pattern without stream patterns that no event matches and without tables that have no rows.
    Patterns in `objects` are marked with the kinds of their objects' values."""
    kinds = dict(objects)

    def simpler(node: Node) -> Node:
        match node:
            case StreamPattern(number) if number not in events:
                return NOTHING
            case StreamPattern(number) if number in kinds:
                return replace(node, objects=kinds[number])
            case TableScan(table) if table not in static:
                return NOTHING
        return without_nothing(node)

    return bottom_up(pattern, simpler)
