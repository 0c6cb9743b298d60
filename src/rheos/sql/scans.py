"""Scans: the active graph of a context comes in, what a triple pattern reads from goes out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.sql.context import DEFAULT_WINDOW, Context
from rheos.sql.relation import INTERVAL, nested, select
from rheos.sql.validity import ALWAYS

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler


@dataclass(frozen=True, slots=True)
class Scan:
    """The active graph as an item of FROM, with the conditions that pick it out of its table.

    It has the columns s, p, o and, where it is every named graph, g; where it is `valid` for a time only,
    also time, stream and the interval.
    """

    item: str
    conditions: list[str]
    valid: bool = False


def scan(context: Context, alias: str, compiler: Compiler) -> Scan:
    if context.graph is not None:
        tables = [window.table for window in context.windows if window.stream == context.graph]
    elif context.graph_key is not None:
        tables = [window.table for window in context.windows]
    else:
        tables = [DEFAULT_WINDOW] if any(not window.named for window in context.windows) else []
    if not tables:
        return static_scan(context, alias, compiler)
    streams = {window.table: window.stream for window in context.windows}
    each = ["g"] if context.graph_key is not None else []
    parts = []
    if context.graph is None:
        static = static_scan(context, "t", compiler)
        no_time = ["CAST(NULL AS BIGINT) AS time", f"{compiler.dialect.null} AS stream"]
        always = [f"{bound} AS {column}" for bound, column in zip(ALWAYS, INTERVAL, strict=True)]
        columns = [*(f"t.{column}" for column in (*each, "s", "p", "o")), *no_time, *always]
        parts.append(select(columns, static.item, static.conditions))
    for table in tables:
        stream = compiler.dialect.string(streams[table]) + " AS stream" if table in streams else "stream"
        columns = [stream.replace(" AS stream", " AS g")] if each else []
        parts.append(select([*columns, "s", "p", "o", "time", stream, *INTERVAL], table))
    return Scan(nested("\nUNION ALL\n".join(parts), alias), [], valid=True)


def static_scan(context: Context, alias: str, compiler: Compiler) -> Scan:
    dataset = context.dataset
    string = compiler.dialect.string
    if context.graph is not None:
        conditions = [f"{alias}.g = {string(context.graph)}"]
        if dataset is not None and context.graph not in dataset.named:
            conditions.append("FALSE")
        return Scan(f"named_graphs AS {alias}", conditions)
    if context.graph_key is not None:
        conditions = [] if dataset is None else [among(f"{alias}.g", dataset.named, compiler)]
        return Scan(f"named_graphs AS {alias}", conditions)
    if dataset is None or (context.windows and not dataset.default):
        return Scan(f"default_graph AS {alias}", [])
    if len(dataset.default) == 1:
        return Scan(f"named_graphs AS {alias}", [f"{alias}.g = {string(dataset.default[0])}"])
    # The merge of several graphs is a set again.
    merge = select(["s", "p", "o"], "named_graphs", [among("g", dataset.default, compiler)], distinct=True)
    return Scan(nested(merge, alias), [])


def among(sql: str, names: Iterable[str], compiler: Compiler) -> str:
    listed = ", ".join(map(compiler.dialect.string, names))
    return f"{sql} IN ({listed})" if listed else "FALSE"
