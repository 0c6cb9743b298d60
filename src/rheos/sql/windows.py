"""Windows as SQL: the elements of a stream come in, the rows of a window with their intervals go out.

The table of elements has s, p, o, time and place (the number of an element in the order of its stream,
from 1). A window is a set: of a triple that is in it several times only the latest is, so each is valid
until the next one of the same triple comes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheos.algebra.streams import LogicalWindow, StreamWindow
from rheos.sql.dialect import Dialect
from rheos.sql.relation import INTERVAL, nested, select

COLUMNS = ("s", "p", "o", "time")


def next_multiple(sql: str, step: int) -> str:
    """The first multiple of a step that is not before a number, which may be negative."""
    return f"{sql} + ({step} - ({sql}) % {step}) % {step}"


def window_sql(window: StreamWindow, elements: str, moves: str | None = None) -> str:
    """The rows of a window; without `moves` instants are times, and only logical windows can be told.

    `moves` is a table (position, instant): when the window first has its end at a multiple of its step, in
    time or in triples.
    """
    kind = window.window
    column, length = ("time", kind.range) if isinstance(kind, LogicalWindow) else ("place", kind.triples)
    first = next_multiple(column, kind.step)
    last = next_multiple(f"({column} + {length})", kind.step)
    columns = [*COLUMNS, "place"]
    if moves is None:
        entered = select([*columns, f"{first} AS entry", f"{last} AS leaving"], elements)
    else:
        placed = select([*columns, f"{first} AS first_move", f"{last} AS last_move"], elements)
        source = (
            f"{nested(placed, 'e')} JOIN {moves} AS a ON a.position = e.first_move"
            f" LEFT JOIN {moves} AS b ON b.position = e.last_move"
        )
        chosen = [f"e.{name}" for name in columns]
        entered = select([*chosen, "a.instant AS entry", f"COALESCE(b.instant, {2**62}) AS leaving"], source)
    again = "lead(entry) OVER (PARTITION BY s, p, o ORDER BY time, place)"
    lasting = select([*COLUMNS, "entry", f"least(leaving, COALESCE({again}, leaving)) AS leaving"],
                     nested(entered, "entered"))  # fmt: skip
    interval = [f"entry AS {INTERVAL[0]}", f"leaving AS {INTERVAL[1]}"]
    return select([*COLUMNS, *interval], nested(lasting, "lasting"), ["entry < leaving"])


def held_sql(window: StreamWindow, elements: str) -> str:
    """The different intervals of times in which a logical window holds some element."""
    kind = window.window
    assert isinstance(kind, LogicalWindow)
    first, last = next_multiple("time", kind.step), next_multiple(f"(time + {kind.range})", kind.step)
    bounds = select([f"{first} AS entry", f"{last} AS leaving"], elements)
    return select(["entry", "leaving"], nested(bounds, "bounds"), ["entry < leaving"], distinct=True)


def since_sql(elements: str, since: int) -> str:
    """The elements that came after so many, counted from there."""
    return select(["s", "p", "o", "time", f"place - {since} AS place"], elements, [f"place > {since}"])


def default_sql(windows: Sequence[tuple[StreamWindow, str]], dialect: Dialect) -> str:
    """The windows that are part of the default graph as one set of triples, each with the stream it is from.

    Windows are given with the name of their table. A triple that is in the static default graph anyway is
    left out; of one that is in several windows at once, the latest counts.
    """
    parts = [
        select([*COLUMNS, *INTERVAL, f"{dialect.string(window.stream)} AS stream"], table)
        for window, table in windows
        if not window.named
    ]
    static = "NOT EXISTS (SELECT 1 FROM default_graph AS d WHERE d.s = w.s AND d.p = w.p AND d.o = w.o)"
    every = select([f"w.{name}" for name in (*COLUMNS, *INTERVAL, "stream")],
                   nested("\nUNION ALL\n".join(parts), "w"), [static])  # fmt: skip
    return every if len(parts) == 1 else disjoint(every)


def disjoint(rows: str) -> str:
    """Intervals of the same triple cut where one begins or ends, and of those that coincide the latest."""
    start, end = INTERVAL
    bounds = "\nUNION\n".join(
        select(["s", "p", "o", f"{bound} AS bound"], nested(rows, "r")) for bound in INTERVAL
    )
    following = "lead(bound) OVER (PARTITION BY s, p, o ORDER BY bound) AS next_bound"
    pieces = select(["s", "p", "o", "bound", following], nested(bounds, "bounds"))
    same = " AND ".join(f"r.{name} = pieces.{name}" for name in "spo")
    covering = f"{same} AND r.{start} <= pieces.bound AND r.{end} >= pieces.next_bound"
    ranked = select(
        ["r.s", "r.p", "r.o", "r.time", f"pieces.bound AS {start}", f"pieces.next_bound AS {end}", "r.stream",
         "row_number() OVER (PARTITION BY r.s, r.p, r.o, pieces.bound ORDER BY r.time DESC) AS latest"],
        f"{nested(rows, 'r')} JOIN {nested(pieces, 'pieces')} ON {covering}",
    )  # fmt: skip
    return select([*COLUMNS, *INTERVAL, "stream"], nested(ranked, "ranked"), ["latest = 1"])
