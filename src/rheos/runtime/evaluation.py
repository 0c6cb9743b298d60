"""The evaluation of continuous queries on a batch: the live elements of streams and a span of time come in,
the answers of all the instants in it go out.

A pure function: what it gives depends on the elements, the static data and the span, and on nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rheos.algebra.streams import Continuous, StreamWindow
from rheos.runtime.instants import Interval, last_instant, reporting, visible
from rheos.runtime.place import DuckPlace, Place
from rheos.sql.context import DEFAULT_WINDOW
from rheos.sql.continuous import INSTANTS, ContinuousStatement, compile_continuous, window_name
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.windows import default_sql, held_sql, since_sql, window_sql

__all__ = ["Answers", "Batch", "DuckPlace", "Evaluation", "Place", "retained"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A continuous query, compiled: made once when it is registered, run for every batch."""

    query: Continuous
    statement: ContinuousStatement

    @classmethod
    def of(cls, query: Continuous, dialect: Dialect = DUCKDB) -> Evaluation:
        return cls(query, compile_continuous(query, dialect))

    def end(self, last: Mapping[str, int]) -> int | None:
        """Where the clock goes when all streams have ended, given the time of the last element of each stream
        that had any; None where none had."""
        return last_instant(self.query, last)


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
    from 1 by time and arrival; it is final for those that are not after the batch.
    """

    def __init__(self, place: Place, elements: Mapping[str, str]) -> None:
        self.place = place
        self.elements = elements
        self._made: set[str] = set()
        self._shown: dict[str, str] = {}
        self._held: dict[str, list[Interval]] = {}

    def answers(
        self, evaluation: Evaluation, after: int, until: int, since: Mapping[str, int] | None = None
    ) -> Answers:
        """The answers at the instants with after < at <= until.

        `since` has, for a query that was registered later, how many elements of a stream came before it.
        """
        query = evaluation.query
        windows = []
        held: list[Interval] = []
        for number, window in enumerate(query.windows, start=1):
            elements = self.seen(window, (since or {}).get(window.stream, 0))
            windows.append((window, self.window(window, elements)))
            self.show(window_name(number), windows[-1][1])
            held += self.held(window, elements)
        default = [(window, table) for window, table in windows if not window.named]
        if default:
            self.show(DEFAULT_WINDOW, self.default(default))
        times = reporting(query, held, after, until)
        instants = pa.table({"instant": times, "at": times})
        self.place.put(INSTANTS, instants)
        return Answers(instants, self.place.rows(evaluation.statement))

    def seen(self, window: StreamWindow, since: int) -> str:
        """The table of the elements of a stream that a query sees."""
        elements = self.elements[window.stream]
        if not since:
            return elements
        name = digest("elements", elements, since)
        if name not in self._made:
            self._made.add(name)
            self.place.view(name, since_sql(elements, since))
        return name

    def window(self, window: StreamWindow, elements: str) -> str:
        name = digest("window", elements, window.window)
        if name not in self._made:
            self._made.add(name)
            self.place.make(name, window_sql(window, elements))
        return name

    def default(self, windows: list[tuple[StreamWindow, str]]) -> str:
        name = digest("default", *(table for _, table in windows))
        if name not in self._made:
            self._made.add(name)
            self.place.make(name, default_sql(windows, self.place.dialect))
        return name

    def held(self, window: StreamWindow, elements: str) -> list[Interval]:
        """The intervals in which a logical window holds something."""
        name = digest("held", elements, window.window)
        if name not in self._held:
            found = self.place.ask(held_sql(window, elements))
            self._held[name] = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        return self._held[name]

    def show(self, name: str, table: str) -> None:
        """Give a table the name by which statements know it."""
        if self._shown.get(name) != table:
            self._shown[name] = table
            self.place.view(name, f"SELECT * FROM {table}")


def digest(kind: str, *parts: object) -> str:
    """The name of a table that is made from these parts."""
    return f"{kind}_{hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()}"


def retained(evaluations: Iterable[tuple[Evaluation, int]], stream: str, elements: pa.Table) -> pa.Table:
    """Of a stream's elements those that an instant after the time given with an evaluation can still see."""
    time, place = (elements.column(name).to_numpy() for name in ("time", "place"))
    kept = np.zeros(len(elements), dtype=bool)
    for evaluation, until in evaluations:
        for window in evaluation.query.windows:
            if window.stream == stream:
                kept |= visible(window.window, time, place, until)
    return elements.filter(pa.array(kept))
