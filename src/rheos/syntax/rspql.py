"""RSP-QL: builds the nodes of its own grammar rules; all else is built as in SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, cast

from lark import Token

from rheos import iris
from rheos.syntax import ast, terms
from rheos.syntax.build import Dataset, Form
from rheos.syntax.events import SPELLED, EventsBuilder, happens
from rheos.syntax.measures import Measure, positive, triples
from rheos.syntax.registration import Every, Prologue, check_registration
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault, position
from rheos.syntax.windows import (
    Window,
    WindowsBuilder,
    check_operator,
    check_sessions,
    check_stretched,
    spelled_out,
)

_EXAMPLE = "FROM NAMED WINDOW :w ON <iri> [RANGE PT10M STEP PT1M]"
_OPERATORS = ("RSTREAM", "ISTREAM", "DSTREAM")


class RspqlBuilder(EventsBuilder, WindowsBuilder):
    """Adds windows with names, WINDOW patterns, and the registration of RSP-QL."""

    DIALECT: ClassVar[str] = "rspql"

    # --- the query as a whole ----------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        check(query)
        return query

    def registered_query(
        self,
        before: Prologue,
        registration: ast.Registration,
        after: Prologue,
        form: tuple[Form, Dataset],
        values: ast.Values | None,
    ) -> ast.Query:
        query = super().registered_query(before, registration, after, form, values)
        name = self._resolved(query)
        query = replace(query, registration=replace(registration, name=name))
        if registration.kind not in _OPERATORS:
            return query
        said = cast(ast.StreamOperator, registration.kind)
        if self._operator is not None and self._operator[1] != said:
            where, other = self._operator
            message = f"REGISTER says {said} and this says {other}; a query reports one of them"
            raise Fault(message, where)
        return replace(query, operator=said)

    def registration(  # type: ignore[override]
        self, keyword: Token, kind: Token, name: Token, *clauses: Any
    ) -> ast.Registration:
        every: Every | None = None
        regime: ast.Name | None = None
        self._registered = name
        for clause in clauses:
            if isinstance(clause, Every):
                if every is not None:
                    raise Fault("COMPUTED EVERY is said twice", position(keyword))
                every = clause
            elif regime is not None:
                raise Fault("UNDER ENTAILMENT REGIME is said twice", clause.position)
            else:
                regime = clause
        period, stretched = every or (None, None)
        return ast.Registration(
            position(keyword), kind.upper(), str(name), period, regime=regime, stretched=stretched
        )

    def registered_name(self, name: Token) -> Token:
        return name

    def entailment_regime(self, keyword: Token, iri: ast.Name) -> ast.Name:
        return iri

    def _resolved(self, query: ast.Query) -> str:
        """The name of a registered query: a word, or an IRI that is resolved with the prefixes and BASE."""
        token = self._registered
        if token.type == "NAME":
            return str(token)
        if token.type == "IRIREF":
            name: ast.Name = terms.iri(token)
        else:
            name = terms.prefixed_name(token)
            if all(not isinstance(item, ast.Prefix) or item.prefix != name.prefix for item in query.prologue):
                raise Fault(f"unknown prefix '{name.prefix}:'", name.position)
        found = spelled_out(query, name)
        for item in query.prologue:
            if isinstance(item, ast.Base):
                try:
                    found = iris.resolve(found, item.iri.value)
                except ValueError as error:
                    raise Fault(f"malformed IRI: {error}", name.position) from None
        return found

    # --- windows -----------------------------------------------------------------------------------

    def window_clause(self, keyword: Token, _: Token, name: ast.Name, *rest: Any) -> ast.StreamClause:
        self._count_patterns(position(keyword), 1)
        stream, *window = (part for part in rest if not isinstance(part, Token))
        if not window:
            message = "a window needs a size, as in [RANGE PT10M STEP PT1M] or [ELEMENTS 100]"
            raise Fault(message, stream.position)
        return ast.StreamClause(position(keyword), stream, True, window[0], name)

    def default_graph(self, keyword: Token, _: Token, iri: ast.Name) -> ast.DatasetClause:
        return self.default_graph_clause(keyword, iri)

    def named_graph(self, keyword: Token, _: Token, iri: ast.Name) -> ast.DatasetClause:
        return self.named_graph_clause(keyword, iri)

    def logical_window(self, bracket: Token, length: Measure, *step: Measure) -> Window:
        size = positive(length, "the range of a window")
        return ast.LogicalWindow(position(bracket), size, _step(step, size))

    def elements_window(self, bracket: Token, number: Token, *step: Measure) -> Window:
        size = positive(triples(number), "the size of a window")
        return ast.PhysicalWindow(position(bracket), size, _step(step, 1), graphs=True)

    def past_window(self, bracket: Token, _: Token, first: Measure, last: Measure, *step: Measure) -> Window:
        (where, begin), (__, end) = first, last
        if begin <= end:
            raise Fault("a window in the past begins before it ends, as in FROM NOW-PT2H TO NOW-PT1H", where)
        return ast.LogicalWindow(position(bracket), begin - end, _step(step, begin - end), end)

    def past(self, now: Token, *length: Any) -> Measure:
        return position(now), length[1][1] if length else 0

    def elements_step(self, number: Token) -> Measure:
        return triples(number)

    def milliseconds(self, number: Token) -> Measure:
        # A bare number is in milliseconds, as in RSP-JS and rsp-rs.
        return self.duration(number, Token("UNIT", "ms"))

    # --- patterns ----------------------------------------------------------------------------------

    def window_graph_pattern(
        self, keyword: Token, name: ast.Var | ast.Name, pattern: ast.Group
    ) -> ast.WindowPattern:
        return ast.WindowPattern(position(keyword), name, pattern)


def _step(step: tuple[Measure, ...], without: int) -> int:
    return positive(step[0], "the step of a window") if step else without


# --- the rules ------------------------------------------------------------------------------------


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule about windows."""
    if not query.streams and query.registration is not None:
        check_registration(replace(query, registration=replace(query.registration, kind="QUERY")), _EXAMPLE)
    check_operator(query, query.form.position)
    check_sessions(query)
    check_stretched(query)
    _only_in_windows(query)
    names: set[str] = set()
    for clause in query.streams:
        assert clause.name is not None
        name = spelled_out(query, clause.name)
        if name in names:
            raise Fault(f"there are two windows <{name}>; each needs a name of its own", clause.name.position)
        names.add(name)
    for pattern in window_patterns(query.form):
        if isinstance(pattern.name, ast.Var):
            if not names:
                raise Fault(f"this query has no window; add {_EXAMPLE}", pattern.name.position)
        elif spelled_out(query, pattern.name) not in names:
            raise Fault(unknown_window(spelled_out(query, pattern.name), names), pattern.name.position)
        _alone(pattern.pattern, "another WINDOW")
        if has_events(pattern.pattern):
            _check_events(pattern.pattern)
    for node in nodes(query.form):
        if isinstance(node, ast.Graph):
            _alone(node.pattern, "GRAPH")


