"""The queries of a batch one after another: how far the streams are comes in, what each answered goes out.

The same for both ways of running, which differ in where elements are, and in where statements run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from rheos.deadline import within
from rheos.errors import ResourceError, RheosError, TimeLimitError
from rheos.runtime.arriving import Arrival, Novelty, Prepared, apart
from rheos.runtime.buffers import FOREVER, LIVE, NEVER, Progress
from rheos.runtime.circle import Derived, Rule
from rheos.runtime.clock import Held, complete_for, pass_on, until_of
from rheos.runtime.detecting import Detection, told
from rheos.runtime.evaluation import Answers, Evaluation
from rheos.runtime.plan import Control, Registered, Relatives, components, is_circle

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Report:
    """What a query answered in a batch, and how long that took."""

    query: str
    answers: Answers
    milliseconds: float
    execution: str = "task"


class Span(NamedTuple):
    """What a query is evaluated on: a span of time, and how many elements of a stream were before it."""

    after: int
    until: int
    since: tuple[tuple[str, int], ...]


class Results(Protocol):
    """Where what came of the queries is taken down."""

    progress: dict[str, Progress]
    reports: list[Report]
    reached: dict[str, int]
    flows: dict[str, str]
    failures: dict[str, str]  # why queries cannot go on, by name
    deferred: set[str]  # queries that wait for the next batch, as another one has used up its time
    apart: set[str]  # queries of families that took too long together


@dataclass
class Evaluating(ABC):
    """The evaluation of queries that are in the order of their streams. `known` says up to which time each
    stream that flows is complete, and grows by those that the queries make."""

    queries: Sequence[Registered]
    families: Sequence[Relatives]
    control: Control
    results: Results
    known: dict[str, int]

    execution = "task"
    over_time = False  # a query has used up its time

    @property
    @abstractmethod
    def held(self) -> Mapping[str, Held]:
        """What is live of each stream."""

    @abstractmethod
    def windowed(self, evaluation: Evaluation, span: Span) -> Answers:
        """The answers of a query through windows of C-SPARQL."""

    @abstractmethod
    def detected(self, detection: Detection, span: Span) -> Answers:
        """The solutions of a query of EP-SPARQL that end in a span."""

    @abstractmethod
    def fixpoint(self, rules: Sequence[Rule], until: int) -> Derived:
        """What the rules of a circle derive up to a time."""

    @abstractmethod
    def novelty(self, prepared: Prepared, span: Span, constants: pa.Table | None) -> Novelty:
        """What is new for a query, or a family, of CQELS-QL."""

    @abstractmethod
    def derive(self, stream: str, elements: pa.RecordBatch) -> None:
        """Add to a stream what a query made of it."""

    @abstractmethod
    def bounded(self, work: Callable[[], T]) -> T:
        """Do the work of a query; TimeLimitError when the deadline comes first."""

    @abstractmethod
    def forget(self) -> None:
        """Do without what a query has made that was stopped half-way."""

    def at_work(self, names: Sequence[str]) -> None:  # noqa: B027  only a process that is watched has to say
        """Say whose work begins now; nobody's, when it has ended."""

    def all(self) -> None:
        """Answer every query. What one does wrong stays its own: it is stopped, and the others go on.

        When a query has used up its time, those that have not been answered yet wait for the next batch: so a
        batch takes hardly longer than the limit. New queries come last, as they may be the ones. After a
        batch that was late they wait for one more, so that nobody waits for two of them.
        """
        for answer, together in self.units():
            if self.over_time or (self.control.cautious and self.late[together[0].name]):
                self.defer(together)
            else:
                answer(together)

    def units(self) -> Iterator[tuple[Callable[[Sequence[Registered]], None], Sequence[Registered]]]:
        """The queries that are answered at once, and how: one, members of a family that see the same, or a
        circle."""
        relatives = {name: family.members for family in self.families for name in family.members}
        members = {query.name: query for query in self.queries}
        done = set[str]()
        for component in self.in_order():
            first = component[0]
            if first.name in done:
                continue
            if is_circle(component):
                yield self.circle, component
                continue
            together = component
            if first.name in relatives and first.name not in self.control.apart:
                spans = dict[Hashable, Span]()
                span = self.span(first, spans)
                mine = (members[name] for name in relatives[first.name] if name in members)
                together = [
                    query
                    for query in mine
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

    def attempt(self, together: Sequence[Registered], work: Callable[[], T]) -> T | Exception:
        """Do the work of some queries, or say what went wrong."""
        names = [query.name for query in together]
        stopped = next((self.control.stopped[name] for name in names if name in self.control.stopped), None)
        if stopped is not None:  # the process that was doing this came to an end
            self.over_time = True
            return ResourceError(stopped)
        self.at_work(names)
        found: T | Exception
        try:
            with within(self.control.limit):
                found = self.bounded(work)
        except Exception as error:
            self.over_time = isinstance(error, TimeLimitError)
            self.forget()
            found = error
        self.at_work(())
        return found

    def answer(self, together: Sequence[Registered]) -> None:
        began = time.perf_counter()
        first, *others = together
        span = self.span(first)
        found = self.attempt(together, lambda: self.answers(together, span))
        if isinstance(found, ResourceError) and others:
            # One of them takes the others with it: in the next batch each is answered by itself.
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
                self.note(query, found.get(query.name), span, took)

    def answers(self, together: Sequence[Registered], span: Span) -> Mapping[str, Answers]:
        """What queries with the same span have to report, by their names."""
        first = together[0]
        if isinstance(first.evaluation, Arrival):
            if span.after >= span.until:
                return {}
            family = next(family for family in self.families if first.name in family.members)
            return self.new(family, together, span)
        if not first.evaluation.due(span.after, span.until):
            return {}
        if isinstance(first.evaluation, Detection):
            return {first.name: self.detected(first.evaluation, span)}
        return {first.name: self.windowed(first.evaluation, span)}

    def circle(self, together: Sequence[Registered]) -> None:
        """Answer the rules of a circle together. Their streams are complete as far as all the others are."""
        began = time.perf_counter()
        spans = {query.name: self.span(query) for query in together}
        complete = [complete_for(query, self.known) for query in together]
        known = min((found for found in complete if found is not None), default=NEVER)
        ends = [spans[query.name].until for query in together]
        until = max(ends) if known == FOREVER else known
        rules = [
            Rule(query.name, query.evaluation, query.derived, span.after, dict(span.since))
            for query in together
            if isinstance(query.evaluation, Detection)
            and query.derived is not None
            and (span := spans[query.name]).after < until
        ]
        found = self.attempt(together, lambda: self.fixpoint(rules, until) if rules else Derived({}))
        if isinstance(found, Exception):
            self.fail(together, found)
            return
        took = (time.perf_counter() - began) * 1000 / len(together)
        for query in together:
            rows = found.solutions.get(query.name)
            span = spans[query.name]._replace(until=until)
            self.note(query, None if rows is None else told(rows), span, took)
            if found.failure is not None:
                self.results.failures[query.name] = found.failure
            if query.derived is not None and known > NEVER:
                self.known[query.derived] = known

    def fail(self, together: Sequence[Registered], error: Exception) -> None:
        """Take down that queries cannot go on. What they make is complete no further than it was."""
        reason = str(error).strip() or type(error).__name__
        if not isinstance(error, RheosError):
            reason = f"{type(error).__name__}: {reason}"
        self.results.failures |= {query.name: reason.splitlines()[0] for query in together}
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
        """What a query is evaluated on; `known` are the spans of its family by what they depend on."""
        after = self.control.reached.get(query.name, NEVER)
        seen_after = self.control.since.get(query.name, {})
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
        until = until_of(query, self.known, self.held, self.results.progress, after, seen_after, made)
        since = {stream: self.held[stream].up_to(moment) for stream, moment in seen_after.items()}
        if isinstance(query.evaluation, Arrival):
            # What is not there any more cannot be seen: so the queries of a family meet again after a while.
            since = {stream: count for stream, count in since.items() if count > self.held[stream].dropped}
        return Span(after, until, tuple(sorted(since.items())))

    def new(self, family: Relatives, together: Sequence[Registered], span: Span) -> dict[str, Answers]:
        """What is new for those members of a family that see the same."""
        constants = family.constants([query.name for query in together])
        new = self.novelty(family.prepared, span, constants)
        self.results.flows[family.members[0]] = new.flow
        return apart(new, family.members)

    def note(self, query: Registered, answers: Answers | None, span: Span, milliseconds: float) -> None:
        """Take down what a query answered, and how far it has come."""
        if answers is not None and len(answers.instants):
            self.results.reports.append(Report(query.name, answers, milliseconds, self.execution))
            if query.derived is not None and len(answers.rows):
                self.derive(query.derived, derived(answers.rows, query.info.times))
        self.results.reached[query.name] = max(span.after, span.until)
        pass_on(query, self.known)


def derived(rows: pa.Table, times: int) -> pa.RecordBatch:
    """The triples that a query answered as elements, stamped with their instants, or with their intervals; so
    many columns of times stand before the terms."""
    at, start = (rows.column(number).combine_chunks() for number in (1, times - 1))
    terms = [rows.column(number).combine_chunks() for number in range(times, times + 3)]
    columns = [*terms, start, at, pa.repeat(pa.scalar(0, pa.int64()), len(rows))]  # all are of one partition
    arrays = [column if isinstance(column, pa.Array) else column.chunk(0) for column in columns]
    return pa.RecordBatch.from_arrays(
        [array.cast(kind) for array, kind in zip(arrays, LIVE.types, strict=True)], schema=LIVE
    )
