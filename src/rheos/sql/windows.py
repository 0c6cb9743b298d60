"""Windows as SQL: their rows with the intervals for which elements are in them.

The table of elements has s, p, o, time and place (the number of an element in the order of its stream, from
1). A window is a set: of a triple that is in it several times only the latest is, so each is valid until the
next one of the same triple comes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheos.algebra.streams import LogicalWindow, PhysicalWindow, SessionWindow, Window
from rheos.sql.conditions import all_of, same
from rheos.sql.dialect import Dialect
from rheos.sql.relation import INTERVAL, nested, select

ELEMENT = ("s", "p", "o", "time", "place")
# Of an element: when and where the same triple comes again, NULL if it does not.
AGAIN = ("next_time", "next_place")
COLUMNS = ("s", "p", "o", "time")


def next_multiple(sql: str, step: int) -> str:
    """The first multiple of a step that is not before a number, which may be negative."""
    return f"{sql} + ({step} - ({sql}) % {step}) % {step}"


def followed_sql(elements: str) -> str:
    """The elements, each with the next of the same triple, whatever they are."""
    over = "OVER (PARTITION BY s, p, o ORDER BY time, place)"
    following = [f"lead({name}) {over} AS next_{name}" for name in ("time", "place")]
    return select([*ELEMENT, *following], elements)


def alone_sql(elements: str) -> str:
    """The same for elements of which no triple comes twice."""
    return select([*ELEMENT, *(f"CAST(NULL AS BIGINT) AS {name}" for name in AGAIN)], elements)


def repeated_sql(elements: str, places: str) -> str:
    """The elements that have one of these places."""
    columns = [f"e.{name}" for name in ELEMENT]
    return select(columns, f"{elements} AS e JOIN {places} AS r ON r.place = e.place")


def joined_again_sql(elements: str, again: str) -> str:
    """As `followed_sql`, where `again` has the next of all elements that have one."""
    columns = [*(f"e.{name}" for name in ELEMENT), *(f"a.{name}" for name in AGAIN)]
    return select(columns, f"{elements} AS e LEFT JOIN {again} AS a ON a.place = e.place")


def seen_sql(elements: str, unseen: int, more: Sequence[str] = ()) -> str:
    """Of followed elements those that came after the first so many, counted from there. They have `more`
    columns, as they may in what follows."""
    places = [f"{name} - {unseen} AS {name}" for name in ("place", "next_place")]
    return select([*more, *COLUMNS, "next_time", *places], elements, [f"place > {unseen}"])


def bounds(window: Window) -> tuple[str, str, str]:
    """Where an element comes in, where it leaves, and where the same triple comes in again (or NULL): each
    the end of a window, in time or in triples."""
    assert not isinstance(window, SessionWindow)
    if isinstance(window, LogicalWindow):
        column, length, delay = "time", window.range, window.delay
    else:
        column, length, delay = "place", window.triples, 0
    later = f" + {delay}" if delay else ""
    return (
        next_multiple(f"({column}{later})" if later else column, window.step),
        next_multiple(f"({column} + {length + delay})", window.step),
        next_multiple(f"(next_{column}{later})" if later else f"next_{column}", window.step),
    )


def sessions_sql(window: SessionWindow, elements: str, after: int, until: int) -> str:
    """The sessions that are over in a span, by element: the place of that, when the session is over, and its
    number. Sessions are numbered in the order of their ends, those that end together by their subjects.
    """
    parts = "PARTITION BY s " if window.by_subject else ""
    ordered = f"{parts}ORDER BY time, place"
    begins = f"CASE WHEN time - lag(time) OVER ({ordered}) <= {window.gap} THEN 0 ELSE 1 END AS begins"
    seen = select(["s", "time", "place", begins], elements, [f"time <= {until}"])
    so_far = f"{ordered} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    counted = select(["s", "time", "place", f"sum(begins) OVER ({so_far}) AS turn"], nested(seen, "e"))
    of_session = "PARTITION BY s, turn" if window.by_subject else "PARTITION BY turn"
    over = select(
        ["s", "place", f"max(time) OVER ({of_session}) + {window.gap} AS over"], nested(counted, "e")
    )
    number = f"dense_rank() OVER (ORDER BY over{', s' if window.by_subject else ''}) AS session"
    return select(["place", "over", number], nested(over, "e"), [f"over > {after}", f"over <= {until}"])


def session_moves_sql(number: int, sessions: str) -> str:
    """The instants of sessions, as rows of a timeline."""
    columns = ["over AS time", f"{number} AS turn", "session AS ending", "1 AS tick"]
    return select(columns, sessions, distinct=True)


def session_window_sql(sessions: str, elements: str, moves: str, more: Sequence[str] = ()) -> str:
    """The rows of a window on sessions: each holds at the instant of its session alone. Of a triple that
    comes several times in one, only the last is there."""
    columns = [f"e.{name}" for name in (*more, *COLUMNS)]
    columns += [f"m.instant AS {INTERVAL[0]}", f"m.instant + 1 AS {INTERVAL[1]}"]
    source = (
        f"{elements} AS e JOIN {sessions} AS x ON x.place = e.place JOIN {moves} AS m ON m.ending = x.session"
    )
    source += f" LEFT JOIN {sessions} AS n ON n.place = e.next_place"
    return select(columns, source, ["n.session IS DISTINCT FROM x.session"])


def window_sql(window: Window, elements: str, moves: str | None = None, more: Sequence[str] = ()) -> str:
    """The rows of a window on followed elements.

    Without `moves` the ends of the window are its instants, as those of a logical window can be. Otherwise
    `moves` is a table (ending, instant): at which instant the window first has its end there.
    """
    entry, leaving, again = bounds(window)
    stay = [f"{entry} AS entry", f"least({leaving}, COALESCE({again}, {leaving})) AS leaving"]
    kept = (*more, *COLUMNS)
    staying = nested(select([*kept, *stay], elements), "e")
    first, last = INTERVAL
    if moves is None:
        return select([*kept, f"entry AS {first}", f"leaving AS {last}"], staying, ["entry < leaving"])
    source = f"{staying} JOIN {moves} AS a ON a.ending = e.entry"
    source += f" LEFT JOIN {moves} AS b ON b.ending = e.leaving"
    never = 2**62  # it has not left yet
    until = f"COALESCE(b.instant, {never})"
    columns = [*(f"e.{name}" for name in kept), f"a.instant AS {first}", f"{until} AS {last}"]
    return select(columns, source, ["e.entry < e.leaving", f"a.instant < {until}"])


def held_sql(window: LogicalWindow, elements: str) -> str:
    """The different intervals of times in which a window holds some element."""
    entry, leaving, _ = bounds(window)
    columns = [f"{entry} AS entry", f"{leaving} AS leaving"]
    return select(
        ["entry", "leaving"], nested(select(columns, elements), "bounds"), ["entry < leaving"], distinct=True
    )


def first_move_sql(window: PhysicalWindow, elements: str, until: int) -> str:
    """The time of the first move of a physical window, or NULL."""
    return select(["min(time) AS first"], elements, [f"place % {window.step} = 0", f"time <= {until}"])


def last_move_sql(window: PhysicalWindow, elements: str, until: int) -> str:
    """The time of the last move of a physical window up to a time, or NULL."""
    return select(["max(time) AS last"], elements, [f"place % {window.step} = 0", f"time <= {until}"])


def moves_sql(number: int, window: PhysicalWindow, elements: str, after: int, until: int, ticks: bool) -> str:
    """The moves of the query's window of that number up to a time, as rows of a timeline; those after
    another time are ticks, if it `ticks` with them."""
    tick = f"CASE WHEN time > {after} THEN 1 ELSE 0 END" if ticks else "0"
    columns = ["time", f"{number} AS turn", "place AS ending", f"{tick} AS tick"]
    # The triples of a graph have the same place.
    moved = [f"place % {window.step} = 0", f"time <= {until}"]
    return select(columns, elements, moved, distinct=window.graphs)


def timeline_sql(parts: Sequence[str]) -> str:
    """All that happens, in order (time, turn, ending): each with the number of the first tick from it on.

    Several evaluations can have the same time, so these are numbered, and the number is the instant.
    """
    before = "sum(tick) OVER (ORDER BY time, turn, ending ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    instant = f"CAST(1 + COALESCE({before}, 0) AS BIGINT) AS instant"
    return select(["time", "turn", "ending", "tick", instant], nested("\nUNION ALL\n".join(parts), "events"))


def stream_time(number: int) -> str:
    """The column of the time that a triple of the default graph has in the window of that number."""
    return f"time_{number}"


def default_rows(
    windows: Sequence[tuple[int, str]], timed: bool, where: Sequence[str] = (), alias: str = "w"
) -> str:
    """The rows of all these windows, given by number and table; `timed`: with the time in each of them."""
    parts = []
    for number, table in windows:
        columns = [f"{alias}.{name}" for name in (*COLUMNS, *INTERVAL)]
        for other, _ in windows if timed else ():
            time = f"{alias}.time" if other == number else "CAST(NULL AS BIGINT)"
            columns.append(f"{time} AS {stream_time(other)}")
        parts.append(select(columns, f"{table} AS {alias}", where))
    return "\nUNION ALL\n".join(parts)


def among(predicates: Sequence[str] | None, dialect: Dialect, negated: bool = False) -> list[str]:
    """The condition that the predicate of a row w is one of these; None are all."""
    if predicates is None:
        return ["FALSE"] if negated else []
    listed = ", ".join(map(dialect.string, predicates))
    if not listed:
        return [] if negated else ["FALSE"]
    return [f"w.p {'NOT IN' if negated else 'IN'} ({listed})"]


def static_too_sql(rows: str, static: str) -> str:
    """The triples of windows that are in the static default graph as well, given as a SELECT."""
    triples = [f"w.{name}" for name in "spo"]
    return select(
        triples, f"{nested(rows, 'w')} JOIN {nested(static, 'd')} ON {same('d', 'w', 'spo')}", distinct=True
    )


def without_sql(rows: str, columns: Sequence[str], triples: str) -> str:
    """Rows without those of certain triples."""
    return select([f"w.{name}" for name in columns], nested(rows, "w"),
                  [f"NOT EXISTS (SELECT 1 FROM {triples} AS x WHERE {same('x', 'w', 'spo')})"])  # fmt: skip


def disjoint(rows: str, times: Sequence[str]) -> str:
    """Rows of the same triple cut where one begins or ends, and those that then coincide as one, with the
    latest of each of their times."""
    start, end = INTERVAL
    ends = "\nUNION\n".join(
        select(["s", "p", "o", f"{bound} AS bound"], nested(rows, "r")) for bound in INTERVAL
    )
    following = "lead(bound) OVER (PARTITION BY s, p, o ORDER BY bound) AS next_bound"
    pieces = select(["s", "p", "o", "bound", following], nested(ends, "bounds"))
    covering = [same("r", "pieces", "spo"), f"r.{start} <= pieces.bound", f"r.{end} >= pieces.next_bound"]
    by = ["r.s", "r.p", "r.o", "pieces.bound", "pieces.next_bound"]
    time, *others = (f"max(r.{name}) AS {name}" for name in times)
    return select(
        [*by[:3], time, f"{by[3]} AS {start}", f"{by[4]} AS {end}", *others],
        f"{nested(rows, 'r')} JOIN {nested(pieces, 'pieces')} ON {all_of(covering)}",
        tail=f"GROUP BY {', '.join(by)}",
    )
