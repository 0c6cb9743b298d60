"""One batch of a group of queries: its buffers and the chunks that arrived come in, answers and new buffers
go out.

A pure function but for the clock on the wall, which only measures. It runs in a Spark task; what it
gives does not depend on where the input was cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from rheos.execute.limits import limited_cursor
from rheos.runtime import consuming
from rheos.runtime.arriving import Arrival, ArrivingBatch, Novelty, Prepared
from rheos.runtime.buffers import Buffer, DeadLetter, Progress, arrive
from rheos.runtime.circle import Derived, Fixpoint, Rule
from rheos.runtime.clock import complete
from rheos.runtime.detecting import DetectingBatch, Detection
from rheos.runtime.entailing import Entail
from rheos.runtime.evaluating import Evaluating, Report, Span, T
from rheos.runtime.evaluation import Answers, Batch, DuckPlace, Evaluation
from rheos.runtime.plan import Control, Registered, Relatives, work
from rheos.sources.chunks import Chunk

# From so many queries on it pays to copy the elements of a stream into a table of DuckDB's own.
TABLE_QUERIES = 4


@dataclass(slots=True)
class Outcome:
    """What came of a batch for a group; `progress` and `letters` of the streams that it read."""

    buffers: dict[str, Buffer]
    progress: dict[str, Progress] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)  # how families were evaluated, by their first member
    failures: dict[str, str] = field(default_factory=dict)  # queries that cannot go on, and why
    deferred: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)


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
    at_work: Callable[[Sequence[str]], None] = lambda names: None,
) -> Outcome:
    """Take in what arrived, evaluate all queries as far as their streams are known, drop what is no longer
    seen. `queries` are in the order of their streams, of which `read` come from outside; `connection` has
    the static graphs, and what is kept of them for the `families` of CQELS-QL. `at_work` is told whose work
    begins."""
    named = {stream for query in queries for stream in query.streams}
    made = {query.derived for query in queries if query.derived is not None}
    states = {name for query in queries for name in query.states}
    before = {stream: control.progress.get(stream, Progress()) for stream in {*read, *named, *made, *states}}
    outcome = Outcome({stream: buffers.get(stream, Buffer.empty(p.accepted)) for stream, p in before.items()})
    for stream in read:
        arrival = arrivals.get(stream, Arrivals())
        lateness, ahead = control.lateness.get(stream, 0), control.ahead.get(stream)
        arrived = arrive(stream, arrival.chunks, before[stream], lateness, ahead)
        progress = arrived.progress
        outcome.progress[stream] = progress.having_ended() if arrival.ended else progress
        outcome.letters += arrived.letters
        outcome.buffers[stream] = outcome.buffers[stream].with_more(arrived.elements)
    known = complete(outcome.progress, control)
    evaluating = InTask(queries, families, control, outcome, known, connection, at_work)
    try:
        evaluating.all()
        drop_unseen(queries, outcome, evaluating)
    finally:
        evaluating.place.cursor.close()
    outcome.progress = {stream: found.completed(known[stream]) for stream, found in outcome.progress.items()}
    return outcome


def drop_unseen(queries: Sequence[Registered], outcome: Outcome, evaluating: InTask) -> None:
    """Of every stream keep what a later instant of one of the queries can see."""
    queries = [query for query in queries if query.name not in outcome.failures]
    states = {name for query in queries for name in query.states}  # of which everything is needed
    placed = {stream: buffer.placed for stream, buffer in outcome.buffers.items() if stream not in states}
    entail = evaluating.entail_for()
    # Queries that look through the same windows and are equally far need the same.
    needs = {
        (
            query.evaluation.sees,
            outcome.reached[query.name],
            query.name if query.name in entail else "",
        ): query
        for query in queries
    }
    kept = {stream: np.zeros(len(elements), bool) for stream, elements in placed.items()}
    for (_, until, name), query in needs.items():
        evaluation = query.evaluation
        for stream in evaluation.streams:
            if isinstance(evaluation, Arrival):
                kept[stream] |= evaluation.live(stream, placed, until, entail.get(name))
            else:
                kept[stream] |= evaluation.live(stream, placed, until)
    for stream in placed:
        buffer = outcome.buffers[stream]
        outcome.buffers[stream] = buffer.keeping(placed[stream].filter(pa.array(kept[stream])))


@dataclass
class InTask(Evaluating):
    """In this process, in DuckDB, on buffers."""

    results: Outcome
    connection: duckdb.DuckDBPyConnection
    told: Callable[[Sequence[str]], None]

    def __post_init__(self) -> None:
        self.place = DuckPlace(self.connection.cursor())
        self._begin()
        self._readers = Counter(stream for query in self.queries for stream in query.streams)

    def bounded(self, work: Callable[[], T]) -> T:
        with limited_cursor(self.place.cursor):
            return work()

    def at_work(self, names: Sequence[str]) -> None:
        self.told(names)

    def forget(self) -> None:
        # With the cursor goes all that was made in it. After an internal error of DuckDB there is no new one.
        self.place.cursor.close()
        self.place = DuckPlace(self.connection.cursor())
        self.place.run("SELECT 1")
        self._begin()

    def _begin(self) -> None:
        self._elements: dict[str, str] = {}
        sizes = {name: table.size for name, table in self.control.kept.items()}
        filled = frozenset(name for name, size in sizes.items() if size.rows)
        self._windows = Batch(self.place, self._elements, filled)
        placed = Placed(self.results.buffers)
        several = work(self.queries) >= TABLE_QUERIES
        self._arriving = ArrivingBatch(self.place, placed, sizes, several)
        self._detecting = DetectingBatch(self.place, placed, filled)

    @property
    def held(self) -> Mapping[str, Buffer]:
        return self.results.buffers

    def windowed(self, evaluation: Evaluation, span: Span) -> Answers:
        for stream in evaluation.streams - self._elements.keys():
            name = self._elements[stream] = f"elements_{len(self._elements) + 1}"
            rows = self.held[stream].placed.select(["s", "p", "o", "time", "place"])
            if self._readers[stream] < TABLE_QUERIES:
                self.place.put(name, rows)
            else:
                self.place.put("arrived", rows)
                self.place.make(name, "SELECT * FROM arrived")
        return self._windows.answers(evaluation, span.after, span.until, dict(span.since))

    def detected(self, detection: Detection, span: Span) -> Answers:
        if not detection.stages:
            return self._detecting.answers(detection, span.after, span.until, dict(span.since))
        state = {name: self.held[name].elements for name in detection.states}
        times, since = (span.after, span.until), dict(span.since)
        found, state = consuming.answers(self._detecting, self.place, detection, times, since, state)
        self.results.buffers |= {name: Buffer(elements) for name, elements in state.items()}
        return found

    def fixpoint(self, rules: Sequence[Rule], until: int) -> Derived:
        found = Fixpoint(self._detecting, self.place, rules, until).derived()
        self._detecting.forget({rule.stream for rule in rules})
        return found

    def novelty(self, prepared: Prepared, span: Span, constants: pa.Table | None) -> Novelty:
        return self._arriving.novelty(prepared, span.after, span.until, dict(span.since), constants)

    def entail_for(self) -> dict[str, Entail]:
        """How the elements of queries that count those that match (TRIPLES n) entail more, by query."""
        members = {name: family.prepared for family in self.families for name in family.members}
        found = {}
        for query in self.queries:
            if query.name in self.results.failures:
                continue
            if isinstance(query.evaluation, Arrival) and query.evaluation.counts:
                entail = self._arriving.entail(members[query.name])
                if entail is not None:
                    found[query.name] = entail[1]
        return found

    def derive(self, stream: str, elements: pa.RecordBatch) -> None:
        self.results.buffers[stream] = self.results.buffers[stream].with_more([elements])


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
