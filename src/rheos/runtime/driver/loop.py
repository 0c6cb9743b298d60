"""The loop that runs continuous queries: Structured Streaming reads the streams batch by batch, and each
batch becomes one Spark job whose tasks answer all queries.

    chunks of all streams ─▶ tasks for groups of queries ─▶ answers, dead letters, names of segments

The driver only keeps how far streams and queries are, and the names of segments; the elements themselves stay
in the state store.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rheos.errors import EvaluationError
from rheos.execute import archive
from rheos.execute.base import Executor
from rheos.execute.catalyst import Catalyst
from rheos.execute.local import Local
from rheos.execute.session import (
    LOCAL_LOG_SETTINGS,
    STREAM_SETTINGS,
    is_local,
    set_for,
    warm_up,
)
from rheos.runtime.driver.compaction import Compaction
from rheos.runtime.driver.dispatch import LARGE_BATCH, TASK_TRIPLES, Dispatch, counts_of_json
from rheos.runtime.driver.failures import Told, explained, quiet
from rheos.runtime.driver.handle import Handle
from rheos.runtime.driver.metrics import NONE, Metrics, Times
from rheos.runtime.driver.output import Output, line
from rheos.runtime.driver.registry import Registry
from rheos.runtime.driver.sinks import Sinks
from rheos.runtime.driver.static_tables import StaticTables, Unfilled
from rheos.runtime.driver.topics import Topics
from rheos.runtime.driver.watch import Stream, Watch
from rheos.runtime.operator import Count
from rheos.runtime.plan import STATE, Control, Plan, Registered, StaticTable
from rheos.runtime.sharding import Way
from rheos.runtime.state.journal import Journal, Target
from rheos.runtime.state.progress import DeadLetter, Progress
from rheos.runtime.state.segments import Segments
from rheos.runtime.worker.batch import Report
from rheos.runtime.worker.cache import MOST_NEW
from rheos.sources.base import BATCH_BYTES
from rheos.sources.frames import Frame
from rheos.sources.reader import FORMAT, PARTS, Planned, StreamPart, Streams, StreamsDataSource
from rheos.spark import this_interpreter
from rheos.store.graphs import StaticGraphs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# From so many new or live elements on, the work of a batch is shared out over tasks.
SHARD_ELEMENTS = 200_000
# The average size of an element in a file, roughly.
ELEMENT_BYTES = 150
# Every so many batches, segments that no record names and that are older than so many seconds are deleted.
GARBAGE_BATCHES, GARBAGE_AGE = 500, 3600.0
_TICK = 0.05


@dataclass
class Loop:
    """One run of an engine's queries over its streams."""

    session: SparkSession
    registry: Registry
    graphs: StaticGraphs
    streams: Mapping[str, Stream]
    journal: Journal
    output: Output
    sinks: Sinks
    spark_checkpoint: str
    execution: str = "auto"
    batch_bytes: int = BATCH_BYTES
    warn: Callable[[str], None] = print
    limit: float | None = None
    # In how many shards the work is shared out (None: as many as there are cores, where that saves time), and
    # how.
    shards: int | None = None
    shard_by: Way | None = None
    incremental: bool | None = None  # whether workers use what they kept; without a value, where it pays
    progress: dict[str, Progress] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    counts: dict[str, dict[int, Count]] = field(default_factory=dict)
    segments: dict[str, Segments] = field(default_factory=dict)
    batch_times: Times = NONE  # also those of earlier loops of this engine

    def __post_init__(self) -> None:
        self.finished = threading.Event()
        self._over = threading.Event()  # finished, or Spark has ended the streaming query
        self._until_read = False
        self.batches = 0
        self.run = new_run()
        self._watch = Watch(self.streams)
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._busy = threading.RLock()  # a batch holds it while it runs
        self._batch_thread: int | None = None
        self._batch_began: float | None = None
        self._done = -1
        self._frames_ended: frozenset[str] = frozenset()  # streams that Spark has read to their ends
        self._topics = Topics(self.session, self.streams, self.journal.folder)
        self._cautious = False  # the batch before took too long or deferred queries
        self._apart: set[str] = set()  # members of families that are evaluated each by itself
        self._unmerged: set[str] = set()  # queries that are not sharded by a variable any more
        self._failing: dict[str, str] = {}  # the queries that failed in the batch that is being done
        self._warned: set[str] = set()
        self._has_frames = any(stream.frame is not None for stream in self.streams.values())
        # How many elements the batch before had; at first, an estimate of what waits. What waits in Spark's
        # own sources is unknown, and taken to be much.
        self._lately = max(self._waiting(), LARGE_BATCH + 1 if self._has_frames else 0)
        self._beat = self.journal.folder / "beat"
        self._read_to: dict[str, Any] | None = None  # the offset at which the batch before ended
        self.store = self.journal.store
        self._static = StaticTables(self.graphs, self.store, self._executor)
        self._dispatch = Dispatch(self.session, self.graphs)
        self._compaction = Compaction(self.session, self.store, self.run)
        self._recover()

    # --- from outside ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on after the last batch in the journal."""
        if self.finished.is_set():
            return
        spark = self.session
        warm_up(spark, frames=self._lately > LARGE_BATCH)
        self.progress |= self._topics.known(self.progress)
        with this_interpreter(spark.sparkContext):
            spark.dataSource.register(StreamsDataSource)
        sources = {name: stream.source for name, stream in self.streams.items() if stream.source is not None}
        told = Streams(
            sources,
            str(self._beat),
            self.batch_bytes,
            self.store,
            self._dispatch.cores,
            {name: stream.lateness for name, stream in self.streams.items()},
            {name: stream.ahead for name, stream in self.streams.items() if stream.ahead is not None},
            shipped=not is_local(spark),
        )
        self._dispatch.streams = told
        self._beat.with_name(PARTS).unlink(missing_ok=True)  # of a run before this one
        named = self._topics.name_sources()
        reader = spark.readStream.name(FORMAT) if named else spark.readStream
        frame = reader.format(FORMAT).option("streams", told.option()).load()
        most = max(1, self.batch_bytes // ELEMENT_BYTES)
        for stream in self.streams.values():
            if stream.frame is not None:
                chunks = stream.frame.chunks(spark, stream.lateness, stream.ahead, self.store, most)
                frame = frame.union(chunks)
        local = self.spark_checkpoint.startswith("file:")
        with set_for(spark, STREAM_SETTINGS | (LOCAL_LOG_SETTINGS if local else {})):
            self._query = (
                frame.writeStream.foreachBatch(self._batch)
                .option("checkpointLocation", self.spark_checkpoint)
                .trigger(processingTime="0 seconds")
                .start()
            )
        if self._topics.bounded:
            self.ask_for_batch()  # a bounded topic that is empty has already ended
        threading.Thread(target=self._look_after, daemon=True, name="rheos-watch").start()

    def wait(self, timeout: float | None = None, *, until_read: bool = False) -> bool:
        """Wait until all streams have ended; True if they have. With `until_read`, a Spark DataFrame counts
        as ended when Spark finds no more rows in it."""
        self._until_read = until_read
        if self._query is not None:
            # The JVM is asked by other threads: Ctrl-C must not come upon the main thread in the middle of a
            # question, because the next one would get its answer.
            self._over.wait(timeout)
        self._raise_failure()
        return self.finished.is_set()

    def stop(self) -> None:
        """Stop. The batch that runs is either completed, or leaves nothing behind as if
        it had never begun."""
        self._stopping.set()
        if threading.get_ident() == self._batch_thread:
            # A subscriber calls it from inside a batch, and Spark would wait for that batch for ever.
            threading.Thread(target=self.stop, name="rheos-stop").start()
            return
        query, self._query = self._query, None
        if query is not None:
            with quiet(self.session):
                query.stop()
        with self._busy:
            self._compaction.stop()
            self._dispatch.close()

    @property
    def active(self) -> bool:
        return self._query is not None and self._query.isActive and not self.finished.is_set()

    @property
    def failure(self) -> BaseException | None:
        """The error for which the loop has ended, if nobody has stopped it."""
        query = self._query
        if query is None or query.isActive or self._stopping.is_set() or self.finished.is_set():
            return None
        found = self._failure or query.exception()
        return explained(found) if found else EvaluationError("Spark has stopped reading the streams")

    def reset(self, stream: str) -> None:
        """Start the clock of a stream anew: its live elements, and those of the streams that are derived from
        it, are dropped, and their readers start again."""
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
            self.run = new_run()  # places begin again, so workers must forget those that they know
            self.journal.amend(self._record())

    @property
    def busy_for(self) -> float:
        """How many seconds the batch that runs has taken so far."""
        began = self._batch_began
        return 0.0 if began is None else time.monotonic() - began

    def now(self) -> dict[str, int]:
        """How far each stream is, including derived streams."""
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
        queries, sinks = self.registry.metrics(), self.sinks.metrics()
        milliseconds = self._static.milliseconds
        return Metrics(streams, queries, self.batches, milliseconds, sinks, self.batch_times)

    # --- a batch -----------------------------------------------------------------------------------

    def _batch(self, frame: DataFrame, number: int) -> None:
        with self._busy:
            if self._stopping.is_set():
                # If this returned, Spark would take the batch for done, and its elements would be lost.
                raise Told
            self._batch_thread, self._batch_began = threading.get_ident(), time.monotonic()
            before = self.progress, self.reached, self.counts, self.segments
            try:
                # After a crash, Spark may repeat a batch that is done already.
                if number > self._done:
                    self._evaluate(frame, number)
                    self.batch_times = self.batch_times.plus(self.busy_for)
            except BaseException as error:
                if self._done < number:  # it was not committed: a reset after it must not record it, either
                    self.progress, self.reached, self.counts, self.segments = before
                if not self._stopping.is_set():
                    self._failure = error
                raise Told from None
            finally:
                self._batch_thread = self._batch_began = None

    def _evaluate(self, frame: DataFrame, number: int) -> None:
        for gone in self.registry.removed():
            self.reached.pop(gone, None)
        plan, static = self._planned()
        ending = self._frames_ended
        self.segments = self._compaction.applied(self.segments)
        control = Control(
            number,
            self.progress,
            self.store,
            self.run,
            {name: stream.lateness for name, stream in self.streams.items()},
            frozenset(self._watch.silent),
            frozenset(self._watch.idle),
            ending,
            self.reached,
            dict(self.registry.seen_after),
            self.counts,
            self.segments,
            static,
            self._shards(plan),
            self.shards is not None,
            self.shard_by,
            self.incremental,
            frozenset(self._unmerged),
            self.limit,
            self._cautious,
            frozenset(self._apart),
        )
        parts = self._parts()
        many = parts is not None and len(parts) > len(self.streams) + self._dispatch.cores
        large = many or self._lately > LARGE_BATCH
        collected = self._dispatch.run(
            frame, plan, control, large=large, tickets=self._has_frames, parts=parts
        )
        self.registry.flows |= collected.flows
        self._lately = self._watch.heard(self.progress, collected.progress)
        self._warn_of_zones(collected.progress)
        self._warn_of_late(collected.letters)
        self.progress = {**self.progress, **collected.progress}
        self.progress |= {name: self.progress.get(name, Progress()).having_ended() for name in ending}
        self.reached = {**self.reached, **collected.reached}
        self.counts = collected.counts
        self.segments = self._without_old_states(plan, {**self.segments, **collected.segments})
        heard = self._heard(plan, collected.reports)
        full = self.sinks.put(number, ((handle.info, report.answers.rows) for handle, report in heard))
        handles = self._handles(plan) if collected.failures or full else {}
        failing = {
            name: reason
            for name, reason in {**full, **collected.failures}.items()
            if name in handles and self._is_current(handles[name])
        }
        self._failing = failing
        self._say(number, heard, collected.letters)
        self._failing = {}
        for name, reason in failing.items():
            self._stop_query(handles[name], reason)
        # Members that were evaluated one by one in this batch may be together again, except deferred ones.
        self._apart = (self._apart & collected.deferred) | collected.apart
        self._unmerged |= collected.unmerged
        if collected.unmade:  # workers may have in their caches what was never made
            self.run = new_run()
        late = self.limit is not None and self.busy_for > self.limit
        # Queries whose shards could not be merged took no time, so nobody has to wait for them.
        self._cautious = (late or bool(collected.deferred - collected.unmerged)) and not self._cautious
        self.journal.discard(collected.files)
        self._compaction.consider(self.segments)
        self._collect_garbage(number)
        if collected.failures or collected.deferred:
            self.ask_for_batch()  # for deferred queries, and for readers that waited for a failed query
        elif self.all_ended():
            self._finish()

    def _parts(self) -> Sequence[StreamPart] | None:
        """The parts that the batch reads, if they are known. They are if no DataFrame is read beside them,
        and if the note of the reader is about this batch: it begins where the batch before ended."""
        planned = None if self._has_frames else Planned.told(self._beat.parent)
        before, self._read_to = self._read_to, None if planned is None else planned.end
        return planned.parts if planned is not None and before in (None, planned.start) else None

    def _planned(self) -> tuple[Plan, dict[str, StaticTable]]:
        """The plan of the present queries, and the tables of static data that it needs. Queries whose tables
        cannot be filled are stopped."""
        while True:
            plan = self.registry.plan(self.streams, self._dispatch.cores)
            try:
                return plan, self._static.up_to_date(plan.static_parts, self.limit)
            except Unfilled as error:
                handles = self._handles(plan)
                for name in plan.needing(error.table, error.member):
                    if name in handles and self._is_current(handles[name]):
                        self._stop_query(handles[name], str(error).splitlines()[0])

    def _stop_query(self, handle: Handle, reason: str) -> None:
        """Stop a query that cannot be evaluated, and warn."""
        handle.fail(reason)
        self.warn(f"the query {handle.name} was stopped: {reason}")

    def _without_old_states(self, plan: Plan, segments: Mapping[str, Segments]) -> dict[str, Segments]:
        """The segments without the states of queries that no longer run: a query that starts again begins
        with an empty state."""
        kept = {name for query in plan.queries for name in query.states}
        return {
            name: found
            for name, found in segments.items()
            if not name.startswith(f"<{STATE}") or name in kept
        }

    def _waiting(self) -> int:
        """About how many elements the first batch will read."""
        sources = (stream.source for stream in self.streams.values() if stream.source is not None)
        return sum(source.waiting(self.batch_bytes) for source in sources) // ELEMENT_BYTES

    def _shards(self, plan: Plan) -> tuple[int, ...]:
        """The number of shards of each group. For a small batch, one task is quicker."""
        cores, groups = self._dispatch.cores, plan.groups
        if self.shards is not None:
            return (self.shards,) * len(groups)
        if cores <= len(groups):
            return (1,) * len(groups)
        each = cores // len(groups)
        return tuple(each if self._pays(group) else 1 for group in groups)

    def _pays(self, queries: Sequence[Registered]) -> bool:
        """True if the batch is large, or many elements are live, and the work can be shared out."""
        streams = {stream for query in queries for stream in query.streams}
        held = sum(self.segments[stream].rows for stream in streams if stream in self.segments)
        operators = [query.operator for query in queries if query.derived is None]
        if self._lately >= SHARD_ELEMENTS and any(operator.sharding.by_time for operator in operators):
            return True
        # An incremental query has its earlier solutions in the cache of one task, which needs no help if few
        # elements are new.
        kept = self._lately <= held * MOST_NEW if self.incremental is None else self.incremental
        sharing = (operator for operator in operators if not (kept and operator.incremental))
        return held >= SHARD_ELEMENTS and any(operator.sharding.variable is not None for operator in sharing)

    def _collect_garbage(self, number: int) -> None:
        if number % GARBAGE_BATCHES == GARBAGE_BATCHES - 1:
            self.journal.collect_garbage(self._record(), time.time() - GARBAGE_AGE)

    def _executor(self) -> Executor:
        """The engine that fills the tables of static data: Spark SQL or DuckDB."""
        if self.execution == "catalyst" or self.graphs.in_spark or self.graphs.size > TASK_TRIPLES:
            return Catalyst(self.graphs, lambda: self.session)
        return Local(self.graphs)

    def all_ended(self) -> bool:
        return bool(self.streams) and all(self.progress.get(s, Progress()).ended for s in self.streams)

    def _say(self, number: int, reports: list[tuple[Handle, Report]], letters: list[DeadLetter]) -> None:
        """Make the batch durable; then write its output, and give the reports to sinks and handles."""
        said = {}
        if self.output.writer is not None:
            tables = [(handle.info, report.answers.rows) for handle, report in reports]
            head = self.output.writer.header() if self._done < 0 else b""
            said["answers"] = head + self.output.writer.batch(tables)
        if letters:
            said["letters"] = b"".join(map(line, letters))
        self.journal.commit(number, self._record(), said)
        self._done = number
        self.batches += 1
        archive.worth_keeping(archive.LASTING)
        self._emit(number, said)
        self.sinks.release(number)
        for handle, report in reports:
            if self._is_current(handle):
                handle.report(report)

    def _heard(self, plan: Plan, reports: list[Report]) -> list[tuple[Handle, Report]]:
        """The reports with their handles, without those of queries that were stopped or replaced while the
        batch ran. They are in the order of registration, in which the answers of one instant are written: it
        does not depend on the tasks that evaluated them."""
        told = {report.query: report for report in reports}
        return [
            (handle, told[name])
            for name, handle in self._handles(plan).items()
            if name in told and self._is_current(handle)
        ]

    def _handles(self, plan: Plan) -> dict[str, Handle]:
        """The handles of the queries in a plan that are still registered and were not replaced."""
        planned = {query.name: query.info for query in plan.queries}
        # The operator of a query in the plan may be another object than that of the handle; `info` is the
        # same.
        return {
            name: handle
            for name, handle in self.registry.handles.copy().items()
            if planned.get(name) is handle.info
        }

    def _is_current(self, handle: Handle) -> bool:
        return self.registry.handles.get(handle.name) is handle and self.registry.runs(handle.name)

    def _targets(self) -> dict[str, Target | None]:
        return {"answers": self.output.target, "letters": self.output.letters}

    def _emit(self, number: int, said: Mapping[str, bytes]) -> None:
        for channel, target in self._targets().items():
            if target is not None:
                self.journal.emit(number, channel, said.get(channel, b""), target)

    def _emit_again(self, number: int, lengths: Mapping[str, int | None]) -> None:
        """After a crash, write the output of the last batch again. A file is cut back before that."""
        for channel, target in self._targets().items():
            if target is not None:
                self.journal.emit_again(number, channel, lengths.get(channel), target)

    def _record(self) -> dict[str, Any]:
        """The record for the journal: the state of the run after the last batch."""
        return {
            "progress": {name: asdict(progress) for name, progress in self.progress.items()},
            "reached": self.reached,
            "counts": self.counts,
            "segments": {name: asdict(segments) for name, segments in self.segments.items()},
            **self.registry.described(),
            "failures": {**self.registry.failures(), **self._failing},
            "lengths": self.journal.lengths(self._targets()),
        }

    def _recover(self) -> None:
        found = self.journal.last()
        if found is None:
            # So even a run that ends before its first batch leaves a record of its queries and streams.
            self.journal.commit(self._done, self._record(), {})
            self.sinks.recover(self._done)
            return
        self._done, record = found
        self.progress = {name: Progress.of_json(values) for name, values in record["progress"].items()}
        # A view does not go on where it was: it shows the present content again.
        views = {name for name, handle in self.registry.handles.items() if handle.registered.operator.view}
        self.reached = {name: time for name, time in record["reached"].items() if name not in views}
        self.counts = counts_of_json(record.get("counts", {}))
        self.segments = {name: Segments.of_json(values) for name, values in record["segments"].items()}
        for name, reason in record.get("failures", {}).items():
            if name in self.registry.handles:
                self.registry.handles[name].fail(reason)
        self.journal.collect_garbage(record, time.time())
        self._static.begin()
        self._emit_again(self._done, record.get("lengths", {}))
        self.sinks.recover(self._done)
        if self.all_ended():
            self._finish()

    def _finish(self) -> None:
        self.finished.set()
        self._over.set()

    # --- the clock on the wall ---------------------------------------------------------------------

    def _look_after(self) -> None:
        """As long as streams flow: when one has fallen silent, or a bounded topic or a DataFrame has ended,
        ask for a batch. Also tell who waits when Spark has ended the streaming query."""
        try:
            while not self._stopping.wait(_TICK) and not self.finished.is_set():
                if self._watch.notice(self.progress):
                    self.ask_for_batch()
                query = self._query
                if query is None or not query.isActive:
                    break
                if self._topics.bounded:
                    self._end(self._topics.ended(query) - self._frames_ended)
                if self._until_read:
                    self._notice_frames_read(query)
        except Exception as error:
            if not self._stopping.is_set():
                self._failure = self._failure or error
                self.warn(f"streams are not watched any more: {error}")
        finally:
            self._over.set()

    def _end(self, frames: Set[str]) -> None:
        """Note that these streams have ended, and ask for a batch that takes that into account."""
        if frames:
            self._frames_ended |= frames
            self.ask_for_batch()

    def _notice_frames_read(self, query: StreamingQuery) -> None:
        """When all other streams have ended and Spark finds no more rows in the user's DataFrames, note that
        these have ended, too. Topics of Kafka are not looked at: they end at their bounds, or never."""
        frames = {name for name, stream in self.streams.items() if isinstance(stream.frame, Frame)}
        rest = self.streams.keys() - frames
        if not frames - self._frames_ended or not self.batches:
            return
        if any(not self.progress.get(name, Progress()).ended for name in rest):
            return
        status = query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            self._end(frames)

    def ask_for_batch(self) -> None:
        """Have Spark run a batch even if nothing new was read."""
        self._beat.write_text(str(time.time_ns()))

    def _warn_of_zones(self, progress: Mapping[str, Progress]) -> None:
        for name, after in progress.items():
            if after.without_zone and name not in self._warned:
                self._warned.add(name)
                self.warn(f"{name}: times without a time zone are taken as UTC")

    def _warn_of_late(self, letters: Sequence[DeadLetter]) -> None:
        """Warn of the first late element of a stream. Must be called before `self.progress` is updated."""
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


def new_run() -> str:
    """A name for a run: in the names of what it writes, and for what workers keep between its batches."""
    return uuid.uuid4().hex[:8]
