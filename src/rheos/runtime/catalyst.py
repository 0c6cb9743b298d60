"""A batch by Catalyst: chunks of streams come in, the answers of queries go out, spread over the cluster.

For windows or static data that no single task should hold. Two jobs take in what arrived: one asks every
chunk for its bounds, from which the driver knows where each begins; the next sorts out what is late and
leaves the elements as files. Then every query is one job over these files, and what is no longer seen of
them is forgotten file by file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos import deadline
from rheos.algebra.streams import ArrivalWindow, LogicalWindow, PhysicalWindow, RangeWindow, Window
from rheos.errors import EvaluationError
from rheos.execute.catalyst import closure_view
from rheos.execute.limits import limited_jobs
from rheos.execute.session import map_in_arrow
from rheos.optimize.flows import Size
from rheos.optimize.static_parts import kept_in
from rheos.runtime.alone import PolicyAlone, consumed, derived
from rheos.runtime.arriving import Novelty, Prepared, statement_for, streams_of
from rheos.runtime.buffers import LIVE, NEVER, Buffer, DeadLetter, Progress, Summary, arrive, within
from rheos.runtime.circle import Derived, Rule
from rheos.runtime.clock import complete
from rheos.runtime.detecting import BATCH, Detection, nothing, statement_of, told
from rheos.runtime.evaluating import Evaluating, Span, T
from rheos.runtime.evaluation import Answers, Batch, Evaluation
from rheos.runtime.kept import KeptTable, read_kept
from rheos.runtime.opening import open_windows
from rheos.runtime.place import typed
from rheos.runtime.plan import Control, Registered, Relatives
from rheos.runtime.segments import Segment, Segments, read, save
from rheos.runtime.task import Collected
from rheos.sources.ahead import Ahead
from rheos.sources.chunks import Chunk
from rheos.sql.arriving import ArrivingStatement
from rheos.sql.continuous import ContinuousStatement
from rheos.sql.detecting import DetectingStatement
from rheos.sql.dialect import Dialect
from rheos.sql.entailed import derived_sql
from rheos.sql.relation import OCCURRENCE, clause_name, nested, select
from rheos.sql.spark import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GRACE = 1.0  # seconds that Spark has to listen when time is up

Key = tuple[str, int, int]  # of a chunk: its stream, its part, its number in that

_ELEMENTS = "s STRING, p STRING, o STRING, start LONG, time LONG, partition LONG, place LONG"
_NO_ELEMENTS = Buffer.empty().placed


class SparkPlace:
    """A session in which the static graphs and the elements are views."""

    nearby = False
    dialect: Dialect = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def make(self, name: str, sql: str) -> None:
        frame = self.spark.sql(sql).persist()
        self._kept.append(frame)
        frame.createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        self.spark.sql(sql).createOrReplaceTempView(name)

    def put(self, name: str, table: pa.Table) -> None:
        self.spark.createDataFrame(table).createOrReplaceTempView(name)

    def ask(self, sql: str) -> pa.Table:
        return self._run(lambda: self.spark.sql(sql).toArrow())

    def rows(self, statement: ContinuousStatement, instants: int) -> pa.Table:
        rows = self._answers(statement)
        return typed(rows, ("instant", "at"), statement.columns, asks=statement.asks)

    def new(self, statement: ArrivingStatement) -> pa.Table:
        rows = self._answers(statement)
        return typed(rows, ("member", "instant", "at"), statement.columns, asks=statement.asks)

    def _answers(self, statement: ContinuousStatement | ArrivingStatement) -> pa.Table:
        def run() -> pa.Table:
            for closure in statement.closures:
                closure_view(closure, self.spark)
            return self.spark.sql(statement.sql).toArrow()

        return self._run(run)

    def solutions(self, statement: DetectingStatement) -> pa.Table:
        rows = self._run(lambda: self.spark.sql(statement.sql).toArrow())
        return typed(rows, OCCURRENCE[::-1], statement.columns, asks=statement.asks)

    def close(self) -> None:
        for frame in self._kept:
            frame.unpersist()

    def _run(self, job: Callable[[], pa.Table]) -> pa.Table:
        from pyspark.errors import PySparkException

        try:
            return job()
        except PySparkException as error:
            first, *_ = str(error).splitlines() or [type(error).__name__]
            raise EvaluationError(f"Spark could not run the query: {first}") from error


def evaluate(
    frame: DataFrame,
    queries: Sequence[Registered],
    streams: Sequence[str],
    control: Control,
    state: Path,
    spark: SparkSession,
    families: Sequence[Relatives] = (),
) -> Collected:
    """A batch of these queries, which are in the order of their streams, and whose statements are Spark's;
    `streams` are those from outside that they read. The session has the views of the static graphs."""
    found = taken_in(frame, streams, control, state)
    known = complete(found.progress, control)
    found.progress = {stream: moved.completed(known[stream]) for stream, moved in found.progress.items()}
    named = {stream for query in queries for stream in query.streams}
    made = {query.derived for query in queries if query.derived is not None}
    states = {name for query in queries for name in query.states}
    for stream in {*named, *made, *states} - found.segments.keys():
        found.segments[stream] = control.segments.get(stream, Segments())
    place = SparkPlace(spark)
    try:
        ByCatalyst(queries, families, control, found, known, place, state).all()
    finally:
        if not found.abandoned:
            place.close()
    going_on = [query for query in queries if query.name not in found.failures]
    for stream in found.segments.keys() - states:
        found.segments[stream] = live(found.segments[stream], stream, going_on, found.reached)
    return found


@dataclass
class ByCatalyst(Evaluating):
    """By Spark SQL, on segments; state goes to files in a folder."""

    results: Collected
    place: SparkPlace
    state: Path

    execution = "catalyst"

    def __post_init__(self) -> None:
        self._files = itertools.count(1)
        self._shown: set[str] = set()
        self.forget()

    def bounded(self, work: Callable[[], T]) -> T:
        """Do the work in a thread that is left to itself if Spark does not listen: it may still be planning,
        which nothing interrupts. What it does then, it does in a session that nobody else uses any more."""
        if self.control.limit is None:
            return work()
        from pyspark import InheritableThread

        limit = deadline.current()
        assert limit is not None
        found: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                with deadline.under(limit), limited_jobs(self.place.spark):
                    found.append(work())
            except BaseException as error:
                failure.append(error)

        thread = InheritableThread(target=run, daemon=True, name="rheos-catalyst")
        thread.start()
        thread.join(limit.left + GRACE)
        if thread.is_alive():
            self.results.abandoned = True
            raise limit.error
        if failure:
            raise failure[0]
        return found[0]

    def forget(self) -> None:
        self._elements: dict[str, str] = {}
        self._windows = Batch(self.place, self._elements, self.filled)

    @property
    def held(self) -> Mapping[str, Segments]:
        return self.results.segments

    def windowed(self, evaluation: Evaluation, span: Span) -> Answers:
        for stream in evaluation.streams - self._elements.keys():
            self._elements[stream] = f"elements_{len(self._elements) + 1}"
            show_elements(self.place, self.held[stream], self._elements[stream])
        if evaluation.derivations is not None:
            self._show_kept({evaluation.derivations.table})
        return self._windows.answers(evaluation, span.after, span.until, dict(span.since))

    def detected(self, detection: Detection, span: Span) -> Answers:
        if detection.stages:
            return self.consumed(detection, span)
        self._show_kept({part.table for part in detection.parts})
        since, parts = dict(span.since), []
        for stream in sorted(detection.streams):
            if stream not in self._elements:
                self._elements[stream] = f"elements_{len(self._elements) + 1}"
                show_elements(self.place, self.held[stream], self._elements[stream])
            columns = [
                "s",
                "p",
                "o",
                *(f"{a} AS {b}" for a, b in zip(("start", "time"), OCCURRENCE, strict=True)),
            ]
            conditions = [f"time <= {span.until}", f"place > {since.get(stream, 0)}"]
            parts.append(select(columns, self._elements[stream], conditions))
        seen = "\nUNION ALL\n".join(parts)
        derivations = detection.derivations
        if derivations is not None and derivations.table in self.filled:
            own = select([*OCCURRENCE, "s", "p", "o"], nested(seen, "own"))
            seen = f"{own}\nUNION ALL\n{derived_sql(f'({seen})', derivations.table, OCCURRENCE)}"
        events = nested(seen, "events")
        of_part = {"all": [], "old": [f"ending <= {span.after}"], "new": [f"ending > {span.after}"]}
        numbers = range(1, len(detection.patterns) + 1)
        for number in numbers:
            for part, condition in of_part.items():
                self.place.view(clause_name(number, part), select(["*"], events, condition))
        self.place.view(BATCH, f"SELECT CAST({span.after} AS BIGINT) AS after")
        statement = statement_of(detection, frozenset(numbers), self.filled, SPARK)
        found = nothing(detection.query.query) if statement is None else self.place.solutions(statement)
        return told(found)

    def consumed(self, detection: Detection, span: Span) -> Answers:
        """With a policy of consumption one event depends on the others before it: in one task."""
        segments = {name: self.held[name] for name in (*detection.streams, *detection.states)}
        times, since = (span.after, span.until), dict(span.since)
        alone = PolicyAlone(segments, self._kept_of([detection]), self._start(), detection, times, since)
        found, state = consumed(alone, self.place.spark)
        self.results.segments |= state
        return found

    def fixpoint(self, rules: Sequence[Rule], until: int) -> Derived:
        """To the fixpoint inside tasks, never as a job for every round."""
        detections = [rule.detection for rule in rules]
        segments = {name: self.held[name] for detection in detections for name in detection.streams}
        kept, start = self._kept_of(detections), self._start()
        return derived(segments, kept, start, rules, until, self.place.spark)

    def _kept_of(self, detections: Sequence[Detection]) -> dict[str, KeptTable]:
        tables = {part.table for detection in detections for part in detection.parts}
        return {name: table for name, table in self.control.kept.items() if name in tables}

    def _start(self) -> str:
        return str(self.state / f"alone-{next(self._files)}")

    def novelty(self, prepared: Prepared, span: Span, constants: pa.Table | None) -> Novelty:
        self._show_kept({table.table for table in kept_in(prepared.pattern)})
        start = self.state / f"windows-{next(self._files)}"
        segments = {stream: self.held[stream] for stream in streams_of(prepared.query)}
        derivations = prepared.derivations
        derived = self.control.kept.get(derivations.table) if derivations is not None else None
        sizes, buckets = open_windows(prepared, span, segments, start, self.place, derived)
        statement, flow = statement_for(prepared, sizes, buckets, constants, self.sizes, self.place)
        return Novelty(self.place.new(statement), flow)

    def _show_kept(self, tables: set[str]) -> None:
        for name in tables & self.control.kept.keys() - self._shown:
            self.place.put(name, read_kept(self.control.kept[name]))
            self._shown.add(name)

    @property
    def sizes(self) -> dict[str, Size]:
        return {name: table.size for name, table in self.control.kept.items()}

    @property
    def filled(self) -> frozenset[str]:
        """The kept tables that have rows."""
        return frozenset(name for name, size in self.sizes.items() if size.rows)

    def derive(self, stream: str, elements: pa.RecordBatch) -> None:
        path = self.state / f"derived-{next(self._files)}.arrow"
        added = save(pa.Table.from_batches([elements], LIVE), path)
        before = self.results.segments[stream]
        self.results.segments[stream] = Segments(before.dropped, (*before.files, added))


def show_elements(place: SparkPlace, segments: Segments, name: str) -> None:
    """The elements of a stream as a table, numbered in their order."""
    spark = place.spark
    if not segments.files:
        place.put(name, _NO_ELEMENTS)
        return
    starts, arrived = [], 0
    for file in segments.files:
        starts.append((file.path, arrived))
        arrived += file.rows
    paths = spark.createDataFrame(starts, "path STRING, arrived LONG").repartition(len(starts))
    rows = map_in_arrow(paths, read_segments, _ELEMENTS)
    rows.createOrReplaceTempView(f"{name}_arrived")
    # Files hold what arrived together; the order of the stream is by time and partition first.
    following = all(a.precedes(b) for a, b in itertools.pairwise(segments.files))
    if following and all(file.in_order for file in segments.files):
        number = f"place + {segments.dropped}"
    else:
        number = f"row_number() OVER (ORDER BY time, partition, place) + {segments.dropped}"
    place.make(name, f"SELECT s, p, o, start, time, {number} AS place FROM {name}_arrived")


def read_segments(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Paths of segments come in, their elements go out, numbered by arrival."""
    for batch in batches:
        for row in batch.to_pylist():
            table = read(row["path"])
            numbers = pa.array(range(row["arrived"] + 1, row["arrived"] + 1 + len(table)), pa.int64())
            yield from table.append_column("place", numbers).combine_chunks().to_batches(100_000)


