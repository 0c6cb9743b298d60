"""Windows: builds the nodes that C-SPARQL and RSP-QL share, and checks the rules about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast
from rheos.syntax.build import Dataset, Form, SelectClause
from rheos.syntax.measures import Measure, microseconds, positive
from rheos.syntax.registration import Every, Prologue, RegistrationBuilder
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault, position

Window = ast.LogicalWindow | ast.PhysicalWindow | ast.SessionWindow
# The variable that tells in the rows of a STRETCHED query which instants were skipped.
SKIPPED = "skipped"
Operator = tuple[Position, ast.StreamOperator]


class WindowsBuilder(RegistrationBuilder):
    """Adds COMPUTED EVERY, durations, and RSTREAM, ISTREAM or DSTREAM after SELECT and CONSTRUCT."""

    def __init__(self) -> None:
        super().__init__()
        self._operator: Operator | None = None

    def start(self, text: str) -> None:
        super().start(text)
        self._operator = None

    def query(self, prologue: Prologue, form: tuple[Form, Dataset], values: ast.Values | None) -> ast.Query:
        query = super().query(prologue, form, values)
        if self._operator is None:
            return query
        where, operator = self._operator
        if not query.streams:
            raise Fault(f"{operator} is of a query with windows; this one has none", where)
        return replace(query, operator=operator)

    def computed_every(self, keyword: Token, duration: Measure, *stretched: Token) -> Every:
        period = positive(duration, "the time of COMPUTED EVERY")
        return Every(period, position(stretched[0]) if stretched else None)

    def step(self, duration: Measure) -> Measure:
        return duration

    def duration(self, *parts: Token) -> Measure:
        return microseconds(parts)

    def session_window(self, bracket: Token, gap: Measure, *subject: Token) -> ast.SessionWindow:
        return ast.SessionWindow(position(bracket), positive(gap, "the time of a session"), bool(subject))

    # --- what is reported --------------------------------------------------------------------------

    def select_clause(self, keyword: Token, *rest: Token | ast.Projection) -> SelectClause:
        clause = super().select_clause(keyword, *rest)
        found = (item for item in rest if isinstance(item, Token) and item.type == "STREAM_OPERATOR")
        return clause._replace(operator=next(found, None))

    def select_query(
        self, select: SelectClause, dataset: Dataset, where: ast.Group, modifiers: ast.Modifiers
    ) -> tuple[Form, Dataset]:
        if select.operator is not None:
            self._operator = operator_of(select.operator)
        return super().select_query(select, dataset, where, modifiers)

    def sub_select(
        self, select: SelectClause, where: ast.Group, modifiers: ast.Modifiers, values: ast.Values | None
    ) -> ast.SelectQuery:
        if select.operator is not None:
            where_found, operator = operator_of(select.operator)
            raise Fault(f"{operator} says what the whole query reports; a sub-select has none", where_found)
        return super().sub_select(select, where, modifiers, values)

    def construct_stream(self, keyword: Token, operator: Token, *rest: Any) -> tuple[Form, Dataset]:
        self._operator = operator_of(operator)
        return self.construct_query(keyword, *rest)

    def construct_stream_where(self, keyword: Token, operator: Token, *rest: Any) -> tuple[Form, Dataset]:
        self._operator = operator_of(operator)
        return self.construct_where(keyword, *rest)


def operator_of(token: Token) -> Operator:
    return position(token), cast(ast.StreamOperator, token.upper())


def check_operator(query: ast.Query, where: Position) -> None:
    """Raise a `Fault` for ISTREAM or DSTREAM on ASK: only rows and triples can be new or gone."""
    if query.operator != "RSTREAM" and isinstance(query.form, ast.AskQuery):
        message = f"{query.operator} is of SELECT, CONSTRUCT and DESCRIBE; the answer of ASK is one boolean"
        raise Fault(message, where)


def check_sessions(query: ast.Query) -> None:
    """Raise a `Fault` if a query has more than one session window, or is to be evaluated at other times too:
    it is evaluated once for each session."""
    sessions = [clause for clause in query.streams if isinstance(clause.window, ast.SessionWindow)]
    if not sessions:
        return
    where = (sessions[1:] or sessions)[0].window
    assert where is not None
    if len(sessions) > 1:
        raise Fault(
            "a query is evaluated once for each session, so it can have one such window", where.position
        )
    if query.operator != "RSTREAM":
        message = f"{query.operator} compares one evaluation with the next; sessions have nothing in common"
        raise Fault(message, where.position)
    if query.registration is not None and query.registration.every is not None:
        message = "a query is evaluated once for each session, so it cannot be COMPUTED EVERY so often, too"
        raise Fault(message, where.position)


def check_stretched(query: ast.Query) -> None:
    """Raise a `Fault` if a query cannot be STRETCHED. Which instants are skipped depends on the load. So the
    rows must be able to tell it, and no answer may be computed by comparing one evaluation with the next."""
    where = None if query.registration is None else query.registration.stretched
    if where is None:
        return
    if not isinstance(query.form, ast.SelectQuery):
        raise Fault("a query that is STRETCHED says in its rows what it skips, so it must be a SELECT", where)
    if query.operator != "RSTREAM":
        message = f"{query.operator} compares one evaluation with the next, which STRETCHED may skip"
        raise Fault(message, where)
    for node in nodes(query.form):
        if isinstance(node, ast.Var) and node.name == SKIPPED:
            message = f"?{SKIPPED} says what a query that is STRETCHED skips; give this another name"
            raise Fault(message, node.position)


def spelled_out(query: ast.Query, name: ast.Name) -> str:
    """The IRI of a name with its prefix spelled out, but not yet resolved against the base IRI."""
    prefixes = {item.prefix: item.iri.value for item in query.prologue if isinstance(item, ast.Prefix)}
    if isinstance(name, ast.PrefixedName) and name.prefix in prefixes:
        return prefixes[name.prefix] + name.local
    return name.value if isinstance(name, ast.Iri) else f"{name.prefix}:{name.local}"
