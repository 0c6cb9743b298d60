"""The evaluation of EP-SPARQL on a batch: the live events of streams and a span of time come in, the
solutions that end in it go out.

A pure function, as for the other languages. Every pattern matches events and background knowledge; which of
both there are decides, batch by batch, what the statement has to join.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa

from rheos.algebra.expressions import Constant, Variable
from rheos.algebra.nodes import (
    BGP,
    Ask,
    Construct,
    EqLeftJoin,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Kept,
    LeftJoin,
    Node,
    Pairs,
    PathPattern,
    Query,
    Recent,
    Select,
    SeqJoin,
    SeqRightJoin,
    StreamPattern,
    Term,
    TriplePattern,
    Union,
    Values,
)
from rheos.algebra.rewrite import below, bottom_up, has_streams, operands
from rheos.algebra.streams import Detecting
from rheos.algebra.variables import Names, certain, in_scope, used
from rheos.optimize.compare_resources import compare_resources
from rheos.optimize.durations import greatest, memory_bound
from rheos.optimize.events import (
    NOTHING,
    Twins,
    all_patterns,
    bounds,
    branches,
    changed,
    completed,
    without_nothing,
)
from rheos.optimize.push_filters import push_filters
from rheos.optimize.static_parts import Derivations, Part, derivations_for, static_part
from rheos.optimize.statistics import Statistics
from rheos.optimize.uninterrupted import uninterrupted
from rheos.runtime.buffers import LIVE
from rheos.runtime.entailing import ENTAILING
from rheos.runtime.evaluation import Answers
from rheos.runtime.instants import End, Marks
from rheos.runtime.numbers import Kind, Numbers, short_numbers
from rheos.runtime.place import Place
from rheos.runtime.ticks import matches
from rheos.sql.detecting import DetectingStatement, compile_detecting
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import derived_sql
from rheos.sql.relation import OCCURRENCE, clause_name
from rheos.sql.statement import TRIPLE
from rheos.store.schema import could_entail

BATCH = "batch"
STATE = "urn:rheos:state/"


Side = Literal["left", "right"]
Parts = dict[str, pa.Table]  # all the events that match a pattern, the old ones, and the new ones


@dataclass(frozen=True, slots=True)
class Stage:
    """A sequence of a query that has a policy of consumption: its number, its sides, and for how long its
    solutions have to be remembered because of what it is part of."""

    number: int
    left: Node
    right: Node
    memory: int | None

    def pattern(self, side: Side) -> Node:
        return self.left if side == "left" else self.right

    def variables(self, side: Side) -> tuple[str, ...]:
        """Those of one side, by name."""
        return tuple(sorted(in_scope(self.pattern(side))))

    @property
    def both(self) -> tuple[str, ...]:
        return tuple(sorted(in_scope(self.left) | in_scope(self.right)))

    @property
    def shared(self) -> tuple[str, ...]:
        return tuple(sorted(in_scope(self.left) & in_scope(self.right)))

    def shared_columns(self, side: Side) -> list[str]:
        names = self.variables(side)
        return [f"c{names.index(name) + 1}" for name in self.shared]

    @property
    def sure(self) -> bool:
        """Whether both sides always bind what they share."""
        return set(self.shared) <= certain(self.left) & certain(self.right)


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
    stages: tuple[Stage, ...] = ()
    text: str = ""  # what it keeps between batches is named by it: in every process the same

    @classmethod
    def of(cls, query: Detecting, text: str = "") -> Detection:
        unknown = Statistics(0, {})
        asked = compare_resources(query.query, unknown)
        consumes = query.consumption != "unrestricted"
        # What is paired depends on the solutions of every part: then nothing may move.
        asked = asked if consumes else push_filters(asked, unknown)
        found = Leaves(asked, consumes)
        pattern = found.numbered(asked.form.pattern)
        derivations = derivations_for(query.query, found.patterns)
        if derivations is not None:
            found.parts[derivations.table] = derivations
        streams = frozenset(query.streams or ())
        memory = greatest(memory_bound(query.query.form.pattern), *found.memory)
        stages = tuple(found.stages)
        parts = tuple(found.parts.values())
        return cls(query, streams, pattern, tuple(found.patterns), parts, memory, stages, text)

    @property
    def computed(self) -> frozenset[int]:
        """The numbers of the patterns of which an expression uses the object."""
        names = read(self.pattern)
        numbered = enumerate(self.patterns, start=1)
        return frozenset(n for n, p in numbered if isinstance(p.object, Variable) and p.object.name in names)

    @property
    def states(self) -> tuple[str, ...]:
        """The names under which it keeps solutions between batches, two for each stage: of the left side, and
        pairs."""
        own = hashlib.blake2b(f"{self.query.name} {self.text}".encode(), digest_size=8).hexdigest()
        kinds = [(stage.number, kind) for stage in self.stages for kind in ("left", "pairs")]
        return tuple(f"<{STATE}{own}/{number}/{kind}>" for number, kind in kinds)

    @property
    def derivations(self) -> Derivations | None:
        """What its events entail."""
        return next((part for part in self.parts if isinstance(part, Derivations)), None)

    def could_match(self, template: Sequence[TriplePattern], derivations: pa.Table | None = None) -> bool:
        """Whether a triple of a template, or what it entails by the derivations of the query, could match one
        of the patterns."""
        if derivations is not None and could_entail(template, derivations, self.patterns):
            return True

        return bool(self.matching(template))

    def matching(self, template: Sequence[TriplePattern]) -> frozenset[int]:
        """The numbers of the patterns that a triple of a template could match; if it entails others, all."""
        if self.derivations is not None:
            return frozenset(range(1, len(self.patterns) + 1))
        found = (n for n, pattern in enumerate(self.patterns, start=1) if could_match(template, pattern))
        return frozenset(found)

    @property
    def template(self) -> tuple[TriplePattern, ...]:
        """What it makes, if it is a rule."""
        form = self.query.query.form
        return form.template if isinstance(form, Construct) else ()

    @property
    def sees(self) -> Hashable:
        return self.streams, self.memory

    def end(self, ends: Mapping[str, End]) -> int | None:
        """Where the clock stops: at the last event."""
        return max((found.time for found in ends.values()), default=None)

    def due(self, after: int, until: int) -> bool:
        return after < until

    def remembered(self, events: pa.Table, after: int) -> pa.Table:
        """Without the events that are only there because others need them: they are too old."""
        if self.memory is None:
            return events
        return events.filter(pa.array(events.column("ending").to_numpy() > after - self.memory))

    def live(self, stream: str, elements: Mapping[str, pa.Table], until: int) -> Marks:
        """Which elements of a stream can be part of a solution that ends after a time."""
        time = elements[stream].column("time").to_numpy()
        memory = self.memory
        kept: Marks = np.ones(len(time), bool) if memory is None else time > until - memory
        return kept


Shape = tuple[str | int, ...]


def read(node: Node) -> Names:
    """The variables that expressions in a pattern use."""
    found: Names = frozenset()
    match node:
        case Filter(condition) | LeftJoin(condition=condition) | EqLeftJoin(condition=condition):
            found = used(condition)
        case SeqRightJoin(condition=condition):
            found = used(condition)
        case Extend(expression=expression):
            found = used(expression)
        case Recent(aggregates=aggregates):
            found = found.union(*(used(aggregate) for _, aggregate in aggregates))
    return found.union(*map(read, below(node)))


def shape(pattern: TriplePattern) -> Shape:
    """What of a pattern decides which triples match: patterns that only have other variables are alike."""
    terms = pattern.terms
    return tuple(term.term if isinstance(term, Constant) else terms.index(term) for term in terms)


def could_match(template: Sequence[TriplePattern], pattern: TriplePattern) -> bool:
    """Whether a triple of a template could match a pattern."""

    def alike(made: Term, asked: Term) -> bool:
        return not (isinstance(made, Constant) and isinstance(asked, Constant)) or made == asked

    return any(all(map(alike, triple.terms, pattern.terms)) for triple in template)


@dataclass
class Leaves:
    """The leaves of a query's pattern: triple patterns on events and static data, and static parts."""

    query: Query
    consumes: bool = False
    patterns: list[TriplePattern] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    memory: list[int | None] = field(default_factory=list)  # of the sides of stages
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outer = memory_bound(self.query.form.pattern)

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
        if isinstance(node, SeqJoin) and self.consumes:
            return self.stage(node)
        return operands(node, self.numbered)

    def stage(self, node: SeqJoin) -> SeqJoin:
        """A sequence that is evaluated apart. What there is on each side may not depend on what is around."""
        bounds = [memory_bound(side) for side in (node.left, node.right)]
        self.memory += bounds
        outer, self.outer = self.outer, bounds[0]
        left = self.numbered(node.left)
        self.outer = bounds[1]
        right = self.numbered(node.right)
        self.outer = outer
        stage = Stage(len(self.stages) + 1, left, right, outer)
        self.stages.append(stage)
        pairs = Pairs(stage.number, stage.both, certain(left) | certain(right))
        return SeqJoin(left, right, None, pairs)

    def leaf(self, pattern: TriplePattern) -> Node:
        self.patterns.append(pattern)
        return Union(StreamPattern(len(self.patterns), pattern), self.kept(BGP((pattern,))))

    def kept(self, node: Node) -> Kept:
        part = static_part(node, self.query.dataset)
        self.parts[part.table] = part
        return Kept(part.table, part.variables, certain(node))


