"""The reductions of C-SPARQL's own rules come in, their nodes go out; all else is built as in SPARQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast, continuous, terms
from rheos.syntax.build import Builder, Dataset, Form
from rheos.syntax.terms import Fault, position

Prologue = tuple[ast.Base | ast.Prefix, ...]
Window = ast.LogicalWindow | ast.PhysicalWindow

_MICROSECONDS = {"ms": 1_000, "s": 10**6, "m": 60 * 10**6, "h": 3_600 * 10**6, "d": 86_400 * 10**6}
_LONGEST = 3_652_500 * _MICROSECONDS["d"]  # ten thousand years, far from the end of 64 bits
_MOST_TRIPLES = 10**15

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
_OPERATORS = {"AND": "&&", "OR": "||"}


class CSparqlBuilder(Builder):
    """Adds registrations, windows, AGGREGATE, timestamp() and the spellings of the papers."""

    DIALECT: ClassVar[str] = "csparql"
    ARITIES: ClassVar[dict[str, tuple[int, int]]] = {**Builder.ARITIES, "TIMESTAMP": (1, 2)}

    # --- registration ------------------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        continuous.check(query)
        return query

    def registered_query(
        self,
        before: Prologue,
        registration: ast.Registration,
        after: Prologue,
        form: tuple[Form, Dataset],
        values: ast.Values | None,
    ) -> ast.Query:
        first = before[0] if before else registration
        query = self.query((*before, *after), form, values)
        return replace(query, position=first.position, registration=registration)

    def registration(self, keyword: Token, kind: Token, name: str, *every: int) -> ast.Registration:
        return ast.Registration(position(keyword), kind.upper(), name, every[0] if every else None)

    def registered_name(self, name: Token) -> str:
        return terms.iri(name).value if name.type == "IRIREF" else str(name)

    def computed_every(self, keyword: Token, duration: tuple[Position, int]) -> int:
        return _positive(duration, "the time of COMPUTED EVERY")

    # --- streams and windows -----------------------------------------------------------------------

    def stream_clause(self, keyword: Token, _: Token, iri: ast.Name, *window: Window) -> ast.StreamClause:
        return ast.StreamClause(position(keyword), iri, False, _window(iri, window))

    def named_stream_clause(
        self, keyword: Token, _: Token, iri: ast.Name, *window: Window
    ) -> ast.StreamClause:
        return ast.StreamClause(position(keyword), iri, True, _window(iri, window))

    def logical_window(self, bracket: Token, length: tuple[Position, int], *moves: Any) -> ast.LogicalWindow:
        size = _positive(length, "the range of a window")
        if not moves:
            message = "a window needs STEP or TUMBLING, as in [RANGE 10m STEP 1m] or [RANGE 10m TUMBLING]"
            raise Fault(message, position(bracket))
        return ast.LogicalWindow(position(bracket), size, _step(moves[0], size))

    def physical_window(self, bracket: Token, number: Token, *moves: Any) -> ast.PhysicalWindow:
        size = _positive(_triples(number), "the range of a window")
        return ast.PhysicalWindow(position(bracket), size, _step(moves[0], size) if moves else 1)

    def step(self, duration: tuple[Position, int]) -> tuple[Position, int]:
        return duration

    def triples_step(self, number: Token) -> tuple[Position, int]:
        return _triples(number)

    def duration(self, *parts: Token) -> tuple[Position, int]:
        where = position(parts[0])
        pairs = zip(parts[::2], parts[1::2], strict=True)
        total = sum(_whole(number, _LONGEST) * _MICROSECONDS[unit] for number, unit in pairs)
        if total > _LONGEST:
            raise Fault("this is longer than ten thousand years", where)
        return where, total

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

    def binary(self, left: ast.Expression, operator: Token, right: ast.Expression) -> ast.Call:
        name = _OPERATORS.get(operator.upper(), str(operator))
        return ast.Call(left.position, name, (left, right))

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


def _step(move: Token | tuple[Position, int], size: int) -> int:
    return size if isinstance(move, Token) else _positive(move, "the step of a window")  # a token: TUMBLING


def _positive(measure: tuple[Position, int], what: str) -> int:
    where, size = measure
    if size == 0:
        raise Fault(f"{what} must be more than 0", where)
    return size


def _triples(number: Token) -> tuple[Position, int]:
    count = _whole(number, _MOST_TRIPLES)
    if count > _MOST_TRIPLES:
        raise Fault("these are more triples than a window can hold", position(number))
    return position(number), count


def _whole(number: Token, most: int) -> int:
    """The number, or one above `most`: Python refuses to read thousands of digits."""
    digits = number.lstrip("0") or "0"
    return int(digits) if len(digits) <= len(str(most)) else most + 1
