"""The loop that runs continuous queries: Structured Streaming reads the streams batch by batch, and each
batch becomes one Spark job whose tasks answer all queries.

    chunks of all streams ─▶ a task for every group of queries ─▶ answers, dead letters, state

The driver holds only how far streams and queries are. Elements stay with the tasks, and between batches in
the journal's folder, which all machines must see.
"""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.errors import RheosError
from rheos.execute.session import map_in_arrow, this_interpreter
from rheos.runtime import catalyst
from rheos.runtime.buffers import NEVER, DeadLetter, Progress
from rheos.runtime.durable import Journal, Sink
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.metrics import Metrics, StreamMetrics
from rheos.runtime.plan import Control, Plan, Registered
from rheos.runtime.registry import Registry
from rheos.runtime.segments import Segments
from rheos.runtime.step import Report
from rheos.runtime.task import OUTPUT, Collected, Shipped, Task, collect, pack
from rheos.sources.base import BATCH_BYTES, Source
from rheos.sources.reader import FORMAT, Streams, StreamsDataSource
from rheos.sql.spark import SPARK
from rheos.store.graphs import StaticGraphs
from rheos.store.tables import NAMES, arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# A batch that had more elements than this is parsed by several tasks and then brought together.
LARGE_BATCH = 50_000
# With `auto`, queries whose streams hold more live elements, or with more static triples, go to Catalyst.
TASK_ELEMENTS = 4_000_000
TASK_TRIPLES = 5_000_000
_TICK = 0.05


