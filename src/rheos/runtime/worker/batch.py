"""A micro-batch in a task: the queries of a group are evaluated one after another, each as far as its streams
are complete.

The answers do not depend on where the input was cut into batches, nor on how the work is shared out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from rheos.deadline import within
from rheos.errors import ResourceError, RheosError, TimeLimitError
from rheos.execute.limits import limited_cursor
from rheos.runtime.operator import Answers, Count, Derived, Family, Span
from rheos.runtime.plan import Control, Registered, components, is_circle, work
from rheos.runtime.sharding import Way
from rheos.runtime.state.buffer import Buffer, ordered
from rheos.runtime.state.progress import Arrival, DeadLetter, Progress, take_in
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.clock import complete, complete_for, pass_on, until_of
from rheos.runtime.worker.sharing import ALONE, Share
from rheos.runtime.worker.workbench import Workbench
from rheos.sources.chunks import LIVE
from rheos.sources.graphs import marked
from rheos.sources.times import FOREVER, NEVER

T = TypeVar("T")

_MUCH = 0.25  # a new query that takes more than this part of the time limit ends the batch


@dataclass(frozen=True, slots=True)
class Report:
    """What a query answered in a batch, how long that took, and how its work was shared out: in which way, in
    how many shards, on which executors."""

    query: str
    answers: Answers
    milliseconds: float
    way: Way = "one"
    shards: int = 1
    executors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The chunks of a stream in a batch, and whether it ended with them."""

    chunks: Sequence[Arrival] = ()
    ended: bool = False


@dataclass(slots=True)
class Outcome:
    """The result of a batch. `buffers` are the live elements after it, before any are dropped. `late` says,
    for each chunk of a stream, how many of its first elements are late. `derived` has the elements that
    queries added to their streams, `states` what operators keep for the next batch. Of each stream, the
    elements before the time `needed` can be dropped."""

    buffers: dict[str, Buffer]
    progress: dict[str, Progress] = field(default_factory=dict)
    late: dict[str, list[int]] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)  # how families were evaluated, by their first member
    failures: dict[str, str] = field(default_factory=dict)  # queries that cannot go on, and why
    deferred: set[str] = field(default_factory=set)  # queries that wait for the next batch
    apart: set[str] = field(default_factory=set)  # members of families that took too long together
    derived: dict[str, pa.Table] = field(default_factory=dict)
    states: dict[str, pa.Table] = field(default_factory=dict)
    parted: set[str] = field(default_factory=set)  # streams of which other shards have made other parts
    unmerged: set[str] = field(default_factory=set)  # queries that shards of a variable cannot answer
    needed: dict[str, int] = field(default_factory=dict)
    counts: dict[str, dict[int, Count]] = field(default_factory=dict)  # as in `Control`


def evaluate(
    queries: Sequence[Registered],
    read: Sequence[str],
    control: Control,
    buffers: Mapping[str, Buffer],
    arrivals: Mapping[str, Arrivals],
    connection: duckdb.DuckDBPyConnection,
    families: Sequence[Family] = (),
    share: Share = ALONE,
    at_work: Callable[[Sequence[str]], None] = lambda names: None,
    cache: Cache | None = None,
) -> Outcome:
    """Take in the chunks that arrived, and evaluate all queries as far as their streams are complete.

    `queries` are in the order of their streams: each after those whose streams it reads. `read` are the
    streams from outside. `connection` has the static graphs and tables. `at_work` is called with the names of
    the queries whose evaluation begins. The cache has what operators found in earlier batches.
    """
    named = {stream for query in queries for stream in query.streams}
    made = {query.derived for query in queries if query.derived is not None}
    states = {name for query in queries for name in query.states}
    before = {stream: control.progress.get(stream, Progress()) for stream in {*read, *named, *made, *states}}
    outcome = Outcome({stream: buffers.get(stream, Buffer.empty(p.accepted)) for stream, p in before.items()})
    for stream in read:
        arrival = arrivals.get(stream, Arrivals())
        taken = take_in(stream, arrival.chunks, before[stream], control.lateness.get(stream, 0))
        outcome.progress[stream] = taken.progress.having_ended() if arrival.ended else taken.progress
        outcome.late[stream] = taken.late
        outcome.letters += taken.letters
        accepted = [
            chunk.elements.select(LIVE.names).slice(late)
            for chunk, late in zip(arrival.chunks, taken.late, strict=True)
        ]
        outcome.buffers[stream] = outcome.buffers[stream].with_more(accepted)
    known = complete(outcome.progress, control)
    batch = MicroBatch(queries, families, control, outcome, known, connection, share, at_work, cache)
    try:
        batch.all()
        batch.remember()
        batch.find_needed()
    finally:
        batch.bench.close()
    outcome.progress = {stream: found.completed(known[stream]) for stream, found in outcome.progress.items()}
    return outcome