# --- what arrived ------------------------------------------------------------------------------------


def taken_in(frame: DataFrame, streams: Sequence[str], control: Control, state: Path) -> Collected:
    """The chunks of the streams as segments, after what is bad or late is sorted out."""
    if not streams:
        return Collected({}, [], [], {}, {})
    chosen = frame.where(frame.stream.isin(list(streams))).persist()
    try:
        schema = "stream STRING, part LONG, number LONG, ended BOOLEAN, about STRING"
        bounds = map_in_arrow(chosen, BoundsOf(control.ahead), schema).collect()
        before: dict[Key, Progress] = {}
        progress = {stream: control.progress.get(stream, Progress()) for stream in streams}
        for row in sorted(bounds, key=lambda row: (row["stream"], row["part"], row["number"])):
            stream = row["stream"]
            if row["ended"]:
                progress[stream] = progress[stream].having_ended()
                continue
            before[stream, row["part"], row["number"]] = progress[stream]
            progress[stream] = progress[stream].moved(Summary(**json.loads(row["about"])))
        numbers = {stream: number for number, stream in enumerate(streams)}
        accept = Accept(before, dict(control.lateness), control.ahead, str(state), numbers)
        accepted = map_in_arrow(
            chosen, accept, "stream STRING, part LONG, number LONG, segment STRING, letters STRING"
        ).collect()
    finally:
        chosen.unpersist()
    found = Collected(progress, [], [], {}, {})
    for stream in streams:
        found.segments[stream] = control.segments.get(stream, Segments(progress_before(control, stream)))
    for row in sorted(accepted, key=lambda row: (row["stream"], row["part"], row["number"])):
        stream = row["stream"]
        letters = [DeadLetter(**letter) for letter in json.loads(row["letters"])]
        found.letters += letters
        late = sum(letter.kind == "late" for letter in letters)
        found.progress[stream] = found.progress[stream].with_late(late)
        segment = Segment(**json.loads(row["segment"]))
        if segment.rows:
            kept = found.segments[stream]
            found.segments[stream] = Segments(kept.dropped, (*kept.files, segment))
    return found


