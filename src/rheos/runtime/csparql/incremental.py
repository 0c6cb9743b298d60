"""Incremental evaluation: a worker keeps the solutions of a query of C-SPARQL between micro-batches.

A batch finds only the solutions with a new element (`optimize/incremental.py`). It adds them, or the parts of
groups that they make, to a table of DuckDB, and asks that table for the answers at its instants. All of this
is a cache. If the cache is empty, the same statements find everything again from the live elements, which are
then all new. So answers do not depend on which worker has evaluated which batch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rheos.algebra.nodes import GraphPart, TriplePattern
from rheos.algebra.streams import LogicalWindow
from rheos.optimize.incremental import links, of_kept, patterns, predicate, source, with_new
from rheos.runtime.csparql.instants import Interval, merged, reporting
from rheos.runtime.csparql.overload import answered
from rheos.runtime.csparql.repeats import Repeats, shared
from rheos.runtime.csparql.sharding import with_turns
from rheos.runtime.csparql.windows import digest
from rheos.runtime.operator import Answers, Span
from rheos.runtime.worker.links import Hashes, first_place, terms_of, up_to
from rheos.sources.times import NEVER
from rheos.sql import windows as sql
from rheos.sql.context import DEFAULT_WINDOW
from rheos.sql.csparql import INSTANTS, CSparqlStatement, compile_kept, window_name
from rheos.sql.patterns import KEPT
from rheos.sql.relation import INTERVAL, nested, select
from rheos.sql.scans import part_name, static_default

if TYPE_CHECKING:
    from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
    from rheos.runtime.worker.workbench import Workbench

PARTS: tuple[GraphPart, ...] = ("all", "old", "new")
# Where the interval of an element begins if it never counts, because the static graph has the same triple
# always.
NEVER_BEGINS = 2**62
# The table is written anew, without solutions that have ended, when it has twice as many rows as the last
# time that it was written anew, and so many more.
LEAST_GROWTH = 10_000


@dataclass
class Found:
    """What a worker has found for a query so far. The table named `table` has the solutions, or parts of
    groups, of all elements up to the time `until`. Those that have ended by the time `forgotten` may be
    missing."""

    table: str
    forgotten: int
    unseen: Mapping[str, int]  # how many elements of each stream came before the query
    until: int = NEVER
    last: dict[str, int] = field(default_factory=dict)  # of each stream, the place of the last element
    held: list[Interval] = field(default_factory=list)  # the intervals in which some window is not empty
    static_too: dict[str, list[int]] = field(default_factory=dict)  # places of triples that are static, too
    statements: dict[tuple[bool, ...], tuple[str, CSparqlStatement]] = field(default_factory=dict)
    rows: int = 0  # the rows of the table when it was last written anew

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table,)


class Incremental:
    """The evaluation of one query for one span, with the solutions that are kept."""

    def __init__(self, operator: CSparqlOperator, bench: Workbench, batch: CSparqlBatch, name: str) -> None:
        self.operator = operator
        self.query = operator.query
        self.batch = batch
        self.database = batch.database
        assert bench.cache is not None
        self.cache = bench.cache
        self.elements = {stream: bench.elements[stream] for stream in operator.streams}
        self.query_name = name
        # The statement does not tell windows apart: they are views.
        self.name = digest("kept", name, operator.statement.sql, self.query.windows, self.query.every)

    def answers(self, span: Span) -> Answers | None:
        """What the query reports; None if it has to be evaluated on all live elements."""
        memories = {stream: self.memory(stream, span) for stream in self.elements}
        inside = [w.stream for w in self.query.windows if not w.named]
        if shared([memories[stream] for stream in inside]):
            return None  # the default graph is a set of triples, and two windows may have the same triple
        found = self.found(span)
        unseen = span.unseen
        if found.until < span.until:
            self.add(found, span, unseen, memories)
        found.held = [interval for interval in found.held if interval[1] > span.after]
        found.forgotten = max(found.forgotten, span.after)
        times = reporting(self.query, found.held, span.after, span.until)
        instants = pa.table({"instant": times, "at": times})
        skipped = instants.slice(0, max(0, len(instants) - 1) if self.query.stretched else 0)
        instants = instants.slice(len(skipped))
        statement = self.statement(found, memories)[1]
        if not len(instants):
            from rheos.runtime.csparql.operator import nothing

            return answered(self.query, Answers(instants, nothing(statement)))
        self.batch.tables.show(KEPT, self.name)
        self.database.put(INSTANTS, with_turns(instants))
        rows = self.database.rows(statement, len(instants))
        self.forget(found, span.after)
        return answered(self.query, Answers(instants, rows), skipped)

    # --- what is remembered ----------------------------------------------------------------------------

    def memory(self, stream: str, span: Span) -> Repeats:
        """The triples of a stream that come again, up to the end of the span."""
        memory: Repeats = self.cache.streams.setdefault(stream, Repeats())
        memory.take_in(self.elements[stream], span.until, self.database)
        return memory

    def found(self, span: Span) -> Found:
        found = self.cache.queries.get(self.query_name)
        if not isinstance(found, Found) or not self.usable(found, span):
            self.cache.forget(self.query_name)
            found = self.cache.queries[self.query_name] = Found(self.name, span.after, span.unseen)
        return found

    def usable(self, found: Found, span: Span) -> bool:
        """Whether what was found can be used: it belongs to this query, has all solutions that hold after the
        beginning of the span, and has no elements that the query must not see since it was started again."""
        if found.table != self.name or span.after == NEVER or found.forgotten > span.after:
            return False
        return all(
            count <= found.unseen.get(stream, 0) or count < self.first_place(stream)
            for stream, count in span.unseen.items()
        )

    def first_place(self, stream: str) -> int:
        """The place of the first live element of a stream."""
        elements = self.elements[stream]
        return elements.column("place")[0].as_py() if len(elements) else 2**62

    def matches(self, memories: Mapping[str, Repeats], graph: str | None, pattern: TriplePattern) -> bool:
        """Whether a stream has had elements that may match a pattern, judged by their predicates."""
        streams = [
            w.stream for w in self.query.windows if (not w.named if graph is None else source(w) == graph)
        ]
        known, wanted = [memories[stream].predicates for stream in streams], predicate(pattern)
        return any(all_ is None or (bool(all_) if wanted is None else wanted in all_) for all_ in known)

    def statement(self, found: Found, memories: Mapping[str, Repeats]) -> tuple[str, CSparqlStatement]:
        """The SQL that finds the solutions to add, and the statement that then gives the answers. Both leave
        out patterns that no element can match."""
        query = self.operator.kept
        assert query is not None
        asked = patterns(of_kept(query.form.pattern))
        signature = tuple(self.matches(memories, graph, pattern) for graph, pattern in asked)
        signature = (found.until == NEVER, *signature)
        if signature not in found.statements:
            new = with_new(
                query,
                lambda graph, pattern: self.matches(memories, graph, pattern),
                [source(window) for window in self.query.windows],
                first=found.until == NEVER,
            )
            found.statements[signature] = compile_kept(
                replace(self.query, query=new), self.database.dialect, self.operator.compiler
            )
        return found.statements[signature]

    # --- what is new -----------------------------------------------------------------------------------

    def add(
        self, found: Found, span: Span, unseen: Mapping[str, int], memories: Mapping[str, Repeats]
    ) -> None:
        """Find the solutions that the new elements add, and put them into the table."""
        first, last = found.until == NEVER, dict(found.last)
        fill, _ = self.statement(found, memories)
        self.show(found, span.until, unseen, memories, fill)
        if first or found.last != last:
            into = f"CREATE OR REPLACE TABLE {self.name} AS" if first else f"INSERT INTO {self.name}"
            self.database.run(f"{into}\n{fill}")
        found.until = span.until

    def show(
        self,
        found: Found,
        until: int,
        unseen: Mapping[str, int],
        memories: Mapping[str, Repeats],
        fill: str,
    ) -> None:
        """Make the windows on old, new and all elements visible under the names that the
        statement `fill` reads."""
        read = set(re.findall(r"\w+", fill))
        tables, default = self.batch.tables, dict[GraphPart, list[str]]()
        held = list(found.held)
        ends = dict[str, int]()
        terms = self.terms(found, until, memories)
        for number, window in enumerate(self.query.windows, start=1):
            assert isinstance(window.window, LogicalWindow)
            elements, stream = self.elements[window.stream], window.stream
            low = first_place(elements)
            begin = max(0, unseen.get(stream, 0) + 1 - low)
            end = max(begin, up_to(elements, until))
            new = min(end, max(begin, found.last.get(stream, 0) + 1 - low))
            ends[stream] = low + end - 1
            held += times_held(window.window, elements.column("time").slice(new, end - new))
            slices = {"all": (begin, end), "old": (begin, new), "new": (new, end)}
            begins = self.begins(found, number, unseen, memories, elements.slice(new, end - new))
            for part in PARTS:
                shown = part_name(window_name(number), part)
                inside = not window.named and part_name(DEFAULT_WINDOW, part) in read
                if shown not in read and not inside:
                    continue
                start, stop = slices[part]
                name = digest("slice", window.stream, part, start, stop, self.name)
                chosen = elements.slice(start, stop - start)
                if part != "new" and terms is not None:
                    chosen = self.cache.index(stream).rows(terms, elements, begin, new, self.database)
                    if part == "all":
                        chosen = pa.concat_tables([chosen, elements.slice(new, end - new)])
                self.database.put(name, chosen)
                view = digest("kept_window", name, window.window, begins)
                self.database.view(view, kept_window_sql(window.window, name, begins))
                if shown in read:
                    tables.show(shown, view)
                if inside:
                    default.setdefault(part, []).append(view)
        for part, views in default.items():
            whole = digest("kept_default", *views)
            columns = [*sql.COLUMNS, *INTERVAL]
            self.database.view(whole, "\nUNION ALL\n".join(select(columns, view) for view in views))
            tables.show(part_name(DEFAULT_WINDOW, part), whole)
        found.held = [interval for interval in merged(held) if interval[1] > found.forgotten]
        found.last |= ends

    def terms(self, found: Found, until: int, memories: Mapping[str, Repeats]) -> dict[str, Hashes] | None:
        """The terms, by column (s or o) and as hashes, of which an old element must have one to be part of a
        new solution. None if old elements without these terms can be part of one, too, or if there are no old
        elements yet."""
        query = self.operator.kept
        assert query is not None
        linked = links(query, lambda graph, pattern: self.matches(memories, graph, pattern))
        if linked is None or found.until == NEVER:
            return None
        new = []
        for stream, elements in self.elements.items():
            begin = max(0, found.last.get(stream, 0) + 1 - first_place(elements))
            new.append(elements.slice(begin, max(0, up_to(elements, until) - begin)))
        return terms_of(linked, new, self.database)

    def begins(
        self,
        found: Found,
        number: int,
        unseen: Mapping[str, int],
        memories: Mapping[str, Repeats],
        new: pa.Table,
    ) -> str | None:
        """The table (place, begins) of elements that begin to count later than they come, if there are any:
        because the same triple is still in the window. If the static default graph has the triple, the
        element never counts."""
        window = self.query.windows[number - 1]
        assert isinstance(window.window, LogicalWindow)
        place, before, time = memories[window.stream].again.T
        seen = before > unseen.get(window.stream, 0)
        step = window.window.step
        leaves = -(-(time + window.window.delay + window.window.range) // step) * step
        places, later = place[seen], leaves[seen]
        if not window.named:
            static = self.static_too(found, window.stream, memories, new)
            places = np.concatenate([places, np.array(static, np.int64)])
            later = np.concatenate([later, np.full(len(static), NEVER_BEGINS)])
        if not len(places):
            return None
        name = digest("begins", number, self.name)
        self.database.put("beginning", pa.table({"place": places, "begins": later}))
        self.database.make(name, "SELECT place, max(begins) AS begins FROM beginning GROUP BY place")
        return name

    def static_too(
        self, found: Found, stream: str, memories: Mapping[str, Repeats], new: pa.Table
    ) -> list[int]:
        """The places of elements whose triples are in the static default graph, too."""
        first = first_place(self.elements[stream])
        places = found.static_too[stream] = [p for p in found.static_too.get(stream, ()) if p >= first]
        if not len(new):
            return places
        dialect, static = (
            self.database.dialect,
            static_default(self.query.query.dataset, self.database.dialect),
        )
        predicates = memories[stream].predicates
        self.database.put("arrived", new.select(["s", "p", "o", "place"]))
        where = []
        if predicates is not None:
            listed = ", ".join(map(dialect.string, sorted(predicates)))
            asked = select(["p"], nested(static, "d"), [f"p IN ({listed})"], distinct=True)
            both = self.database.ask(asked).column(0).to_pylist()
            if not both:
                return places
            where = [f"a.p IN ({', '.join(map(dialect.string, both))})"]
        same = f"JOIN {nested(static, 'd')} ON d.s = a.s AND d.p = a.p AND d.o = a.o"
        rows = self.database.ask(select(["a.place"], f"arrived AS a {same}", where, distinct=True))
        places += sorted({*rows.column(0).to_pylist()} - {*places})  # two windows may ask for them
        return places

    def forget(self, found: Found, after: int) -> None:
        """If the table has grown much, write it anew without the rows that hold at no
        instant after `after`."""
        rows: int = self.database.ask(f"SELECT count(*) FROM {self.name}").column(0)[0].as_py()
        if rows < 2 * found.rows + LEAST_GROWTH:
            return
        live = select(["*"], self.name, [f"{INTERVAL[1]} > {after}"])
        self.database.run(f"CREATE OR REPLACE TABLE {self.name} AS {live}")
        found.rows = self.database.ask(f"SELECT count(*) FROM {self.name}").column(0)[0].as_py()


def times_held(window: LogicalWindow, times: pa.ChunkedArray) -> list[Interval]:
    """The intervals in which a window holds some element with one of these times."""
    first = np.unique(times.to_numpy()) + window.delay
    bounds = [-(-at // window.step) * window.step for at in (first, first + window.range)]
    different = np.unique(np.stack(bounds, axis=1), axis=0)
    return [(int(entry), int(leaving)) for entry, leaving in different if entry < leaving]


def kept_window_sql(window: LogicalWindow, elements: str, begins: str | None) -> str:
    """The rows of a window: an element counts from when it enters the window, or later if the table `begins`
    says so, until it leaves."""
    entry, leaving, _ = sql.bounds(window)
    first, last = INTERVAL
    if begins is None:
        staying = select([*sql.COLUMNS, f"{entry} AS {first}", f"{leaving} AS {last}"], elements)
    else:
        placed = select([*sql.COLUMNS, "place", f"{entry} AS entry", f"{leaving} AS {last}"], elements)
        begin = f"greatest(e.entry, COALESCE(b.begins, e.entry)) AS {first}"
        columns = [*(f"e.{name}" for name in sql.COLUMNS), begin, f"e.{last}"]
        staying = select(columns, f"{nested(placed, 'e')} LEFT JOIN {begins} AS b ON b.place = e.place")
    return select([*sql.COLUMNS, *INTERVAL], nested(staying, "w"), [f"{first} < {last}"])