def present(
    pattern: Node,
    events: frozenset[int],
    static: frozenset[str],
    objects: frozenset[tuple[int, Kind]] = frozenset(),
) -> Node:
    """The pattern without what there is nothing of: events that match a pattern, rows of a table. And with
    the kinds of those objects of which the values are known."""
    kinds = dict(objects)

    def simpler(node: Node) -> Node:
        match node:
            case StreamPattern(number) if number not in events:
                return NOTHING
            case StreamPattern(number) if number in kinds:
                return replace(node, objects=kinds[number])
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
        self._events: dict[tuple[frozenset[str], int, tuple[tuple[str, int], ...]], pa.Table] = {}

    def answers(self, detection: Detection, after: int, until: int, since: Mapping[str, int]) -> Answers:
        """The solutions that end after a time and not after another."""
        parts = self._parts(detection, after, until, since)
        objects = dict[int, Kind]()
        for number in detection.computed & parts.keys():
            numbers = short_numbers(parts[number]["all"].column("o"))
            if numbers is not None:
                objects[number] = numbers.kind
                parts[number] = with_numbers(parts[number], numbers, after)
        self._put(parts)
        return self.completed(detection, frozenset(parts), after, frozenset(objects.items()))

    def show(self, detection: Detection, after: int, until: int, since: Mapping[str, int]) -> frozenset[int]:
        """Have the events that match each pattern of a query as tables; the numbers of those with any."""
        parts = self._parts(detection, after, until, since)
        self._put(parts)
        return frozenset(parts)

    def _put(self, parts: Mapping[int, Parts]) -> None:
        for number, tables in parts.items():
            for part, shown in tables.items():
                self.place.put(clause_name(number, part), shown)

    def _parts(
        self, detection: Detection, after: int, until: int, since: Mapping[str, int]
    ) -> dict[int, Parts]:
        """The events that match each pattern, by its number, if there are any."""
        seen = self.seen(detection.streams, until, since)
        events = self.entailed(detection, detection.remembered(seen, after))
        ends = events.column("ending").to_numpy()
        found, known = dict[int, Parts](), dict[Shape, Parts]()
        for number, pattern in enumerate(detection.patterns, start=1):
            parts = known.get(shape(pattern))
            if parts is None:
                matching = matches(events, (pattern,))
                new = ends[matching] > after
                rows = events.take(pa.array(matching))
                parts = known[shape(pattern)] = in_parts(rows, new)
            if len(parts["all"]):
                found[number] = parts
        return found

    def completed(
        self,
        detection: Detection,
        found: frozenset[int],
        after: int,
        objects: frozenset[tuple[int, Kind]] = frozenset(),
    ) -> Answers:
        """The solutions that end after a time, of what is shown; `objects` are the kinds of numbers of which
        the values are shown too."""
        self.place.put(BATCH, pa.table({"after": pa.array([after], pa.int64())}))
        statement = statement_of(detection, found, self.kept, self.place.dialect, objects=objects)
        if statement is None:
            return told(nothing(detection.query.query))
        return told(self.place.solutions(statement))

    def entailed(self, detection: Detection, events: pa.Table) -> pa.Table:
        """Events with what they entail that the query can match."""
        derivations = detection.derivations
        if derivations is None or derivations.table not in self.kept or not len(events):
            return events
        self.place.put(ENTAILING, events)
        found = self.place.ask(derived_sql(ENTAILING, derivations.table, OCCURRENCE))
        return pa.concat_tables([events, found.select(events.column_names).cast(events.schema)])

    def forget(self, streams: Set[str]) -> None:
        """Have these streams looked at anew: there is more of them now."""
        self._events = {key: events for key, events in self._events.items() if not key[0] & streams}

    def seen(self, streams: frozenset[str], until: int, since: Mapping[str, int]) -> pa.Table:
        """The events of streams up to a time: s, p, o, starting, ending."""
        key = (streams, until, tuple(sorted(since.items())))
        if key not in self._events:
            columns = ["s", "p", "o", "start", "time"]
            parts = [LIVE.empty_table().select(columns)]
            for stream in sorted(streams):
                elements = self.elements[stream]
                time, place = (elements.column(name).to_numpy() for name in ("time", "place"))
                seen = elements.filter(pa.array((time <= until) & (place > since.get(stream, 0))))
                parts.append(seen.select(columns))
            self._events[key] = pa.concat_tables(parts).rename_columns(["s", "p", "o", *OCCURRENCE])
        return self._events[key]


