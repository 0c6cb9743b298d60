"""EP-SPARQL: builds the nodes of its own grammar rules; all else is built as in SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

from lark import Token

from rheos.syntax import ast
from rheos.syntax.events import SPELLED, EventsBuilder, happens, occurs
from rheos.syntax.measures import Measure, nanoseconds
from rheos.syntax.scope import aggregates, nodes
from rheos.syntax.terms import Fault, position

_POLICIES: dict[str, ast.Consumption] = {
    "UNRESTRICTED": "unrestricted",
    "RECENT": "recent",
    "CHRONOLOGICAL": "chronological",
}


class EpSparqlBuilder(EventsBuilder):
    """Adds streams without windows, CONSUMPTION and `a AS b` without brackets to the patterns of events."""

    DIALECT: ClassVar[str] = "epsparql"

    # --- the query as a whole ----------------------------------------------------------------------

    def query_unit(self, query: ast.Query) -> ast.Query:
        check(query)
        return query

    def registration(  # type: ignore[override]
        self, keyword: Token, kind: Token, name: str, *consumption: ast.Consumption
    ) -> ast.Registration:
        found = consumption[0] if consumption else "unrestricted"
        return ast.Registration(position(keyword), kind.upper(), name, None, found)

    def consumption(self, policy: Token) -> ast.Consumption:
        return _POLICIES[policy.type]

    def computed_every(self, keyword: Token, duration: Measure, *stretched: Token) -> NoReturn:
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

    # --- times -------------------------------------------------------------------------------------

    def within_clause(self, keyword: Token, length: Measure | ast.Literal) -> tuple[str, ast.Within]:
        if isinstance(length, ast.Literal):
            return super().within_clause(keyword, length)
        nanoseconds = self.within(length)
        # Aggregates look back on (end - within, end], and ends are whole microseconds: so they see the same
        # events if the time is rounded up. A duration is at most as long if it is rounded down.
        up, down = -(-nanoseconds // 1_000), nanoseconds // 1_000
        return "within", ast.Within(position(keyword), up, down)

    def duration(self, *parts: Token) -> Measure:
        return nanoseconds(parts)

    def xsd_duration(self, text: Token) -> Measure:
        where, length = super().xsd_duration(text)
        return where, 1_000 * length


# --- the rules ------------------------------------------------------------------------------------


def check(query: ast.Query) -> None:
    """Raise a `Fault` at the first place where the query breaks a rule about events."""
    form = query.form
    if isinstance(form, ast.DescribeQuery):
        raise Fault("DESCRIBE cannot read events in EP-SPARQL; use CONSTRUCT, SELECT or ASK", form.position)
    makes_stream = query.registration is not None and query.registration.kind == "STREAM"
    if makes_stream and not isinstance(form, ast.ConstructQuery):
        word = "SELECT" if isinstance(form, ast.SelectQuery) else "ASK"
        raise Fault(f"only CONSTRUCT makes a stream; {word} can be a REGISTER QUERY", form.position)
    for node in nodes(form):
        match node:
            case ast.Graph(pattern=pattern):
                _only_static(pattern)
            case ast.Temporal(operator=operator, left=left, right=right, without=without):
                for operand in (left, right):
                    happens(operand, operator)
                if without is not None:
                    happens(without, "NOT")
            case ast.Run(pattern=pattern):
                happens(pattern, "a run")
    _check_runs(query)
    for select in _selects(form):
        _answerable(select)
    if not occurs(form.where):
        message = "nothing happens in this query: there is no triple pattern in it outside of GRAPH"
        raise Fault(f"{message}; query() answers it from the static data", form.position)


_LATE = "that a run is over is known only later, so it cannot {}; say how many, as in {{ ... }}{{1,10}}"


def _check_runs(query: ast.Query) -> None:
    """Refuse a run in a place where it would have to be known at its end, and any run with a policy of
    consumption."""
    form = query.form
    if query.registration is not None and query.registration.consumption != "unrestricted":
        for node in nodes(form):
            if isinstance(node, ast.Run):
                raise Fault("a run cannot stand in a query with a policy of consumption", node.position)
    if isinstance(form, ast.ConstructQuery):
        _no_late_run(form, "make events for other queries")
    for node in nodes(form):
        match node:
            case ast.Optional(pattern=part) | ast.Minus(pattern=part) | ast.Exists(pattern=part):
                _no_late_run(part, "be optional, taken away or asked for")
            case (
                ast.Temporal(operator="OPTIONALSEQ", left=part)
                | ast.Temporal(operator="EQUALSOPTIONAL", right=part)
            ):
                _no_late_run(part, "be optional, taken away or asked for")
            case ast.Run(pattern=part):
                _no_late_run(part, "be part of another run")
            case ast.SelectQuery(where=part, modifiers=ast.Modifiers(within=ast.Within())):
                _no_late_run(part, "be aggregated")
        if isinstance(node, ast.Temporal) and node.without is not None:
            _no_late_run(node.without, "stand in NOT")


def _no_late_run(part: Any, what: str) -> None:
    for node in nodes(part):
        if isinstance(node, ast.Run) and node.most is None:
            raise Fault(_LATE.format(what), node.position)


def _only_static(pattern: ast.Group) -> None:
    """Refuse operators of events inside GRAPH: solutions of static data have no interval."""
    for node in nodes(pattern):
        word = None
        match node:
            case ast.Temporal(operator=operator):
                word = operator
            case ast.Call(name=name):
                word = SPELLED.get(name)
            case ast.Within():
                word = "WITHIN"
            case ast.Run():
                word = "a run"
        if word is not None:
            raise Fault(f"{word} cannot stand inside GRAPH; events are not part of a graph", node.position)


def _selects(form: ast.SelectQuery | ast.ConstructQuery | ast.AskQuery) -> Iterator[ast.SelectQuery]:
    """The query itself as a SELECT, and its sub-selects outside of GRAPH."""
    if isinstance(form, ast.SelectQuery):
        yield form
    else:
        yield ast.SelectQuery(form.position, (), False, False, form.where, form.modifiers)
    for node in nodes(form, (ast.Graph,)):
        if isinstance(node, ast.SubSelect):
            yield node.query


def _answerable(select: ast.SelectQuery) -> None:
    """Refuse a query whose answers could become wrong by later events."""
    modifiers = select.modifiers
    counted = aggregates(select)
    if modifiers.within is not None:
        if not counted:
            message = "WITHIN says how far aggregates look back, and there is none, as in (COUNT(*) AS ?n)"
            raise Fault(message, modifiers.within.position)
        if not occurs(select.where):
            message = "WITHIN looks back from events, and there is no triple pattern outside of GRAPH"
            raise Fault(message, modifiers.within.position)
    is_static = not any(isinstance(node, ast.Triples) for node in nodes(select, (ast.Graph,)))
    if is_static:
        _no_interval(select)
        return
    grouping: list[ast.Node] = [*counted, *modifiers.group_by, *modifiers.having]
    if grouping and modifiers.within is None:
        message = "a stream does not end, so that an aggregate over all of it would have to be taken back"
        raise Fault(f"{message}; say how far it looks back, as in WITHIN 10m", grouping[0].position)
    if modifiers.limit is not None or modifiers.offset is not None:
        word = "OFFSET" if modifiers.limit is None else "LIMIT"
        message = f"{word} is for whole answers, and that of a stream goes on"
        raise Fault(f"{message}; its solutions are reported as they end", select.position)


def _no_interval(select: ast.SelectQuery) -> None:
    for node in nodes(select):
        if isinstance(node, ast.Call) and node.name in SPELLED:
            message = f"{SPELLED[node.name]} is of events, and there is no triple pattern outside of GRAPH"
            raise Fault(message, node.position)
