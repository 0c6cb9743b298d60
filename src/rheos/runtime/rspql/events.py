"""Events in a window of RSP-QL: the elements that it holds, each with its interval, as a table of a batch."""

from __future__ import annotations

from rheos.algebra.streams import PhysicalWindow, StreamWindow
from rheos.runtime.csparql.windows import Tables, digest
from rheos.sql.relation import select
from rheos.sql.rspql import NUMBER
from rheos.sql.windows import AGAIN, COLUMNS


def events(
    tables: Tables,
    window: StreamWindow,
    unseen: int,
    derivations: str | None,
    moves: str | None,
    sessions: str | None,
) -> str:
    """The table of the events in a window. It is no set: a triple that comes again is another event. The
    arguments are those of `Tables` for the window itself."""
    base = tables.elements[window.stream]
    kind = window.window
    counted = isinstance(kind, PhysicalWindow) and kind.graphs and tables.has_graphs(base)
    timed = digest("timed", base, counted)
    if tables.new(timed):
        place = NUMBER if counted else "place"
        tables.database.view(timed, select(["start", *COLUMNS, f"{place} AS place"], base))
    every = tables.entailed(timed, derivations, ("start",))
    seen = digest("happening", every, unseen)
    if tables.new(seen):
        never = [f"CAST(NULL AS BIGINT) AS {column}" for column in AGAIN]
        columns = ["start", *COLUMNS, f"place - {unseen} AS place", *never]
        tables.database.view(seen, select(columns, every, [f"place > {unseen}"]))
    return tables.window(kind, seen, moves, ("start",), sessions)
