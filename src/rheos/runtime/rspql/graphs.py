"""The named graphs in a window of RSP-QL, as tables of a batch."""

from __future__ import annotations

from rheos.algebra.streams import PhysicalWindow, StreamWindow
from rheos.runtime.csparql.windows import Tables, digest
from rheos.sql.relation import INTERVAL, select
from rheos.sql.rspql import NUMBER, named_sql, names_sql
from rheos.sql.windows import COLUMNS


def graphs(
    tables: Tables,
    window: StreamWindow,
    unseen: int,
    derivations: str | None,
    moves: str | None,
    sessions: str | None,
) -> tuple[str, str]:
    """The table of the triples of a window's named graphs, and the table of the names with the intervals in
    which each graph is in the window. The arguments are those of `Tables` for the window itself."""
    base = tables.elements[window.stream]
    if not tables.has_graphs(base):
        return nothing(tables)
    counted = isinstance(window.window, PhysicalWindow)
    named = digest("named", base, counted)
    if tables.new(named):
        tables.database.view(named, named_sql(base, NUMBER if counted else "place"))
    all_of = tables.entailed(named, derivations, ("g",))
    elements = tables.seen(named, window.window, unseen, all_of, ("g",))
    table = tables.window(window.window, elements, moves, ("g",), sessions)
    names = digest("names", table)
    if tables.new(names):
        tables.database.make(names, names_sql(table))
    return table, names


def nothing(tables: Tables) -> tuple[str, str]:
    """The tables of `graphs` for a stream without graphs: both are empty."""
    if tables.new("no_graphs"):
        terms = [f"CAST(NULL AS VARCHAR) AS {name}" for name in ("g", *COLUMNS[:3])]
        numbers = [f"CAST(NULL AS BIGINT) AS {name}" for name in (*COLUMNS[3:], *INTERVAL)]
        tables.database.view("no_graphs", select([*terms, *numbers], "(SELECT 1) AS none", ["FALSE"]))
    return "no_graphs", "no_graphs"
