"""The evaluation of continuous queries on a batch: the live elements of streams and a span of time come in,
the answers of all the instants in it go out.

A pure function: what it gives depends on the elements, the static data and the span, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rheos.algebra.entailment import asked_of
from rheos.algebra.streams import Continuous, LogicalWindow, PhysicalWindow
from rheos.optimize.static_parts import Derivations, derivations_for
from rheos.runtime.instants import (
    End,
    Interval,
    Marks,
    last_instant,
    next_multiple,
    periods,
    reporting,
    visible,
)
from rheos.runtime.place import DuckPlace, Place
from rheos.runtime.tables import Tables, digest
from rheos.sql import windows as sql
from rheos.sql.context import DEFAULT_WINDOW, STATIC_TOO
from rheos.sql.continuous import INSTANTS, ContinuousStatement, compile_continuous, window_name
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB

__all__ = ["Answers", "Batch", "DuckPlace", "Evaluation", "Place"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A continuous query, compiled: made once when it is registered, run for every batch."""

    query: Continuous
    statement: ContinuousStatement
    derivations: Derivations | None = None  # what the elements of its streams entail
    view: bool = False  # of the instants of a batch only the last is of interest

    @classmethod
    def of(cls, query: Continuous, dialect: Dialect = DUCKDB, *, view: bool = False) -> Evaluation:
        derivations = derivations_for(query.query, asked_of(query.query))
        return cls(query, compile_continuous(query, dialect), derivations, view)

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(window.stream for window in self.query.windows)

    @property
    def sees(self) -> Hashable:
        """What of its streams it looks at: evaluations with the same need the same elements."""
        return self.query.windows

    def end(self, ends: Mapping[str, End]) -> int | None:
        """Where the clock goes when all streams have ended, given the ends of those that had any elements;
        None where none had."""
        return last_instant(self.query, ends)

    def due(self, after: int, until: int) -> bool:
        """Whether there can be an instant between two times, so that it is worth looking."""
        if after >= until:
            return False
        windows = (window.window for window in self.query.windows)
        counted = self.query.every is None and any(isinstance(w, PhysicalWindow) for w in windows)
        return counted or any(next_multiple(after + 1, period) <= until for period in periods(self.query))

    def live(self, stream: str, elements: Mapping[str, pa.Table], until: int) -> Marks:
        """Which elements of a stream an instant after a time can still see."""
        time, place = (elements[stream].column(name).to_numpy() for name in ("time", "place"))
        kept = np.zeros(len(time), dtype=bool)
        for window in self.query.windows:
            if window.stream == stream:
                kept |= visible(self.query, window.window, time, place, until)
        return kept


class Answers(NamedTuple):
    """What a query reports: its instants (instant, at), also those with no row, and the rows (instant, at,
    columns), both in order."""

    instants: pa.Table
    rows: pa.Table


