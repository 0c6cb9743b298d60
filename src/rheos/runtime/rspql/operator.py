"""RSP-QL: queries whose windows have names. They are evaluated like those of C-SPARQL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from rheos.algebra.nodes import Graph, InWindow, Node
from rheos.algebra.rewrite import below
from rheos.algebra.streams import CSparqlQuery
from rheos.optimize.sharding import Uncut
from rheos.runtime.csparql.operator import CSparqlOperator, has_events
from rheos.runtime.csparql.windows import Tables
from rheos.runtime.rspql.events import events
from rheos.runtime.rspql.graphs import graphs
from rheos.sql.context import WindowTable
from rheos.sql.csparql import window_name
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.happening import WindowsCompiler


@dataclass(frozen=True)  # with slots there would be no super()
class RspqlOperator(CSparqlOperator):
    """A query of RSP-QL, compiled."""

    reads_graphs: bool = False  # it has GRAPH inside WINDOW
    reads_events: bool = False  # it has events inside WINDOW

    language = "RSP-QL"
    makes_graphs = True
    compiler = WindowsCompiler

    @classmethod
    def of(cls, query: CSparqlQuery, dialect: Dialect = DUCKDB, *, view: bool = False) -> Self:
        made = super().of(query, dialect, view=view)
        if has_events(query.query.form.pattern):
            made = replace(made, reads_events=True)
        if not reads_graphs(query.query.form.pattern):
            return made
        shards = Uncut("GRAPH inside WINDOW asks for graphs as a whole")
        return replace(made, shards=shards, reads_graphs=True)

    def show_more(
        self,
        tables: Tables,
        number: int,
        unseen: int,
        derivations: str | None,
        moves: str | None,
        sessions: str | None,
    ) -> None:
        window = self.query.windows[number - 1]
        shown = WindowTable(window_name(number), window.stream, window.named, window.name)
        if self.reads_events:
            tables.show(shown.events, events(tables, window, unseen, derivations, moves, sessions))
        if not self.reads_graphs:
            return
        table, names = graphs(tables, window, unseen, derivations, moves, sessions)
        tables.show(shown.graphs, table)
        tables.show(shown.names, names)


def reads_graphs(node: Node, inside: bool = False) -> bool:
    """Whether a pattern has GRAPH inside WINDOW."""
    if inside and isinstance(node, Graph):
        return True
    inside = inside or isinstance(node, InWindow)
    return any(reads_graphs(part, inside) for part in below(node))
