"""Translation of the syntax tree of a C-SPARQL query to its algebra: that of SPARQL, with windows."""

from __future__ import annotations

from collections.abc import Callable

from rheos import iris
from rheos.algebra.sampling import on_sample
from rheos.algebra.streams import CSparqlQuery, Estimate
from rheos.algebra.translate import Names, Translator
from rheos.errors import QuerySyntaxError
from rheos.syntax import ast
from rheos.syntax.scope import nodes


def translate_csparql(query: ast.Query, name: str, base: str = iris.DEFAULT_BASE) -> CSparqlQuery:
    """The algebra of a continuous query; `name` is its name if its text does not give one."""
    translator = Translator(Names.of(query, base))
    check_streams(query, translator.names.iri)
    registration = query.registration
    asked, windows = translator.query(query), translator.windows(query.streams)
    estimates: tuple[Estimate, ...] = ()
    for window in windows:
        if window.sample is not None:
            asked, estimates = on_sample(asked, window.stream, window.sample)
    return CSparqlQuery(
        registration.name if registration else name,
        asked,
        windows,
        registration.every if registration else None,
        registration is not None and registration.kind == "STREAM",
        query.operator,
        registration is not None and registration.stretched is not None,
        estimates,
    )


def check_streams(query: ast.Query, iri: Callable[[ast.Name], str]) -> None:
    """Raise an error if a stream is also a static graph, or if timestamp() names a stream that is not read.

    The parser has made these checks as far as it can without the base IRI; `iri` resolves a name.
    """
    streams = {iri(clause.iri) for clause in query.streams}
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
