"""Events: builds the nodes of patterns of events, which EP-SPARQL and the windows of RSP-QL share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lark import Token

from rheos.errors import Position
from rheos.syntax import ast
from rheos.syntax.measures import Measure, positive
from rheos.syntax.registration import RegistrationBuilder
from rheos.syntax.scope import nodes
from rheos.syntax.terms import Fault, position

Combined = ast.Group | ast.Union | ast.Temporal | ast.Run
SPELLED = {"DURATION": "getDURATION()", "STARTTIME": "getSTARTTIME()", "ENDTIME": "getENDTIME()"}
_MOST_REPEATED = 1_000

# Operators of two words, by their first word; the grammar drops the second.
_BY = {word: f"{word} BY" for word in ("MET", "OVERLAPPED", "STARTED", "FINISHED")}
_INTERVAL = {"GETDURATION": "DURATION", "GETSTARTTIME": "STARTTIME", "GETENDTIME": "ENDTIME"}


@dataclass(frozen=True)
class Absent:
    """`NOT { ... }`, with the position of the operator before it (`after`), if there is one."""

    position: Position
    group: ast.Group
    after: Position | None = None

    def fault(self) -> Fault:
        message = "NOT stands between two groups, as in { ... } SEQ NOT { ... } SEQ { ... }"
        return Fault(message, self.position)


class EventsBuilder(RegistrationBuilder):
    """Adds SEQ and the operators like it, runs, WITHIN, and the functions of intervals."""

    def within_clause(self, keyword: Token, length: Measure | ast.Literal) -> tuple[str, ast.Within]:
        found = length if isinstance(length, ast.Literal) else self.within(length)
        return "within", ast.Within(position(keyword), found)

    def within(self, length: Measure) -> int:
        """The time of WITHIN, in the smallest unit of the language."""
        return positive(length, "the time of WITHIN")

    def group_or_union_graph_pattern(  # type: ignore[override]
        self, *parts: Any
    ) -> Combined | ast.Limited:
        *_, last = parts
        within = last[1] if isinstance(last, tuple) else None
        first, *rest = parts if within is None else parts[:-1]
        combined: Combined = _present(first)
        absent: Absent | None = None
        for operator, right in zip(rest[::2], rest[1::2], strict=True):
            word = "UNION" if operator is None else operator.upper()
            if absent is not None:
                if word != "SEQ":
                    raise absent.fault()
                combined = ast.Temporal(
                    absent.after or absent.position, word, combined, _present(right), absent.group
                )
                absent = None
            elif isinstance(right, Absent) and word == "SEQ":
                absent = replace(right, after=position(operator))
            elif operator is None:
                combined = _union(combined, _present(right))
            else:
                combined = ast.Temporal(position(operator), _BY.get(word, word), combined, _present(right))
        if absent is not None:
            raise absent.fault()
        return combined if within is None else ast.Limited(within.position, combined, within)

    def run(self, group: ast.Group, how: Token, *aggregates: tuple[ast.Projection, ...]) -> ast.Run:
        found = aggregates[0] if aggregates else ()
        if how.type == "PLUS":
            return ast.Run(group.position, group, 1, None, found)
        least, *rest = (part.strip() for part in how[1:-1].split(","))
        most = rest[0] if rest else least
        if not most:
            message = "say how many at most, as in { ... }{2,5}; { ... }+ is a run of any length"
            raise Fault(message, position(how))
        if len(most) > 4 or int(most) > _MOST_REPEATED:
            raise Fault(f"a group can be repeated {_MOST_REPEATED:,} times at most", position(how))
        if len(least) > 4 or not 1 <= int(least) <= int(most):
            message = "a group is repeated at least once, and at most as often as the second number says"
            raise Fault(message, position(how))
        return ast.Run(group.position, group, int(least), int(most), found)

    def run_aggregates(self, *items: ast.Projection) -> tuple[ast.Projection, ...]:
        return items

    def run_aggregate(self, aggregate: ast.Aggregate, variable: ast.Var) -> ast.Projection:
        return ast.Projection(aggregate.position, variable, aggregate)

    def run_end(self, name: Token, argument: ast.Expression, variable: ast.Var) -> ast.Projection:
        return self.run_aggregate(self.aggregate(name, argument), variable)

    def absent(self, keyword: Token, group: ast.Group) -> Absent:
        return Absent(position(keyword), group)

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


def _present(operand: ast.Group | ast.Run | Absent) -> ast.Group | ast.Run:
    if isinstance(operand, Absent):
        raise operand.fault()
    return operand


def _union(left: Combined, right: ast.Group | ast.Run) -> ast.Union:
    if isinstance(right, ast.Run):
        right = ast.Group(right.position, (right,))
    match left:
        case ast.Union(options=options):
            return ast.Union(left.position, (*options, right))
        case ast.Temporal() | ast.Run():
            return ast.Union(left.position, (ast.Group(left.position, (left,)), right))
        case ast.Group():
            return ast.Union(left.position, (left, right))


# --- the rules ------------------------------------------------------------------------------------


def happens(operand: Combined, operator: str) -> None:
    """Raise a `Fault` if no solution of an operand can have an interval."""
    if not occurs(operand):
        message = f"nothing happens in this group, so {operator} cannot say when"
        raise Fault(f"{message}; it has no triple pattern outside of GRAPH", operand.position)


def occurs(pattern: Any) -> bool:
    """True if solutions of a pattern can have an interval: if it has a triple pattern outside of GRAPH, MINUS
    and EXISTS."""
    found = nodes(pattern, (ast.Graph, ast.Minus, ast.Exists))
    return any(isinstance(node, ast.Triples) for node in found)
