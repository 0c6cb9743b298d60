"""Entailment in the algebra: a query comes in, the same query on graphs that have all that they entail goes
out, and what it asks of them.

There is one schema for all that a query looks at, static graphs and streams: that of its default graph,
without what streams bring to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from textwrap import indent
from typing import TypeVar

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Alternative,
    Dataset,
    Describe,
    Inverse,
    Link,
    Node,
    OneOrMore,
    Path,
    PathPattern,
    Query,
    Sequence,
    StreamPattern,
    Term,
    TriplePattern,
)
from rheos.algebra.rewrite import below
from rheos.algebra.streams import CqelsQuery, CSparqlQuery, EPSparqlQuery, RspqlQuery

ENTAILMENTS = ("none", "rdfs")

Registered = TypeVar("Registered", CSparqlQuery, CqelsQuery, EPSparqlQuery, RspqlQuery)

# The schema of a query: the graphs that it is in, or none for the engine's default graph.
Schema = tuple[str, ...]

ANY = Variable("")
EVERYTHING = TriplePattern(ANY, ANY, ANY)


def entailing(query: Query, entailment: str) -> Query:
    """The query under an entailment; where the default graph is empty, nothing is entailed."""
    if entailment == "none":
        return query
    dataset = query.dataset
    if dataset is None:
        return replace(query, dataset=Dataset((), None, keeps_default=True, entailed=()))
    if dataset.default:
        merged = tuple(sorted(set(dataset.default)))
        return replace(query, dataset=Dataset((), dataset.named, keeps_default=True, entailed=merged))
    return replace(query, dataset=replace(dataset, entailed=())) if dataset.keeps_default else query


def under(query: Registered, entailment: str) -> Registered:
    """The same for a query on streams."""
    return replace(query, query=entailing(query.query, entailment))


def told(query: Query) -> dict[str, str]:
    """What there is to explain of the entailment of a query."""
    schema = schema_of(query)
    if schema is None:
        return {}
    where = "\n".join(schema) or "the default graph"
    return {"entailment": f"RDFS, by the schema in\n{indent(where, '  ')}"}


def schema_of(query: Query) -> Schema | None:
    """The schema of a query; None where nothing is entailed."""
    return None if query.dataset is None else query.dataset.entailed


def asked_of(query: Query) -> tuple[TriplePattern, ...]:
    """What the patterns of a query ask for: triple patterns, without the names of variables."""
    if isinstance(query.form, Describe):
        return (EVERYTHING,)
    return unnamed(_asked(query.form.pattern))


def unnamed(patterns: Iterable[TriplePattern]) -> tuple[TriplePattern, ...]:
    """Each different pattern once, whatever its variables are called."""

    def bare(term: Term) -> Term:
        return term if isinstance(term, Constant) else ANY

    found = {TriplePattern(bare(p.subject), bare(p.predicate), bare(p.object)) for p in patterns}
    return tuple(sorted(found, key=repr))


def _asked(node: Node) -> list[TriplePattern]:
    match node:
        case BGP(patterns):
            return list(patterns)
        case StreamPattern(_, pattern):
            return [pattern]
        case PathPattern(_, path):
            found = _steps(path)
            return found + [pattern for inner in below(node) for pattern in _asked(inner)]
    return [pattern for inner in below(node) for pattern in _asked(inner)]


def _steps(path: Path) -> list[TriplePattern]:
    """The steps of a path. One of length zero is at every node of a graph, so that it asks for all."""
    match path:
        case Link(predicate):
            return [TriplePattern(ANY, Constant(predicate), ANY)]
        case Inverse(inner) | OneOrMore(inner):
            return _steps(inner)
        case Sequence(first, second) | Alternative(first, second):
            return _steps(first) + _steps(second)
    return [EVERYTHING]
