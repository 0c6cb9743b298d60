"""Entailment in the algebra: a query comes in, the same query on graphs with all entailed triples goes out.

A query has one schema for all its static graphs and streams: the schema in its default graph, without the
triples of streams. This module also says which triples the patterns of a query ask for.
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

# The graphs that have the schema of a query; empty for the engine's default graph.
Schema = tuple[str, ...]

ANY = Variable("")
EVERYTHING = TriplePattern(ANY, ANY, ANY)


def entailing(query: Query, entailment: str) -> Query:
    """The query under an entailment; if its default graph is empty, nothing is entailed."""
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
    """As `entailing`, for a query on streams."""
    return replace(query, query=entailing(query.query, entailment))


def told(query: Query) -> dict[str, str]:
    """The part of `rheos explain` about the entailment of a query; empty if nothing is entailed."""
    schema = schema_of(query)
    if schema is None:
        return {}
    where = "\n".join(schema) or "the default graph"
    return {"entailment": f"RDFS, by the schema in\n{indent(where, '  ')}"}


def schema_of(query: Query) -> Schema | None:
    """The schema of a query; None if nothing is entailed."""
    return None if query.dataset is None else query.dataset.entailed


def asked_of(query: Query) -> tuple[TriplePattern, ...]:
    """The triples that a query asks for, as triple patterns without the names of variables."""
    if isinstance(query.form, Describe):
        return (EVERYTHING,)
    return unnamed(_asked(query.form.pattern))


def unnamed(patterns: Iterable[TriplePattern]) -> tuple[TriplePattern, ...]:
    """The distinct patterns, all variables being the same."""

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
    """The steps of a path. A path of length zero starts at every node, so it asks for all triples."""
    match path:
        case Link(predicate):
            return [TriplePattern(ANY, Constant(predicate), ANY)]
        case Inverse(inner) | OneOrMore(inner):
            return _steps(inner)
        case Sequence(first, second) | Alternative(first, second):
            return _steps(first) + _steps(second)
    return [EVERYTHING]
