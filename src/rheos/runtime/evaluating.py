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
from rheos.runtime.buffers import LIVE, NEVER, Progress
from rheos.runtime.clock import Held, pass_on, until_of
from rheos.runtime.evaluation import Answers, Evaluation
from rheos.runtime.plan import Control, Registered, Relatives


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
    failed: dict[str, str]


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
    def windowed(self, evaluation: Evaluation, streams: set[str], span: Span) -> Answers:
        """The answers of a query through windows of C-SPARQL."""

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
        for query in self.queries:
            if query.name in self.results.reached:
                continue  # it was answered with its family
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
                        found[query.name] = self.windowed(query.evaluation, query.streams, span)
            except TimeLimitError as error:
                self.results.failed |= {other.name: str(error) for other in together}
                self.forget()
            took = (time.perf_counter() - began) * 1000 / len(together)
            for other in together:
                self.note(other, found.get(other.name), span, took)

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
                self.derive(query.derived, derived(answers.rows))
        self.results.reached[query.name] = max(span.after, span.until)
        pass_on(query, self.known)


def derived(rows: pa.Table) -> pa.RecordBatch:
    """The triples that a query answered as elements, stamped with their instants."""
    at = rows.column("at").combine_chunks()
    terms = [rows.column(number).combine_chunks() for number in (2, 3, 4)]
    columns = [*terms, at, at]
    arrays = [column if isinstance(column, pa.Array) else column.chunk(0) for column in columns]
    return pa.RecordBatch.from_arrays(
        [array.cast(kind) for array, kind in zip(arrays, LIVE.types, strict=True)], schema=LIVE
    )
