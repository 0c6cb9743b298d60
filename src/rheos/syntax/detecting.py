"""The syntax tree of an EP-SPARQL query comes in; nothing goes out but a `Fault` where it misuses events.

What matches events are the triple patterns outside of GRAPH: named graphs are static data, which is there at
any time. An answer is never taken back (section 4.2 of the paper: timewise monotonicity), though the stream
goes on. Hence the rules: what is counted are events of the last so long, or static data; what is cut off by
LIMIT is static data; and what is compared in time must happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rheos.syntax import ast
from rheos.syntax.scope import aggregates, nodes
from rheos.syntax.terms import Fault

_INTERVAL = {"DURATION": "getDURATION()", "STARTTIME": "getSTARTTIME()", "ENDTIME": "getENDTIME()"}


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
            case ast.Temporal(operator=operator, left=left, right=right):
                for operand in (left, right):
                    _happens(operand, operator)
    for select in _selects(form):
        _answerable(select)
    if not _has_events(form.where):
        message = "nothing happens in this query: there is no triple pattern in it outside of GRAPH"
        raise Fault(f"{message}; query() answers it from the static data", form.position)


def _only_static(pattern: ast.Group) -> None:
    """What is inside GRAPH has no interval."""
    for node in nodes(pattern):
        word = None
        match node:
            case ast.Temporal(operator=operator):
                word = operator
            case ast.Call(name=name):
                word = _INTERVAL.get(name)
            case ast.Within():
                word = "WITHIN"
        if word is not None:
            raise Fault(f"{word} cannot stand inside GRAPH; events are not part of a graph", node.position)


def _happens(operand: ast.Group | ast.Union | ast.Temporal, operator: str) -> None:
    if not _has_events(operand):
        message = f"nothing happens in this group, so {operator} cannot say when"
        raise Fault(f"{message}; it has no triple pattern outside of GRAPH", operand.position)


def _has_events(pattern: Any) -> bool:
    """Whether solutions of a pattern can have an interval; what MINUS and EXISTS look at gives them none."""
    found = nodes(pattern, (ast.Graph, ast.Minus, ast.Exists))
    return any(isinstance(node, ast.Triples) for node in found)


def _selects(form: ast.SelectQuery | ast.ConstructQuery | ast.AskQuery) -> Iterator[ast.SelectQuery]:
    """The query itself, and its sub-selects that are not on static data by their place."""
    if isinstance(form, ast.SelectQuery):
        yield form
    else:
        yield ast.SelectQuery(form.position, (), False, False, form.where, form.modifiers)
    for node in nodes(form, (ast.Graph,)):
        if isinstance(node, ast.SubSelect):
            yield node.query


def _answerable(select: ast.SelectQuery) -> None:
    """Whether what has been answered stays right, whatever comes."""
    modifiers = select.modifiers
    counted = aggregates(select)
    if modifiers.within is not None:
        if not counted:
            message = "WITHIN says how far aggregates look back, and there is none, as in (COUNT(*) AS ?n)"
            raise Fault(message, modifiers.within.position)
        if not _has_events(select.where):
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
        if isinstance(node, ast.Call) and node.name in _INTERVAL:
            message = f"{_INTERVAL[node.name]} is of events, and there is no triple pattern outside of GRAPH"
            raise Fault(message, node.position)
