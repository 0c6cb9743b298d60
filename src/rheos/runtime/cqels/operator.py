"""CQELS-QL: the new answers of a query at every tick of a span of time.

The answers depend only on the elements, the static data and the span. One statement answers all the ticks of
a batch; the order of its joins depends on the sizes of the tables that it joins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.entailment import Schema, schema_of
from rheos.algebra.families import Family as Constants
from rheos.algebra.families import family, skeleton
from rheos.algebra.nodes import Query, Select
from rheos.algebra.streams import AllWindow, CqelsQuery, LastWindow, RangeWindow, StreamClause
from rheos.execute.database import LARGE
from rheos.optimize.flows import Size
from rheos.optimize.links import Links, NotKept
from rheos.optimize.static_parts import Part as AnyPart
from rheos.runtime.cqels.buckets import Bucketed, in_buckets, instants_of, width_of
from rheos.runtime.cqels.incremental import Incremental
from rheos.runtime.cqels.prepared import (
    PARTS,
    Prepared,
    WindowSize,
    different_values,
    observed_sizes,
    planned,
    slides_of,
    streams_of,
)
from rheos.runtime.cqels.ticks import Arrived, Held, Ticks, held_by, matching_elements, ticks_of
from rheos.runtime.merging import in_order
from rheos.runtime.operator import Answers, Count, End, Family, Marks, Operator, Span, next_multiple
from rheos.runtime.plan import Registered
from rheos.runtime.sharding import MAKER, Shard, Sharding, by_variable
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.entailment import Entail, Entailed, entail_in
from rheos.runtime.worker.links import up_to
from rheos.runtime.worker.made_up import different, made_up, stand_ins
from rheos.runtime.worker.workbench import Workbench
from rheos.sources.times import NEVER
from rheos.sql.csparql import INSTANTS
from rheos.sql.relation import clause_name
from rheos.sql.sharding import set_shard

# If a query must look at rows tick by tick, and there are more of them than this, its batch is cut in two.
SPREAD_ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class CqelsOperator(Operator):
    """A query of CQELS-QL. Queries with the same `skeleton` are a family: they differ only in `constants`."""

    query: CqelsQuery
    skeleton: str
    constants: tuple[str, ...]
    variable: str | None  # the variable by which its work can be shared out
    keeping: Links | NotKept  # how old elements are linked to new ones, or why all live ones are looked at

    language = "CQELS-QL"

    @classmethod
    def of(cls, query: CqelsQuery) -> CqelsOperator:
        marked, constants = skeleton(query)
        digest = hashlib.blake2b(repr(marked).encode(), digest_size=16).hexdigest()
        prepared = Prepared.of(query)
        return cls(query, digest, constants, prepared.variable, prepared.links)

    @property
    def algebra(self) -> Query:
        return self.query.query

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(streams_of(self.query))

    @property
    def sees(self) -> Hashable:
        # A window that counts only counts elements that match, and that may depend on what they entail. The
        # skeleton stands for both.
        return self.query.windows, self.skeleton if self.counts else None

    @property
    def counts(self) -> bool:
        """Whether a window counts the elements that match its patterns."""
        return any(isinstance(clause.window, LastWindow) for clause in self.query.windows)

    @property
    def family(self) -> str:
        return self.skeleton

    def together(self, members: Sequence[Registered]) -> CqelsFamily:
        return CqelsFamily.of(members)

    @property
    def incremental(self) -> bool:
        return not isinstance(self.keeping, NotKept)

    @property
    def sharding(self) -> Sharding:
        if self.query.makes_stream:
            return MAKER
        rows = isinstance(self.algebra.form, Select)
        return by_variable(self.variable, reason="" if rows else "only the rows of SELECT are told apart")

    def end(self, ends: Mapping[str, End]) -> int | None:
        if not ends:
            return None
        last = max(found.time for found in ends.values())
        return max([last, *(next_multiple(last, slide) for slide in slides_of(self.query))])

    def live(
        self,
        stream: str,
        elements: Mapping[str, pa.Table],
        until: int,
        bench: Workbench | None = None,
        before: Mapping[str, Count] | None = None,
    ) -> Marks:
        entail = self._entail(bench) if self.counts and bench is not None else None
        return self.marks(stream, elements, until, entail)

    def marks(
        self, stream: str, elements: Mapping[str, pa.Table], until: int, entail: Entail | None = None
    ) -> Marks:
        """Which elements of a stream can still be seen at a tick after a time, or at the last tick before."""
        passed = {name: up_to(elements[name], until) for name in streams_of(self.query)}
        last = (elements[name].column("time")[count - 1].as_py() for name, count in passed.items() if count)
        before, count = max(last, default=NEVER), passed[stream]
        kept: Marks = np.zeros(len(elements[stream]), bool)
        kept[max(0, count - 1) :] = True  # the last element says when the last tick was
        for clause in self.query.windows:
            if clause.stream != stream:
                continue
            match clause.window:
                case RangeWindow(range_, None):
                    kept[up_to(elements[stream], before - range_ - 1) :] = True
                case RangeWindow(range_, slide) if slide is not None:
                    # An element leaves at the first multiple of the slide at which it is too old. What was
                    # not too old at the last multiple is still there.
                    kept[up_to(elements[stream], until // slide * slide - range_ - 1) :] = True
                case LastWindow(triples):
                    seen = elements[stream].slice(0, count)
                    kept[matching_elements(seen, clause.patterns, entail)[-triples:]] = True
                case AllWindow():
                    kept[:] = True
        return kept

    def answers(
        self, bench: Workbench, together: Sequence[Registered], span: Span, shard: Shard | None = None
    ) -> Mapping[str, Answers]:
        family = bench.families[self.skeleton]
        assert isinstance(family, CqelsFamily)
        constants = family.table([query.name for query in together])
        batch, prepared = bench.room(CqelsBatch.of), family.prepared
        if shard is not None:
            batch.database.run(set_shard(*shard))
            prepared = prepared.of_shard()
        name = together[0].name if shard is None and self.keeps(bench, span) else None
        new = batch.novelty(prepared, span.after, span.until, span.unseen, constants, name)
        bench.told(family.members[0], new.flow)
        return apart(new, family.members)

    def merged(self, parts: Sequence[Answers]) -> Answers:
        return at_ticks(in_order(pa.concat_tables([part.rows for part in parts])))

    def _entail(self, bench: Workbench) -> Entail | None:
        """The function that adds to elements what they entail; None if they entail nothing."""
        family = bench.families.get(self.skeleton)
        if not isinstance(family, CqelsFamily):
            return None
        found = bench.room(CqelsBatch.of).entail(family.prepared)
        return None if found is None else found[1]

    def rehearse(self, bench: Workbench) -> None:
        prepared = Prepared.of(self.query)
        patterns = different(pattern for clause in self.query.windows for pattern in clause.patterns)
        bench.buffers |= dict.fromkeys(self.streams, Buffer(made_up(patterns)))
        bench.static = stand_ins(bench.connection, prepared.parts)
        bench.room(CqelsBatch.of).novelty(prepared, -1, len(patterns))

    def is_large(self, text: str) -> bool:
        return len(text) > LARGE // 20  # its statements are made when it is evaluated


@dataclass(frozen=True)
class CqelsFamily(Family):
    """Queries that differ only in constants: their names, the constants of each (in the same order), and the
    query that evaluates all of them together."""

    members: tuple[str, ...]
    constants: Constants
    prepared: Prepared

    @classmethod
    def of(cls, members: Sequence[Registered]) -> CqelsFamily:
        operators = [query.operator for query in members if isinstance(query.operator, CqelsOperator)]
        names = tuple(query.name for query in members)
        found = family(operators[0].query, [operator.constants for operator in operators], names)
        return cls(names, found, Prepared.of(found.query))

    @property
    def static_parts(self) -> Sequence[tuple[Constants | None, AnyPart]]:
        return [(self.constants, part) for part in self.prepared.parts]

    @property
    def graphs(self) -> frozenset[Schema | None]:
        asks = self.prepared.asks_graphs
        return frozenset({schema_of(self.prepared.query.query)}) if asks else frozenset()

    def table(self, members: Sequence[str]) -> pa.Table | None:
        """The constants of some members, each with the number of its member; None if the
        members do not differ."""
        if not self.constants.rows:
            return None
        places = {name: number for number, name in enumerate(self.members)}
        numbers = [places[name] for name in members]
        columns = [pa.array(numbers, pa.int64())]
        columns += [
            pa.array([self.constants.rows[number][at] for number in numbers], pa.string())
            for at in range(len(self.constants.variables))
        ]
        return pa.table(columns, names=[f"c{at}" for at in range(1, len(columns) + 1)])


@dataclass(frozen=True, slots=True)
class Novelty:
    """The new answers: rows (member, instant, at, columns) in order, and the flow by
    which they were found."""

    rows: pa.Table
    flow: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a query sees of its streams in a batch: its windows, cut into buckets, and its ticks."""

    windows: tuple[Bucketed, ...]
    instants: pa.Table
    sizes: tuple[WindowSize, ...]
    buckets: int


