"""One batch of a group of queries: its buffers and the chunks that arrived come in, answers and new buffers
go out.

A pure function but for the clock on the wall, which only measures. It runs in a Spark task; what it
gives does not depend on where the input was cut into batches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from rheos.runtime.arriving import Arrival, ArrivingBatch, apart
from rheos.runtime.buffers import LIVE, NEVER, Buffer, DeadLetter, Progress, arrive
from rheos.runtime.clock import complete, pass_on, until_of
from rheos.runtime.evaluation import Answers, Batch, DuckPlace, Evaluation
from rheos.runtime.plan import Control, Registered, Relatives
from rheos.sources.chunks import Chunk

# From so many queries on it pays to copy the elements of a stream into a table of DuckDB's own.
TABLE_QUERIES = 4


@dataclass(frozen=True, slots=True)
class Report:
    """What a query answered in a batch, and how long that took."""

    query: str
    answers: Answers
    milliseconds: float
    execution: str = "task"


@dataclass(slots=True)
class Outcome:
    """What came of a batch for a group; `progress` and `letters` of the streams that it read."""

    buffers: dict[str, Buffer]
    progress: dict[str, Progress] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)  # how families were evaluated, by their first member


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The chunks of a stream in a batch, and whether it ended with them."""

    chunks: Sequence[Chunk] = ()
    ended: bool = False


def step(
    queries: Sequence[Registered],
    read: Sequence[str],
    control: Control,
    buffers: Mapping[str, Buffer],
    arrivals: Mapping[str, Arrivals],
    connection: duckdb.DuckDBPyConnection,
    families: Sequence[Relatives] = (),
) -> Outcome:
    """Take in what arrived, evaluate all queries as far as their streams are known, drop what is no longer
    seen. `queries` are in the order of their streams, of which `read` come from outside; `connection` has
    the static graphs, and what is kept of them for the `families` of CQELS-QL."""
    named = {stream for query in queries for stream in query.streams}
    made = {query.derived for query in queries if query.derived is not None}
    before = {stream: control.progress.get(stream, Progress()) for stream in {*read, *named, *made}}
    outcome = Outcome({stream: buffers.get(stream, Buffer.empty(p.accepted)) for stream, p in before.items()})
    for stream in read:
        arrival = arrivals.get(stream, Arrivals())
        arrived = arrive(stream, arrival.chunks, before[stream], control.lateness.get(stream, 0))
        progress = arrived.progress
        outcome.progress[stream] = progress.having_ended() if arrival.ended else progress
        outcome.letters += arrived.letters
        outcome.buffers[stream] = outcome.buffers[stream].with_more(arrived.elements)
    with connection.cursor() as cursor:
        known = complete(outcome.progress, control)
        Evaluating(queries, families, control, outcome, known, DuckPlace(cursor)).all()
    drop_unseen(queries, outcome)
    return outcome


def drop_unseen(queries: Sequence[Registered], outcome: Outcome) -> None:
    """Of every stream keep what a later instant of one of the queries can see."""
    placed = {stream: buffer.placed for stream, buffer in outcome.buffers.items()}
    # Queries that look through the same windows and are equally far need the same.
    needs = {
        (query.evaluation.query.windows, outcome.reached[query.name]): query.evaluation for query in queries
    }
    kept = {stream: np.zeros(len(elements), bool) for stream, elements in placed.items()}
    for (windows, until), evaluation in needs.items():
        for stream in {window.stream for window in windows}:
            kept[stream] |= evaluation.live(stream, placed, until)
    for stream, buffer in outcome.buffers.items():
        outcome.buffers[stream] = buffer.keeping(placed[stream].filter(pa.array(kept[stream])))


