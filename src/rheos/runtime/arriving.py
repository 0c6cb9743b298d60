"""The evaluation of CQELS-QL on a batch: the live elements of streams and a span of time come in, what is new
at every tick in it goes out.

As with the windows of C-SPARQL it is a pure function of the elements, the static data and the span. All the
ticks of a batch are answered by one statement; the order of its joins is chosen from what there is to join.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Variable
from rheos.algebra.families import CONSTANTS, skeleton
from rheos.algebra.nodes import Node, OrderBy, Project, Query, Reduced, StreamPattern
from rheos.algebra.streams import AllWindow, ArrivalClause, Arriving, LastWindow, RangeWindow
from rheos.optimize.flows import Flow, Size
from rheos.optimize.novelty import branches, changes, is_monotone, stream_patterns
from rheos.optimize.push_filters import push_filters
from rheos.optimize.static_parts import StaticPart, has_static, keep_static, kept_in
from rheos.optimize.statistics import Statistics
from rheos.runtime.buckets import Bucketed, in_buckets, instants_of, width_of
from rheos.runtime.buffers import NEVER
from rheos.runtime.evaluation import Answers
from rheos.runtime.instants import End, Marks, next_multiple
from rheos.runtime.place import Place
from rheos.runtime.ticks import Arrived, Held, Ticks, held_by, matches, slide_of, ticks_of
from rheos.sql.arriving import ArrivingStatement, compile_difference, compile_new
from rheos.sql.continuous import INSTANTS
from rheos.sql.dialect import Dialect
from rheos.sql.relation import clause_name

# A query that is not monotone has a row at every tick of its interval: a batch is cut where these are more.
SPREAD_ROWS = 2_000_000
# The different values of a column are counted in so many rows of it.
SAMPLE = 1_000

Part = Literal["all", "old", "new"]
PARTS: tuple[Part, ...] = ("all", "old", "new")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A query of CQELS-QL as it is registered; those of the same `skeleton` are a family, and differ only in
    their `constants`."""

    query: Arriving
    skeleton: str
    constants: tuple[str, ...]

    @classmethod
    def of(cls, query: Arriving) -> Arrival:
        marked, constants = skeleton(query)
        return cls(query, hashlib.blake2b(repr(marked).encode(), digest_size=16).hexdigest(), constants)

    def end(self, ends: Mapping[str, End]) -> int | None:
        """Where the clock goes when all streams have ended, given the ends of those that had any elements;
        None where none had."""
        if not ends:
            return None
        last = max(found.time for found in ends.values())
        return max([last, *(next_multiple(last, slide) for slide in slides_of(self.query))])

    def due(self, after: int, until: int) -> bool:
        """Whether there can be a tick between two times."""
        return after < until

    def live(self, stream: str, elements: Mapping[str, pa.Table], until: int) -> Marks:
        """Which elements of a stream a tick after a time, or the last one before it, can still see.

        `elements` are those of all the streams of the query, with their places.
        """
        times = {name: elements[name].column("time").to_numpy() for name in streams_of(self.query)}
        passed = {name: int(np.searchsorted(time, until, side="right")) for name, time in times.items()}
        before = max((int(times[name][count - 1]) for name, count in passed.items() if count), default=NEVER)
        time, count = times[stream], passed[stream]
        kept: Marks = time > until
        kept[max(0, count - 1) : count] = True  # the last one says when the last tick was
        for clause in self.query.windows:
            if clause.stream != stream:
                continue
            match clause.window:
                case RangeWindow(range_, None):
                    kept |= time + range_ >= before
                case RangeWindow(range_, slide) if slide is not None:
                    kept |= (time + range_) // slide * slide + slide > until
                case LastWindow(triples):
                    kept[matches(elements[stream].slice(0, count), clause.patterns)[-triples:]] = True
                case AllWindow():
                    kept[:] = True
        return kept


def streams_of(query: Arriving) -> tuple[str, ...]:
    """In the order in which the query names them."""
    return tuple(dict.fromkeys(clause.stream for clause in query.windows))