@dataclass
class Windows:
    """The windows of queries on one batch. Arrays that one query has computed are used again by the others.

    `elements` are the live elements of each stream with their places.
    """

    elements: Mapping[str, pa.Table]

    def __post_init__(self) -> None:
        self._ticks: dict[Hashable, tuple[Mapping[str, Arrived], Ticks]] = {}
        self._held: dict[Hashable, tuple[Held, WindowSize]] = {}
        self._entailed: dict[Hashable, Entailed] = {}
        self._bucketed: dict[Hashable, Bucketed] = {}
        self._instants: dict[Hashable, pa.Table] = {}

    def opened(
        self,
        query: CqelsQuery,
        after: int,
        until: int,
        unseen: Mapping[str, int],
        *,
        monotone: bool,
        spreads: bool,
        entail: tuple[str, Entail] | None = None,
    ) -> Opened | int:
        """What a query sees at the ticks with after < at <= until. If the query `spreads` rows over ticks,
        and these would be too many, the time at which to cut the span in two.

        `unseen` says, for a query that was registered while streams flowed, how many elements of each stream
        came before it. `entail` is the name of a table of derivations, and a function that adds what elements
        entail by it.
        """
        clauses, seen = query.windows, tuple(sorted(unseen.items()))
        # Windows that slide add ticks, so the windows are part of the key.
        span: Hashable = (streams_of(query), after, until, seen, clauses if slides_of(query) else ())
        if span not in self._ticks:
            arrived = {
                stream: Arrived.of(self.elements[stream], after, until, unseen.get(stream, 0))
                for stream in streams_of(query)
            }
            self._ticks[span] = arrived, ticks_of(arrived, clauses, after, until)
        streams, ticks = self._ticks[span]
        found = [self._held_by(span, clause, streams[clause.stream], ticks, entail) for clause in clauses]
        held = [window for window, _ in found]
        middle = middle_of(ticks, held) if spreads else None
        if middle is not None:
            return middle
        width = width_of(ticks, held)
        by = entail[0] if entail is not None else None
        windows = (
            self._in_buckets(((span, by), clause, width, monotone), window)
            for clause, window in zip(clauses, held, strict=True)
        )
        first = 0 if not monotone and ticks.before != NEVER else 1
        key = span, first, width
        if key not in self._instants:
            self._instants[key] = instants_of(ticks, first, width)
        sizes = tuple(size for _, size in found)
        return Opened(tuple(windows), self._instants[key], sizes, ticks.count // width + 1)

    def _held_by(
        self,
        span: Hashable,
        clause: StreamClause,
        arrived: Arrived,
        ticks: Ticks,
        entail: tuple[str, Entail] | None,
    ) -> tuple[Held, WindowSize]:
        key = span, entail and entail[0], clause
        if key not in self._held:
            held = held_by(clause, arrived, ticks, self._entailed_by(span, clause.stream, arrived, entail))
            self._held[key] = held, WindowSize(len(held.start), held.old, different_values(held))
        return self._held[key]

    def _entailed_by(
        self, span: Hashable, stream: str, arrived: Arrived, entail: tuple[str, Entail] | None
    ) -> Entailed | None:
        if entail is None:
            return None
        key = span, entail[0], stream
        if key not in self._entailed:
            self._entailed[key] = entail[1](arrived.elements)
        return self._entailed[key]

    def _in_buckets(self, key: tuple[Hashable, StreamClause, int, bool], window: Held) -> Bucketed:
        *_, width, monotone = key
        if key not in self._bucketed:
            self._bucketed[key] = in_buckets(window, width, clipped=not monotone)
        return self._bucketed[key]


@dataclass
class CqelsBatch:
    """The evaluation of queries on one batch in this process. `static` has the sizes of the tables of static
    parts, which are in the database. With `copies`, the windows that statements read are copied into tables
    of DuckDB, each once: a statement takes a millisecond more for each Arrow table that it reads."""

    database: Database
    elements: Mapping[str, pa.Table]
    static: Mapping[str, Size] = field(default_factory=dict)
    copies: bool = False
    cache: Cache | None = None

    @classmethod
    def of(cls, bench: Workbench) -> CqelsBatch:
        return cls(bench.database, bench.elements, bench.static, bench.crowded, bench.cache)

    def __post_init__(self) -> None:
        self._windows = Windows(self.elements)
        self._copied: dict[Hashable, str] = {}

    def novelty(
        self,
        prepared: Prepared,
        after: int,
        until: int,
        unseen: Mapping[str, int] | None = None,
        constants: pa.Table | None = None,
        name: str | None = None,
    ) -> Novelty:
        """The new answers at the ticks with after < at <= until; `constants` are those of a family's members.
        With a name, the cache under that name is used."""
        query = prepared.query
        if self.cache is not None and name is not None:
            incremental = Incremental(self.cache, self.elements, self.database, self.static)
            found = incremental.rows(prepared, (after, until), unseen or {}, constants, name)
            if found is not None:
                return Novelty(*found)
        opened = self._windows.opened(
            query,
            after,
            until,
            unseen or {},
            monotone=prepared.monotone,
            spreads=prepared.spreads,
            entail=self.entail(prepared),
        )
        if isinstance(opened, int):
            first = self.novelty(prepared, after, opened, unseen, constants)
            second = self.novelty(prepared, opened, until, unseen, constants)
            return following(first, second)
        sizes = observed_sizes(prepared, opened.sizes, opened.buckets, constants, self.static, self.database)
        statement, flow = planned(prepared, sizes, self.database.dialect)
        for number, window in enumerate(opened.windows, start=1):
            for part in PARTS:
                name = clause_name(number, part)
                if name in statement.sql:
                    self._show(name, (id(window), part), window.part(part))
        self._show(INSTANTS, id(opened.instants), opened.instants)
        return Novelty(self.database.new(statement), flow)

    def entail(self, prepared: Prepared) -> tuple[str, Entail] | None:
        """The table of the query's derivations, and the function that adds what elements entail by it. None
        if elements entail nothing that the query can match."""
        derivations = prepared.derivations
        if (
            derivations is None
            or derivations.table not in self.static
            or not self.static[derivations.table].rows
        ):
            return None
        return derivations.table, entail_in(self.database, derivations.table)

    def _show(self, name: str, key: Hashable, rows: pa.Table) -> None:
        """Make rows visible under a name. Equal keys mean the same rows."""
        if not self.copies or self.database.can_plan(rows):
            self.database.put(name, rows)
            return
        if key not in self._copied:
            self._copied[key] = f"copied_{len(self._copied) + 1}"
            self.database.put("arrived", rows)
            self.database.make(self._copied[key], "SELECT * FROM arrived")
        self.database.view(name, f"SELECT * FROM {self._copied[key]}")


def middle_of(ticks: Ticks, windows: Sequence[Held]) -> int | None:
    """The time at which to cut a batch in two, if its rows, counted at each tick, are too many; else None."""
    if sum(int((window.end - window.start).sum()) for window in windows) <= SPREAD_ROWS:
        return None
    middle = int(ticks.time[(ticks.count - 1) // 2])
    return middle if middle < ticks.time[-1] else None


def following(first: Novelty, second: Novelty) -> Novelty:
    """The rows of a span and of the next one together. The instants of the second are numbered on."""
    # Columns are taken by position: a variable may be called member, instant or at.
    last = pc.max(first.rows.column(1)).as_py() or 0
    numbers = pc.add(second.rows.column(1), last)
    later = second.rows.set_column(1, "instant", numbers.cast(first.rows.schema.field(1).type))
    rows = pa.concat_tables([first.rows, later])
    order = np.argsort(rows.column(0).to_numpy(), kind="stable")
    return Novelty(rows.take(pa.array(order)), second.flow)


def apart(new: Novelty, members: Sequence[str]) -> dict[str, Answers]:
    """The answers of each member of a family that has some, by name."""
    rows = new.rows
    numbers = rows.column(0).to_numpy()
    answers = rows.remove_column(0)
    present, starts = np.unique(numbers, return_index=True)
    ends = np.append(starts, len(rows))[1:]
    found = {}
    for number, start, end in zip(present.tolist(), starts, ends, strict=True):
        found[members[number]] = at_ticks(answers.slice(start, end - start))
    return found


def at_ticks(rows: pa.Table) -> Answers:
    """Rows (instant, at, columns), which are in order, as the answers of a query: with its instants."""
    instants = rows.column(0).to_numpy()
    first = np.flatnonzero(np.diff(instants, prepend=instants[0] - 1))
    return Answers(rows.select([0, 1]).take(pa.array(first)), rows)
