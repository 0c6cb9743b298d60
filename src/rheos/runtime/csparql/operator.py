"""C-SPARQL: the answers of a query at all the instants of a span of time.

The answers depend only on the elements, the static data and the span.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.entailment import Schema, asked_of, schema_of
from rheos.algebra.nodes import Events, Node, Query
from rheos.algebra.rewrite import below
from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, SessionWindow, Window
from rheos.execute.database import is_large, many_joins
from rheos.optimize.incremental import kept
from rheos.optimize.links import NotKept
from rheos.optimize.sharding import Uncut
from rheos.optimize.static_parts import Derivations, Part, derivations_for
from rheos.runtime.csparql.incremental import Incremental
from rheos.runtime.csparql.instants import (
    Interval,
    closings,
    last_evaluation,
    last_instant,
    periods,
    reporting,
    seen_last,
    visible,
)
from rheos.runtime.csparql.overload import answer_columns, answered, gives_up
from rheos.runtime.csparql.sharding import CSparqlShards, with_turns
from rheos.runtime.csparql.windows import Tables, digest
from rheos.runtime.operator import Answers, Count, End, Marks, Operator, Span, Times, next_multiple
from rheos.runtime.plan import Registered
from rheos.runtime.sharding import MAKER, Shard, Sharding, by_variable
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.made_up import made_up
from rheos.runtime.worker.workbench import TABLE_QUERIES, Workbench
from rheos.sql import windows as sql
from rheos.sql.context import DEFAULT_WINDOW, STATIC_TOO
from rheos.sql.csparql import INSTANTS, CSparqlStatement, compile_csparql, window_name
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.patterns import Compiler
from rheos.sql.rspql import NUMBER
from rheos.sql.sharding import set_shard


@dataclass(frozen=True, slots=True)
class CSparqlOperator(Operator):
    """A query of C-SPARQL, compiled."""

    query: CSparqlQuery
    statement: CSparqlStatement
    shards: CSparqlShards | Uncut
    keeping: Query | NotKept  # the query with a mark on the part whose solutions are kept between batches
    derivations: Derivations | None = None  # what the elements of its streams entail
    view: bool = False  # of the instants of a batch, only the last is evaluated

    language = "C-SPARQL"
    compiler: ClassVar[type[Compiler]] = Compiler

    @classmethod
    def of(cls, query: CSparqlQuery, dialect: Dialect = DUCKDB, *, view: bool = False) -> Self:
        derivations = derivations_for(query.query, asked_of(query.query))
        shards: CSparqlShards | Uncut
        if derivations is not None:
            shards = Uncut("what elements entail may have other terms")
        elif has_events(query.query.form.pattern):
            shards = Uncut("events may happen in the window that are of other shards")
        elif query.has_sessions:
            shards = Uncut("a session is made of elements of all shards")
        elif query.estimates:
            shards = Uncut("how far estimates are off depends on the samples of all shards")
        elif query.stretched:
            shards = Uncut("which instants are skipped is decided once")
        elif query.compares:
            shards = Uncut(f"{query.operator} compares the answers of all shards")
        else:
            shards = CSparqlShards.of(query, dialect)
        keeping: Query | NotKept = kept(query)
        if derivations is not None:
            keeping = NotKept("what elements entail is looked up for all of them")
        elif view:
            keeping = NotKept("of the instants of a batch it shows only the last")
        elif query.estimates:
            keeping = NotKept("a sample is chosen from all that is live")
        return cls(query, compile_csparql(query, dialect, cls.compiler), shards, keeping, derivations, view)

    @property
    def algebra(self) -> Query:
        return self.query.query

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(window.stream for window in self.query.windows)

    @property
    def sees(self) -> Hashable:
        return self.query.windows, self.query.every, self.query.compares

    @property
    def static_parts(self) -> tuple[Part, ...]:
        return () if self.derivations is None else (self.derivations,)

    @property
    def graphs(self) -> frozenset[Schema | None]:
        return frozenset({schema_of(self.algebra)})

    @property
    def sharding(self) -> Sharding:
        if self.view:
            return Sharding(reason="of the instants of a batch it shows only the last")
        if self.query.makes_stream:
            return MAKER
        if isinstance(self.shards, Uncut):
            return by_variable(None, reason=self.shards.reason)
        return by_variable(self.shards.variable, self.shards.merges)

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables of its answers."""
        return answer_columns(self.query, self.statement.columns)

    @property
    def errors(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(estimate.variable for estimate in self.query.estimates)

    @property
    def skips(self) -> bool:  # type: ignore[override]
        return self.query.stretched

    @property
    def gives_up(self) -> str | None:  # type: ignore[override]
        return gives_up(self.query)

    @property
    def kept(self) -> Query | None:
        return None if isinstance(self.keeping, NotKept) else self.keeping

    @property
    def incremental(self) -> bool:
        return self.kept is not None

    def end(self, ends: Mapping[str, End]) -> int | None:
        return last_instant(self.query, ends)

    def due(self, after: int, until: int) -> bool:
        if after >= until:
            return False
        if self.query.has_sessions:
            return True
        windows = (window.window for window in self.query.windows)
        counted = self.query.every is None and any(isinstance(w, PhysicalWindow) for w in windows)
        return counted or any(next_multiple(after + 1, period) <= until for period in periods(self.query))

    @property
    def steps(self) -> bool:  # type: ignore[override]
        return any(isinstance(window.window, PhysicalWindow) for window in self.query.windows)

    @property
    def compares(self) -> bool:  # type: ignore[override]
        return self.query.compares

    def live(
        self,
        stream: str,
        elements: Mapping[str, pa.Table],
        until: int,
        bench: Workbench | None = None,
        before: Mapping[str, Count] | None = None,
    ) -> Marks:
        if self.compares:
            # The next evaluation is compared with the last one, so the elements that the last one saw are
            # still needed.
            seen = [
                placed(elements[window.stream], window.window, (before or {}).get(window.stream))
                for window in self.query.windows
            ]
            last = seen_last(self.query, seen, until)
            until = until if last is None else min(until, last - 1)
        kept = np.zeros(len(elements[stream]), dtype=bool)
        # To number the subjects takes long: a second for three million elements.
        who = subjects(elements[stream]) if self.query.has_sessions else None
        for window in self.query.windows:
            if window.stream == stream:
                time, place = placed(elements[stream], window.window)
                kept |= visible(self.query, window.window, time, place, until, who)
        return kept

    def answers(
        self, bench: Workbench, together: Sequence[Registered], span: Span, shard: Shard | None = None
    ) -> Mapping[str, Answers]:
        batch = bench.room(CSparqlBatch.of)
        name = together[0].name
        if shard is None and self.keeps(bench, span):
            found = Incremental(self, bench, batch, name).answers(span)
            if found is not None:
                return {name: found}
        batch.show(self.streams, bench)
        return {name: batch.answers(self, span.after, span.until, dict(span.before), shard)}

    def show_more(
        self,
        tables: Tables,
        number: int,
        unseen: int,
        derivations: str | None,
        moves: str | None,
        sessions: str | None,
    ) -> None:
        """Make further tables that statements read of the window with a number. Subclasses use it; the other
        arguments are those of `Tables`."""

    def merged(self, parts: Sequence[Answers]) -> Answers:
        assert isinstance(self.shards, CSparqlShards)
        return self.shards.merged(parts)

    def rehearse(self, bench: Workbench) -> None:
        # All made-up elements have the time 0, which is an instant of every window.
        elements = Buffer(made_up(asked_of(self.algebra), apart=0))
        bench.buffers |= dict.fromkeys(self.streams, elements)
        batch = bench.room(CSparqlBatch.of)
        batch.show(self.streams, bench)
        batch.answers(self, -1, 0)

    def is_large(self, text: str) -> bool:
        return many_joins(self.statement.sql) or is_large(self.statement.sql)


# The columns of elements that statements read; the last two exist only in streams of graphs.
SHOWN = ("s", "p", "o", "start", "time", "place", "graph", "element")


class CSparqlBatch:
    """The evaluation of queries of C-SPARQL on one batch: a table that one query has made
    is used by the others.

    `elements` are the tables (s, p, o, time, place) of the streams. They have all elements that are in a
    window at one of the instants of the batch, and may have more. `place` numbers the elements of a stream
    from 1 by time and arrival; it is final for elements that are not after the batch. `filled` are the tables
    of derivations in the database that are not empty.
    """

    def __init__(
        self, database: Database, elements: Mapping[str, str], filled: frozenset[str] = frozenset()
    ) -> None:
        self.database = database
        self.filled = filled
        self.elements = dict(elements)
        self.tables = Tables(database, self.elements)
        self._instants: dict[str, pa.Table] = {}

    @classmethod
    def of(cls, bench: Workbench) -> CSparqlBatch:
        return cls(bench.database, {}, bench.filled)

    def show(self, streams: Iterable[str], bench: Workbench) -> None:
        """Make the elements of streams visible as tables."""
        for stream in streams:
            if stream in self.elements:
                continue
            # The name must be the same in all batches, so that plans can be used again.
            name = self.elements[stream] = digest("elements", stream)
            found = bench.elements[stream]
            rows = found.select([name for name in SHOWN if name in found.column_names])
            if bench.readers.get(stream, 1) < TABLE_QUERIES or self.database.can_plan(rows):
                self.database.put(name, rows)
            else:
                self.database.put("arrived", rows)
                self.database.make(name, "SELECT * FROM arrived")

    def answers(
        self,
        evaluation: CSparqlOperator,
        after: int,
        until: int,
        earlier: Mapping[str, Count] | None = None,
        shard: Shard | None = None,
    ) -> Answers:
        """The answers at the instants with after < at <= until; in a shard, its part of them.

        `earlier` says, for a query that was registered while streams flowed, how much of each
        stream came before it.
        """
        query, tables = evaluation.query, self.tables
        statement, matters = evaluation.statement, None
        if shard is not None:
            assert isinstance(evaluation.shards, CSparqlShards)
            statement, matters = evaluation.shards.part, evaluation.shards.matters
            self.database.run(set_shard(*shard))
        bases = [
            tables.sampled(tables.counted(window.stream, window.window), window.sample)
            for window in query.windows
        ]
        before = [
            tables.unseen(window.stream, window.window, (earlier or {}).get(window.stream))
            for window in query.windows
        ]
        seen = [
            tables.seen(base, window.window, count)
            for window, base, count in zip(query.windows, bases, before, strict=True)
        ]
        name = digest("instants", query.windows, query.every, query.operator, seen, after, until)
        physical = any(not isinstance(window.window, LogicalWindow) for window in query.windows)
        if name not in self._instants:
            self._instants[name] = self.instants(name, query, seen, after, until, physical)
        instants = self._instants[name]
        skipped = None
        if evaluation.view or query.stretched:
            skipped = instants.slice(0, max(0, len(instants) - 1))
            instants = instants.slice(len(skipped))
        if not len(instants):
            return answered(query, Answers(instants.select(["instant", "at"]), nothing(statement)))
        found = []
        by = evaluation.derivations.table if evaluation.derivations is not None else None
        by = by if by in self.filled else None
        for number, (window, base, count) in enumerate(
            zip(query.windows, bases, before, strict=True), start=1
        ):
            # Entailed triples are in a window as long as the elements that entail them. Only elements make a
            # physical window move.
            all_of = tables.chosen(tables.entailed(base, by), matters)
            elements = tables.seen(base, window.window, count, all_of)
            moves = self.moves(name, number, window.window) if physical else None
            sessions = None
            if isinstance(window.window, SessionWindow):
                sessions = tables.sessions(window.window, seen[number - 1], after, until)
            found.append((number, all_of, tables.window(window.window, elements, moves, sessions=sessions)))
            tables.show(window_name(number), found[-1][-1])
            evaluation.show_more(tables, number, count, by, moves, sessions)
        default = [part for window, part in zip(query.windows, found, strict=True) if not window.named]
        if default:
            whole, both = tables.default(default, query.query.dataset, statement.timed)
            tables.show(DEFAULT_WINDOW, whole)
            tables.show(STATIC_TOO, both)
        self.database.put(INSTANTS, with_turns(instants))
        rows = self.database.rows(statement, len(instants))
        return answered(
            query, Answers(reported(instants, rows) if query.compares else instants, rows), skipped
        )

    def instants(
        self, name: str, query: CSparqlQuery, seen: list[str], after: int, until: int, physical: bool
    ) -> pa.Table:
        """The instants of a span (instant, at). If the query compares, they begin with the last evaluation
        before the span, and have the other columns that `rheos.sql.differences` needs."""
        held = self.held(query, seen, until)
        earlier = self.before(query, seen, held, after) if query.compares else after
        times = reporting(query, held, earlier, until)
        empty = closings(query, times, held, until) if query.operator == "DSTREAM" else times[:0]
        clock = np.union1d(times, empty)
        instants = self.ticks(name, query, seen, clock, earlier, until) if physical else (
            pa.table({"instant": clock, "at": clock})
        )  # fmt: skip
        return compared(instants, empty, after) if query.compares else instants

    def held(self, query: CSparqlQuery, seen: list[str], until: int) -> list[Interval]:
        """The intervals in which some window is not empty."""
        held: list[Interval] = []
        for window, elements in zip(query.windows, seen, strict=True):
            if isinstance(window.window, LogicalWindow):
                held += self.tables.held(window.window, elements)
            elif isinstance(window.window, PhysicalWindow):
                held += self.tables.first_move(window.window, elements, until)
        return held

    def before(self, query: CSparqlQuery, seen: list[str], held: list[Interval], after: int) -> int:
        """The time just before the last evaluation up to `after`; `after` itself if there was none."""
        found = [last_evaluation(query, held, after)]
        if query.every is None:
            found += [
                self.tables.last_move(window.window, elements, after)
                for window, elements in zip(query.windows, seen, strict=True)
                if isinstance(window.window, PhysicalWindow)
            ]
        times = [time for time in found if time is not None]
        return max(times) - 1 if times else after

    def ticks(
        self, name: str, query: CSparqlQuery, seen: list[str], times: np.ndarray, after: int, until: int
    ) -> pa.Table:
        """The instants (instant, at) of a query that has physical windows or sessions. Unless it says
        COMPUTED EVERY, it is evaluated whenever one of these moves; at equal times, moves come before the
        clock. The timeline that is made here is what `moves` reads."""
        parts, changes = [], [np.empty(0, np.int64)]
        for number, (window, elements) in enumerate(zip(query.windows, seen, strict=True), start=1):
            if isinstance(window.window, LogicalWindow):
                changes.append(np.array(self.tables.held(window.window, elements), np.int64).ravel())
            elif isinstance(window.window, SessionWindow):
                sessions = self.tables.sessions(window.window, elements, after, until)
                parts.append(sql.session_moves_sql(number, sessions))
            else:
                ticks = query.every is None and not query.has_sessions
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
        self.database.put(f"clock_{name}", clock)
        parts.append(f"SELECT time, turn, ending, tick FROM clock_{name}")
        self.database.make(f"timeline_{name}", sql.timeline_sql(parts))
        return self.database.ask(
            f"SELECT instant, time AS at FROM timeline_{name} WHERE tick = 1 ORDER BY instant"
        )

    def moves(self, name: str, number: int, window: Window) -> str:
        """The view (ending, instant) that says at which instant a window moves its end to where."""
        logical = isinstance(window, LogicalWindow)
        moves = f"moves_{0 if logical else number}_{name}"
        if self.tables.new(moves):
            ending, turn = ("time", 0) if logical else ("ending", number)
            columns = f"{ending} AS ending, instant"
            self.database.view(moves, f"SELECT {columns} FROM timeline_{name} WHERE turn = {turn}")
        return moves


def has_events(node: Node) -> bool:
    """Whether a pattern has events inside WINDOW."""
    return isinstance(node, Events) or any(map(has_events, below(node)))


def subjects(elements: pa.Table) -> Times:
    """A number for the subject of each element."""
    numbers: Times = elements.column("s").combine_chunks().dictionary_encode().indices.to_numpy()
    return numbers


def placed(elements: pa.Table, window: Window, before: Count | None = None) -> tuple[Times, Times]:
    """The times of elements, and their places as a window counts them (triples or graphs). With `before`,
    elements that came before the query are left out and not counted."""
    by_graph = isinstance(window, PhysicalWindow) and window.graphs and NUMBER in elements.column_names
    place = elements.column(NUMBER if by_graph else "place").to_numpy()
    time: Times = elements.column("time").to_numpy()
    if before is None:
        return time, place
    unseen = before.graphs if by_graph else before.triples
    seen = place > unseen
    return time[seen], place[seen] - unseen


def compared(instants: pa.Table, empty: np.ndarray, after: int) -> pa.Table:
    """Instants with the columns that a comparison needs. Of the instants up to `after`, only those from the
    last one at which some window was not empty; `empty` are the times at which all windows were."""
    at = instants.column("at").to_numpy()
    closing = np.isin(at, empty)
    old = np.flatnonzero((at <= after) & ~closing)
    first = int(old[-1]) if len(old) else 0
    instants, at, closing = instants.slice(first), at[first:], closing[first:]
    instant = instants.column("instant").to_numpy()
    before, opened = (np.concatenate([instant[:places], instant[:-places]]) for places in (1, 2))
    return (
        instants.append_column("before", pa.array(before[: len(at)], pa.int64(), mask=np.arange(len(at)) < 1))
        .append_column(
            "opened", pa.array(opened[: len(at)], pa.int64(), mask=~np.append(False, closing)[:-1])
        )
        .append_column("closing", pa.array(closing))
        .append_column("reported", pa.array(at > after))
    )


def reported(instants: pa.Table, rows: pa.Table) -> pa.Table:
    """The instants that are reported. One at which all windows are empty is reported only if it has rows."""
    with_rows = pc.is_in(instants.column("instant"), pc.unique(rows.column("instant")))
    chosen = pc.and_(instants.column("reported"), pc.or_(pc.invert(instants.column("closing")), with_rows))
    return instants.filter(chosen).select(["instant", "at"])


def nothing(statement: CSparqlStatement) -> pa.Table:
    """The rows of no instants."""
    numbers = {name: pa.array([], pa.int64()) for name in ("instant", "at")}
    kind = pa.bool_() if statement.asks else pa.string()
    return pa.Table.from_arrays(
        [*numbers.values(), *(pa.array([], kind) for _ in statement.columns)],
        names=[*numbers, *statement.columns],
    )
