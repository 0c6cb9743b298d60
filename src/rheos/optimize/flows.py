"""The order of joins by what was observed: a pattern and the sizes of what it joins come in, the pattern with
its joins in order goes out, and why they are so.

A flow starts with what is new and goes on, always, to the operand that is expected to give the fewest matches
for a row: the routing policy of the CQELS paper (its algorithm 2), chosen anew for every batch and not for
every element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from rheos.algebra.nodes import Extend, Filter, Join, Kept, Node, Project, Query, StreamPattern, Values
from rheos.algebra.printer import node_lines
from rheos.algebra.rewrite import below, operands
from rheos.algebra.variables import in_scope
from rheos.optimize.static_parts import flatten

# A condition is taken to let through this part of the rows.
PASSING = 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """The rows that a pattern has at a time, and how many different values each of its variables."""

    rows: float
    different: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Flow:
    """The orders that were chosen from the sizes of stream patterns and tables; as text, for people to read.

    `parts` are the queries that the tables of static parts were filled with.
    """

    sizes: Mapping[Node, Size]
    parts: Mapping[str, Query]
    chosen: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.chosen)

    def ordered(self, node: Node) -> Node:
        """The pattern with every chain of joins in it in order."""
        if isinstance(node, StreamPattern):
            self.chosen.append(self.first(node))
        return self._ordered(node)

    def _ordered(self, node: Node) -> Node:
        if not isinstance(node, Join):
            return operands(node, self._ordered)
        rest = [self._ordered(operand) for operand in flatten(node)]
        first = min(rest, key=lambda operand: (not is_new(operand), self.size(operand).rows))
        rest.remove(first)
        chosen, bound, steps = [first], in_scope(first), [self.first(first)]
        while rest:
            following = min(rest, key=lambda operand: self.matches(operand, bound))
            apart, expected = self.matches(following, bound)
            shared = ", ".join(f"?{name}" for name in sorted(bound & in_scope(following)))
            why = "nothing shared" if apart else f"by {shared}"
            steps.append(f"{self.name(following)}: {why}, about {expected:,.3g} for each")
            rest.remove(following)
            chosen.append(following)
            bound |= in_scope(following)
        self.chosen.append("\n  ⋈ ".join(steps))
        return reduce(Join, chosen)

    def first(self, node: Node) -> str:
        return f"{self.name(node)}: {self.size(node).rows:,.0f} rows"

    def matches(self, node: Node, bound: frozenset[str]) -> tuple[bool, float]:
        """Whether nothing connects a pattern with what is bound, and how many rows match one of that."""
        shared = bound & in_scope(node)
        found = self.size(node)
        return not shared, found.rows / max((found.different.get(v, 1.0) for v in shared), default=1.0)

    def size(self, node: Node) -> Size:
        match node:
            case StreamPattern() | Kept() if node in self.sizes:
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
        """What a step is called: the patterns that it looks at."""
        if isinstance(node, Kept) and node.table in self.parts:
            return "static " + _line(self.parts[node.table].form.pattern)
        if isinstance(node, StreamPattern | Values | Kept):
            return _line(node)
        return " and ".join(self.name(inner) for inner in below(node)) or _line(node)


def is_new(node: Node) -> bool:
    """Whether a pattern looks at new elements: a flow begins with them."""
    if isinstance(node, StreamPattern):
        return node.part == "new"
    return isinstance(node, Filter | Extend | Project) and is_new(node.pattern)


def _line(node: Node) -> str:
    return " ".join(line.strip() for line in node_lines(node))
