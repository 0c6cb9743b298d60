"""The streams of a query under their resolved IRIs come in; nothing goes out but an error where one is named
twice, or where timestamp() names what is not a stream of the query.

The parser has looked at the same as far as it can without the base IRI.
"""

from __future__ import annotations

from collections.abc import Callable

from rheos.errors import QuerySyntaxError
from rheos.syntax import ast
from rheos.syntax.scope import nodes


def check_streams(query: ast.Query, iri: Callable[[ast.Name], str]) -> None:
    """Raise an error that points at the name; `iri` resolves one."""
    streams: set[str] = set()
    for clause in query.streams:
        name = iri(clause.iri)
        if name in streams:
            message = f"the stream <{name}> already has a window; one query sees a stream through one window"
            raise QuerySyntaxError(message, query.text, clause.iri.position)
        streams.add(name)
    for graph in query.dataset:
        if graph.named and (name := iri(graph.iri)) in streams:
            message = f"<{name}> is a stream of this query; it cannot be a named graph of static data as well"
            raise QuerySyntaxError(message, query.text, graph.iri.position)
    for node in nodes(query.form):
        if isinstance(node, ast.Call) and node.name == "TIMESTAMP" and len(node.arguments) == 2:
            stream = node.arguments[1]
            if isinstance(stream, ast.Iri | ast.PrefixedName) and iri(stream) not in streams:
                message = f"<{iri(stream)}> is not a stream of this query, so no triple has a time in it"
                raise QuerySyntaxError(message, query.text, stream.position)
