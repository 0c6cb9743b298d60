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
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from rheos import memory
from rheos.algebra.entailment import Schema
from rheos.answers.continuous import QueryInfo
from rheos.errors import EvaluationError
from rheos.execute.base import Executor
from rheos.execute.catalyst import Catalyst, suit_to
from rheos.execute.local import Local
from rheos.execute.session import adopt, map_in_arrow, this_interpreter
from rheos.runtime import catalyst
from rheos.runtime.arriving import Arrival
from rheos.runtime.buffers import DeadLetter, Progress
from rheos.runtime.detecting import STATE
from rheos.runtime.durable import Journal, Sink
from rheos.runtime.evaluating import Report
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.failures import Told, explained, quiet
from rheos.runtime.kept import KeptTable, KeptTables, Unfilled
from rheos.runtime.metrics import Metrics
from rheos.runtime.plan import Control, Plan, Registered
from rheos.runtime.registry import Handle, Registry
from rheos.runtime.segments import Segments
from rheos.runtime.task import OUTPUT, Collected, Evaluate, Shipped, Task, collect, pack
from rheos.runtime.watch import Stream, Watch
from rheos.sources.base import BATCH_BYTES
from rheos.sources.reader import FORMAT, Streams, StreamsDataSource
from rheos.sql.entailed import entailed_names
from rheos.sql.spark import SPARK
from rheos.store.graphs import StaticGraphs
from rheos.store.tables import GRAPH_NAMES, NAMES, arrow

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


