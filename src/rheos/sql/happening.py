"""Events in the windows of RSP-QL: a pattern comes in, its solutions at every instant go out.

The elements of a window differ from instant to instant, and so do absences and runs. So elements are spread
over the instants at which the window holds them, and the instant is a key of all operators.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rheos.algebra.nodes import BGP, Events, Join, Node, StreamPattern
from rheos.algebra.rewrite import bottom_up
from rheos.algebra.variables import certain
from rheos.optimize.events import whole
from rheos.sql.context import Context
from rheos.sql.epsparql import DetectingCompiler
from rheos.sql.patterns import Compiler, match_pattern
from rheos.sql.relation import INTERVAL, OCCURRENCE, Key, Relation, nested, select
from rheos.sql.validity import at_every_instant, spread


@dataclass
class WindowsCompiler(DetectingCompiler):
    """Compiles patterns on windows; inside Events, solutions have a start and an end."""

    def relation(self, node: Node, context: Context) -> Relation:
        if isinstance(node, Events):
            return happening(node, context, self)
        if not context.events:
            return Compiler.relation(self, node, context)
        if isinstance(node, StreamPattern):
            return element(node, context, self)
        return super().relation(node, context)


def happening(node: Events, context: Context, compiler: WindowsCompiler) -> Relation:
    """The mappings of the solutions at every instant.

    Solutions are a set of mappings with their intervals, so a mapping is there once for each of its
    intervals.
    """
    pattern = whole(bottom_up(node.pattern, _with_events))
    inner = at_every_instant(compiler.node(pattern, replace(context, events=True)), compiler)
    rows, different = compiler.fresh("r"), compiler.fresh("d")
    kept = [key.column for key in inner.keys] + [compiler.column(name) for name in inner.variables]
    times = list(OCCURRENCE) if inner.occurs else []
    solutions = select(
        [f"{rows}.{column}" for column in (*kept, *times)], nested(inner.sql, rows), distinct=True
    )
    sql = select([f"{different}.{column}" for column in kept], nested(solutions, different))
    return Relation(sql, inner.variables, certain(node), inner.keys)


def _with_events(node: Node) -> Node:
    """A basic graph pattern as a join of stream patterns, so that its solutions have intervals."""
    match node:
        case BGP((first, *others)):
            joined: Node = StreamPattern(0, first)
            for pattern in others:
                joined = Join(joined, StreamPattern(0, pattern))
            return joined
    return node


def element(node: StreamPattern, context: Context, compiler: Compiler) -> Relation:
    """The elements of the active windows that match a pattern, at each instant at which they are there."""
    parts = []
    for window in context.active_windows:
        columns = ["s", "p", "o", f"start AS {OCCURRENCE[0]}", f"time AS {OCCURRENCE[1]}", *INTERVAL]
        if context.window_key is not None:
            columns.append(f"{compiler.dialect.string(window.name or '')} AS w")
        parts.append(select(columns, window.events))
    alias, bound = compiler.fresh("t"), dict[str, str]()
    conditions = match_pattern(node.pattern, alias, bound, compiler)
    keys = () if context.window_key is None else (Key(context.window_key),)
    columns = [f"{alias}.w AS {key.column}" for key in keys]
    columns += [f"{alias}.{column}" for column in (*INTERVAL, *OCCURRENCE)]
    columns += [f"{column} AS {compiler.column(name)}" for name, column in bound.items()]
    sql = select(columns, nested("\nUNION ALL\n".join(parts), alias), conditions)
    found = Relation(sql, tuple(bound), certain(node), keys, valid=True, occurs=True)
    return spread(found, compiler)
