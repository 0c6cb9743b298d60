"""Windows as SQL: the elements of a window, each with the interval for which it is in the window.

The table of elements has s, p, o, time and place (the number of an element in the order of its stream, from
1). A window is a set: if the same triple comes several times, only the latest counts. So an element is valid
until the next element with the same triple enters the window.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheos.algebra.streams import LogicalWindow, PhysicalWindow, SessionWindow, Window
from rheos.sql.conditions import all_of, same
from rheos.sql.dialect import Dialect
from rheos.sql.relation import INTERVAL, nested, select

ELEMENT = ("s", "p", "o", "time", "place")
# The time and the place of the next element with the same triple; NULL if there is none.
AGAIN = ("next_time", "next_place")
COLUMNS = ("s", "p", "o", "time")


def next_multiple(sql: str, step: int) -> str:
    """The least multiple of a step that is not below a number; the number may be negative."""
    return f"{sql} + ({step} - ({sql}) % {step}) % {step}"


def followed_sql(elements: str) -> str:
    """The elements, each with the next one of the same triple, for any elements."""
    over = "OVER (PARTITION BY s, p, o ORDER BY time, place)"
    following = [f"lead({name}) {over} AS next_{name}" for name in ("time", "place")]
    return select([*ELEMENT, *following], elements)


def alone_sql(elements: str) -> str:
    """As `followed_sql`, for elements in which no triple comes twice."""
    return select([*ELEMENT, *(f"CAST(NULL AS BIGINT) AS {name}" for name in AGAIN)], elements)


def repeated_sql(elements: str, places: str) -> str:
    """The elements that have one of these places."""
    columns = [f"e.{name}" for name in ELEMENT]
    return select(columns, f"{elements} AS e JOIN {places} AS r ON r.place = e.place")


def joined_again_sql(elements: str, again: str) -> str:
    """As `followed_sql`, where the table `again` has the next element for all elements that have one."""
    columns = [*(f"e.{name}" for name in ELEMENT), *(f"a.{name}" for name in AGAIN)]
    return select(columns, f"{elements} AS e LEFT JOIN {again} AS a ON a.place = e.place")


def seen_sql(elements: str, unseen: int, more: Sequence[str] = ()) -> str:
    """The followed elements after the first `unseen` ones, with places counted from there.

    `more` are further columns of the elements, here and in the functions below.
    """
    places = [f"{name} - {unseen} AS {name}" for name in ("place", "next_place")]
    return select([*more, *COLUMNS, "next_time", *places], elements, [f"place > {unseen}"])


def bounds(window: Window) -> tuple[str, str, str]:
    """The ends of the window at which an element enters, leaves, and its triple enters again (or NULL).

    Ends are times for a logical window and places for a physical one.
    """
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
    """The elements of the sessions that are over in a span: place, the session's end, the session's number.

    Sessions are numbered in the order of their ends; those that end together, in the order of their subjects.
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
    """The ends of sessions as rows of a timeline: each is an instant."""
    columns = ["over AS time", f"{number} AS turn", "session AS ending", "1 AS tick"]
    return select(columns, sessions, distinct=True)


def session_window_sql(sessions: str, elements: str, moves: str, more: Sequence[str] = ()) -> str:
    """The rows of a window on sessions: each holds only at the instant of its session.

    If the same triple comes several times in a session, only the last one is a row. The next element with the
    same triple does not tell: what elements of several subjects entail may be the same, and with PER SUBJECT
    the next one may be in another session. Elements that are never compared have no next one.
    """
    kept = (*more, *COLUMNS)
    triple = ", ".join(f"e.{name}" for name in (*more, "s", "p", "o"))
    columns = [f"e.{name}" for name in (*kept, "next_place")]
    columns += [f"m.instant AS {INTERVAL[0]}", f"m.instant + 1 AS {INTERVAL[1]}"]
    # One element may entail the same triple twice; the last of these is the one without a next one.
    last_first = "e.place DESC, e.next_place DESC NULLS FIRST"
    columns.append(f"row_number() OVER (PARTITION BY x.session, {triple} ORDER BY {last_first}) AS later")
    source = (
        f"{elements} AS e JOIN {sessions} AS x ON x.place = e.place JOIN {moves} AS m ON m.ending = x.session"
    )
    return select(
        [*kept, *INTERVAL], nested(select(columns, source), "e"), ["next_place IS NULL OR later = 1"]
    )


