"""The syntax tree of a C-SPARQL query comes in; nothing goes out but a `Fault` where it misuses its streams.

The rules: only CONSTRUCT and DESCRIBE make streams, a registered query reads at least one (section 3.3 of
the paper), a stream has one window, because the window is also the named graph of the stream's IRI, and
timestamp() is of a variable of a triple pattern (3.5).
"""

from __future__ import annotations

from rheos.syntax import ast
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault

_EXAMPLE = "FROM STREAM <iri> [RANGE 10m STEP 1m]"


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule about streams."""
    check_registration(query, _EXAMPLE)
    _graph_names(query)
    _timestamps(query)


def check_registration(query: ast.Query, example: str) -> None:
    """The rules about REGISTER, which CQELS-QL has too; the example is of how a query reads a stream."""
    registration = query.registration
    if registration is None:
        return
    match registration.kind, query.form:
        case "STREAM", (ast.SelectQuery() | ast.AskQuery()) as form:
            word = "SELECT" if isinstance(form, ast.SelectQuery) else "ASK"
            message = f"only CONSTRUCT and DESCRIBE make streams; {word} can be a REGISTER QUERY"
            raise Fault(message, form.position)
    if not query.streams and not query.stream_patterns:
        message = f"{registration.name} has no stream to wait for; add {example}, or ask without REGISTER"
        raise Fault(message, registration.position)


def _graph_names(query: ast.Query) -> None:
    """A stream under two windows, or one that is a static graph too, would make GRAPH ambiguous.

    Names are compared as far as they can be here, with prefixes but without the base IRI.
    """
    prefixes = {item.prefix: item.iri.value for item in query.prologue if isinstance(item, ast.Prefix)}

    def spelled_out(name: ast.Name) -> str:
        if isinstance(name, ast.PrefixedName) and name.prefix in prefixes:
            return prefixes[name.prefix] + name.local
        return name.value if isinstance(name, ast.Iri) else f"{name.prefix}:{name.local}"

    streams: set[str] = set()
    for stream in query.streams:
        iri = spelled_out(stream.iri)
        if iri in streams:
            message = f"the stream <{iri}> already has a window; one query sees a stream through one window"
            raise Fault(message, stream.iri.position)
        streams.add(iri)
    for clause in query.dataset:
        if clause.named and (iri := spelled_out(clause.iri)) in streams:
            message = f"<{iri}> is a stream of this query; it cannot be a named graph of static data as well"
            raise Fault(message, clause.iri.position)


def _timestamps(query: ast.Query) -> None:
    tree = tuple(nodes(query.form))
    calls = [node for node in tree if isinstance(node, ast.Call) and node.name == "TIMESTAMP"]
    if not calls:
        return
    # The template of a CONSTRUCT has triples too, but not in a block.
    blocks = [node for node in tree if isinstance(node, ast.Triples)]
    matched = {node.name for block in blocks for node in nodes(block) if isinstance(node, ast.Var)}
    graphs = {
        node.name.name for node in tree if isinstance(node, ast.Graph) and isinstance(node.name, ast.Var)
    }
    for call in calls:
        variable, *stream = call.arguments
        if isinstance(variable, ast.Var) and variable.name not in matched:
            message = f"timestamp needs a variable of a triple pattern in WHERE; ?{variable.name} is in none"
            raise Fault(message, variable.position)
        if stream and isinstance(stream[0], ast.Var) and stream[0].name not in graphs:
            message = (
                f"the stream of timestamp is an IRI or the variable of a GRAPH; ?{stream[0].name} is none"
            )
            raise Fault(message, stream[0].position)