def has_events(tree: Any) -> bool:
    """True if a pattern is about events: it has SEQ or an operator like it, a run, WITHIN, or a function of
    intervals."""
    return any(_event_word(node) is not None for node in nodes(tree))


def _event_word(node: ast.Node) -> str | None:
    match node:
        case ast.Temporal(operator=operator):
            return operator
        case ast.Run():
            return "a run"
        case ast.Limited():
            return "WITHIN"
        case ast.Call(name=name):
            return SPELLED.get(name)
    return None


def _check_events(pattern: ast.Group) -> None:
    """Raise a `Fault` for patterns that cannot stand in a WINDOW with events, because they would look at the
    whole graph of the window."""
    for node in nodes(pattern):
        match node:
            case ast.Temporal(operator=operator, left=left, right=right, without=without):
                for operand in (left, right, *(() if without is None else (without,))):
                    happens(operand, operator)
                continue
            case ast.Run(pattern=repeated):
                happens(repeated, "a run")
                continue
            case ast.Graph():
                word = "GRAPH"
            case ast.SubSelect():
                word = "a sub-select"
            case ast.Exists():
                word = "EXISTS"
            case ast.PathRepeat():
                word = "a path that repeats"
            case _:
                continue
        raise Fault(f"{word} cannot stand in a WINDOW with events, each of which has its time", node.position)


def _only_in_windows(query: ast.Query) -> None:
    for node in nodes(query.form, (ast.WindowPattern,)):
        word = _event_word(node)
        if word is not None:
            raise Fault(f"{word} is about events, which are inside WINDOW {{ ... }}", node.position)


def window_patterns(tree: Any) -> Iterator[ast.WindowPattern]:
    return (node for node in nodes(tree) if isinstance(node, ast.WindowPattern))


def unknown_window(name: str, names: set[str]) -> str:
    """The message about a window that no FROM NAMED WINDOW declares."""
    if not names:
        return f"this query has no window; add {_EXAMPLE}"
    meant = iris.closest(name, sorted(names))
    hint = f"; did you mean <{meant}>?" if meant is not None else ""
    return f"there is no window <{name}>: it is not declared by FROM NAMED WINDOW{hint}"


def _alone(group: ast.Group, outside: str) -> None:
    for inner in window_patterns(group):
        raise Fault(f"WINDOW cannot stand inside {outside}; a window is not part of a graph", inner.position)
