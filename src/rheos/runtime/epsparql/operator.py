"""EP-SPARQL: the solutions of a query that end in a span of time.

The answers depend only on the events, the static data and the span. Every pattern matches both events and
static data. The statement of a batch only joins those patterns and tables that have matches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from rheos.algebra.entailment import Schema
from rheos.algebra.expressions import Variable
from rheos.algebra.nodes import (
    Ask,
    Construct,
    Distinct,
    Node,
    Project,
    Query,
    Reduced,
    Select,
    TriplePattern,
)
from rheos.algebra.rewrite import has_streams
from rheos.algebra.streams import EPSparqlQuery
from rheos.answers.continuous import QueryInfo
from rheos.execute.database import LARGE
from rheos.optimize import optimize_epsparql
from rheos.optimize.durations import greatest, lateness, memory_bound, total
from rheos.optimize.events import (
    Twins,
    all_patterns,
    bounds,
    branches,
    changed,
    completed,
)
from rheos.optimize.links import Links, NotKept, links_of
from rheos.optimize.sharding import of_shard, shard_variable
from rheos.optimize.static_parts import Derivations, Part, derivations_for
from rheos.optimize.uninterrupted import uninterrupted
from rheos.runtime.epsparql.numbers import Kind, Numbers, short_numbers
from rheos.runtime.epsparql.patterns import Leaves, Stage, could_match, present, read, shape
from rheos.runtime.epsparql.patterns import Shape as Shape
from rheos.runtime.merging import in_order
from rheos.runtime.operator import Answers, Count, Derived, End, Marks, Operator, Span
from rheos.runtime.plan import STATE, Registered
from rheos.runtime.sharding import RULE, Shard, Sharding, by_variable
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.entailment import ENTAILING
from rheos.runtime.worker.links import first_place, terms_of, up_to
from rheos.runtime.worker.made_up import made_up, stand_ins
from rheos.runtime.worker.matching import matches
from rheos.runtime.worker.workbench import Workbench
from rheos.sources.chunks import LIVE
from rheos.sources.times import NEVER
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import derived_sql
from rheos.sql.epsparql import EPSparqlStatement, compile_epsparql
from rheos.sql.relation import KNOWN, OCCURRENCE, clause_name
from rheos.sql.sharding import set_shard
from rheos.sql.statement import TRIPLE
from rheos.store.schema import could_entail

BATCH = "batch"

# A statement grows with the number of patterns that have matches. For a rehearsal, events for so many are
# enough.
_FEW = 2
_NOBODY = QueryInfo("", "ask", (), {}, True)

Parts = dict[str, pa.Table]  # by part ("all", "old", "new"), the events that match a pattern


@dataclass(frozen=True, slots=True)
class EPSparqlOperator(Operator):
    """A query of EP-SPARQL, ready to be evaluated.

    Its stream patterns are numbered from 1. In `pattern`, each stands in a union with the table of the static
    data that it matches.
    """

    query: EPSparqlQuery
    reads: frozenset[str]
    pattern: Node
    patterns: tuple[TriplePattern, ...]
    parts: tuple[Part, ...]
    memory: int | None  # for how long events are remembered, in microseconds; None if for ever
    stages: tuple[Stage, ...] = ()
    text: str = ""  # part of the names of its states, which must be the same in every process
    variable: str | None = None  # the variable by which its work can be shared out

    language = "EP-SPARQL"
    occurs = True
    names_streams = False

    @classmethod
    def of(cls, query: EPSparqlQuery, text: str = "") -> EPSparqlOperator:
        asked, consumes = optimize_epsparql(query).query, query.consumption != "unrestricted"
        found = Leaves(asked, consumes)
        pattern = found.numbered(asked.form.pattern)
        derivations = derivations_for(query.query, found.patterns)
        if derivations is not None:
            found.parts[derivations.table] = derivations
        streams = frozenset(query.streams or ())
        asked_pattern = query.query.form.pattern
        late = lateness(asked_pattern)
        memory = greatest(total(memory_bound(asked_pattern), late), *found.memory)
        stages = tuple(found.stages)
        parts = tuple(found.parts.values())
        variable = None
        if isinstance(query.query.form, Select) and derivations is None:
            variable = shard_variable(pattern, Distinct | Project | Reduced)
        return cls(query, streams, pattern, tuple(found.patterns), parts, memory, stages, text, variable)

    @property
    def algebra(self) -> Query:
        return self.query.query

    @property
    def streams(self) -> frozenset[str]:
        return self.reads

    @property
    def static_parts(self) -> tuple[Part, ...]:
        return self.parts

    @property
    def late(self) -> bool:  # type: ignore[override]
        return lateness(self.query.query.form.pattern) != 0

    @property
    def unbounded(self) -> bool:  # type: ignore[override]
        return self.memory is None

    @property
    def sharding(self) -> Sharding:
        if self.stages:
            return Sharding(reason="what a policy of consumption uses up depends on all the events before")
        if self.late:
            return Sharding(reason="how long a run goes on depends on all the events that come")
        return RULE if self.template else by_variable(self.variable)

    def links(self, static: frozenset[str] = frozenset()) -> Links | NotKept:
        """How the old events of a new solution are linked to its new event, if these tables of static parts
        have rows; or why all live events must be looked at."""
        if self.stages:
            return NotKept("what a policy of consumption uses up depends on all the events before")
        if self.late:
            return NotKept("how long a run goes on depends on all the events that come")
        if self.derivations is not None:
            return NotKept("what events entail is looked up for all of them")
        return _links(self, static)

    @property
    def incremental(self) -> bool:
        return not isinstance(self.links(), NotKept)

    @property
    def rule(self) -> tuple[TriplePattern, ...]:
        return self.template

    def reading(
        self,
        sources: Set[str],
        rules: Mapping[str, Sequence[TriplePattern]],
        derivations: Callable[[Schema], pa.Table] | None,
    ) -> EPSparqlOperator:
        named = self.query.streams
        read = frozenset(sources if named is None else named)
        asked = self.derivations
        entailed = derivations(asked.schema) if asked and derivations and rules else None
        read |= {stream for stream, made in rules.items() if self.could_match(made, entailed)}
        return replace(self, reads=read)

    def check_circle(self, names: str, together: Sequence[Registered]) -> None:
        from rheos.runtime.epsparql.circle import check

        check(names, together)

    @property
    def computed(self) -> frozenset[int]:
        """The numbers of the patterns whose object is used in an expression."""
        names = read(self.pattern)
        numbered = enumerate(self.patterns, start=1)
        return frozenset(n for n, p in numbered if isinstance(p.object, Variable) and p.object.name in names)

    @property
    def states(self) -> tuple[str, ...]:
        """The names under which it keeps solutions between batches, two for each stage: those of the left
        side, and the pairs."""
        own = hashlib.blake2b(f"{self.query.name} {self.text}".encode(), digest_size=8).hexdigest()
        kinds = [(stage.number, kind) for stage in self.stages for kind in ("left", "pairs")]
        return tuple(f"<{STATE}{own}/{number}/{kind}>" for number, kind in kinds)

    @property
    def derivations(self) -> Derivations | None:
        """The table of what its events entail, if it has one."""
        return next((part for part in self.parts if isinstance(part, Derivations)), None)

    def could_match(self, template: Sequence[TriplePattern], derivations: pa.Table | None = None) -> bool:
        """Whether a triple of a template, or a triple that it entails by `derivations`, could match one of
        the patterns."""
        if derivations is not None and could_entail(template, derivations, self.patterns):
            return True

        return bool(self.matching(template))

    def matching(self, template: Sequence[TriplePattern]) -> frozenset[int]:
        """The numbers of the patterns that a triple of a template could match; with
        entailment, all numbers."""
        if self.derivations is not None:
            return frozenset(range(1, len(self.patterns) + 1))
        found = (n for n, pattern in enumerate(self.patterns, start=1) if could_match(template, pattern))
        return frozenset(found)

    @property
    def template(self) -> tuple[TriplePattern, ...]:
        """The triples that it makes, if it is a rule."""
        form = self.query.query.form
        return form.template if isinstance(form, Construct) else ()

    @property
    def sees(self) -> Hashable:
        return self.streams, self.memory

    def end(self, ends: Mapping[str, End]) -> int | None:
        # The clock stops at the last event.
        return max((found.time for found in ends.values()), default=None)

    def remembered(self, events: pa.Table, after: int) -> pa.Table:
        """The events without those that are too old for this query, and live only
        because others need them."""
        if self.memory is None:
            return events
        return events.filter(pa.array(events.column("ending").to_numpy() > after - self.memory))

    def live(
        self,
        stream: str,
        elements: Mapping[str, pa.Table],
        until: int,
        bench: Workbench | None = None,
        before: Mapping[str, Count] | None = None,
    ) -> Marks:
        kept: Marks = np.ones(len(elements[stream]), bool)
        if self.memory is not None:
            kept[: up_to(elements[stream], until - self.memory)] = False
        return kept

    def answers(
        self, bench: Workbench, together: Sequence[Registered], span: Span, shard: Shard | None = None
    ) -> Mapping[str, Answers]:
        from rheos.runtime.epsparql import consumption

        batch, unseen = bench.room(EPSparqlBatch.of), span.unseen
        if not self.stages:
            cache = bench.cache if shard is None and self.keeps(bench, span) else None
            found = batch.answers(self, span.after, span.until, unseen, shard, span.over, cache)
            return {together[0].name: found}
        state = {name: bench.buffers[name].elements for name in self.states}
        times = span.after, span.until
        found, state = consumption.answers(batch, bench.database, self, times, unseen, state)
        bench.states |= state
        return {together[0].name: found}

    def merged(self, parts: Sequence[Answers]) -> Answers:
        rows = pa.concat_tables([part.rows for part in parts])
        # Shards of a variable that is not in the answer may have found the same.
        return told(in_order(rows.remove_column(0), distinct=True))

    def can_shard_circle(self, together: Sequence[Registered]) -> bool:
        from rheos.runtime.epsparql.shares import shared_places

        return shared_places(operators(together)) is not None

    def fixpoint(
        self,
        bench: Workbench,
        together: Sequence[Registered],
        spans: Mapping[str, Span],
        until: int,
        shard: Shard | None = None,
    ) -> Derived:
        from rheos.runtime.epsparql.circle import Fixpoint, Rule, Share
        from rheos.runtime.epsparql.shares import shared_places

        batch = bench.room(EPSparqlBatch.of)
        rules = [
            Rule(
                query.name,
                query.operator,
                query.derived,
                spans[query.name].after,
                dict(spans[query.name].unseen),
            )
            for query in together
            if isinstance(query.operator, EPSparqlOperator) and query.derived is not None
        ]
        share = None
        if shard is not None:
            places = shared_places([rule.detection for rule in rules])
            assert places is not None
            share = Share(*shard, places)
        found = Fixpoint(batch, bench.database, rules, until, share).derived()
        batch.forget({rule.stream for rule in rules})
        return Derived({name: told(rows) for name, rows in found.solutions.items()}, found.failure)

    def rehearse(self, bench: Workbench) -> None:
        alone = replace(self, reads=frozenset({""}))
        bench.buffers |= {"": Buffer(made_up(self.patterns[:_FEW]))}
        bench.buffers |= {name: Buffer.empty() for name in self.states}
        bench.static = stand_ins(bench.connection, self.parts)
        alone.answers(bench, [Registered(_NOBODY, alone)], Span(-1, _FEW))

    def is_large(self, text: str) -> bool:
        return len(text) > LARGE // 20  # its statements are made when it is evaluated


@dataclass
class EPSparqlBatch:
    """The evaluation of queries on one batch. `elements` are the live events of each stream with their
    places, `filled` the tables of static parts in the database that are not empty."""

    database: Database
    elements: Mapping[str, pa.Table]
    filled: frozenset[str] = frozenset()

    @classmethod
    def of(cls, bench: Workbench) -> EPSparqlBatch:
        return cls(bench.database, bench.elements, bench.filled)

    def __post_init__(self) -> None:
        self._events: dict[tuple[frozenset[str], int, tuple[tuple[str, int], ...]], pa.Table] = {}

    def answers(
        self,
        detection: EPSparqlOperator,
        after: int,
        until: int,
        unseen: Mapping[str, int],
        shard: Shard | None = None,
        over: bool = False,
        cache: Cache | None = None,
    ) -> Answers:
        """The solutions that end, or become known, after the time `after` and up to `until`; in a shard, its
        part of them. If `over`, all streams ended just before `until`. With a cache, only those old events
        are looked at that can be part of a new solution."""
        events = None if cache is None else self._linked(detection, after, until, unseen, cache)
        parts = self._parts(detection, after, until, unseen, events)
        objects = dict[int, Kind]()
        for number in detection.computed & parts.keys():
            numbers = short_numbers(parts[number]["all"].column("o"))
            if numbers is not None:
                objects[number] = numbers.kind
                parts[number] = with_numbers(parts[number], numbers, after)
        self._put(parts)
        if shard is not None:
            self.database.run(set_shard(*shard))
        batch = {"after": after, "until": until, "last": until - 1 if over else None}
        self.database.put(BATCH, pa.table({k: pa.array([v], pa.int64()) for k, v in batch.items()}))
        return self._answered(
            detection, frozenset(parts), frozenset(objects.items()), sharded=shard is not None
        )

    def show(
        self, detection: EPSparqlOperator, after: int, until: int, unseen: Mapping[str, int]
    ) -> frozenset[int]:
        """Make tables of the events that match each pattern of a query. The result is the numbers of the
        patterns that have matches."""
        parts = self._parts(detection, after, until, unseen)
        self._put(parts)
        return frozenset(parts)

    def _put(self, parts: Mapping[int, Parts]) -> None:
        for number, tables in parts.items():
            for part, shown in tables.items():
                self.database.put(clause_name(number, part), shown)

    def _linked(
        self, detection: EPSparqlOperator, after: int, until: int, unseen: Mapping[str, int], cache: Cache
    ) -> pa.Table | None:
        """The new events, and the old ones that can be part of a solution with a new one. None if that cannot
        be decided."""
        if after == NEVER:
            return None
        streams, links = sorted(detection.streams), detection.links(self.filled)
        if isinstance(links, NotKept):
            return None
        old, new = list[pa.Table](), list[pa.Table]()
        rows = {stream: self._rows(detection, stream, after, until, unseen) for stream in streams}
        for stream, (_, middle, end) in rows.items():
            new.append(self.elements[stream].slice(middle, end - middle))
        terms = terms_of(links, new, self.database)
        for stream, (begin, middle, _) in rows.items():
            found = cache.index(stream).rows(terms, self.elements[stream], begin, middle, self.database)
            old.append(found)
        return events_of([*old, *new])

    def _rows(
        self, detection: EPSparqlOperator, stream: str, after: int, until: int, unseen: Mapping[str, int]
    ) -> tuple[int, int, int]:
        """Row numbers in the live elements of a stream: of the first that a query remembers, of the first new
        one, and of the first that is after the span."""
        elements = self.elements[stream]
        begin = max(0, unseen.get(stream, 0) + 1 - first_place(elements))
        if detection.memory is not None:
            begin = max(begin, up_to(elements, after - detection.memory))
        middle = max(begin, up_to(elements, after))
        return begin, middle, max(middle, up_to(elements, until))

    def _parts(
        self,
        detection: EPSparqlOperator,
        after: int,
        until: int,
        unseen: Mapping[str, int],
        events: pa.Table | None = None,
    ) -> dict[int, Parts]:
        """The events that match each pattern, by its number; patterns without matches are left out. `events`
        are the events to look at; without them, all that the query sees."""
        if events is None:
            seen = self.seen(detection.streams, until, unseen)
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

    def completed(self, detection: EPSparqlOperator, found: frozenset[int], after: int) -> Answers:
        """The solutions that end after a time, from the tables that the database has."""
        self.database.put(BATCH, pa.table({"after": pa.array([after], pa.int64())}))
        return self._answered(detection, found, frozenset(), sharded=False)

    def _answered(
        self,
        detection: EPSparqlOperator,
        found: frozenset[int],
        objects: frozenset[tuple[int, Kind]],
        *,
        sharded: bool,
    ) -> Answers:
        """The solutions of a batch, from the tables that the database has. `objects` are the patterns whose
        tables have a column with the values of objects, and the kinds of these numbers. If `sharded`, only
        the solutions of the present shard."""
        times = 3 if detection.late else 2
        dialect = self.database.dialect
        statement = statement_of(detection, found, self.filled, dialect, objects=objects, sharded=sharded)
        if statement is None:
            return told(nothing(detection.query.query, times), times)
        return told(self.database.solutions(statement), times)

    def entailed(self, detection: EPSparqlOperator, events: pa.Table) -> pa.Table:
        """Events, with those triples that they entail and the query can match."""
        derivations = detection.derivations
        if derivations is None or derivations.table not in self.filled or not len(events):
            return events
        self.database.put(ENTAILING, events)
        found = self.database.ask(derived_sql(ENTAILING, derivations.table, OCCURRENCE))
        return pa.concat_tables([events, found.select(events.column_names).cast(events.schema)])

    def forget(self, streams: Set[str]) -> None:
        """Forget the events of these streams, because more were derived."""
        self._events = {key: events for key, events in self._events.items() if not key[0] & streams}

    def seen(self, streams: frozenset[str], until: int, unseen: Mapping[str, int]) -> pa.Table:
        """The events of streams up to a time: s, p, o, starting, ending."""
        key = (streams, until, tuple(sorted(unseen.items())))
        if key not in self._events:
            parts = []
            for stream in sorted(streams):
                elements = self.elements[stream]
                time, place = (elements.column(name).to_numpy() for name in ("time", "place"))
                parts.append(elements.filter(pa.array((time <= until) & (place > unseen.get(stream, 0)))))
            self._events[key] = events_of(parts)
        return self._events[key]


def events_of(parts: Sequence[pa.Table]) -> pa.Table:
    """Elements of streams as events: s, p, o, starting, ending."""
    columns = ["s", "p", "o", "start", "time"]
    found = [part.select(columns) for part in (LIVE.empty_table(), *parts)]
    return pa.concat_tables(found).rename_columns(["s", "p", "o", *OCCURRENCE])


def operators(together: Sequence[Registered]) -> list[EPSparqlOperator]:
    return [query.operator for query in together if isinstance(query.operator, EPSparqlOperator)]


def in_parts(rows: pa.Table, new: Marks) -> Parts:
    return {"all": rows, "old": rows.filter(pa.array(~new)), "new": rows.filter(pa.array(new))}


def with_numbers(parts: Parts, numbers: Numbers, after: int) -> Parts:
    """The same events, with a column for the values of their objects."""
    rows = parts["all"].append_column("number", numbers.values)
    return in_parts(rows, rows.column("ending").to_numpy() > after)


@lru_cache(maxsize=4096)
def _links(detection: EPSparqlOperator, static: frozenset[str]) -> Links | NotKept:
    numbers = frozenset(range(1, len(detection.patterns) + 1))
    found = branches(uninterrupted(present(detection.pattern, numbers, static)))
    return links_of(change for branch in found for change in completed(branch))


@lru_cache(maxsize=4096)
def statement_of(
    detection: EPSparqlOperator,
    events: frozenset[int],
    static: frozenset[str],
    dialect: Dialect,
    derived: frozenset[int] | None = None,
    twins: Twins = frozenset(),
    *,
    objects: frozenset[tuple[int, Kind]] = frozenset(),
    sharded: bool = False,
) -> EPSparqlStatement | None:
    """The statement of a query, given the patterns (`events`) that have matching events and the static tables
    that have rows; None if there can be no solution. Without `derived`, it finds the solutions that end with
    a new event; with the numbers of some patterns, those in which a new event matches one of these. `objects`
    are the patterns whose tables have the values of objects, and the kinds of these numbers. If `sharded`, it
    finds only the solutions of the present shard."""
    pattern = present(detection.pattern, events, static, objects)
    found = branches(pattern if detection.stages else uninterrupted(pattern))
    if detection.late:
        # A solution that ended long ago may become known only now, so all are found anew.
        new = all_patterns(branch for branch in found if has_streams(branch))
    else:
        new = all_patterns(
            change
            for branch in found
            for change in (completed(branch) if derived is None else changed(branch, derived, twins))
        )
    if not has_streams(new):
        return None
    if sharded:
        assert detection.variable is not None
        new = of_shard(new, detection.variable)
    query = detection.query
    return compile_epsparql(query.query, new, bounds(new), dialect, query.name)


def nothing(query: Query, times: int = 2) -> pa.Table:
    """An empty table for the solutions of a query; `times` is the number of columns before the terms."""
    form = query.form
    names = (
        form.variables if isinstance(form, Select) else TRIPLE if isinstance(form, Construct) else ("found",)
    )
    kind = pa.bool_() if isinstance(form, Ask) else pa.string()
    named = OCCURRENCE[::-1] if times == 2 else (KNOWN, *OCCURRENCE)
    columns = [pa.array([], pa.int64()) for _ in named] + [pa.array([], kind) for _ in names]
    return pa.Table.from_arrays(columns, names=[*named, *names])


def told(rows: pa.Table, times: int = 2) -> Answers:
    """Solutions as answers. Those with the same times belong to one instant. `times` is the number of columns
    before the terms: the time of the report, the start and, if solutions become known late, the end."""
    changes = [np.diff(rows.column(at).to_numpy()) != 0 for at in range(times)]
    first = np.flatnonzero(np.concatenate([[True], np.logical_or.reduce(changes)])[: len(rows)])
    instant = np.repeat(np.arange(1, len(first) + 1), np.diff(np.append(first, len(rows))))
    table = rows.rename_columns([*("at", "start", "end")[:times], *rows.column_names[times:]])
    table = table.add_column(0, "instant", pa.array(instant, pa.int64()))
    return Answers(table.select(list(range(times + 1))).take(pa.array(first, pa.int64())), table)
