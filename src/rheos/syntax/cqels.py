"""CQELS-QL: builds the nodes of its own grammar rules; all else is built as in SPARQL."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NoReturn

from lark import Token

from rheos.syntax import ast
from rheos.syntax.build import Dataset, Form
from rheos.syntax.measures import Measure, nanoseconds, positive, triples
from rheos.syntax.registration import Prologue, RegistrationBuilder, check_registration
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault, position

Window = ast.RangeWindow | ast.LastWindow | ast.AllWindow

_WINDOWS = "[NOW], [ALL], [TRIPLES 5], [RANGE 10s] or [RANGE 10s SLIDE 1s]"
_CALLED: dict[type[ast.Node], str] = {
    ast.Group: "a group",
    ast.Optional: "OPTIONAL",
    ast.Union: "UNION",
    ast.Minus: "MINUS",
    ast.Graph: "GRAPH",
    ast.Service: "SERVICE",
    ast.Filter: "FILTER",
    ast.Bind: "BIND",
    ast.Values: "VALUES",
    ast.SubSelect: "a sub-select",
    ast.StreamPattern: "another STREAM",
}


class CqelsBuilder(RegistrationBuilder):
    """Adds STREAM patterns with their windows, and expressions without brackets in SELECT."""

    DIALECT: ClassVar[str] = "cqels"

    def __init__(self) -> None:
        super().__init__()
        self._patterns: list[ast.StreamPattern] = []

    def start(self, text: str) -> None:
        super().start(text)
        self._patterns = []

    # --- the query as a whole ----------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        check(query)
        return query

    def query(self, prologue: Prologue, form: tuple[Form, Dataset], values: ast.Values | None) -> ast.Query:
        # No STREAM pattern stands inside another, so they were built in the order of the text.
        return replace(super().query(prologue, form, values), stream_patterns=tuple(self._patterns))

    def computed_every(self, keyword: Token, duration: Measure, *stretched: Token) -> NoReturn:
        message = "COMPUTED EVERY belongs to C-SPARQL; a query in CQELS-QL answers as elements arrive"
        raise Fault(f"{message}, or with the SLIDE of a window", position(keyword))

    def unbracketed_expression(self, expression: ast.Expression, variable: ast.Var) -> ast.Projection:
        return ast.Projection(expression.position, variable, expression)

    # --- streams -----------------------------------------------------------------------------------

    def stream_graph_pattern(
        self, keyword: Token, *parts: ast.Var | ast.Name | Window | ast.Group
    ) -> ast.StreamPattern:
        name = next(part for part in parts if isinstance(part, ast.Var | ast.Iri | ast.PrefixedName))
        window = next((part for part in parts if isinstance(part, Window)), None)
        group = parts[-1]
        assert isinstance(group, ast.Group)
        if window is None:
            raise Fault(f"a stream needs a window: {_WINDOWS}", name.position)
        pattern = ast.StreamPattern(position(keyword), name, window, _only_triples(group))
        self._patterns.append(pattern)
        return pattern

    def unbracketed_window(self, window: Window) -> NoReturn:
        raise Fault(f"a window stands in brackets: {_WINDOWS}", window.position)

    def now_window(self, keyword: Token) -> ast.RangeWindow:
        return ast.RangeWindow(position(keyword), 0)

    def all_window(self, keyword: Token) -> ast.AllWindow:
        return ast.AllWindow(position(keyword))

    def triples_window(self, keyword: Token, number: Token) -> ast.LastWindow:
        return ast.LastWindow(
            position(keyword), positive(triples(number), "the number of triples of a window")
        )

    def range_window(self, keyword: Token, length: Measure, *slide: Measure) -> ast.RangeWindow:
        size = positive(length, "the range of a window", "; [NOW] has the elements of one moment")
        # Times are whole microseconds, so a range that is rounded down has the same elements.
        return ast.RangeWindow(position(keyword), size // 1_000, _microseconds(slide[0]) if slide else None)

    def duration(self, *parts: Token) -> Measure:
        return nanoseconds(parts)


def _microseconds(slide: Measure) -> int:
    where, _ = slide
    size, rest = divmod(positive(slide, "the slide of a window"), 1_000)
    if rest:
        raise Fault("the slide of a window is a whole number of microseconds, of 1000ns each", where)
    return size


def _only_triples(group: ast.Group) -> ast.Triples:
    if not group.elements:
        raise Fault("the braces of STREAM hold at least one triple pattern", group.position)
    for element in group.elements:
        if not isinstance(element, ast.Triples):
            message = f"{_CALLED[type(element)]} cannot stand in the braces of STREAM; they hold only triples"
            raise Fault(message, element.position)
    block = group.elements[0]
    assert isinstance(block, ast.Triples)
    for triple in block.triples:
        if not isinstance(triple.predicate, ast.Var | ast.Iri | ast.PrefixedName):
            message = "a property path cannot stand in the braces of STREAM; they hold only triples"
            raise Fault(message, triple.predicate.position)
    return block


# --- the rules ------------------------------------------------------------------------------------


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