@dataclass
class Evaluating:
    """The evaluation of a group's queries on a batch; `known` says up to which time each stream that flows is
    complete, and grows by those that the queries make."""

    queries: Sequence[Registered]
    families: Sequence[Relatives]
    control: Control
    outcome: Outcome
    known: dict[str, int]
    place: DuckPlace

    def __post_init__(self) -> None:
        self._elements: dict[str, str] = {}
        self._windows = Batch(self.place, self._elements)
        sizes = {name: table.size for name, table in self.control.kept.items()}
        self._arriving = ArrivingBatch(self.place, Placed(self.outcome.buffers), sizes)
        self._readers = Counter(stream for query in self.queries for stream in query.streams)

    def all(self) -> None:
        relatives = {name: family for family in self.families for name in family.members}
        for query in self.queries:
            if query.name in self.outcome.reached:
                continue  # it was answered with its family
            began = time.perf_counter()
            span = self.span(query)
            together, found = [query], dict[str, Answers]()
            if isinstance(query.evaluation, Arrival):
                family = relatives[query.name]
                members = set(family.members)
                together = [q for q in self.queries if q.name in members and self.span(q) == span]
                found = self.new(family, together, span)
            elif query.evaluation.due(span.after, span.until):
                found[query.name] = self.windowed(query.evaluation, query.streams, span)
            took = (time.perf_counter() - began) * 1000 / len(together)
            for other in together:
                self.note(other, found.get(other.name), span, took)

    def span(self, query: Registered) -> Span:
        buffers = self.outcome.buffers
        after = self.control.reached.get(query.name, NEVER)
        seen_after = self.control.since.get(query.name, {})
        until = until_of(query, self.known, buffers, self.outcome.progress, after, seen_after)
        since = {stream: buffers[stream].up_to(moment) for stream, moment in seen_after.items()}
        if isinstance(query.evaluation, Arrival):
            # What is not there any more cannot be seen: so the queries of a family meet again after a while.
            since = {stream: count for stream, count in since.items() if count > buffers[stream].dropped}
        return Span(after, until, tuple(sorted(since.items())))

    def new(self, family: Relatives, together: Sequence[Registered], span: Span) -> dict[str, Answers]:
        """What is new for those members of a family that see the same."""
        if span.after >= span.until:
            return {}
        constants = family.constants([query.name for query in together])
        new = self._arriving.novelty(family.prepared, span.after, span.until, dict(span.since), constants)
        self.outcome.flows[family.members[0]] = new.flow
        return apart(new, family.members)

    def windowed(self, evaluation: Evaluation, streams: set[str], span: Span) -> Answers:
        """The answers of a query through windows."""
        for stream in streams - self._elements.keys():
            name = self._elements[stream] = f"elements_{len(self._elements) + 1}"
            rows = self.outcome.buffers[stream].placed.select(["s", "p", "o", "time", "place"])
            if self._readers[stream] < TABLE_QUERIES:
                self.place.put(name, rows)
            else:
                self.place.put("arrived", rows)
                self.place.make(name, "SELECT * FROM arrived")
        return self._windows.answers(evaluation, span.after, span.until, dict(span.since))

    def note(self, query: Registered, answers: Answers | None, span: Span, milliseconds: float) -> None:
        """Take down what a query answered, and how far it has come."""
        if answers is not None and len(answers.instants):
            self.outcome.reports.append(Report(query.name, answers, milliseconds))
            if query.derived is not None:
                buffer = self.outcome.buffers[query.derived]
                self.outcome.buffers[query.derived] = buffer.with_more([derived(answers.rows)])
        self.outcome.reached[query.name] = max(span.after, span.until)
        pass_on(query, self.known)


class Span(NamedTuple):
    """What a query is evaluated on: a span of time, and how many elements of a stream were before it."""

    after: int
    until: int
    since: tuple[tuple[str, int], ...]


class Placed(Mapping[str, pa.Table]):
    """The live elements of buffers with their places, for as long as these stay as they are."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self._buffers = buffers
        self._placed: dict[str, tuple[Buffer, pa.Table]] = {}

    def __getitem__(self, stream: str) -> pa.Table:
        buffer = self._buffers[stream]
        known = self._placed.get(stream)
        if known is None or known[0] is not buffer:
            known = self._placed[stream] = buffer, buffer.placed
        return known[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


def derived(rows: pa.Table) -> pa.RecordBatch:
    """The triples that a query answered as elements, stamped with their instants."""
    at = rows.column("at").combine_chunks()
    terms = [rows.column(number).combine_chunks() for number in (2, 3, 4)]
    columns = [*terms, at, at]
    arrays = [column if isinstance(column, pa.Array) else column.chunk(0) for column in columns]
    return pa.RecordBatch.from_arrays(
        [array.cast(kind) for array, kind in zip(arrays, LIVE.types, strict=True)], schema=LIVE
    )
