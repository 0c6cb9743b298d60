"""Datasets: graphs that are given beside a text become clauses (FROM, USING), as if the text had them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rheos.errors import Position, UpdateError
from rheos.syntax import ast
from rheos.syntax.update_tree import Modify, Update


def dataset(
    position: Position, default_graphs: Sequence[str], named_graphs: Sequence[str]
) -> tuple[ast.DatasetClause, ...]:
    """The clauses FROM and FROM NAMED for these graphs."""
    given = [*((graph, False) for graph in default_graphs), *((graph, True) for graph in named_graphs)]
    return tuple(ast.DatasetClause(position, ast.Iri(position, graph), named) for graph, named in given)


def using(tree: Update, default_graphs: Sequence[str], named_graphs: Sequence[str]) -> Update:
    """An update whose patterns see these graphs, if there are any (SPARQL 1.1 Protocol, section 2.2.3)."""
    if not default_graphs and not named_graphs:
        return tree
    steps = []
    for step in tree.steps:
        operation = step.operation
        if isinstance(operation, Modify):
            if operation.using or operation.with_graph is not None:
                message = "graphs are given beside the update, so it may not say WITH or USING itself"
                raise UpdateError(message, tree.text, operation.position)
            given = dataset(operation.position, default_graphs, named_graphs)
            step = replace(step, operation=replace(operation, using=given))
        steps.append(step)
    return replace(tree, steps=tuple(steps))
