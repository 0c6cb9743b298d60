"""The evaluation of EP-SPARQL on a batch: the live events of streams and a span of time come in, the
solutions that end in it go out.

A pure function, as for the other languages. Every pattern matches events and background knowledge; which of
both there are decides, batch by batch, what the statement has to join.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from rheos.algebra.expressions import Constant
from rheos.algebra.nodes import (
    BGP,
    Ask,
    Construct,
    Graph,
    Group,
    Join,
    Kept,
    Node,
    PathPattern,
    Query,
    Select,
    StreamPattern,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import bottom_up, has_streams, operands
from rheos.algebra.streams import Detecting
from rheos.algebra.variables import certain
from rheos.optimize.durations import memory_bound
from rheos.optimize.events import (
    NOTHING,
    all_patterns,
    bounds,
    branches,
    completed,
    without_nothing,
)
from rheos.optimize.push_filters import push_filters
from rheos.optimize.static_parts import Derivations, Part, derivations_for, static_part
from rheos.optimize.statistics import Statistics
from rheos.runtime.entailing import ENTAILING
from rheos.runtime.evaluation import Answers
from rheos.runtime.instants import End, Marks
from rheos.runtime.place import Place
from rheos.runtime.ticks import matches
from rheos.sql.detecting import DetectingStatement, compile_detecting
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import derived_sql
from rheos.sql.relation import OCCURRENCE, clause_name
from rheos.sql.statement import TRIPLE
from rheos.store.schema import could_entail

BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Detection:
    """A query of EP-SPARQL, ready to be evaluated: made once when it is registered.

    Its stream patterns are numbered, from 1, and beside each is the table of what static data it matches.
    """

    query: Detecting
    streams: frozenset[str]
    pattern: Node
    patterns: tuple[TriplePattern, ...]
    parts: tuple[Part, ...]
    memory: int | None  # for how long events are remembered, in microseconds; None if for ever

    @classmethod
    def of(cls, query: Detecting) -> Detection:
        pushed = push_filters(query.query, Statistics(0, {}))
        found = Leaves(pushed)
        pattern = found.numbered(pushed.form.pattern)
        derivations = derivations_for(query.query, found.patterns)
        if derivations is not None:
            found.parts[derivations.table] = derivations
        streams = frozenset(query.streams or ())
        memory = memory_bound(query.query.form.pattern)
        return cls(query, streams, pattern, tuple(found.patterns), tuple(found.parts.values()), memory)

    @property
    def derivations(self) -> Derivations | None:
        """What its events entail."""
        return next((part for part in self.parts if isinstance(part, Derivations)), None)

    def could_match(self, template: Sequence[TriplePattern], derivations: pa.Table | None = None) -> bool:
        """Whether a triple of a template, or what it entails by the derivations of the query, could match one
        of the patterns."""
        if derivations is not None and could_entail(template, derivations, self.patterns):
            return True

        def alike(made: Term, asked: Term) -> bool:
            return not (isinstance(made, Constant) and isinstance(asked, Constant)) or made == asked

        return any(
            all(map(alike, triple.terms, pattern.terms)) for triple in template for pattern in self.patterns
        )

    @property
    def sees(self) -> Hashable:
        return self.streams, self.memory

    def end(self, ends: Mapping[str, End]) -> int | None:
        """Where the clock stops: at the last event."""
        return max((found.time for found in ends.values()), default=None)

    def due(self, after: int, until: int) -> bool:
        return after < until

    def live(self, stream: str, elements: Mapping[str, pa.Table], until: int) -> Marks:
        """Which elements of a stream can be part of a solution that ends after a time."""
        time = elements[stream].column("time").to_numpy()
        memory = self.memory
        kept: Marks = np.ones(len(time), bool) if memory is None else time > until - memory
        return kept


@dataclass
class Leaves:
    """The leaves of a query's pattern: triple patterns on events and static data, and static parts."""

    query: Query
    patterns: list[TriplePattern] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)

    def numbered(self, node: Node) -> Node:
        match node:
            case BGP(()) | Values() | Kept():
                return node
            case BGP(patterns):
                leaves = [self.leaf(pattern) for pattern in patterns]
                joined = leaves[0]
                for leaf in leaves[1:]:
                    joined = Join(joined, leaf)
                return joined
            case PathPattern() | Graph() | Group():
                return self.kept(node)
        return operands(node, self.numbered)

    def leaf(self, pattern: TriplePattern) -> Node:
        self.patterns.append(pattern)
        return Union(StreamPattern(len(self.patterns), pattern), self.kept(BGP((pattern,))))

    def kept(self, node: Node) -> Kept:
        part = static_part(node, self.query.dataset)
        self.parts[part.table] = part
        return Kept(part.table, part.variables, certain(node))


