"""The queries of a batch one after another: how far the streams are comes in, what each answered goes out.

The same for both ways of running, which differ in where elements are, and in where statements run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from rheos.errors import TimeLimitError
from rheos.runtime.arriving import Arrival, Novelty, Prepared, apart
from rheos.runtime.buffers import FOREVER, LIVE, NEVER, Progress
from rheos.runtime.circle import Derived, Rule
from rheos.runtime.clock import Held, complete_for, pass_on, until_of
from rheos.runtime.detecting import Detection, told
from rheos.runtime.evaluation import Answers, Evaluation
from rheos.runtime.plan import Control, Registered, Relatives, components, is_circle


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
    def limited(self) -> AbstractContextManager[None]:
        """A block in which a query is evaluated: TimeLimitError when it takes longer than it may."""

    @abstractmethod
    def forget(self) -> None:
        """Do without what a query has made that was stopped half-way."""

    def all(self) -> None:
        relatives = {name: family for family in self.families for name in family.members}
        circles = {q.name: found for found in components(self.queries) if is_circle(found) for q in found}
        for query in self.queries:
            if query.name in self.results.reached:
                continue  # it was answered with its family, or its circle
            if query.name in circles:
                self.circle(circles[query.name])
                continue
            began = time.perf_counter()
            span = self.span(query)
            together, found = [query], dict[str, Answers]()
            try:
                with self.limited():
                    if isinstance(query.evaluation, Arrival):
                        family = relatives[query.name]
                        members, spans = set(family.members), dict[Hashable, Span]()
                        together = [
                            q for q in self.queries if q.name in members and self.span(q, spans) == span
                        ]
                        if span.after < span.until:
                            found = self.new(family, together, span)
                    elif query.evaluation.due(span.after, span.until):
                        found[query.name] = self.answered(query.evaluation, span)
            except TimeLimitError as error:
                self.results.failures |= {other.name: str(error) for other in together}
                self.forget()
            took = (time.perf_counter() - began) * 1000 / len(together)
            for other in together:
                self.note(other, found.get(other.name), span, took)

    def answered(self, evaluation: Evaluation | Detection, span: Span) -> Answers:
        if isinstance(evaluation, Detection):
            return self.detected(evaluation, span)
        return self.windowed(evaluation, span)

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
        try:
            with self.limited():
                found = self.fixpoint(rules, until) if rules else Derived({})
        except TimeLimitError as error:
            found = Derived({}, str(error))
            self.forget()
        took = (time.perf_counter() - began) * 1000 / len(together)
        for query in together:
            rows = found.solutions.get(query.name)
            span = spans[query.name]._replace(until=until)
            self.note(query, None if rows is None else told(rows), span, took)
            if found.failure is not None:
                self.results.failures[query.name] = found.failure
            if query.derived is not None and known > NEVER:
                self.known[query.derived] = known

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
        until = until_of(query, self.known, self.held, self.results.progress, after, seen_after)
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
