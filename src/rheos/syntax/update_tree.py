"""The syntax tree of an update: its operations as frozen nodes, with names that are not yet resolved.

Patterns, triples and terms are the nodes of queries, in `ast.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rheos.syntax.ast import Base, DatasetClause, Group, Name, Node, Prefix, Triple, Var


@dataclass(frozen=True, slots=True)
class Quads(Node):
    """Triples of a template in one graph: the graph that `GRAPH` names, or None without GRAPH."""

    graph: Var | Name | None
    triples: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class InsertData(Node):
    quads: tuple[Quads, ...]


@dataclass(frozen=True, slots=True)
class DeleteData(Node):
    quads: tuple[Quads, ...]


@dataclass(frozen=True, slots=True)
class Modify(Node):
    """`WITH … DELETE … INSERT … USING … WHERE …`. For DELETE WHERE the pattern is a copy of the quads."""

    delete: tuple[Quads, ...]
    insert: tuple[Quads, ...]
    where: Group
    with_graph: Name | None = None
    using: tuple[DatasetClause, ...] = ()


Graphs = Name | Literal["DEFAULT", "NAMED", "ALL"]


@dataclass(frozen=True, slots=True)
class Load(Node):
    source: Name
    graph: Name | None
    silent: bool


@dataclass(frozen=True, slots=True)
class Clear(Node):
    graphs: Graphs
    silent: bool


@dataclass(frozen=True, slots=True)
class Drop(Node):
    graphs: Graphs
    silent: bool


@dataclass(frozen=True, slots=True)
class Create(Node):
    graph: Name
    silent: bool


@dataclass(frozen=True, slots=True)
class Transfer(Node):
    """ADD, MOVE or COPY from one graph to another; None is the default graph."""

    kind: Literal["ADD", "MOVE", "COPY"]
    source: Name | None
    target: Name | None
    silent: bool


Operation = InsertData | DeleteData | Modify | Load | Clear | Drop | Create | Transfer


@dataclass(frozen=True, slots=True)
class Step:
    """An operation, and the declarations right before it. Earlier declarations stay in force."""

    prologue: tuple[Base | Prefix, ...]
    operation: Operation


@dataclass(frozen=True, slots=True)
class Update:
    """The whole text of an update: what `parse_update` returns. It may have no operations at all."""

    text: str
    steps: tuple[Step, ...]