def present(pattern: Node, events: frozenset[int], static: frozenset[str]) -> Node:
    """The pattern without what there is nothing of: events that match a pattern, rows of a table."""

    def simpler(node: Node) -> Node:
        match node:
            case StreamPattern(number) if number not in events:
                return NOTHING
            case Kept(table) if table not in static:
                return NOTHING
        return without_nothing(node)

    return bottom_up(pattern, simpler)


@dataclass
class DetectingBatch:
    """The evaluation of queries on one batch; `elements` are the live events of each stream with their
    places, `kept` the tables of static parts that are not empty, which the place has."""

    place: Place
    elements: Mapping[str, pa.Table]
    kept: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._events: dict[tuple[object, ...], pa.Table] = {}

    def answers(self, detection: Detection, after: int, until: int, since: Mapping[str, int]) -> Answers:
        """The solutions that end after a time and not after another."""
        events = self._entailed(detection, self._seen(detection.streams, until, since))
        ends = events.column("ending").to_numpy()
        found = set[int]()
        for number, pattern in enumerate(detection.patterns, start=1):
            matching = matches(events, (pattern,))
            new = ends[matching] > after
            rows = events.take(pa.array(matching))
            for part, chosen in (("all", None), ("old", ~new), ("new", new)):
                shown = rows if chosen is None else rows.filter(pa.array(chosen))
                self.place.put(clause_name(number, part), shown)
            if len(matching):
                found.add(number)
        self.place.put(BATCH, pa.table({"after": pa.array([after], pa.int64())}))
        statement = statement_of(detection, frozenset(found), self.kept, self.place.dialect)
        if statement is None:
            return told(nothing(detection.query.query))
        return told(self.place.solutions(statement))

    def _entailed(self, detection: Detection, events: pa.Table) -> pa.Table:
        """Events with what they entail that the query can match."""
        derivations = detection.derivations
        if derivations is None or derivations.table not in self.kept or not len(events):
            return events
        self.place.put(ENTAILING, events)
        found = self.place.ask(derived_sql(ENTAILING, derivations.table, OCCURRENCE))
        return pa.concat_tables([events, found.select(events.column_names).cast(events.schema)])

    def _seen(self, streams: frozenset[str], until: int, since: Mapping[str, int]) -> pa.Table:
        """The events of streams up to a time: s, p, o, starting, ending."""
        key = (streams, until, tuple(sorted(since.items())))
        if key not in self._events:
            parts = []
            for stream in sorted(streams):
                elements = self.elements[stream]
                time, place = (elements.column(name).to_numpy() for name in ("time", "place"))
                seen = elements.filter(pa.array((time <= until) & (place > since.get(stream, 0))))
                parts.append(seen.select(["s", "p", "o", "start", "time"]))
            self._events[key] = pa.concat_tables(parts).rename_columns(["s", "p", "o", *OCCURRENCE])
        return self._events[key]


@lru_cache(maxsize=4096)
def statement_of(
    detection: Detection, events: frozenset[int], static: frozenset[str], dialect: Dialect
) -> DetectingStatement | None:
    """The statement for the patterns that match events, and the tables that have rows; None if there can be
    no solution."""
    pattern = present(detection.pattern, events, static)
    new = all_patterns(change for branch in branches(pattern) for change in completed(branch))
    if not has_streams(new):
        return None
    query = detection.query
    return compile_detecting(query.query, new, bounds(new), dialect, query.name)


def nothing(query: Query) -> pa.Table:
    """The solutions of a query, if there are none."""
    form = query.form
    names = (
        form.variables if isinstance(form, Select) else TRIPLE if isinstance(form, Construct) else ("found",)
    )
    kind = pa.bool_() if isinstance(form, Ask) else pa.string()
    columns = [pa.array([], pa.int64()) for _ in OCCURRENCE] + [pa.array([], kind) for _ in names]
    return pa.Table.from_arrays(columns, names=[*OCCURRENCE[::-1], *names])


def told(rows: pa.Table) -> Answers:
    """Solutions as answers: those that occur together are of one instant."""
    ending, starting = (rows.column(at).to_numpy() for at in (0, 1))
    first = np.flatnonzero(
        np.concatenate([[True], (np.diff(ending) != 0) | (np.diff(starting) != 0)])[: len(rows)]
    )
    instant = np.repeat(np.arange(1, len(first) + 1), np.diff(np.append(first, len(rows))))
    table = rows.rename_columns(["at", "start", *rows.column_names[2:]])
    table = table.add_column(0, "instant", pa.array(instant, pa.int64()))
    return Answers(table.select([0, 1, 2]).take(pa.array(first, pa.int64())), table)
