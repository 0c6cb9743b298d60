"""Incremental evaluation of CQELS-QL: a batch looks only at new elements, and at old ones linked to them.

A monotone query needs no more, since each of its new solutions has a new element. For a query that groups,
a worker keeps the parts of its groups between batches, each with the time until which its elements are in
their windows. In a batch, some parts leave; these are looked at one by one. All other parts are there at
all ticks of the batch: they were aggregated before, for *panes* of the times at which they leave. So
nothing is ever subtracted from an aggregate. All of this is a cache: if it is empty, everything is found
again from the live elements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from rheos.algebra.streams import AllWindow, CqelsQuery, RangeWindow
from rheos.optimize.flows import Size
from rheos.optimize.links import Links, NotKept
from rheos.runtime.cqels.buckets import in_buckets, instants_of
from rheos.runtime.cqels.prepared import (
    PARTS,
    Prepared,
    WindowSize,
    different_values,
    observed_sizes,
    planned,
    planned_groups,
    streams_of,
)
from rheos.runtime.cqels.ticks import Arrived, Ticks, held_by, leaving, ticks_of
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import AS_WRITTEN, Database
from rheos.runtime.worker.links import first_place, terms_of, up_to
from rheos.sources.times import FOREVER, NEVER
from rheos.sql.csparql import INSTANTS
from rheos.sql.grouped import KeptGroups
from rheos.sql.patterns import KEPT
from rheos.sql.relation import INTERVAL, clause_name, nested, select

# The number of panes in a window.
PANES = 256
# A table is written anew, without rows that have left, when it has twice as many rows as the last time that
# it was written anew, and so many more.
LEAST_GROWTH = 10_000

FROM, UNTIL = INTERVAL
LEAVES, PANE = "leaves", "pane"


@dataclass
class Found:
    """What a worker keeps for a query: the parts of groups of all elements up to the time `until`; in each
    stream that is up to the place `last`."""

    table: str
    unseen: Mapping[str, int]  # how many elements of each stream came before the query
    until: int = NEVER
    last: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # rows of the tables when they were last written anew

    @property
    def panes(self) -> str:
        return f"{self.table}_panes"

    @property
    def tables(self) -> tuple[str, ...]:
        return self.table, self.panes

    def usable(self, table: str, after: int, unseen: Mapping[str, int], first: Mapping[str, int]) -> bool:
        """Whether this can be used: it belongs to the query with that table, has nothing from after the
        beginning of the span, and has no elements that the query must no longer see. `first` are the places
        of the first live elements."""
        if self.table != table or not NEVER < self.until <= after:
            return False
        return all(
            count <= self.unseen.get(stream, 0) or count < first[stream] for stream, count in unseen.items()
        )


@dataclass(frozen=True, slots=True)
class Incremental:
    """The evaluation of queries with the cache of a worker. `elements` are the live elements of each stream
    with their places, `static` the sizes of the tables of static parts."""

    cache: Cache
    elements: Mapping[str, pa.Table]
    database: Database
    static: Mapping[str, Size]

    def rows(
        self,
        prepared: Prepared,
        span: tuple[int, int],
        unseen: Mapping[str, int],
        constants: pa.Table | None,
        name: str,
    ) -> tuple[pa.Table, str] | None:
        """The new rows of a span, and the flow by which they were found. None if all live elements must be
        looked at."""
        query, links = prepared.query, prepared.links
        streams = streams_of(query)
        if span[0] == NEVER or isinstance(links, NotKept):
            return None
        found = None if prepared.monotone else self.found(prepared, span[0], unseen, constants, name)
        arrived = self.arrived(streams, links, span, unseen, None if found is None else found.last)
        ticks = ticks_of(arrived, query.windows, *span)
        held = [held_by(clause, arrived[clause.stream], ticks) for clause in query.windows]
        sizes = [WindowSize(len(window.start), window.old, different_values(window)) for window in held]
        observed = observed_sizes(prepared, sizes, 1, constants, self.static, self.database)
        first = 0 if found is not None and ticks.before != NEVER else 1
        self.database.put(INSTANTS, instants_of(ticks, first, FOREVER))
        for number, window in enumerate(held, start=1):
            rows = in_buckets(window, FOREVER, clipped=False)
            for part in PARTS:
                self.database.put(clause_name(number, part), rows.part(part))
        if found is None:
            statement, flow = planned(prepared, observed, self.database.dialect)
            return self.database.new(statement), flow
        fill, groups, statement, flow = planned_groups(prepared, observed, self.database.dialect)
        if not ticks.count:
            return self.database.nothing_new(statement), flow
        parts = Parts(found, groups, ticks, pane_width(query), self.database)
        parts.show(fill)
        new = self.database.new(statement)
        parts.keep()
        found.until = span[1]
        for stream in streams:
            elements = self.elements[stream]
            found.last[stream] = first_place(elements) + up_to(elements, span[1]) - 1
        return new, flow

    def found(
        self,
        prepared: Prepared,
        after: int,
        unseen: Mapping[str, int],
        constants: pa.Table | None,
        name: str,
    ) -> Found:
        """What is kept under a name, if it can be used for this query; otherwise a new, empty object."""
        members = None if constants is None else constants.to_pylist()
        own = hashlib.blake2b(repr((name, prepared, members)).encode(), digest_size=8).hexdigest()
        table = f"kept_{own}"
        first = {stream: first_place(self.elements[stream]) for stream in streams_of(prepared.query)}
        found = self.cache.queries.get(name)
        if not isinstance(found, Found) or not found.usable(table, after, unseen, first):
            self.cache.forget(name)
            found = self.cache.queries[name] = Found(table, dict(unseen))
        return found

    def arrived(
        self,
        streams: Sequence[str],
        links: Links,
        span: tuple[int, int],
        unseen: Mapping[str, int],
        last: Mapping[str, int] | None,
    ) -> dict[str, Arrived]:
        """The elements of its streams that a query has to look at: those that are new to it, and older ones
        that are linked to a new one. The query knows the elements up to the places `last`; without `last`,
        all those before the span."""
        rows = {}
        for stream in streams:
            elements = self.elements[stream]
            low = first_place(elements)
            begin = max(0, unseen.get(stream, 0) + 1 - low)
            old, end = (max(begin, up_to(elements, time)) for time in span)
            known = old if last is None else min(end, max(begin, last.get(stream, 0) + 1 - low))
            rows[stream] = begin, known, old, end
        new = {
            stream: self.elements[stream].slice(known, end - known)
            for stream, (_, known, _, end) in rows.items()
        }
        terms = terms_of(links, new.values(), self.database)
        found = {}
        for stream, (begin, known, old, end) in rows.items():
            elements = self.elements[stream]
            index = self.cache.index(stream)
            before = (
                index.rows(terms, elements, begin, known, self.database) if terms else elements.slice(0, 0)
            )
            seen = pa.concat_tables([before, new[stream]])
            time = elements.column("time")[old - 1].as_py() if old > begin else NEVER
            found[stream] = Arrived(
                seen.select(["s", "p", "o"]),
                seen.column("time").to_numpy(),
                len(seen) - (end - old),
                time,
                len(before),
            )
        return found


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the groups of a query, for the ticks of a batch. `width` is the length of a pane
    (microseconds)."""

    found: Found
    groups: KeptGroups
    ticks: Ticks
    width: int
    database: Database

    @property
    def columns(self) -> list[str]:
        return [*self.groups.by, *self.groups.again]

    @property
    def last(self) -> int:
        return int(self.ticks.time[-1])

    def show(self, fill: str) -> None:
        """Make a view (`KEPT`) of the parts that hold at some tick of the batch: those that new elements
        make, and those of elements that were there before."""
        fresh, shown = f"{self.found.table}_fresh", f"{self.found.table}_shown"
        with self.database.set(fill, AS_WRITTEN):
            self.database.make(fresh, fill)
        end = f"least({UNTIL}, {self.ticks.count + 1}) AS {UNTIL}"
        parts = [select([*self.columns, FROM, end], fresh)]
        if self.found.until != NEVER:
            parts += [self.leaving(), self.staying()]
        self.database.make(shown, "\nUNION ALL\n".join(parts))
        self.database.view(KEPT, f"SELECT * FROM {shown}")

    def leaving(self) -> str:
        """The parts that are there before the batch, and leave before its last tick."""
        gone = [f"{LEAVES} >= {self.ticks.before}", f"{LEAVES} < {self.last}"]
        times = (
            self.database.ask(select([LEAVES], self.found.table, gone, distinct=True)).column(0).to_numpy()
        )
        ends = np.searchsorted(self.ticks.time, times, side="right") + 1
        self.database.put("ends", pa.table({"time": times, UNTIL: ends}))
        source = f"{nested(select(['*'], self.found.table, gone), 'p')} JOIN ends ON ends.time = p.{LEAVES}"
        return select([*(f"p.{name}" for name in self.columns), f"0 AS {FROM}", f"ends.{UNTIL}"], source)

    def staying(self) -> str:
        """The parts that are there at all ticks, merged by group: all of the panes after the one of the last
        tick, and those parts of that pane that leave after the last tick."""
        pane = self.last // self.width
        near = [f"{LEAVES} >= {self.last}", f"{LEAVES} < {min((pane + 1) * self.width, FOREVER)}"]
        rows = "\nUNION ALL\n".join(
            [
                select(self.columns, self.found.panes, [f"{PANE} > {pane}"]),
                select(self.columns, self.found.table, near),
            ]
        )
        columns = [*self.merged(), f"0 AS {FROM}", f"{self.ticks.count + 1} AS {UNTIL}"]
        return select(columns, nested(rows, "p"), tail=self.grouping())

    def merged(self) -> list[str]:
        return [*self.groups.by, *(f"{sql} AS {name}" for name, sql in self.groups.again.items())]

    def grouping(self, *more: str) -> str:
        by = [*self.groups.by, *more]
        return f"GROUP BY {', '.join(by)}" if by else "HAVING count(*) > 0"

    def keep(self) -> None:
        """Keep the new parts that the next batch still sees. They are sorted by the time of leaving, so that
        DuckDB finds those that leave in a batch without reading all of them."""
        leaves = f"{UNTIL} + {leaving(self.ticks)} AS {LEAVES}"
        new = select([*self.columns, leaves], f"{self.found.table}_fresh", [f"{UNTIL} > {self.ticks.count}"])
        self.add(self.found.table, f"{new}\nORDER BY {LEAVES}")
        self.add(self.found.panes, self.in_panes(nested(new, "n"), f"{LEAVES} // {self.width}"))
        live = select(["*"], self.found.table, [f"{LEAVES} >= {self.last}"], tail=f"ORDER BY {LEAVES}")
        self.write_anew(self.found.table, live)
        later = nested(select(["*"], self.found.panes, [f"{PANE} > {self.last // self.width}"]), "n")
        self.write_anew(self.found.panes, self.in_panes(later, PANE))

    def in_panes(self, source: str, pane: str) -> str:
        return select([*self.merged(), f"{pane} AS {PANE}"], source, tail=self.grouping(pane))

    def add(self, table: str, sql: str) -> None:
        if self.found.until != NEVER:
            self.database.run(f"INSERT INTO {table} {sql}")
            return
        self.database.run(f"CREATE OR REPLACE TABLE {table} AS {sql}")
        self.found.sizes[table] = self.count(table)

    def write_anew(self, table: str, sql: str) -> None:
        """Write a table anew, without rows that have left, if it has grown much."""
        rows = self.count(table)
        if rows >= 2 * self.found.sizes.get(table, 0) + LEAST_GROWTH:
            self.database.run(f"CREATE OR REPLACE TABLE {table} AS {sql}")
            self.found.sizes[table] = self.count(table)

    def count(self, table: str) -> int:
        rows: int = self.database.ask(f"SELECT count(*) FROM {table}").column(0)[0].as_py()
        return rows


def pane_width(query: CqelsQuery) -> int:
    """The length of a pane, in microseconds. Elements that never leave are all in one pane."""
    ranges = [clause.window.range for clause in query.windows if isinstance(clause.window, RangeWindow)]
    assert all(isinstance(clause.window, RangeWindow | AllWindow) for clause in query.windows)
    return max(1, max(ranges, default=FOREVER) // PANES)