def window_sql(window: Window, elements: str, moves: str | None = None, more: Sequence[str] = ()) -> str:
    """The rows of a window on followed elements.

    Without `moves`, the ends of the window are instants themselves; that is possible for a logical window.
    Otherwise `moves` is a table (ending, instant): the first instant at which the window has this end.
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
    never = 2**62  # the element has not left yet
    until = f"COALESCE(b.instant, {never})"
    columns = [*(f"e.{name}" for name in kept), f"a.instant AS {first}", f"{until} AS {last}"]
    return select(columns, source, ["e.entry < e.leaving", f"a.instant < {until}"])


def held_sql(window: LogicalWindow, elements: str) -> str:
    """The distinct intervals of time for which a window holds an element."""
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
    """The moves of a window, by its number in the query, up to a time, as rows of a timeline.

    If the window `ticks`, its moves after the time `after` are ticks.
    """
    tick = f"CASE WHEN time > {after} THEN 1 ELSE 0 END" if ticks else "0"
    columns = ["time", f"{number} AS turn", "place AS ending", f"{tick} AS tick"]
    # All triples of a graph have the same place.
    moved = [f"place % {window.step} = 0", f"time <= {until}"]
    return select(columns, elements, moved, distinct=window.graphs)


def timeline_sql(parts: Sequence[str]) -> str:
    """The timeline: all moves, bounds and ticks in the order of (time, turn, ending), each with its instant.

    Several evaluations can have the same time, so ticks are numbered, and this number is the instant. The
    instant of a row is the number of the first tick that is not before it.
    """
    before = "sum(tick) OVER (ORDER BY time, turn, ending ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    instant = f"CAST(1 + COALESCE({before}, 0) AS BIGINT) AS instant"
    return select(["time", "turn", "ending", "tick", instant], nested("\nUNION ALL\n".join(parts), "events"))


def stream_time(number: int) -> str:
    """The column of the time of a triple of the default graph in the window of that number."""
    return f"time_{number}"


def default_rows(
    windows: Sequence[tuple[int, str]], timed: bool, where: Sequence[str] = (), alias: str = "w"
) -> str:
    """The rows of several windows, given by number and table; if `timed`, with the time in each window."""
    parts = []
    for number, table in windows:
        columns = [f"{alias}.{name}" for name in (*COLUMNS, *INTERVAL)]
        for other, _ in windows if timed else ():
            time = f"{alias}.time" if other == number else "CAST(NULL AS BIGINT)"
            columns.append(f"{time} AS {stream_time(other)}")
        parts.append(select(columns, f"{table} AS {alias}", where))
    return "\nUNION ALL\n".join(parts)


def among(predicates: Sequence[str] | None, dialect: Dialect, negated: bool = False) -> list[str]:
    """The condition that the predicate of a row w is one of these; None stands for all predicates."""
    if predicates is None:
        return ["FALSE"] if negated else []
    listed = ", ".join(map(dialect.string, predicates))
    if not listed:
        return [] if negated else ["FALSE"]
    return [f"w.p {'NOT IN' if negated else 'IN'} ({listed})"]


def static_too_sql(rows: str, static: str) -> str:
    """The triples of windows that are also in the static default graph; both are given as a SELECT."""
    triples = [f"w.{name}" for name in "spo"]
    return select(
        triples, f"{nested(rows, 'w')} JOIN {nested(static, 'd')} ON {same('d', 'w', 'spo')}", distinct=True
    )


def without_sql(rows: str, columns: Sequence[str], triples: str) -> str:
    """The rows whose triple is not in the table `triples`."""
    return select([f"w.{name}" for name in columns], nested(rows, "w"),
                  [f"NOT EXISTS (SELECT 1 FROM {triples} AS x WHERE {same('x', 'w', 'spo')})"])  # fmt: skip


def disjoint(rows: str, times: Sequence[str]) -> str:
    """Rows without overlapping intervals of the same triple.

    Rows of a triple are cut wherever another one begins or ends. Rows that then have the same interval become
    one row, with the latest of each of their times.
    """
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
