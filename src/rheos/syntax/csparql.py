"""C-SPARQL: builds the nodes of its own grammar rules; all else is built as in SPARQL."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar

from lark import Token

from rheos.syntax import ast
from rheos.syntax.build import Builder, Dataset, Form
from rheos.syntax.measures import Measure, positive, triples
from rheos.syntax.registration import check_registration
from rheos.syntax.sampling import check_sample
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault, position
from rheos.syntax.windows import Window, WindowsBuilder, check_sessions, check_stretched, spelled_out

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


class CSparqlBuilder(WindowsBuilder):
    """Adds windows, AGGREGATE, timestamp() and the spellings of the papers."""

    DIALECT: ClassVar[str] = "csparql"
    ARITIES: ClassVar[dict[str, tuple[int, int]]] = {**Builder.ARITIES, "TIMESTAMP": (1, 2)}

    def query_unit(self, query: ast.Query) -> ast.Query:
        check(query)
        return query

    # --- streams and windows -----------------------------------------------------------------------

    def stream_clause(
        self, keyword: Token, _: Token, iri: ast.Name, *rest: Window | ast.Sample
    ) -> ast.StreamClause:
        self._count_patterns(position(keyword), 1)
        window = tuple(part for part in rest if not isinstance(part, ast.Sample))
        sample = next((part for part in rest if isinstance(part, ast.Sample)), None)
        return ast.StreamClause(position(keyword), iri, False, _window(iri, window), sample=sample)

    def named_stream_clause(
        self, keyword: Token, _: Token, iri: ast.Name, *rest: Window | ast.Sample
    ) -> ast.StreamClause:
        clause = self.stream_clause(keyword, _, iri, *rest)
        if clause.sample is not None:
            raise Fault("SAMPLE is of FROM STREAM, not of FROM NAMED STREAM", clause.sample.position)
        return replace(clause, named=True)

    def sample(self, keyword: Token, percent: Token) -> ast.Sample:
        parts = Decimal(str(percent)) * 10_000
        if not 0 < parts < 1_000_000 or parts != int(parts):
            message = "a sample has more than 0 and less than 100 percent, and at most four decimals"
            raise Fault(message, position(percent))
        return ast.Sample(position(keyword), int(parts))

    def logical_window(self, bracket: Token, length: Measure, *moves: Any) -> ast.LogicalWindow:
        size = positive(length, "the range of a window")
        if not moves:
            message = "a window needs STEP or TUMBLING, as in [RANGE 10m STEP 1m] or [RANGE 10m TUMBLING]"
            raise Fault(message, position(bracket))
        return ast.LogicalWindow(position(bracket), size, _step(moves[0], size))

    def physical_window(self, bracket: Token, number: Token, *moves: Any) -> ast.PhysicalWindow:
        size = positive(triples(number), "the range of a window")
        return ast.PhysicalWindow(position(bracket), size, _step(moves[0], size) if moves else 1)

    def triples_step(self, number: Token) -> Measure:
        return triples(number)

    # --- aggregation -------------------------------------------------------------------------------

    def solution_modifier(self, *clauses: tuple[str, Any]) -> ast.Modifiers:
        aggregations: list[ast.Aggregation] = []
        filters: list[ast.Expression] = []
        others: list[tuple[str, Any]] = []
        for name, value in clauses:
            if name == "aggregations":
                aggregations.extend(value)
            elif name == "filters":
                filters.append(value)
            else:
                others.append((name, value))
        modifiers = super().solution_modifier(*others)
        return replace(modifiers, aggregations=tuple(aggregations), filters=tuple(filters))

    def aggregate_clause(self, *aggregations: ast.Aggregation) -> tuple[str, Any]:
        return "aggregations", aggregations

    def aggregations_filter(self, filter: ast.Filter) -> tuple[str, Any]:
        return "filters", filter.condition

    def aggregation(
        self,
        bracket: Token,
        variable: ast.Var,
        function: tuple[str, ast.Var | None],
        group: tuple[ast.Var, ...],
        *filter: ast.Filter,
    ) -> ast.Aggregation:
        self._count_operators(position(bracket), 1)
        condition = filter[0].condition if filter else None
        return ast.Aggregation(position(bracket), variable, *function, group, condition)

    def aggregation_function(self, name: Token, *argument: ast.Var | Token) -> tuple[str, ast.Var | None]:
        function = name.upper()
        if function not in _FUNCTIONS:
            message = f"AGGREGATE has COUNT, SUM, AVG, MIN and MAX, but not {function}"
            raise Fault(message, position(name))
        if argument and isinstance(argument[0], ast.Var):
            return function, argument[0]
        if function != "COUNT":
            raise Fault(f"{function} needs a variable, as in {function}(?x)", position(name))
        return function, None

    def aggregation_group(self, *variables: ast.Var) -> tuple[ast.Var, ...]:
        return variables

    # --- expressions -------------------------------------------------------------------------------

    def call(self, name: Token, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        call = super().call(name, arguments)
        if call.name == "TIMESTAMP":
            variable, *stream = arguments
            if not isinstance(variable, ast.Var):
                raise Fault("timestamp takes a variable, as in timestamp(?car)", variable.position)
            if stream and not isinstance(stream[0], ast.Var | ast.Iri | ast.PrefixedName):
                message = "the second argument of timestamp is a stream: its IRI, or the variable of GRAPH"
                raise Fault(message, stream[0].position)
        return call

    # --- spellings of the papers -------------------------------------------------------------------

    def construct_star(
        self, keyword: Token, _: Token, dataset: Dataset, where: ast.Group, modifiers: ast.Modifiers
    ) -> tuple[Form, Dataset]:
        return ast.ConstructQuery(position(keyword), None, where, modifiers), dataset

    def group_or_union_graph_pattern(self, *options: ast.Group | ast.Graph) -> ast.Union:
        groups = [
            option if isinstance(option, ast.Group) else ast.Group(option.position, (option,))
            for option in options
        ]
        return super().group_or_union_graph_pattern(*groups)


def _window(iri: ast.Name, window: tuple[Window, ...]) -> Window:
    if not window:
        raise Fault("a stream needs a window, as in [RANGE 10m STEP 1m] or [RANGE TRIPLES 100]", iri.position)
    return window[0]


def _step(move: Token | Measure, size: int) -> int:
    return size if isinstance(move, Token) else positive(move, "the step of a window")  # a token: TUMBLING


# --- the rules ------------------------------------------------------------------------------------


_EXAMPLE = "FROM STREAM <iri> [RANGE 10m STEP 1m]"


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule about streams."""
    check_registration(query, _EXAMPLE)
    check_sessions(query)
    check_stretched(query)
    check_sample(query)
    _graph_names(query)
    _timestamps(query)


def _graph_names(query: ast.Query) -> None:
    """Refuse a stream that is also a static named graph, because GRAPH would be ambiguous.

    Names are compared with their prefixes spelled out, but without the base IRI.
    """
    streams = {spelled_out(query, stream.iri) for stream in query.streams}
    for clause in query.dataset:
        if clause.named and (iri := spelled_out(query, clause.iri)) in streams:
            message = f"<{iri}> is a stream of this query; it cannot be a named graph of static data as well"
            raise Fault(message, clause.iri.position)


def _timestamps(query: ast.Query) -> None:
    tree = tuple(nodes(query.form))
    calls = [node for node in tree if isinstance(node, ast.Call) and node.name == "TIMESTAMP"]
    if not calls:
        return
    # The triples of a CONSTRUCT template do not count: they are not in a block of triples.
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