@dataclass
class Output:
    """Where answers and dead letters go, beside the handles; letters as lines of JSON."""

    sink: Sink | None = None
    writer: Writer | None = None
    letters: Sink | None = None


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
    limit: float | None = None
    progress: dict[str, Progress] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    segments: dict[str, Segments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.finished = threading.Event()
        self.batches = 0
        self._key = uuid.uuid4().hex
        self._watch = Watch(self.streams)
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._busy = threading.RLock()  # held by the batch that runs
        self._batch_thread: int | None = None
        self._batch_began: float | None = None
        self._done = -1
        self._shipped: dict[str, Shipped] = {}
        self._compiled: dict[str, Registered] = {}
        self._frames_read = False
        self._cautious = False  # the batch before was late
        self._apart: set[str] = set()  # members of families that are evaluated each by itself
        self._failing: dict[str, str] = {}  # the queries that failed in the batch that is being done
        self._lately = LARGE_BATCH + 1
        self._warned: set[str] = set()
        self._beat = self.journal.folder / "beat"
        self._kept = KeptTables(self.graphs, self.journal.folder / "kept", self._executor)
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
        threading.Thread(target=self._look_after, daemon=True, name="rheos-watch").start()

    def wait(self, timeout: float | None = None, *, until_read: bool = False) -> bool:
        """Wait until all streams have ended; whether they have. With `until_read`, a Spark DataFrame has
        ended when all that it had was read."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.finished.wait(_TICK):
            query = self._query
            if query is None or not query.isActive:
                break
            if until_read:
                self._notice_frames_read(query)
            if deadline is not None and time.monotonic() >= deadline:
                break
        self._raise_failure()
        return self.finished.is_set()

    def stop(self) -> None:
        """Stop; the batch that runs is done or, as far as anybody can see, was not begun."""
        self._stopping.set()
        if threading.get_ident() == self._batch_thread:
            # A subscriber asks for it, from inside a batch: Spark would wait for that.
            threading.Thread(target=self.stop, name="rheos-stop").start()
            return
        query, self._query = self._query, None
        if query is not None:
            with quiet(self.session):
                query.stop()
        with self._busy:
            for shipped in self._shipped.values():
                shipped.data.unpersist()
            self._shipped.clear()

    @property
    def active(self) -> bool:
        return self._query is not None and self._query.isActive and not self.finished.is_set()

    @property
    def failure(self) -> BaseException | None:
        """Why the loop has come to an end that nobody asked for."""
        query = self._query
        if query is None or query.isActive or self._stopping.is_set() or self.finished.is_set():
            return None
        found = self._failure or query.exception()
        return explained(found) if found else EvaluationError("Spark has stopped reading the streams")

    def reset(self, stream: str) -> None:
        """Start the clock of a stream anew: what it and the streams made from it hold is dropped, and their
        readers start again."""
        with self._busy:
            source = self.streams[stream].source if stream in self.streams else None
            if source is not None:
                source.skip()
            if stream in self.progress:
                self.progress[stream] = self.progress[stream].anew()
            streams, readers = self.registry.behind(stream)
            states = {name for handle in readers for name in handle.registered.states}
            self.segments = {name: kept for name, kept in self.segments.items() if name not in states}
            self.segments |= dict.fromkeys(streams, Segments())
            for handle in readers:
                self.reached.pop(handle.name, None)
            self.registry.restart(readers, self.now())
            self.journal.amend(self._record())

    @property
    def busy_for(self) -> float:
        """How many seconds the batch that runs has taken so far."""
        began = self._batch_began
        return 0.0 if began is None else time.monotonic() - began

    def now(self) -> dict[str, int]:
        """How far each stream is, derived ones too."""
        return self.registry.now(self.progress, self.reached)

    def metrics(self) -> Metrics:
        streams = {
            name[1:-1]: self._watch.metrics(
                name,
                self.progress.get(name, Progress()),
                self.segments[name].rows if name in self.segments else 0,
            )
            for name in self.streams
        }
        return Metrics(streams, self.registry.metrics(), self.batches, self._kept.milliseconds)

    # --- a batch -----------------------------------------------------------------------------------

    def _batch(self, frame: DataFrame, number: int) -> None:
        with self._busy:
            if self._stopping.is_set():
                # To return would tell Spark that the batch is done, and its elements would be lost.
                raise Told
            self._batch_thread, self._batch_began = threading.get_ident(), time.monotonic()
            try:
                # One that was done before the crash has gone out; only Spark does not know that.
                if number > self._done:
                    self._evaluate(frame, number)
            except BaseException as error:
                if not self._stopping.is_set():
                    self._failure = error
                raise Told from None
            finally:
                self._batch_thread = self._batch_began = None

    def _evaluate(self, frame: DataFrame, number: int) -> None:
        for gone in self.registry.removed():
            self.reached.pop(gone, None)
        plan, kept = self._planned()
        ending = self._frames_read
        control = Control(
            number,
            self.progress,
            {name: stream.lateness for name, stream in self.streams.items()},
            frozenset(self._watch.silent),
            frozenset(self._watch.idle),
            frozenset(self._frames() if ending else ()),
            self._watch.ahead(),
            self.reached,
            dict(self.registry.since),
            self.segments,
            kept,
            self.limit,
            self._cautious,
            frozenset(self._apart),
        )
        collected = self._collected(frame, plan, control)
        self.registry.flows |= collected.flows
        self._lately = self._watch.heard(self.progress, collected.progress)
        self._warn_of_zones(collected.progress)
        self._warn_of_late(collected.letters)
        self.progress = {**self.progress, **collected.progress}
        if ending:
            self.progress |= {
                name: self.progress.get(name, Progress()).having_ended() for name in self._frames()
            }
        self.reached = {**self.reached, **collected.reached}
        self.segments = self._without_old_states(plan, {**self.segments, **collected.segments})
        handles = self._handles(plan) if collected.failures else {}
        failing = {
            name: reason
            for name, reason in collected.failures.items()
            if name in handles and self._is_current(handles[name])
        }
        self._failing = failing
        self._say(number, self._heard(plan, collected.reports), collected.letters)
        self._failing = {}
        for name, reason in failing.items():
            self._stop_query(handles[name], reason)
        # The members of a family that took too long were each by itself. Those that are left may be together.
        self._apart = (self._apart & collected.deferred) | collected.apart
        self._cautious = bool(collected.deferred) and not self._cautious
        if collected.abandoned:
            self.session = adopt(self.session)
        if collected.failures or collected.deferred:
            self.ask_for_batch()  # some were left over, and nobody waits any more for what was stopped
        elif self.all_ended():
            self.finished.set()

    def _planned(self) -> tuple[Plan, dict[str, KeptTable]]:
        """What is to be done now, and what is kept of static data for it. Queries whose part of the static
        data cannot be computed are stopped."""
        while True:
            plan = self.registry.plan(self.streams, self._cores(), self._is_large)
            try:
                return plan, self._kept.up_to_date(plan.static_parts, self.limit)
            except Unfilled as error:
                handles = self._handles(plan)
                for name in plan.needing(error.table, error.member):
                    if name in handles and self._is_current(handles[name]):
                        self._stop_query(handles[name], str(error).splitlines()[0])

    def _stop_query(self, handle: Handle, reason: str) -> None:
        """Stop a query that cannot be evaluated, and tell everybody."""
        handle.fail(reason)
        self.warn(f"the query {handle.name} was stopped: {reason}")

    def _without_old_states(self, plan: Plan, segments: Mapping[str, Segments]) -> dict[str, Segments]:
        """Without what queries kept that do not run any more: one that starts again sees what comes then."""
        kept = {name for query in plan.queries for name in query.states}
        return {name: found for name, found in segments.items() if STATE not in name or name in kept}

    def _collected(self, frame: DataFrame, plan: Plan, control: Control) -> Collected:
        """What both ways of running come to."""
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
        return collected

    def _in_tasks(self, frame: DataFrame, plan: Plan, control: Control) -> Collected:
        """One job, with a task for every group."""
        threads, most = self._share(len(plan.groups))
        task = Task(
            self._ship("plan", f"{self._key}.{plan.version}", lambda: pickle.dumps(plan)),
            self._static(plan.graphs),
            Evaluate(control, str(self.journal.state(control.batch)), threads, most, self.journal.durable),
        )
        table = map_in_arrow(self._rows(frame, plan), task, OUTPUT).toArrow()
        return collect(table, plan.readers(), "task")

    def _by_catalyst(self, frame: DataFrame, plan: Plan, control: Control) -> Collected:
        """A job for every query."""
        live = sum(segments.rows for segments in self.segments.values())
        suit_to(self.session, self.graphs.size + live + self._lately)
        self.graphs.views(self.session)
        for schema in plan.graphs_for(plan.catalyst):
            if schema is not None:
                self.graphs.entailments.show(self.session, schema)
        queries = [self._for_spark(query) for query in plan.catalyst]
        state = self.journal.state(control.batch)
        streams = plan.outside(plan.catalyst)
        return catalyst.evaluate(frame, queries, streams, control, state, self.session, plan.relatives)

    def _for_spark(self, query: Registered) -> Registered:
        if not isinstance(query.evaluation, Evaluation):
            return query  # its statements are made when it is known what there is to join
        known = self._compiled.get(query.name)
        if known is None or known.info is not query.info:
            evaluation = Evaluation.of(query.evaluation.query, SPARK, view=query.evaluation.view)
            known = replace(query, evaluation=evaluation)
            self._compiled[query.name] = known
        return known

    def _executor(self) -> Executor:
        """Where static parts are computed."""
        if self.graphs.in_spark or self.graphs.size > TASK_TRIPLES:
            return Catalyst(self.graphs, lambda: self.session)
        return Local(self.graphs)

    def _is_large(self, family: Sequence[Registered]) -> bool:
        """Whether a family of queries is left to Catalyst: as told, or by what its streams held last."""
        if self.execution != "auto":
            return self.execution == "catalyst"
        streams = {stream for query in family for stream in query.streams}
        live = sum(self.segments[stream].rows for stream in streams if stream in self.segments)
        if live > TASK_ELEMENTS:
            return True
        # Of what is kept of the graphs, tasks have the tables.
        asks = any(
            isinstance(q.evaluation, Evaluation)
            or (isinstance(q.evaluation, Arrival) and q.evaluation.asks_graphs)
            for q in family
        )
        return asks and (self.graphs.in_spark or self.graphs.size > TASK_TRIPLES)

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

    def _say(self, number: int, reports: list[tuple[Handle, Report]], letters: list[DeadLetter]) -> None:
        """Make the batch durable, then tell everybody."""
        said = {}
        if self.output.writer is not None:
            tables = [(handle.info, report.answers.rows) for handle, report in reports]
            head = self.output.writer.header() if self._done < 0 else b""
            said["answers"] = head + self.output.writer.batch(tables)
        if letters:
            said["letters"] = b"".join(_line(letter) for letter in letters)
        self.journal.commit(number, self._record(), said)
        self._done = number
        self.batches += 1
        self._emit(number, said)
        for handle, report in reports:
            if self._is_current(handle):
                handle.report(report.answers, report.milliseconds, report.execution)

    def _heard(self, plan: Plan, reports: list[Report]) -> list[tuple[Handle, Report]]:
        """Who hears of which report: without those of queries that were stopped or replaced while the batch
        ran."""
        handles = self._handles(plan)
        found = ((handles.get(report.query), report) for report in reports)
        return [(handle, report) for handle, report in found if handle and self._is_current(handle)]

    def _handles(self, plan: Plan) -> dict[str, Handle]:
        """The queries of a plan that are still the ones that are registered."""
        known = dict(self.registry.handles)
        planned = (query for group in (*plan.groups, plan.catalyst) for query in group)
        # How one is evaluated may be shared, or found anew; its description stays the same.
        return {q.name: known[q.name] for q in planned if q.name in known and known[q.name].info is q.info}

    def _is_current(self, handle: Handle) -> bool:
        return self.registry.handles.get(handle.name) is handle and self.registry.runs(handle.name)

    def _sinks(self) -> dict[str, Sink | None]:
        return {"answers": self.output.sink, "letters": self.output.letters}

    def _emit(self, number: int, said: Mapping[str, bytes]) -> None:
        for channel, sink in self._sinks().items():
            if sink is not None:
                self.journal.emit(number, channel, said.get(channel, b""), sink)

    def _emit_again(self, number: int, lengths: Mapping[str, int | None]) -> None:
        """Have gone out what the last batch said, and nothing behind it."""
        for channel, sink in self._sinks().items():
            if sink is not None:
                self.journal.emit_again(number, channel, lengths.get(channel), sink)

    def _record(self) -> dict[str, Any]:
        """What is true after the last batch."""
        return {
            "progress": {name: asdict(progress) for name, progress in self.progress.items()},
            "reached": self.reached,
            "segments": {name: asdict(segments) for name, segments in self.segments.items()},
            **self.registry.described(),
            "failures": {**self.registry.failures(), **self._failing},
            "lengths": self.journal.lengths(self._sinks()),
        }

    def _recover(self) -> None:
        found = self.journal.last()
        if found is None:
            # A run that ends before its first batch has said what it is made of.
            self.journal.commit(self._done, self._record(), {})
            return
        self._done, record = found
        self.progress = {name: Progress.of_json(values) for name, values in record["progress"].items()}
        # A view has nothing to go on with: it shows again what is there.
        views = {name for name, handle in self.registry.handles.items() if handle.registered.is_view}
        self.reached = {name: time for name, time in record["reached"].items() if name not in views}
        self.segments = {name: Segments.of_json(values) for name, values in record["segments"].items()}
        for name, reason in record.get("failures", {}).items():
            if name in self.registry.handles:
                self.registry.handles[name].fail(reason)
        self._emit_again(self._done, record.get("lengths", {}))
        if self.all_ended():
            self.finished.set()

    # --- what tasks need ---------------------------------------------------------------------------

    def _cores(self) -> int:
        return self.session.sparkContext.defaultParallelism

    def _share(self, groups: int) -> tuple[int, int]:
        context = self.session.sparkContext
        local = (context.master or "").startswith("local")
        return memory.share(dict(context.getConf().getAll()), local, self._cores(), groups)

    def _ship(self, kind: str, key: str, make: Callable[[], bytes]) -> Shipped:
        """A broadcast of what has changed; the one before is let go of."""
        known = self._shipped.get(kind)
        if known is None or known.key != key:
            if known is not None:
                known.data.unpersist()
            known = self._shipped[kind] = Shipped(key, self.session.sparkContext.broadcast(make()))
        return known

    def _static(self, needed: Set[Schema | None]) -> Shipped:
        """The static graphs, if anything but what is kept of them is needed: as they are, or with what they
        entail by some schemas."""

        def graphs() -> bytes:
            with self.graphs.snapshot() as cursor:
                names = list(NAMES) if None in needed else [GRAPH_NAMES]
                for schema in needed - {None}:
                    assert schema is not None
                    self.graphs.entailments.make(cursor, schema)
                    names += entailed_names(schema)
                return pickle.dumps({name: pack(arrow(cursor, name)) for name in names})

        if not needed:
            return self._ship("static", f"{self._key}.none", lambda: pickle.dumps({}))
        kinds = sorted(map(repr, needed))
        return self._ship("static", f"{self._key}.{self.graphs.version}.{kinds}", graphs)

    # --- the clock on the wall ---------------------------------------------------------------------

    def _look_after(self) -> None:
        """Notice, as long as streams flow, that one has fallen silent, and ask for a batch then."""
        while not self._stopping.wait(_TICK) and not self.finished.is_set():
            if self._watch.notice(self.progress):
                self.ask_for_batch()

    def _notice_frames_read(self, query: StreamingQuery) -> None:
        """When everything else has ended and Spark finds nothing more in the DataFrames, they have too."""
        frames = self._frames()
        rest = self.streams.keys() - frames
        if not frames or self._frames_read or not self.batches:
            return
        if any(not self.progress.get(name, Progress()).ended for name in rest):
            return
        status = query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            self._frames_read = True
            self.ask_for_batch()

    def _frames(self) -> set[str]:
        return {name for name, stream in self.streams.items() if stream.source is None}

    def ask_for_batch(self) -> None:
        """Have a batch run although nothing was read."""
        self._beat.write_text(str(time.time_ns()))

    def _warn_of_zones(self, progress: Mapping[str, Progress]) -> None:
        for name, after in progress.items():
            if after.without_zone and name not in self._warned:
                self._warned.add(name)
                self.warn(f"{name}: times without a time zone are taken as UTC")

    def _warn_of_late(self, letters: Sequence[DeadLetter]) -> None:
        """Tell of the first late element of a stream; `self.progress` is still that before the batch."""
        for letter in letters:
            name, warning = letter.stream, f"late {letter.stream}"
            first = not self.progress.get(name, Progress()).late and warning not in self._warned
            if letter.kind == "late" and first:
                self._warned.add(warning)
                self.warn(f"{name}: the first late element: {letter.text}: {letter.reason}")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        query = self._query
        if failure is None and query is not None and not query.isActive:
            failure = query.exception()
        if failure is not None:
            raise explained(failure)


def _line(letter: DeadLetter) -> bytes:
    content = {**letter.json(), "stream": letter.stream[1:-1]}
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