class Writer(Protocol):
    """Gives the answers of a batch the form in which they go out."""

    def header(self) -> bytes: ...

    def batch(self, answers: list[tuple[QueryInfo, pa.Table]]) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of an engine: where it comes from, the lateness that is allowed (microseconds), and after how
    many seconds of silence it no longer holds up the others. Rows of a Spark `frame` are chunks already."""

    source: Source | None
    lateness: int = 0
    idle: float | None = None
    frame: DataFrame | None = None

    @property
    def live(self) -> bool:
        return self.source is None or self.source.live


@dataclass
class Output:
    """Where answers and dead letters go, beside the handles; letters as lines of JSON."""

    sink: Sink | None = None
    writer: Writer | None = None
    letters: Sink | None = None
    on_letters: Callable[[list[DeadLetter]], None] | None = None


@dataclass
class Loop:
    """One run of an engine's queries over its streams."""

    session: SparkSession
    registry: Registry
    graphs: StaticGraphs
    streams: Mapping[str, Stream]
    journal: Journal
    output: Output
    execution: str = "auto"
    batch_bytes: int = BATCH_BYTES
    warn: Callable[[str], None] = print
    progress: dict[str, Progress] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    segments: dict[str, Segments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.failure: BaseException | None = None
        self.finished = threading.Event()
        self.batches = 0
        self._query: StreamingQuery | None = None
        self._done: int = -1
        self._shipped: dict[str, Shipped] = {}
        self._compiled: dict[str, Registered] = {}
        self._silent: set[str] = set()
        self._closed_frames = False
        self._heard = dict.fromkeys(self.streams, time.monotonic())
        self._rates: dict[str, float] = {}
        self._lately = LARGE_BATCH + 1
        self._warned: set[str] = set()
        self._beat = self.journal.folder / "beat"
        self._batch_ended = time.monotonic()
        self._recover()

    # --- from outside ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on where the journal says."""
        if self.finished.is_set():
            return
        spark = self.session
        with this_interpreter(spark.sparkContext):
            spark.dataSource.register(StreamsDataSource)
        sources = {name: stream.source for name, stream in self.streams.items() if stream.source is not None}
        arrivals = str(self.journal.arrivals)
        option = Streams(sources, str(self._beat), self.batch_bytes, arrivals, self._cores()).option()
        frame = spark.readStream.format(FORMAT).option("streams", option).load()
        for stream in self.streams.values():
            if stream.frame is not None:
                frame = frame.union(stream.frame)
        self._query = (
            frame.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(self.journal.folder / "spark"))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def wait(self, timeout: float | None = None, *, until_read: bool = False) -> bool:
        """Wait until all streams have ended; whether they have. With `until_read`, a Spark DataFrame has
        ended when all that it had was read."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.finished.wait(_TICK):
            if self._query is not None and not self._query.isActive:
                break
            self._notice_silence()
            if until_read:
                self._notice_frames_read()
            if deadline is not None and time.monotonic() >= deadline:
                break
        self._raise_failure()
        return self.finished.is_set()

    def stop(self) -> None:
        """Stop after the batch that runs."""
        query, self._query = self._query, None
        if query is not None:
            query.stop()
        for shipped in self._shipped.values():
            shipped.data.unpersist()
        self._shipped.clear()

    @property
    def active(self) -> bool:
        return self._query is not None and self._query.isActive and not self.finished.is_set()

    def now(self) -> dict[str, int]:
        """How far each stream is, derived ones too."""
        known = {name: progress.high for name, progress in self.progress.items()}
        for handle in self.registry.handles.values():
            if handle.registered.derived is not None:
                known[handle.registered.derived] = self.reached.get(handle.name, NEVER)
        return known

    def metrics(self) -> Metrics:
        streams = {name[1:-1]: self._stream_metrics(name) for name in self.streams}
        queries = {name: handle.metrics for name, handle in self.registry.handles.items()}
        return Metrics(streams, queries, self.batches)

    # --- a batch -----------------------------------------------------------------------------------

    def _batch(self, frame: DataFrame, number: int) -> None:
        try:
            if number > self._done:
                self._evaluate(frame, number)
            else:  # it was done before the crash, but Spark does not know that
                self._emit_rest(number)
        except BaseException as error:
            self.failure = error
            raise

    def _evaluate(self, frame: DataFrame, number: int) -> None:
        plan = self.registry.plan(self.streams, self._cores(), self._is_large)
        control = Control(
            number,
            self.progress,
            {name: stream.lateness for name, stream in self.streams.items()},
            frozenset(self._silent),
            self.reached,
            dict(self.registry.since),
            self.segments,
        )
        collected = Collected({}, [], [], {}, {})
        both = bool(plan.catalyst and plan.groups)
        if both:
            frame.persist()  # so that it is read once
        if plan.groups:
            collected.add(self._in_tasks(frame, plan, control))
        if plan.catalyst:
            collected.add(self._by_catalyst(frame, plan, control))
        if both:
            frame.unpersist()
        lately = sum(p.read for p in collected.progress.values()) - sum(
            p.read for p in self.progress.values()
        )
        self._note_arrivals(collected.progress, time.monotonic() - self._batch_ended)
        self.progress = {**self.progress, **collected.progress}
        if self._closed_frames:
            self._end_frames()
        self.reached = {**self.reached, **collected.reached}
        self.segments = {**self.segments, **collected.segments}
        self._lately = lately
        self._say(number, collected.reports, collected.letters)
        self._batch_ended = time.monotonic()
        if self.all_ended():
            self.finished.set()

    def _in_tasks(self, frame: DataFrame, plan: Plan, control: Control) -> Collected:
        """One job, with a task for every group."""
        task = Task(
            self._ship("plan", f"{id(self)}.{plan.version}", lambda: pickle.dumps(plan)),
            self._ship("static", f"{id(self)}.{self.graphs.version}", self._static),
            control,
            str(self.journal.state(control.batch)),
            max(1, self._cores() // len(plan.groups)),
        )
        table = map_in_arrow(self._rows(frame, plan), task, OUTPUT).toArrow()
        return collect(table, plan.readers(), "task")

    def _by_catalyst(self, frame: DataFrame, plan: Plan, control: Control) -> Collected:
        """A job for every query."""
        for name in ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"):
            self.session.conf.unset(name)
        self.graphs.views(self.session)
        queries = [self._for_spark(query) for query in plan.catalyst]
        state = self.journal.state(control.batch)
        return catalyst.evaluate(frame, queries, control, state, self.session)

    def _for_spark(self, query: Registered) -> Registered:
        known = self._compiled.get(query.name)
        if known is None or known.info is not query.info:
            known = replace(query, evaluation=Evaluation.of(query.evaluation.query, SPARK))
            self._compiled[query.name] = known
        return known

    def _is_large(self, family: Sequence[Registered]) -> bool:
        """Whether a family of queries is left to Catalyst: as told, or by what its streams held last."""
        if self.execution != "auto":
            return self.execution == "catalyst"
        streams = {stream for query in family for stream in query.streams}
        live = sum(self.segments[stream].rows for stream in streams if stream in self.segments)
        return live > TASK_ELEMENTS or self.graphs.in_spark or self.graphs.size > TASK_TRIPLES

    def all_ended(self) -> bool:
        return bool(self.streams) and all(self.progress.get(s, Progress()).ended for s in self.streams)

    def _rows(self, frame: DataFrame, plan: Plan) -> DataFrame:
        """The chunks with the group that each goes to, and for each group at least one row, so that its task
        runs even where nothing arrived."""
        spark = frame.sparkSession
        count = len(plan.groups)
        tickets = spark.sql(
            f"SELECT CAST(id AS INT) AS group, '' AS stream, 0L AS part, 0L AS number, false AS ended,"
            f" CAST(NULL AS BINARY) AS data, CAST(NULL AS STRING) AS path FROM range(0, {count}, 1, 1)"
        )
        if count <= 1:
            rows = tickets.union(frame.selectExpr("0 AS group", "*"))
            return rows.repartition(1) if self._lately > LARGE_BATCH else rows.coalesce(1)
        cases = " ".join(
            f"WHEN {_quoted(stream)} THEN array({', '.join(map(str, groups))})"
            for stream, groups in plan.readers().items()
        )
        chunks = frame.selectExpr(f"explode(CASE stream {cases} END) AS group", "*")
        return tickets.union(chunks).repartitionById(count, "group")

    def _say(self, number: int, reports: list[Report], letters: list[DeadLetter]) -> None:
        """Make the batch durable, then tell everybody."""
        said = {}
        if self.output.writer is not None:
            tables = [(self.registry.handles[r.query].info, r.answers.rows) for r in self._known(reports)]
            head = self.output.writer.header() if self._done < 0 else b""
            said["answers"] = head + self.output.writer.batch(tables)
        if letters:
            said["letters"] = b"".join(_line(letter) for letter in letters)
        record = {
            "progress": {name: asdict(progress) for name, progress in self.progress.items()},
            "reached": self.reached,
            "since": self.registry.since,
            "segments": {name: asdict(segments) for name, segments in self.segments.items()},
        }
        self.journal.commit(number, record, said)
        self._done = number
        self.batches += 1
        self._emit(number, said)
        if self.output.on_letters is not None and letters:
            self.output.on_letters(letters)
        for report in self._known(reports):
            handle = self.registry.handles.get(report.query)
            if handle is not None:
                handle.report(report.answers, report.milliseconds, report.execution)

    def _known(self, reports: list[Report]) -> list[Report]:
        """Without those of queries that were stopped while the batch ran."""
        return [report for report in reports if self.registry.runs(report.query)]

    def _emit(self, number: int, said: Mapping[str, bytes]) -> None:
        for channel, sink in (("answers", self.output.sink), ("letters", self.output.letters)):
            if sink is not None:
                self.journal.emit(number, channel, said.get(channel, b""), sink)

    def _emit_rest(self, number: int) -> None:
        self._emit(
            number, {channel: self.journal.said(number, channel) for channel in ("answers", "letters")}
        )

    def _recover(self) -> None:
        found = self.journal.last()
        if found is None:
            return
        self._done, record = found
        self.progress = {name: Progress(**values) for name, values in record["progress"].items()}
        self.reached = record["reached"]
        self.registry.since.update(record["since"])
        self.segments = {name: Segments.of_json(values) for name, values in record["segments"].items()}
        self._emit_rest(self._done)
        if self.all_ended():
            self.finished.set()

    # --- what tasks need ---------------------------------------------------------------------------

    def _cores(self) -> int:
        return self.session.sparkContext.defaultParallelism

    def _ship(self, kind: str, key: str, make: Callable[[], bytes]) -> Shipped:
        """A broadcast of what has changed; the one before is let go of."""
        known = self._shipped.get(kind)
        if known is None or known.key != key:
            if known is not None:
                known.data.unpersist()
            known = self._shipped[kind] = Shipped(key, self.session.sparkContext.broadcast(make()))
        return known

    def _static(self) -> bytes:
        with self.graphs.connection.cursor() as cursor:
            return pickle.dumps({name: pack(arrow(cursor, name)) for name in NAMES})

    # --- the clock on the wall ---------------------------------------------------------------------

    def _note_arrivals(self, progress: Mapping[str, Progress], seconds: float) -> None:
        now = time.monotonic()
        for name, after in progress.items():
            more = after.read - self.progress.get(name, Progress()).read
            if more:
                self._heard[name] = now
                self._silent.discard(name)
            rate = more / max(seconds, 1e-3)
            self._rates[name] = 0.5 * self._rates.get(name, rate) + 0.5 * rate
            if after.without_zone and name not in self._warned:
                self._warned.add(name)
                self.warn(f"{name}: times without a time zone are taken as UTC")

    def _notice_silence(self) -> None:
        """A live stream that has been idle for too long no longer holds up the instants of others."""
        now = time.monotonic()
        found = {
            name
            for name, stream in self.streams.items()
            if stream.live
            and stream.idle is not None
            and name not in self._silent
            and name in self.progress
            and now - self._heard[name] > stream.idle
        }
        if found:
            self._silent |= found
            self._ask_for_batch()

    def _notice_frames_read(self) -> None:
        """When everything else has ended and Spark finds nothing more in the DataFrames, they have too."""
        frames = [name for name, stream in self.streams.items() if stream.source is None]
        rest = [name for name in self.streams if name not in frames]
        if not frames or self._closed_frames or self._query is None or not self.batches:
            return
        if any(not self.progress.get(name, Progress()).ended for name in rest):
            return
        status = self._query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            self._closed_frames = True
            self._silent |= set(frames)
            self._ask_for_batch()

    def _end_frames(self) -> None:
        for name, stream in self.streams.items():
            if stream.source is None and name in self.progress:
                self.progress[name] = self.progress[name].having_ended()

    def _ask_for_batch(self) -> None:
        self._beat.write_text(str(time.time_ns()))

    def _stream_metrics(self, name: str) -> StreamMetrics:
        progress, stream = self.progress.get(name, Progress()), self.streams[name]
        event_time = None if progress.high == NEVER else progress.high
        lag = time.time() - event_time / 1e6 if stream.live and event_time is not None else None
        return StreamMetrics(
            progress.read,
            progress.bad,
            progress.late,
            progress.without_zone,
            event_time,
            self._rates.get(name, 0.0),
            lag,
            self.segments[name].rows if name in self.segments else 0,
            progress.ended,
        )

    def _raise_failure(self) -> None:
        if self.failure is not None:
            error, self.failure = self.failure, None
            raise error
        query = self._query
        stopped = query.exception() if query is not None and not query.isActive else None
        if stopped is not None:
            raise RheosError(f"the streams could not be read: {_reason(stopped)}") from stopped


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "Error" in line]
    return (said or lines or [type(error).__name__])[-1]


def _line(letter: DeadLetter) -> bytes:
    content = {**letter.json(), "stream": letter.stream[1:-1]}
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