def progress_before(control: Control, stream: str) -> int:
    return control.progress.get(stream, Progress()).accepted


@dataclass(frozen=True, slots=True)
class BoundsOf:
    """What the driver needs to know of every chunk."""

    ahead: Mapping[str, Ahead]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                about = {}
                if not row["ended"]:
                    chunk = within(Chunk.unpack(row["data"], row["path"]), self.ahead.get(row["stream"]))
                    about = asdict(Summary.of(chunk))
                given = {name: row[name] for name in ("stream", "part", "number", "ended")}
                yield pa.RecordBatch.from_pylist([{**given, "about": json.dumps(about)}])


@dataclass(frozen=True, slots=True)
class Accept:
    """Leaves the elements of each chunk in a file, but for those that are late or too far ahead."""

    before: Mapping[Key, Progress]
    lateness: Mapping[str, int]
    ahead: Mapping[str, Ahead]
    state: str
    numbers: Mapping[str, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                if row["ended"]:
                    continue
                stream, part, number = row["stream"], row["part"], row["number"]
                chunk = Chunk.unpack(row["data"], row["path"])
                progress = self.before[stream, part, number]
                lateness, ahead = self.lateness.get(stream, 0), self.ahead.get(stream)
                arrived = arrive(stream, [chunk], progress, lateness, ahead)
                elements = pa.Table.from_batches(arrived.elements, LIVE)
                path = Path(self.state, f"catalyst-{self.numbers[stream]}-{part}-{number}.arrow")
                segment = save(elements, path)
                letters = json.dumps([letter.json() for letter in arrived.letters])
                about = {"stream": stream, "part": part, "number": number}
                yield pa.RecordBatch.from_pylist(
                    [{**about, "segment": json.dumps(asdict(segment)), "letters": letters}]
                )


# --- what stays --------------------------------------------------------------------------------------


def live(
    segments: Segments, stream: str, queries: Sequence[Registered], reached: Mapping[str, int]
) -> Segments:
    """Without the first files if no later instant can see any of their elements."""
    files, dropped = list(segments.files), segments.dropped
    while files and not any(_needed(files, stream, query, reached[query.name]) for query in queries):
        dropped += files.pop(0).rows
    return Segments(dropped, tuple(files))


def _needed(files: Sequence[Segment], stream: str, query: Registered, until: int) -> bool:
    """Whether a query can still see an element of the first of these files of a stream."""
    evaluation = query.evaluation
    if stream not in evaluation.streams:
        return False
    if isinstance(evaluation, Detection):
        return evaluation.memory is None or files[0].last > until - evaluation.memory
    windows = (found.window for found in evaluation.query.windows if found.stream == stream)
    return any(_seen(files, window, until) for window in windows)


def _seen(files: Sequence[Segment], window: Window | ArrivalWindow, until: int) -> bool:
    """Whether a window can still hold an element of the first of these files."""
    first, rest = files[0], files[1:]
    match window:
        case LogicalWindow(range_, step):
            return -(-(first.last + range_) // step) * step > until + 1
        case PhysicalWindow(triples, step):
            # Only files that are later in time: some elements were late, or are of other partitions.
            later = (file for file in rest if first.last < file.first and file.last <= until)
            return sum(file.rows for file in later) < triples + step
        case RangeWindow(range_, slide):
            # The last tick was not before any of the elements that were evaluated.
            ticked = max((file.first for file in rest if file.first <= until), default=NEVER)
            return first.last + range_ + (slide or 0) >= ticked
    return True  # what matches the patterns of TRIPLES n is only known to who looks at the elements
