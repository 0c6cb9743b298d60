"""Scans: the tables and views that a triple pattern reads, for the active graph of a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rheos.algebra.nodes import Dataset, GraphPart
from rheos.sql.conditions import same
from rheos.sql.context import DEFAULT_WINDOW, STATIC_TOO, Context, WindowTable
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import entailed_names
from rheos.sql.relation import INTERVAL, nested, select
from rheos.sql.validity import ALWAYS
from rheos.sql.windows import disjoint, stream_time

if TYPE_CHECKING:
    from rheos.sql.patterns import Compiler


@dataclass(frozen=True, slots=True)
class Scan:
    """The active graph as an item of FROM, with the conditions that select it from its table.

    Its columns are s, p, o; g if it is every named graph, and w if it is every window. If triples are `valid`
    for an interval, it also has the columns INTERVAL and `time`. `times` maps a stream to the column of the
    time of a triple in this stream.
    """

    item: str
    conditions: list[str]
    valid: bool = False
    times: Mapping[str, str] = field(default_factory=dict)


def part_name(table: str, part: GraphPart) -> str:
    """The table of the rows of a window for a part of its elements."""
    return table if part == "all" else f"{table}_{part}"


def scan(context: Context, alias: str, compiler: Compiler, part: GraphPart = "all") -> Scan:
    """The scan for a pattern that looks at the given part of the active graph."""
    if part == "static":
        return static_scan(context, alias, compiler)
    if context.in_windows:
        return window_scan(context, alias, compiler, part)
    if context.graph is None and context.graph_key is None:
        return default_scan(context, alias, compiler, part)
    windows = [w for w in context.stream_graphs if context.graph is None or w.stream == context.graph]
    if not windows:
        return static_scan(context, alias, compiler)
    columns = ["s", "p", "o", "time", *INTERVAL]
    if context.graph is not None:
        return Scan(nested(merged(windows, part), alias), [], True, {context.graph: "time"})
    streams = list(dict.fromkeys(window.stream for window in windows))
    times = {stream: stream_time(number) for number, stream in enumerate(streams, start=1)}
    parts = [always(static_scan(context, "t", compiler), ["g", "s", "p", "o"], times.values())]
    for stream in streams:
        own = [f"{compiler.dialect.string(stream)} AS g", *columns]
        own += [f"{'time' if s == stream else NO_TIME} AS {time}" for s, time in times.items()]
        held = merged([window for window in windows if window.stream == stream], part)
        parts.append(select(own, nested(held, "w")))
    return Scan(nested("\nUNION ALL\n".join(parts), alias), [], True, times)


def merged(windows: Sequence[WindowTable], part: GraphPart) -> str:
    """The union of the windows on one stream as a graph: at no instant does it have a triple twice."""
    columns = ["s", "p", "o", "time", *INTERVAL]
    rows = "\nUNION ALL\n".join(select(columns, part_name(window.table, part)) for window in windows)
    return rows if len(windows) == 1 else disjoint(rows, ["time"])


def window_scan(context: Context, alias: str, compiler: Compiler, part: GraphPart = "all") -> Scan:
    """A scan of the active windows: of all their triples, or of the triples of their named graphs."""
    string = compiler.dialect.string
    named = context.graph is not None or context.graph_key is not None
    where = [] if context.graph is None else [f"g = {string(context.graph)}"]
    parts = []
    for window in context.active_windows:
        columns = [f"{string(window.name or '')} AS w"] if context.window_key is not None else []
        columns += ["g"] if context.graph_key is not None else []
        columns += ["s", "p", "o", "time", *INTERVAL]
        parts.append(select(columns, window.graphs if named else part_name(window.table, part), where))
    return Scan(nested("\nUNION ALL\n".join(parts), alias), [], True)


def default_scan(context: Context, alias: str, compiler: Compiler, part: GraphPart = "all") -> Scan:
    """A scan of the default graph, its static part and its windows; for the part "new", only the windows."""
    static = static_scan(context, "t", compiler)
    windows = [(w.stream, number) for number, w in enumerate(context.stream_graphs, start=1) if not w.named]
    if not windows:
        return static_scan(context, alias, compiler)
    # The time of a triple in a stream is the latest of its times in the windows on that stream.
    latest: dict[str, list[str]] = {}
    for stream, number in windows if context.timed else ():
        latest.setdefault(stream, []).append(stream_time(number))
    times = {stream: columns[0] for stream, columns in latest.items()}
    of_streams = [
        columns[0] if len(columns) == 1 else f"greatest({', '.join(columns)}) AS {columns[0]}"
        for columns in latest.values()
    ]
    if context.timed:
        # The time of a triple that is also in a window is known only there, so its static copy is left out.
        found = same("x", "t", "spo")
        static.conditions.append(f"NOT EXISTS (SELECT 1 FROM {STATIC_TOO} AS x WHERE {found})")
    parts = [
        always(static, ["s", "p", "o"], times.values()),
        select(["s", "p", "o", "time", *INTERVAL, *of_streams], part_name(DEFAULT_WINDOW, part)),
    ]
    parts = parts[1:] if part == "new" else parts
    return Scan(nested("\nUNION ALL\n".join(parts), alias), [], True, times)


NO_TIME = "CAST(NULL AS BIGINT)"


def always(static: Scan, columns: Iterable[str], times: Iterable[str]) -> str:
    """The rows of a static graph (alias t) with an interval that is always, and without times."""
    interval = [f"{bound} AS {column}" for bound, column in zip(ALWAYS, INTERVAL, strict=True)]
    no_times = [f"{NO_TIME} AS {time}" for time in times]
    chosen = [*(f"t.{column}" for column in columns), f"{NO_TIME} AS time", *interval, *no_times]
    return select(chosen, static.item, static.conditions)


def tables_of(dataset: Dataset | None) -> tuple[str, str]:
    """The tables of the default graph and of the named graphs, with entailed triples if these are wanted."""
    if dataset is None or dataset.entailed is None:
        return "default_graph", "named_graphs"
    return entailed_names(dataset.entailed)


def static_default(dataset: Dataset | None, dialect: Dialect) -> str:
    """The static part of the default graph of a continuous query: s, p, o."""
    default = dataset.default if dataset else ()
    if not default:
        return f"SELECT s, p, o FROM {tables_of(dataset)[0]}"
    return select(["s", "p", "o"], "named_graphs", [among("g", default, dialect)], distinct=True)


def static_scan(context: Context, alias: str, compiler: Compiler) -> Scan:
    dataset = context.dataset
    default_graph, named_graphs = tables_of(dataset)
    string = compiler.dialect.string
    if context.graph is not None:
        conditions = [f"{alias}.g = {string(context.graph)}"]
        if dataset is not None and dataset.named is not None and context.graph not in dataset.named:
            conditions.append("FALSE")
        return Scan(f"{named_graphs} AS {alias}", conditions)
    if context.graph_key is not None:
        return Scan(f"{named_graphs} AS {alias}", among_named(f"{alias}.g", dataset, compiler.dialect))
    if dataset is None or dataset.keeps_default:
        return Scan(f"{default_graph} AS {alias}", [])
    if len(dataset.default) == 1:
        return Scan(f"named_graphs AS {alias}", [f"{alias}.g = {string(dataset.default[0])}"])
    # The merge of several graphs is a set again.
    merge = select(
        ["s", "p", "o"], "named_graphs", [among("g", dataset.default, compiler.dialect)], distinct=True
    )
    return Scan(nested(merge, alias), [])


def among_named(sql: str, dataset: Dataset | None, dialect: Dialect) -> list[str]:
    """The condition that a name is a named graph of the dataset; none if every graph is."""
    if dataset is None or dataset.named is None:
        return []
    return [among(sql, dataset.named, dialect)]


def among(sql: str, names: Iterable[str], dialect: Dialect) -> str:
    listed = ", ".join(map(dialect.string, names))
    return f"{sql} IN ({listed})" if listed else "FALSE"
