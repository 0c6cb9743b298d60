"""Translation of the syntax tree of an RSP-QL query to its algebra: that of SPARQL, with named windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rheos import iris
from rheos.algebra.epsparql import EPSparqlTranslator, of_mappings
from rheos.algebra.nodes import Events, InWindow, Node, PathPattern, Runs
from rheos.algebra.rewrite import below, bottom_up
from rheos.algebra.streams import RspqlQuery
from rheos.algebra.translate import Names
from rheos.errors import QuerySyntaxError, UnsupportedError
from rheos.syntax import ast
from rheos.syntax.rspql import has_events, unknown_window, window_patterns

_REGIMES = "http://www.w3.org/ns/entailment/"
_ENTAILMENTS = {_REGIMES + "RDFS": "rdfs", _REGIMES + "Simple": "none"}


def translate_rspql(query: ast.Query, name: str, base: str = iris.DEFAULT_BASE) -> RspqlQuery:
    """The algebra of a continuous query; `name` is its name if its text does not give one."""
    translator = RspqlTranslator(Names.of(query, base))
    check_windows(query, translator.names.iri)
    registration = query.registration
    makes = isinstance(query.form, ast.ConstructQuery | ast.DescribeQuery)
    return RspqlQuery(
        registration.name if registration else name,
        translator.query(query),
        translator.windows(query.streams),
        registration.every if registration else None,
        makes and registration is not None and registration.kind != "QUERY",
        query.operator,
        registration is not None and registration.stretched is not None,
        entailment=entailment_of(query, translator.names.iri),
    )


class RspqlTranslator(EPSparqlTranslator):
    """Adds windows whose patterns are about events, as in EP-SPARQL."""

    def element(self, element: ast.Pattern) -> Node:
        if isinstance(element, ast.WindowPattern) and has_events(element.pattern):
            pattern = bottom_up(self.group(element.pattern), _closed)
            if _has_paths(pattern):
                message = "this path cannot stand in a WINDOW with events, each of which has its time"
                raise UnsupportedError(message, self.names.text, element.position)
            return InWindow(self.term(element.name), Events(of_mappings(pattern)))
        return super().element(element)


def _closed(node: Node) -> Node:
    """A Runs node in a window: no more elements can come, so all runs are over."""
    return replace(node, closed=True) if isinstance(node, Runs) else node


def _has_paths(node: Node) -> bool:
    return isinstance(node, PathPattern) or any(map(_has_paths, below(node)))


def check_windows(query: ast.Query, iri: Callable[[ast.Name], str]) -> None:
    """Raise an error if two windows have the same name, or if a pattern names a window that does not exist.

    The parser has made these checks as far as it can without the base IRI; `iri` resolves a name.
    """
    names: set[str] = set()
    for clause in query.streams:
        assert clause.name is not None
        if (name := iri(clause.name)) in names:
            message = f"there are two windows <{name}>; each needs a name of its own"
            raise QuerySyntaxError(message, query.text, clause.name.position)
        names.add(name)
    for pattern in window_patterns(query.form):
        if not isinstance(pattern.name, ast.Var) and (name := iri(pattern.name)) not in names:
            raise QuerySyntaxError(unknown_window(name, names), query.text, pattern.name.position)


def entailment_of(query: ast.Query, iri: Callable[[ast.Name], str]) -> str | None:
    """The entailment that the text names by UNDER ENTAILMENT REGIME, if it names one."""
    if query.registration is None or query.registration.regime is None:
        return None
    regime = iri(query.registration.regime)
    if regime not in _ENTAILMENTS:
        known = " and ".join(f"<{found}>" for found in _ENTAILMENTS)
        message = f"the entailment regime <{regime}> is not supported; there are {known}"
        raise UnsupportedError(message, query.text, query.registration.regime.position)
    return _ENTAILMENTS[regime]