class Batch:
    """The evaluation of all the queries of a group on one batch: what one of them needs that another has made
    is used again.

    `elements` are the tables (s, p, o, time, place) of the streams, which have the elements that are in a
    window at one of the instants of the batch, and may have more. `place` numbers the elements of a stream
    from 1 by time and arrival; it is final for those that are not after the batch. `kept` are the tables of
    derivations that are not empty, which the place has.
    """

    def __init__(self, place: Place, elements: Mapping[str, str], kept: frozenset[str] = frozenset()) -> None:
        self.place = place
        self.kept = kept
        self.tables = Tables(place, elements)
        self._instants: dict[str, pa.Table] = {}

    def answers(
        self, evaluation: Evaluation, after: int, until: int, since: Mapping[str, int] | None = None
    ) -> Answers:
        """The answers at the instants with after < at <= until.

        `since` has, for a query that was registered later, how many elements of a stream came before it.
        """
        query, tables = evaluation.query, self.tables
        seen = [
            tables.seen(window.stream, window.window, (since or {}).get(window.stream, 0))
            for window in query.windows
        ]
        name = digest("instants", query.windows, query.every, seen, after, until)
        physical = any(isinstance(window.window, PhysicalWindow) for window in query.windows)
        if name not in self._instants:
            times = self.times(query, seen, after, until)
            self._instants[name] = self.ticks(name, query, seen, times, after, until) if physical else (
                pa.table({"instant": times, "at": times})
            )  # fmt: skip
        instants = self._instants[name]
        if evaluation.view:
            instants = instants.slice(max(0, len(instants) - 1))
        if not len(instants):
            return Answers(instants, nothing(evaluation.statement))
        found = []
        by = evaluation.derivations.table if evaluation.derivations is not None else None
        by = by if by in self.kept else None
        for number, window in enumerate(query.windows, start=1):
            # What is entailed is in a window with the elements that entail it: it moves with these alone.
            all_of = tables.entailed(window.stream, by)
            elements = tables.seen(window.stream, window.window, (since or {}).get(window.stream, 0), all_of)
            moves = self.moves(name, number, window.window) if physical else None
            found.append((number, all_of, tables.window(window.window, elements, moves)))
            tables.show(window_name(number), found[-1][-1])
        default = [part for window, part in zip(query.windows, found, strict=True) if not window.named]
        if default:
            whole, both = tables.default(default, query.query.dataset, evaluation.statement.timed)
            tables.show(DEFAULT_WINDOW, whole)
            tables.show(STATIC_TOO, both)
        at = instants.column("at").to_numpy()
        turn = np.arange(len(at)) - np.searchsorted(at, at)
        self.place.put(INSTANTS, instants.append_column("turn", pa.array(turn, pa.int64())))
        return Answers(instants, self.place.rows(evaluation.statement, len(instants)))

    def times(self, query: Continuous, seen: list[str], after: int, until: int) -> np.ndarray:
        """The times in the span at which the query is evaluated by the clock."""
        held: list[Interval] = []
        for window, elements in zip(query.windows, seen, strict=True):
            if isinstance(window.window, LogicalWindow):
                held += self.tables.held(window.window, elements)
            else:
                held += self.tables.first_move(window.window, elements, until)
        return reporting(query, held, after, until)

    def ticks(
        self, name: str, query: Continuous, seen: list[str], times: np.ndarray, after: int, until: int
    ) -> pa.Table:
        """The evaluations of a query that has physical windows. It moves with these, unless it says COMPUTED
        EVERY, and at equal times they come before the clock; its timeline is made for `moves`."""
        parts, changes = [], [np.empty(0, np.int64)]
        for number, (window, elements) in enumerate(zip(query.windows, seen, strict=True), start=1):
            if isinstance(window.window, LogicalWindow):
                changes.append(np.array(self.tables.held(window.window, elements), np.int64).ravel())
            else:
                ticks = query.every is None
                parts.append(sql.moves_sql(number, window.window, elements, after, until, ticks))
        change = np.unique(np.concatenate(changes))
        clock = pa.table(
            {
                "time": np.concatenate([change, times]),
                "turn": np.repeat([0, len(seen) + 1], [len(change), len(times)]),
                "ending": np.zeros(len(change) + len(times), np.int64),
                "tick": np.repeat([0, 1], [len(change), len(times)]),
            }
        )
        self.place.put(f"clock_{name}", clock)
        parts.append(f"SELECT time, turn, ending, tick FROM clock_{name}")
        self.place.make(f"timeline_{name}", sql.timeline_sql(parts))
        return self.place.ask(
            f"SELECT instant, time AS at FROM timeline_{name} WHERE tick = 1 ORDER BY instant"
        )

    def moves(self, name: str, number: int, window: LogicalWindow | PhysicalWindow) -> str:
        """The view (ending, instant) of where a window has its end from which instant on."""
        logical = isinstance(window, LogicalWindow)
        moves = f"moves_{0 if logical else number}_{name}"
        if self.tables.new(moves):
            ending, turn = ("time", 0) if logical else ("ending", number)
            columns = f"{ending} AS ending, instant"
            self.place.view(moves, f"SELECT {columns} FROM timeline_{name} WHERE turn = {turn}")
        return moves


def nothing(statement: ContinuousStatement) -> pa.Table:
    """The rows of no instants."""
    numbers = {name: pa.array([], pa.int64()) for name in ("instant", "at")}
    kind = pa.bool_() if statement.asks else pa.string()
    return pa.Table.from_arrays(
        [*numbers.values(), *(pa.array([], kind) for _ in statement.columns)],
        names=[*numbers, *statement.columns],
    )
