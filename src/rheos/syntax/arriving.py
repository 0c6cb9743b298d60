"""The syntax tree of a CQELS-QL query comes in; nothing goes out but a `Fault` where it misuses its streams.

The rules: a registered query reads a stream, only CONSTRUCT makes one, DESCRIBE reads none, and a stream is
not in a graph: it has a name and a window of its own.
"""

from __future__ import annotations

from rheos.syntax import ast
from rheos.syntax.continuous import check_registration
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule about streams."""
    check_registration(query, "STREAM <iri> [RANGE 10s] { ?s ?p ?o } to WHERE")
    if not query.stream_patterns:
        return
    if isinstance(query.form, ast.DescribeQuery):
        message = "DESCRIBE cannot read streams in CQELS-QL; use CONSTRUCT, SELECT or ASK"
        raise Fault(message, query.form.position)
    for node in nodes(query.form):
        if isinstance(node, ast.Graph):
            _no_stream_in(node)


def _no_stream_in(graph: ast.Graph) -> None:
    for node in nodes(graph.pattern):
        if isinstance(node, ast.StreamPattern):
            raise Fault("STREAM cannot stand inside GRAPH; a stream is not part of a graph", node.position)