def in_parts(rows: pa.Table, new: Marks) -> Parts:
    return {"all": rows, "old": rows.filter(pa.array(~new)), "new": rows.filter(pa.array(new))}


def with_numbers(parts: Parts, numbers: Numbers, after: int) -> Parts:
    """The same events with the values of their objects."""
    rows = parts["all"].append_column("number", numbers.values)
    return in_parts(rows, rows.column("ending").to_numpy() > after)


@lru_cache(maxsize=4096)
def statement_of(
    detection: Detection,
    events: frozenset[int],
    static: frozenset[str],
    dialect: Dialect,
    derived: frozenset[int] | None = None,
    twins: Twins = frozenset(),
    *,
    objects: frozenset[tuple[int, Kind]] = frozenset(),
) -> DetectingStatement | None:
    """The statement for the patterns that match events, and the tables that have rows; None if there can be
    no solution. With the numbers of some patterns, for the solutions that have a new event matching one of
    these; else for those that end with a new event. `objects` are the kinds of those numbers of which tables
    have the values."""
    pattern = present(detection.pattern, events, static, objects)
    found = branches(pattern if detection.stages else uninterrupted(pattern))
    new = all_patterns(
        change
        for branch in found
        for change in (completed(branch) if derived is None else changed(branch, derived, twins))
    )
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