@dataclass
class MicroBatch:
    """The evaluation of queries in one batch. Each query comes after those whose streams it
    reads. `known` says up to which time each stream that flows is complete; the streams that
    queries make are added to it."""

    queries: Sequence[Registered]
    families: Sequence[Family]
    control: Control
    results: Outcome
    known: dict[str, int]
    connection: duckdb.DuckDBPyConnection
    share: Share
    at_work: Callable[[Sequence[str]], None]
    cache: Cache | None = None

    over_time = False  # a query has used up its time, or a new one much of it

    def __post_init__(self) -> None:
        self.members = {name: family for family in self.families for name in family.members}
        self.bench = Workbench(
            self.connection,
            self.results.buffers,
            {name: table.size for name, table in self.control.static.items()},
            {
                query.operator.family: self.members[query.name]
                for query in self.queries
                if query.operator.family is not None
            },
            Counter(stream for query in self.queries for stream in query.streams),
            work(self.queries),
            lambda query, flow: self.results.flows.update({query: flow}),
            self.results.states,
            self.cache,
            None if self.cache is None else self.cache.plans,
        )

    # --- who is answered when --------------------------------------------------------------------------

    def all(self) -> None:
        """Answer every query. An error stops only the query that causes it; the others go on.

        When a query has used up its time, the queries that have not been answered yet wait for the next
        batch, so that a batch takes hardly longer than the limit of one query. New queries come last, because
        nobody knows yet how long they take. A new query that takes much of its limit also ends the batch.
        After a batch that took too long, new queries wait for one more batch, so that the other queries do
        not wait for two slow ones in a row.
        """
        much = None if self.control.limit is None else self.control.limit * _MUCH
        for answer, together in self.units():
            new = self.late[together[0].name]
            if self.over_time or (self.control.cautious and new):
                self.defer(together)
                continue
            began = time.perf_counter()
            answer(together)
            if new and much is not None and time.perf_counter() - began > much:
                self.over_time = True

    def units(self) -> Iterator[tuple[Callable[[Sequence[Registered]], None], Sequence[Registered]]]:
        """The queries that are answered together, and the method that answers them: a query by itself,
        members of a family that have the same span, or the rules of a circle."""
        registered = {query.name: query for query in self.queries}
        done = set[str]()
        for component in self.in_order():
            first = component[0]
            if first.name in done:
                continue
            if is_circle(component):
                yield self.circle, component
                continue
            together = component
            if first.name in self.members and first.name not in self.control.apart:
                spans = dict[Hashable, Span]()
                span = self.span(first, spans)
                names = self.members[first.name].members
                together = [
                    query
                    for query in (registered[name] for name in names if name in registered)
                    if query.name not in self.control.apart
                    and self.late[query.name] == self.late[first.name]
                    and self.span(query, spans) == span
                ]
            done.update(query.name for query in together)
            yield self.answer, together

    def in_order(self) -> list[list[Registered]]:
        """The queries in the order of their streams; new ones, and those that depend on them, at the end."""
        self.late = dict[str, bool]()
        made = dict[str | None, bool]()
        found = components(self.queries)
        for component in found:
            new = any(self.control.reached.get(query.name, NEVER) == NEVER for query in component)
            new = new or any(made.get(stream, False) for query in component for stream in query.streams)
            made |= {query.derived: new for query in component if query.derived is not None}
            self.late |= {query.name: new for query in component}
        return sorted(found, key=lambda component: self.late[component[0].name])

    # --- what each answers -----------------------------------------------------------------------------

    def answer(self, together: Sequence[Registered]) -> None:
        """Answer a query, or members of a family."""
        began = time.perf_counter()
        first, *others = together
        span = self.span(first)
        way = self.way(first, span)
        found = self.attempt(together, lambda: self.answers(together, span, way))
        if isinstance(found, ResourceError) and others:
            # One member used up the time or memory of all: in the next batch each is answered by itself.
            self.results.apart |= {query.name for query in together}
            self.defer(together)
        elif isinstance(found, Exception) and others:
            middle = len(together) // 2
            self.answer(together[:middle])
            rest = together[middle:]
            self.defer(rest) if self.over_time else self.answer(rest)
        elif isinstance(found, Exception):
            self.fail(together, found)
        else:
            took = (time.perf_counter() - began) * 1000 / len(together)
            for query in together:
                self.note(query, found.get(query.name), span, took, way)

    def way(self, query: Registered, span: Span) -> Way:
        """How the work of a query is shared out in this batch. All shards decide alike."""
        reads_made = any(stream not in self.results.progress for stream in query.streams)
        if self.share.of == 1 or reads_made or query.derived is not None or query.states:
            return "one"  # readers see the elements of a maker in the same batch: one task must have them all
        share = replace(self.share, by="time") if query.name in self.control.unmerged else self.share
        return share.way(query.operator, span, {s: self.bench.buffers[s] for s in query.streams})

    def answers(self, together: Sequence[Registered], span: Span, way: Way) -> Mapping[str, Answers]:
        """What queries with the same span report in this shard, by name."""
        operator = together[0].operator
        if way == "variable":
            due = operator.due(span.after, span.until)
            return operator.answers(self.bench, together, span, self.share.shard) if due else {}
        if way == "one":
            mine = span if self.share.number == 0 else span._replace(until=span.after)
        else:
            mine = self.share.span(span, {s: self.bench.buffers[s] for s in operator.streams})
        if not operator.due(mine.after, mine.until):
            return {}
        if way == "one":
            return operator.answers(self.bench, together, mine)
        with self.share.workbench(self.bench, operator, mine) as bench:
            return operator.answers(bench, together, mine)

    def circle(self, together: Sequence[Registered]) -> None:
        """Answer the rules of a circle together. The streams that they make are complete as far as all the
        other streams that they read."""
        began = time.perf_counter()
        spans = {query.name: self.span(query) for query in together}
        complete = [complete_for(query, self.known) for query in together]
        known = min((found for found in complete if found is not None), default=NEVER)
        until = max(span.until for span in spans.values()) if known == FOREVER else known
        due = [query for query in together if spans[query.name].after < until]
        sharded = self.shards_circle(together)

        def work() -> Derived:
            if not due or (self.share.number and not sharded):
                return Derived({})
            shard = self.share.shard if sharded else None
            return due[0].operator.fixpoint(self.bench, due, spans, until, shard)

        found = self.attempt(together, work)
        if isinstance(found, Exception):
            self.fail(together, found)
            return
        if sharded and found.failure is not None:
            # What other shards derived before the failure is not known here: in the next batch, one task
            # does all the work.
            self.results.unmerged |= {query.name for query in together}
            self.defer(together)
            return
        if sharded:
            self.results.parted |= {query.derived for query in together if query.derived is not None}
        way: Way = "variable" if sharded else "one"
        took = (time.perf_counter() - began) * 1000 / len(together)
        for query in together:
            span = spans[query.name]._replace(until=until)
            self.note(query, found.answers.get(query.name), span, took, way)
            if found.failure is not None:
                self.results.failures[query.name] = found.failure
            if query.derived is not None and known > NEVER:
                self.known[query.derived] = known

    def shards_circle(self, together: Sequence[Registered]) -> bool:
        """Whether each shard computes the fixpoint of its own part of the events. A shard then derives only a
        part of each stream, so no query outside the circle may read these streams in the same batch."""
        names = {query.name for query in together}
        made = {query.derived for query in together}
        if names & self.control.unmerged:
            return False
        if any(query.streams & made for query in self.queries if query.name not in names):
            return False
        streams = {stream for query in together for stream in query.streams}
        live = sum(len(self.bench.buffers[stream].elements) for stream in streams)
        return self.share.pays(live) and together[0].operator.can_shard_circle(together)

    def attempt(self, together: Sequence[Registered], work: Callable[[], T]) -> T | Exception:
        """Do the work of some queries: its result, or the error that it raised."""
        names = [query.name for query in together]
        stopped = next((self.control.stopped[name] for name in names if name in self.control.stopped), None)
        if stopped is not None:  # the process that evaluated them was ended
            self.over_time = True
            return ResourceError(stopped)
        self.at_work(names)
        found: T | Exception
        try:
            with within(self.control.limit), limited_cursor(self.bench.database):
                found = work()
        except Exception as error:
            self.over_time = isinstance(error, TimeLimitError)
            self.bench.forget()
            if self.cache is not None:
                for name in names:
                    self.cache.forget(name)
            found = error
        self.at_work(())
        return found

    # --- what becomes of it ----------------------------------------------------------------------------

    def note(
        self, query: Registered, answers: Answers | None, span: Span, milliseconds: float, way: Way
    ) -> None:
        """Note what a query answered, and up to which time it was evaluated."""
        if answers is not None and len(answers.instants):
            self.results.reports.append(Report(query.name, answers, milliseconds, way))
            if query.derived is not None and len(answers.rows):
                self.derive(
                    query.derived,
                    elements_of(answers.rows, query.info.times, graphs=query.operator.makes_graphs),
                )
        self.results.reached[query.name] = max(span.after, span.until)
        pass_on(query, self.known)

    def derive(self, stream: str, elements: pa.Table) -> None:
        """Add to a derived stream the elements that its query made."""
        self.results.derived[stream] = elements
        self.results.buffers[stream] = self.results.buffers[stream].with_more([elements])

    def fail(self, together: Sequence[Registered], error: Exception) -> None:
        """Note that queries cannot go on. The streams that they make are complete no further than before."""
        self.results.failures |= {query.name: reason_of(error) for query in together}
        self.stay(together)

    def defer(self, together: Sequence[Registered]) -> None:
        """Leave queries for the next batch."""
        self.results.deferred.update(query.name for query in together)
        self.stay(together)

    def stay(self, together: Sequence[Registered]) -> None:
        for query in together:
            reached = self.control.reached.get(query.name, NEVER)
            self.results.reached[query.name] = reached
            if query.derived is not None:
                self.known[query.derived] = reached

    def span(self, query: Registered, known: dict[Hashable, Span] | None = None) -> Span:
        """The span that a query is evaluated on. `known` are the spans of its family that were computed
        before, by what a span depends on."""
        after = self.control.reached.get(query.name, NEVER)
        seen_after = self.control.seen_after.get(query.name, {})
        if known is None:
            return self._span(query, after, seen_after)
        key = after, tuple(seen_after.items())
        if key not in known:
            known[key] = self._span(query, after, seen_after)
        return known[key]

    def _span(self, query: Registered, after: int, seen_after: Mapping[str, int]) -> Span:
        made = {
            maker.derived: self.results.reached[maker.name]
            for maker in self.queries
            if maker.derived in query.streams and maker.name in self.results.reached
        }
        buffers = self.results.buffers
        before = {stream: self.count(stream, moment) for stream, moment in seen_after.items()}
        until = until_of(query, self.known, buffers, self.results.progress, after, before, made)
        if query.operator.family is not None:
            # Where all elements that came before a query are dropped, their number does not matter any more.
            # Without it, the spans of a family become equal, and its queries are evaluated together again.
            before = {
                stream: count for stream, count in before.items() if count.triples > buffers[stream].dropped
            }
        over = query.operator.late and self.is_over(query)
        # When all streams have ended, a `late` operator reports the rest one microsecond after the last
        # element.
        return Span(after, until + over, tuple(sorted(before.items())), over)

    def count(self, stream: str, moment: int) -> Count:
        """How many elements of a stream there were up to a moment. The live elements tell that only as long
        as no later element has been dropped; after that, the count in `control` does."""
        known = self.control.counts.get(stream, {}).get(moment)
        buffer = self.results.buffers[stream]
        return known or Count(buffer.up_to(moment), buffer.graphs_up_to(moment))

    def is_over(self, query: Registered) -> bool:
        """Whether all the streams that a query reads have ended, rather than just fallen silent."""
        makers = {maker.derived: maker for maker in self.queries if maker.derived is not None}
        flowing = query.streams & self.known.keys()
        return bool(flowing) and all(
            self.is_over(makers[stream]) if stream in makers else self.has_ended(stream) for stream in flowing
        )

    def has_ended(self, stream: str) -> bool:
        return self.results.progress[stream].ended or stream in self.control.ended

    def find_needed(self) -> None:
        """Find out from which time on some query can still see the elements of each stream."""
        queries = [query for query in self.queries if query.name not in self.results.failures]
        states = {name for query in self.queries for name in query.states}
        placed = {stream: self.bench.elements[stream] for stream in self.results.buffers.keys() - states}
        # Queries that look through the same windows and are equally far need the same elements.
        needs = {
            (
                query.operator.sees,
                self.results.reached[query.name],
                tuple(self.before(query).items()) if query.operator.compares else (),
            ): query
            for query in queries
        }
        kept = {stream: np.zeros(len(elements), bool) for stream, elements in placed.items()}
        for (_, until, before), query in needs.items():
            for stream in query.streams:
                kept[stream] |= query.operator.live(stream, placed, until, self.bench, dict(before))
        for stream, marks in kept.items():
            first = int(np.argmax(marks)) if marks.any() else None
            times = placed[stream].column("time")
            self.results.needed[stream] = FOREVER if first is None else times[first].as_py()

    def remember(self) -> None:
        """Note how many elements came before a query that counts elements, as soon as no more of them can
        come."""
        for query in self.queries:
            for stream, moment in self.control.seen_after.get(query.name, {}).items():
                if query.operator.steps and self.known.get(stream, NEVER) > moment:
                    self.results.counts.setdefault(stream, {})[moment] = self.count(stream, moment)

    def before(self, query: Registered) -> dict[str, Count]:
        """How many elements of each stream came before a query was registered."""
        seen_after = self.control.seen_after.get(query.name, {})
        return {stream: self.count(stream, moment) for stream, moment in seen_after.items()}


def reason_of(error: Exception) -> str:
    """Why a query cannot go on, in one line."""
    reason = str(error).strip() or type(error).__name__
    if not isinstance(error, RheosError):
        reason = f"{type(error).__name__}: {reason}"
    return reason.splitlines()[0]


def elements_of(rows: pa.Table, times: int, *, graphs: bool = False) -> pa.Table:
    """The triples that a query answered, as elements that have the instants or intervals of the answers as
    their times. `times` is the number of columns before the terms. With `graphs`, the triples of an instant
    become one graph; otherwise each triple comes alone."""
    graph = pa.nulls(len(rows), pa.string())
    if graphs and len(rows):
        instants = np.unique(rows.column(0).to_numpy(), return_inverse=True)[1]
        graph = marked([None], np.asarray(instants, np.int64))
    at, start = rows.column(1), rows.column(times - 1)
    terms = [rows.column(number) for number in range(times, times + 3)]
    partition = pa.repeat(pa.scalar(0, pa.int64()), len(rows))  # all are of one partition
    columns = [*terms, start, at, graph, partition]
    typed = [column.cast(kind) for column, kind in zip(columns, LIVE.types, strict=True)]
    return ordered(pa.Table.from_arrays(typed, schema=LIVE))
