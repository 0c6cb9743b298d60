"""One batch of a group of queries: its buffers and the chunks that arrived come in, answers and new buffers
go out.

A pure function but for the clock on the wall, which only measures. It runs in a Spark task; what it
gives does not depend on where the input was cut into batches.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from rheos.runtime.buffers import LIVE, NEVER, Buffer, DeadLetter, Progress, arrive
from rheos.runtime.clock import complete, due, pass_on, until_of
from rheos.runtime.evaluation import Answers, Batch, DuckPlace, retained
from rheos.runtime.plan import Control, Registered
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
) -> Outcome:
    """Take in what arrived, evaluate all queries as far as their streams are known, drop what is no longer
    seen. `queries` are in the order of their streams, of which `read` come from outside; `connection` has
    the static graphs."""
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
        evaluate(queries, control, outcome, complete(outcome.progress, control), cursor)
    reached = [(query, outcome.reached[query.name]) for query in queries]
    for stream, buffer in outcome.buffers.items():
        needs = [(query.evaluation, until) for query, until in reached if stream in query.streams]
        outcome.buffers[stream] = buffer.keeping(retained(needs, stream, buffer.placed))
    return outcome


def evaluate(
    queries: Sequence[Registered],
    control: Control,
    outcome: Outcome,
    known: dict[str, int],
    cursor: duckdb.DuckDBPyConnection,
) -> None:
    """The answers of all queries; `known` says up to which time each stream that flows is complete, and grows
    by those that the queries make."""
    elements: dict[str, str] = {}
    place = DuckPlace(cursor)
    batch = Batch(place, elements)
    for query in queries:
        began = time.perf_counter()
        after = control.reached.get(query.name, NEVER)
        seen_after = control.since.get(query.name, {})
        until = until_of(query, known, outcome.buffers, outcome.progress, after, seen_after)
        if due(query.evaluation.query, after, until):
            for stream in query.streams - elements.keys():
                elements[stream] = f"elements_{len(elements) + 1}"
                rows = outcome.buffers[stream].placed.select(["s", "p", "o", "time", "place"])
                if sum(stream in other.streams for other in queries) < TABLE_QUERIES:
                    place.put(elements[stream], rows)
                else:
                    place.put("arrived", rows)
                    place.make(elements[stream], "SELECT * FROM arrived")
            since = {stream: outcome.buffers[stream].up_to(moment) for stream, moment in seen_after.items()}
            answers = batch.answers(query.evaluation, after, until, since)
            if len(answers.instants):
                outcome.reports.append(Report(query.name, answers, (time.perf_counter() - began) * 1000))
            if query.derived is not None:
                buffer = outcome.buffers[query.derived]
                outcome.buffers[query.derived] = buffer.with_more([derived(answers.rows)])
        outcome.reached[query.name] = max(after, until)
        pass_on(query, known)


def derived(rows: pa.Table) -> pa.RecordBatch:
    """The triples that a query answered as elements, stamped with their instants."""
    at = rows.column("at").combine_chunks()
    terms = [rows.column(number).combine_chunks() for number in (2, 3, 4)]
    columns = [*terms, at, at]
    arrays = [column if isinstance(column, pa.Array) else column.chunk(0) for column in columns]
    return pa.RecordBatch.from_arrays(
        [array.cast(kind) for array, kind in zip(arrays, LIVE.types, strict=True)], schema=LIVE
    )
