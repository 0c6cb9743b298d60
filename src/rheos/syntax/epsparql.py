"""The reductions of EP-SPARQL's own rules come in, their nodes go out; all else is built as in SPARQL."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from lark import Token

from rheos.syntax import ast, detecting
from rheos.syntax.measures import Measure, nanoseconds, positive
from rheos.syntax.registration import RegistrationBuilder
from rheos.syntax.terms import Fault, position

Combined = ast.Group | ast.Union | ast.Temporal

_POLICIES: dict[str, ast.Consumption] = {
    "UNRESTRICTED": "unrestricted",
    "RECENT": "recent",
    "CHRONOLOGICAL": "chronological",
}
_INTERVAL = {"GETDURATION": "DURATION", "GETSTARTTIME": "STARTTIME", "GETENDTIME": "ENDTIME"}


class EpSparqlBuilder(RegistrationBuilder):
    """Adds SEQ and its like, the functions of intervals, WITHIN, streams without windows and CONSUMPTION."""

    DIALECT: ClassVar[str] = "epsparql"

    # --- the query as a whole ----------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        detecting.check(query)
        return query

    def registration(  # type: ignore[override]
        self, keyword: Token, kind: Token, name: str, *consumption: ast.Consumption
    ) -> ast.Registration:
        return ast.Registration(position(keyword), kind.upper(), name, None, *consumption)

    def consumption(self, policy: Token) -> ast.Consumption:
        return _POLICIES[policy.type]

    def computed_every(self, keyword: Token, duration: Measure) -> NoReturn:
        message = "COMPUTED EVERY belongs to C-SPARQL; a query in EP-SPARQL answers as its events end"
        raise Fault(message, position(keyword))

    def stream_clause(self, keyword: Token, _: Token, iri: ast.Name) -> ast.StreamClause:
        self._count_patterns(position(keyword), 1)
        return ast.StreamClause(position(keyword), iri, False, None)

    def named_stream_clause(self, keyword: Token, stream: Token, iri: ast.Name) -> NoReturn:
        message = "a stream is no named graph in EP-SPARQL; FROM STREAM adds it to the events of the query"
        raise Fault(message, position(stream))

    def unbracketed_expression(self, left: ast.Expression, right: ast.Expression) -> ast.Projection:
        if isinstance(right, ast.Var):
            return ast.Projection(left.position, right, left)
        if isinstance(left, ast.Var):
            return ast.Projection(left.position, left, right)
        raise Fault("AS needs a variable, as in (?sum / ?count AS ?average)", right.position)

    # --- aggregates --------------------------------------------------------------------------------

    def within_clause(self, keyword: Token, length: Measure | ast.Literal) -> tuple[str, Any]:
        if isinstance(length, ast.Literal):
            return "within", ast.Within(position(keyword), length)
        # Rounding up loses nothing: of two ends that are whole microseconds, none lies in between.
        size = -(-positive(length, "the time of WITHIN") // 1_000)
        return "within", ast.Within(position(keyword), size)

    def duration(self, *parts: Token) -> Measure:
        return nanoseconds(parts)

    # --- patterns and functions --------------------------------------------------------------------

    def group_or_union_graph_pattern(self, first: ast.Group, *rest: Any) -> Combined:  # type: ignore[override]
        combined: Combined = first
        for operator, right in zip(rest[::2], rest[1::2], strict=True):
            if operator is None:
                combined = _union(combined, right)
            else:
                combined = ast.Temporal(position(operator), operator.upper(), combined, right)
        return combined

    def combination(self, *operator: Token) -> Token | None:
        return operator[0] if operator else None  # the grammar drops UNION

    def call(self, name: Token, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        asked = _INTERVAL.get(name.upper())
        if asked is None:
            return super().call(name, arguments)
        if arguments:
            message = f"{name} takes no arguments; it is of the interval of the pattern that it stands in"
            raise Fault(message, position(name))
        return ast.Call(position(name), asked, ())


def _union(left: Combined, right: ast.Group) -> ast.Union:
    match left:
        case ast.Union(options=options):
            return ast.Union(left.position, (*options, right))
        case ast.Temporal():
            return ast.Union(left.position, (ast.Group(left.position, (left,)), right))
        case ast.Group():
            return ast.Union(left.position, (left, right))
