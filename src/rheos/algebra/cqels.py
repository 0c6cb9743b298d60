"""Translation of the syntax tree of a CQELS-QL query to its algebra: that of SPARQL, with STREAM patterns.

`STREAM <s> [w] { P1 . P2 }` is the join of a StreamPattern for each triple pattern, all on one window.
Windows are numbered from 1 in the order of the text. If the stream is a variable, there is such a join for
each stream, joined with the stream's name as the value of the variable, and the pattern is their union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from rheos import terms
from rheos.algebra.chains import balanced
from rheos.algebra.expressions import Expression, Variable
from rheos.algebra.nodes import Join, Node, StreamPattern, Union, Values
from rheos.algebra.streams import (
    AllWindow,
    CqelsQuery,
    CqelsWindow,
    LastWindow,
    RangeWindow,
    StreamClause,
)
from rheos.algebra.translate import TIMESTAMP, Names, Translator
from rheos.errors import Position, QuerySyntaxError, UnsupportedError
from rheos.syntax import ast

# The stream that a variable stands for when a query is only analysed, and no stream is known.
ANY_STREAM = "urn:rheos:any-stream"


def translate_cqels(query: ast.Query, name: str, base: str, streams: Sequence[str]) -> CqelsQuery:
    """The algebra of a query in CQELS-QL; `name` is its name if its text does not give one.

    `streams` are the IRIs of the streams that a variable can stand for.
    """
    translator = CqelsTranslator(Names.of(query, base))
    for pattern in query.stream_patterns:
        translator.open(pattern, streams)
    registration = query.registration
    return CqelsQuery(
        registration.name if registration else name,
        translator.query(query),
        tuple(translator.clauses),
        registration is not None and registration.kind == "STREAM",
    )


@dataclass
class CqelsTranslator(Translator):
    """Adds STREAM patterns.

    All windows are numbered before any pattern is translated, because patterns are not translated in the
    order of the text: an EXISTS in SELECT is translated after WHERE.
    """

    clauses: list[StreamClause] = field(default_factory=list)
    numbers: dict[Position, range] = field(default_factory=dict)  # of the windows of each STREAM pattern

    def open(self, pattern: ast.StreamPattern, streams: Sequence[str]) -> None:
        """Number the windows of a pattern: one, or one for each stream that its variable can stand for."""
        named = self.named(pattern.name, streams)
        window = window_of(pattern.window)
        patterns = tuple(map(self.template, pattern.triples.triples))
        first = len(self.clauses) + 1
        self.clauses += [StreamClause(terms.iri(stream), window, patterns) for stream in named]
        self.numbers[pattern.position] = range(first, first + len(named))

    def named(self, name: ast.Var | ast.Name, streams: Sequence[str]) -> Sequence[str]:
        if not isinstance(name, ast.Var):
            return (self.names.iri(name),)
        if not streams:
            message = f"nothing can bind ?{name.name}: there is no stream whose name it could be"
            raise QuerySyntaxError(message, self.names.text, name.position)
        return tuple(dict.fromkeys(streams))

    def element(self, element: ast.Pattern) -> Node:
        if not isinstance(element, ast.StreamPattern):
            return super().element(element)
        numbers = self.numbers[element.position]
        if not isinstance(element.name, ast.Var):
            return self.on_window(numbers[0])
        variable = Variable(element.name.name)
        return balanced(Union, [self.under_its_name(number, variable) for number in numbers])

    def expression(self, expression: ast.Expression) -> Expression:
        if isinstance(expression, ast.FunctionCall) and self.names.iri(expression.function) == TIMESTAMP:
            message = "the timestamp of a triple is for queries in C-SPARQL, not in CQELS-QL"
            raise UnsupportedError(message, self.names.text, expression.position)
        return super().expression(expression)

    def on_window(self, number: int) -> Node:
        patterns = self.clauses[number - 1].patterns
        found: list[Node] = [StreamPattern(number, pattern) for pattern in patterns]
        return reduce(Join, found)

    def under_its_name(self, number: int, variable: Variable) -> Node:
        stream = self.clauses[number - 1].stream
        return Join(self.on_window(number), Values((variable,), ((stream,),)))


def window_of(window: ast.RangeWindow | ast.LastWindow | ast.AllWindow) -> CqelsWindow:
    match window:
        case ast.RangeWindow(_, length, slide):
            return RangeWindow(length, slide)
        case ast.LastWindow(_, triples):
            return LastWindow(triples)
        case ast.AllWindow():
            return AllWindow()