def slides_of(query: Arriving) -> tuple[int, ...]:
    found = (slide_of(clause.window) for clause in query.windows)
    return tuple(sorted({slide for slide in found if slide is not None}))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query, or one for a family, ready to be evaluated: with tables in the place of its static `parts`."""

    query: Arriving
    parts: tuple[StaticPart, ...]
    monotone: bool

    @classmethod
    def of(cls, query: Arriving) -> Prepared:
        pushed = push_filters(query.query, Statistics(0, {}))
        kept, parts = keep_static(pushed)
        return cls(replace(query, query=kept), parts, is_monotone(query.query))

    @property
    def pattern(self) -> Node:
        return self.query.query.form.pattern

    @property
    def asks_graphs(self) -> bool:
        """Whether anything but its static parts looks at static data."""
        return has_static(self.pattern)


@dataclass(frozen=True, slots=True)
class Novelty:
    """What is new: rows (member, instant, at, columns) in order, and the flow by which it was found."""

    rows: pa.Table
    flow: str = ""


@dataclass
class ArrivingBatch:
    """The evaluation of queries on one batch: what one of them needs that another has made is used again.

    `elements` are the live elements of each stream with their places; `kept` tells the sizes of the tables of
    static parts, which the place has.
    """

    place: Place
    elements: Mapping[str, pa.Table]
    kept: Mapping[str, Size] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ticks: dict[Hashable, tuple[Mapping[str, Arrived], Ticks]] = {}
        self._held: dict[Hashable, Held] = {}
        self._bucketed: dict[Hashable, Bucketed] = {}

    def novelty(
        self,
        prepared: Prepared,
        after: int,
        until: int,
        since: Mapping[str, int] | None = None,
        constants: pa.Table | None = None,
    ) -> Novelty:
        """What is new at the ticks with after < at <= until.

        `since` has, for a query that was registered later, how many elements of a stream came before it;
        `constants` are those of the members of a family.
        """
        clauses = prepared.query.windows
        seen = tuple(sorted((since or {}).items()))
        # Windows that slide make ticks of their own.
        streams = streams_of(prepared.query)
        span: Hashable = (streams, after, until, seen, clauses if slides_of(prepared.query) else ())
        if span not in self._ticks:
            seen_of = {
                stream: Arrived.of(self.elements[stream], after, until, dict(seen).get(stream, 0))
                for stream in streams
            }
            self._ticks[span] = seen_of, ticks_of(seen_of, clauses, after, until)
        arrived, ticks = self._ticks[span]
        windows = [self._held_by(span, clause, arrived[clause.stream], ticks) for clause in clauses]
        middle = None if prepared.monotone else middle_of(ticks, windows)
        if middle is not None:
            first = self.novelty(prepared, after, middle, since, constants)
            second = self.novelty(prepared, middle, until, since, constants)
            return following(first, second, int(np.searchsorted(ticks.time, middle, side="right")))
        width = width_of(ticks, windows)
        for number, (clause, window) in enumerate(zip(clauses, windows, strict=True), start=1):
            rows = self._in_buckets((span, clause, width, prepared.monotone), window)
            for part in PARTS:
                self.place.put(clause_name(number, part), rows.part(part))
        if constants is not None:
            self.place.put(CONSTANTS, constants)
        before = not prepared.monotone and ticks.before != NEVER
        self.place.put(INSTANTS, instants_of(ticks, 0 if before else 1, width))
        sizes = self._sizes(prepared, windows, max(1, ticks.count // width), constants)
        statement, flow = planned(prepared, sizes, self.place.dialect)
        return Novelty(self.place.new(statement), flow)

    def _held_by(self, span: Hashable, clause: ArrivalClause, arrived: Arrived, ticks: Ticks) -> Held:
        key = span, clause
        if key not in self._held:
            self._held[key] = held_by(clause, arrived, ticks)
        return self._held[key]

    def _in_buckets(self, key: tuple[Hashable, ArrivalClause, int, bool], window: Held) -> Bucketed:
        *_, width, monotone = key
        if key not in self._bucketed:
            self._bucketed[key] = in_buckets(window, width, clipped=not monotone)
        return self._bucketed[key]

    def _sizes(
        self, prepared: Prepared, windows: Sequence[Held], buckets: int, constants: pa.Table | None
    ) -> dict[Node, Size]:
        """What was observed of all that the query joins: of windows, how much is in a bucket of them."""
        sizes: dict[Node, Size] = {}
        for leaf in stream_patterns(prepared.pattern):
            window = windows[leaf.window - 1]
            rows = {"all": len(window.start), "old": window.old, "new": len(window.start) - window.old}
            different = different_values(window, leaf)
            for part in PARTS:
                size = Size(rows[part] if part == "new" else rows[part] / buckets, different)
                sizes[replace(leaf, part=part)] = size
        for table in kept_in(prepared.pattern):
            if table.table == CONSTANTS:
                members = float(len(constants) if constants is not None else 1)
                sizes[table] = Size(members, dict.fromkeys(table.variables, members))
            else:
                sizes[table] = self.kept.get(table.table, Size(1.0))
        return sizes


def middle_of(ticks: Ticks, windows: Sequence[Held]) -> int | None:
    """Where to cut a batch in two that has too many rows at too many ticks; None if it has not."""
    if sum(int((window.end - window.start).sum()) for window in windows) <= SPREAD_ROWS:
        return None
    middle = int(ticks.time[(ticks.count - 1) // 2])
    return middle if middle < ticks.time[-1] else None


def following(first: Novelty, second: Novelty, ticks: int) -> Novelty:
    """The rows of a span and of the next, which goes on counting after the ticks of the first."""
    numbers = pc.add(second.rows.column("instant"), ticks)
    later = second.rows.set_column(1, "instant", numbers.cast(first.rows.schema.field("instant").type))
    rows = pa.concat_tables([first.rows, later])
    return Novelty(rows.sort_by([("member", "ascending")]), second.flow)


def different_values(window: Held, leaf: StreamPattern) -> dict[str, float]:
    """About how many different values each variable of a pattern has in a window, from its last elements."""
    sample = window.elements.slice(max(0, len(window.start) - SAMPLE))
    return {
        term.name: float(max(1, pc.count_distinct(sample.column(name)).as_py()))
        for name, term in zip("spo", leaf.pattern.terms, strict=True)
        if isinstance(term, Variable)
    }


def planned(
    prepared: Prepared, sizes: Mapping[Node, Size], dialect: Dialect
) -> tuple[ArrivingStatement, str]:
    """The statement whose joins are in the order that suits the sizes, and that order in words."""
    query, flow = prepared.query.query, Flow(sizes, {part.table: part.query for part in prepared.parts})
    if not prepared.monotone:
        pattern = flow.ordered(prepared.pattern)
        whole = Query(replace(query.form, pattern=pattern), query.dataset)
        return _difference(whole, dialect, prepared.query.name), str(flow)
    pattern, orders = prepared.pattern, None
    while isinstance(pattern, Project | OrderBy | Reduced):
        orders = pattern if isinstance(pattern, OrderBy) else orders
        pattern = pattern.pattern
    new = (change for branch in branches(pattern) for change in changes(branch))
    patterns = tuple(flow.ordered(change) for change in new)
    return _new(query, patterns, orders, dialect, prepared.query.name), str(flow)


# A statement is compiled once for an order of its joins, in each process that runs it.


@lru_cache(maxsize=4096)
def _difference(query: Query, dialect: Dialect, name: str) -> ArrivingStatement:
    return compile_difference(query, dialect, name)


@lru_cache(maxsize=4096)
def _new(
    query: Query, patterns: tuple[Node, ...], orders: OrderBy | None, dialect: Dialect, name: str
) -> ArrivingStatement:
    return compile_new(query, patterns, orders, dialect, name)


def apart(new: Novelty, members: Sequence[str]) -> dict[str, Answers]:
    """What is new for each of the members of a family that has something, by name."""
    rows = new.rows
    numbers = rows.column("member").to_numpy()
    answers = rows.drop_columns(["member"])
    present, starts = np.unique(numbers, return_index=True)
    found = {}
    for number, start, end in zip(present.tolist(), starts, [*starts[1:], len(rows)], strict=True):
        own = answers.slice(start, end - start)
        instants = own.column("instant").to_numpy()
        first = np.flatnonzero(np.diff(instants, prepend=instants[0] - 1))
        found[members[number]] = Answers(own.select(["instant", "at"]).take(pa.array(first)), own)
    return found
