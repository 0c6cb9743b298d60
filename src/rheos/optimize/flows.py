"""Flows: the order of joins in CQELS-QL, chosen from the observed sizes of their operands.

A flow starts with new elements. The next operand is always the one that is expected to give the fewest
matches for a row: this is the routing policy of the CQELS paper (its algorithm 2), but applied once for every
batch and not for every element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheos.algebra.chains import filtered
from rheos.algebra.expressions import Expression
from rheos.algebra.nodes import Extend, Filter, Join, Node, Project, Query, StreamPattern, TableScan, Values
from rheos.algebra.printer import node_lines
from rheos.algebra.rewrite import below, operands
from rheos.algebra.variables import certain, has_exists, in_scope, used

# A condition is assumed to let this part of the rows through.
PASSING = 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows a pattern has, and how many different values each of its variables has."""

    rows: float
    different: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Flow:
    """Chooses orders of joins from the sizes of stream patterns and tables, and notes
    them as text for people.

    `parts` are the queries from which the tables of static parts were filled.
    """

    sizes: Mapping[Node, Size]
    parts: Mapping[str, Query]
    chosen: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.chosen)

    def ordered(self, node: Node) -> Node:
        """The pattern, with every chain of joins in the chosen order."""
        if isinstance(node, StreamPattern):
            self.chosen.append(self.first(node))
        return self._ordered(node)

    def _ordered(self, node: Node) -> Node:
        found, conditions = chain(node)
        if len(found) < 2:
            return operands(node, self._ordered)
        rest = [self._ordered(operand) for operand in found]
        following = min(rest, key=lambda operand: (not is_new(operand), self.size(operand).rows))
        steps = [self.first(following)]
        joined, bound = following, dict(self.different(following))
        while True:
            rest.remove(following)
            ready = [condition for condition in conditions if used(condition) <= certain(joined)]
            conditions = [condition for condition in conditions if condition not in ready]
            joined = filtered(joined, ready)
            if not rest:
                break
            following = min(rest, key=lambda operand: self.matches(operand, bound))
            apart, expected = self.matches(following, bound)
            shared = ", ".join(f"?{name}" for name in sorted(bound.keys() & in_scope(following)))
            why = "nothing shared" if apart else f"by {shared}"
            steps.append(f"{self.name(following)}: {why}, about {expected:,.2g} for each")
            joined = Join(joined, following)
            for name, count in self.different(following).items():
                bound[name] = min(count, bound.get(name, count))
        self.chosen.append("\n  ⋈ ".join(steps))
        return joined

    def first(self, node: Node) -> str:
        return f"{self.name(node)}: {self.size(node).rows:,.0f} rows"

    def different(self, node: Node) -> dict[str, float]:
        """How many different values each variable of a pattern has; if that is unknown, as many as rows."""
        size = self.size(node)
        return {name: size.different.get(name, size.rows) for name in in_scope(node)}

    def matches(self, node: Node, bound: Mapping[str, float]) -> tuple[bool, float]:
        """Whether a pattern shares no variable with the bound ones, and how many of its rows match one row of
        the flow. For each shared variable, the rows are assumed to be spread evenly over the values of the
        side that has more of them. Each further variable reduces the number less, as variables may depend on
        one another."""
        values = self.different(node)
        shared = bound.keys() & values.keys()
        rows = self.size(node).rows
        counts = sorted((max(1.0, values[name], bound[name]) for name in shared), reverse=True)
        for number, count in enumerate(counts):
            rows /= count ** (0.5**number)
        return not shared, rows

    def size(self, node: Node) -> Size:
        match node:
            case StreamPattern() | TableScan() if node in self.sizes:
                return self.sizes[node]
            case Values(_, rows):
                return Size(len(rows))
            case Filter(_, pattern):
                inner = self.size(pattern)
                return Size(inner.rows * PASSING, inner.different)
        sizes = [self.size(operand) for operand in below(node)]
        different = {name: count for size in sizes for name, count in size.different.items()}
        return Size(max((size.rows for size in sizes), default=1.0), different)

    def name(self, node: Node) -> str:
        """The name of a step: the patterns that it looks at."""
        if isinstance(node, TableScan) and node.table in self.parts:
            return "static " + _line(self.parts[node.table].form.pattern)
        if isinstance(node, StreamPattern | Values | TableScan):
            return _line(node)
        return " and ".join(self.name(inner) for inner in below(node)) or _line(node)


def chain(node: Node) -> tuple[list[Node], list[Expression]]:
    """The operands of a chain of joins, and the conditions of filters between them. Only a condition whose
    variables are all bound is taken out: it means the same after further joins."""
    if isinstance(node, Join):
        (left, of_left), (right, of_right) = chain(node.left), chain(node.right)
        return left + right, of_left + of_right
    if isinstance(node, Filter) and not has_exists(node.condition):
        inner, conditions = chain(node.pattern)
        if len(inner) > 1 and used(node.condition) <= certain(node.pattern):
            return inner, [*conditions, node.condition]
    return [node], []


def is_new(node: Node) -> bool:
    """Whether a pattern looks at new elements. A flow begins with such a pattern."""
    if isinstance(node, StreamPattern):
        return node.part == "new"
    return isinstance(node, Filter | Extend | Project) and is_new(node.pattern)


def _line(node: Node) -> str:
    return " ".join(line.strip() for line in node_lines(node))
