"""A micro-batch in Spark's tasks: takes chunks, and gives the answers of queries.

Each group of queries has one task, or one for each of its shards. The task watches over a process that
evaluates. This process gets the plan and the static graphs from broadcasts, and keeps what it makes of them
for the next batch. It reads the live segments from the state store, and writes those of this batch.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa

from rheos.processes import executor
from rheos.runtime.plan import Control, Plan, StaticTable
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.progress import Arrival
from rheos.runtime.state.segments import Segment, Segments, load, merged, save
from rheos.runtime.state.store import Store
from rheos.runtime.worker.batch import Arrivals, Outcome, evaluate
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.sharing import Share
from rheos.runtime.worker.watched import AtWork, received, watched
from rheos.sources.chunks import LIVE, Header, unpacked
from rheos.sources.reader import StreamPart, Streams, StreamsReader, segment_name, ticket
from rheos.store.tables import filled

if TYPE_CHECKING:
    from pyspark import Broadcast

OUTPUT = "task INT, query STRING, about STRING, instants BINARY, rows BINARY, file STRING"
_OUTPUT = pa.schema(
    [
        ("task", pa.int32()),
        ("query", pa.string()),
        ("about", pa.string()),
        ("instants", pa.binary()),
        ("rows", pa.binary()),
        ("file", pa.string()),
    ]
)

# Answers that are at least this large go to the driver through the state store, not through the JVM.
INLINE_BYTES = 1 << 20


class Shipped(NamedTuple):
    """Data that is sent to the workers when it has changed: `key` tells versions apart, `data` is pickled."""

    key: str
    data: Broadcast[bytes]


@dataclass
class StaticData:
    """The static data of a worker: the graphs, and tables from the state store. `loaded` has, for each table,
    the name of the file that it was read from. The cache has what operators found on these data."""

    connection: duckdb.DuckDBPyConnection
    loaded: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    cache: Cache = field(init=False)

    def __post_init__(self) -> None:
        self.cache = Cache(self.connection)

    @classmethod
    def of(cls, graphs: bytes) -> StaticData:
        return cls(filled({name: unpack(data) for name, data in pickle.loads(graphs).items()}))

    def set(self, settings: Mapping[str, str]) -> None:
        """Change settings, but only those that have another value now: once DuckDB has spilled, it refuses
        every folder to spill into, even the same one."""
        for name, value in settings.items() - self.settings.items():
            self.connection.execute(f"SET {name} = {value}")
        self.settings |= settings

    def load(self, tables: Mapping[str, StaticTable], store: Store) -> None:
        """Load the present files of these tables, and drop all other tables."""
        if self.loaded != {name: table.file for name, table in tables.items()}:
            self.cache.plans.clear()
        for name in self.loaded.keys() - tables.keys():
            self.connection.execute(f"DROP TABLE {name}")
            del self.loaded[name]
        for name, table in tables.items():
            if self.loaded.get(name) != table.file:
                if name in self.loaded:  # what operators found on the old data is wrong now
                    self.cache.clear()
                self.connection.register("incoming", store.table(table.file))
                self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
                self.connection.unregister("incoming")
                store.forget([table.file])
                self.loaded[name] = table.file


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of streams that the task with this number reads itself, in a small batch."""

    streams: Streams
    task: int
    parts: Sequence[StreamPart]

    def read(self) -> list[pa.RecordBatch]:
        reader = StreamsReader(self.streams)
        read = (chunk for part in self.parts for chunk in reader.read(part))
        return [numbered(chunk, self.task) for chunk in (ticket(), *read)]


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The work of the process that evaluates. DuckDB may use so many `threads` and bytes of `memory`, and the
    folder `spill` for what does not fit into memory. In a small batch, the process also reads the `parts`."""

    control: Control
    threads: int
    memory: int
    spill: str = ""
    parts: Parts | None = None

    def read(self) -> Sequence[pa.RecordBatch]:
        return () if self.parts is None else self.parts.read()

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]:
        plan: Plan = received("plan", pickle.loads)
        static: StaticData = received("static", StaticData.of)
        self._set_up(static)
        store, tasks = control.store, control.tasks(len(plan.groups))
        static.cache.begin(control.run, {query.name for queries in plan.groups for query in queries})
        static.cache.incremental = control.incremental
        live = {file.name for found in control.segments.values() for file in found.files}
        store.forget(name for name in store.known() if name not in live)
        store.use(live)
        rows = sorted(
            ({"task": 0, **row} for batch in batches for row in batch.to_pylist()),
            key=lambda row: (row["task"], row["stream"], row["part"], row["number"]),
        )
        for task in sorted({row["task"] for row in rows}):
            group, number = tasks[task]
            of = sum(other == group for other, _ in tasks)
            share = Share(number, of, control.sharded, control.shard_by, control.incremental)
            queries = plan.groups[group]
            arrivals = arrived([row for row in rows if row["task"] == task and row["stream"]], store)
            wanted = {
                name for query in queries for name in (*query.streams, *query.states, query.derived or "")
            }
            found = control.segments
            buffers = {name: load(found[name], store) for name in wanted & found.keys()}
            outcome = evaluate(
                queries,
                plan.streams(group),
                control,
                buffers,
                arrivals,
                static.connection,
                plan.families,
                share,
                at_work,
                None if control.uncached else static.cache,
            )
            yield from Written(control, task, share, outcome, arrivals).rows()

    def _set_up(self, static: StaticData) -> None:
        static.load(self.control.static, self.control.store)
        settings = {"threads": f"{self.threads}", "memory_limit": f"'{self.memory >> 20}MiB'"}
        if self.spill:
            settings["temp_directory"] = f"'{self.spill}'"
        static.set(settings)


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a batch: a process that the task watches over evaluates the batch."""

    plan: Shipped
    static: Shipped
    work: Evaluate

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.evaluated(list(batches))

    def evaluated(
        self, batches: Sequence[pa.RecordBatch], parts: Parts | None = None
    ) -> list[pa.RecordBatch]:
        from pyspark import SparkFiles

        spill = str(Path(SparkFiles.getRootDirectory(), f"duckdb-{os.getpid()}"))
        shipped = {
            kind: (given.key, lambda given=given: given.data.value)
            for kind, given in (("plan", self.plan), ("static", self.static))
        }
        return watched(replace(self.work, spill=spill, parts=parts), batches, shipped)


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """A task of a small batch, which gets its number and the parts to read. The child process that evaluates
    reads them. The task itself must not: a file system or DuckDB that a process has used does not work in the
    children that it forks later."""

    task: Task
    streams: Streams

    def __call__(self, given: Iterable[tuple[int, Sequence[StreamPart]]]) -> Iterator[dict[str, Any]]:
        for number, parts in given:
            for answer in self.task.evaluated([], Parts(self.streams, number, parts)):
                yield from answer.to_pylist()


def numbered(batch: pa.RecordBatch, task: int) -> pa.RecordBatch:
    """The rows of a batch with the number of the task that they go to."""
    return batch.append_column("task", pa.array([task] * len(batch), pa.int32()))


def arrived(rows: Sequence[Mapping[str, Any]], store: Store) -> dict[str, Arrivals]:
    """The chunks of each stream, in their order."""
    found: dict[str, Arrivals] = {}
    for row in rows:
        before = found.get(row["stream"], Arrivals())
        if row["ended"]:
            found[row["stream"]] = replace(before, ended=True)
            continue
        name = row["segment"]
        elements = unpacked(row["data"]) if name is None else store.table(name)
        arrival = Arrival(Header.of_json(row["header"]), elements, name)
        found[row["stream"]] = replace(before, chunks=[*before.chunks, arrival])
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """The segments that a shard has made for a stream, and the time from which on the
    shard needs that stream."""

    made: Segments
    needed: int


@dataclass(frozen=True, slots=True)
class Written:
    """The report of a task to the driver, as rows. The task first writes the new segments and large answers
    to the state store."""

    control: Control
    task: int
    share: Share
    outcome: Outcome
    arrivals: Mapping[str, Arrivals]

    def rows(self) -> Iterator[pa.RecordBatch]:
        outcome = self.outcome
        about: dict[str, Any] = {
            "failures": outcome.failures,
            "deferred": sorted(outcome.deferred),
            "apart": sorted(outcome.apart),
            "unmerged": sorted(outcome.unmerged),
            "parted": {stream: asdict(part) for stream, part in self.parted().items()},
        }
        if not self.share.number:  # the first shard speaks for all
            whole = self.whole()
            about |= {
                "progress": {stream: asdict(progress) for stream, progress in outcome.progress.items()},
                "letters": [letter.json() for letter in outcome.letters],
                "reached": outcome.reached,
                "counts": outcome.counts,
                "flows": outcome.flows,
                "states": {name: asdict(found) for name, found in self.states().items()},
                "whole": {stream: asdict(found) for stream, found in whole.items()},
                "needed": {
                    stream: asdict(found.since(outcome.needed[stream], self.control.store))
                    for stream, found in whole.items()
                },
            }
        yield _row(self.task, "", json.dumps(about), b"", b"", None)
        for report in outcome.reports:
            instants, rows = report.answers
            file, data = None, b""
            if rows.nbytes < INLINE_BYTES:
                data = pack(rows)
            else:
                file = segment_name(report.query, self._batch, self.task).replace("segments/", "answers/")
                self.control.store.write_table(file, rows, copy=False)  # the driver reads it
            how = {"milliseconds": report.milliseconds, "way": report.way, "executor": executor()}
            told = json.dumps(how)
            yield _row(self.task, report.query, told, pack(instants), data, file)

    @property
    def _batch(self) -> str:
        return f"{self.control.run}{self.control.batch}"

    def _accepted(self, stream: str, arrivals: Arrivals, late: Sequence[int]) -> list[Segment]:
        """The segments of the accepted elements of chunks. Small chunks that follow one another
        become one segment."""
        store, files, small = self.control.store, list[Segment](), list[pa.Table]()

        def together() -> None:
            if small:
                elements = Buffer.empty().with_more(small).elements
                name = segment_name(stream, self._batch, self.task, len(files))
                files.append(save(elements, name, store))
                small.clear()

        for chunk, skipped in zip(arrivals.chunks, late, strict=True):
            if chunk.segment is None:
                small.append(chunk.elements.select(LIVE.names).slice(skipped))
            else:
                together()
                files.append(Segment.of(chunk.segment, chunk.elements, skipped))
        together()
        return [file for file in files if file.rows]

    def whole(self) -> dict[str, Segments]:
        """The live segments of each stream, before any are dropped: those of before, those that
        reading tasks have written, one for small chunks that follow one another, and one for the
        elements that a query made."""
        control, outcome = self.control, self.outcome
        found: dict[str, Segments] = {}
        for stream in outcome.needed:
            before = control.segments.get(stream)
            if before is None:
                progress = control.progress.get(stream)
                before = Segments(progress.accepted if progress is not None else 0)
            files = []
            if stream in outcome.late and stream in self.arrivals:
                files += self._accepted(stream, self.arrivals[stream], outcome.late[stream])
            if stream in outcome.derived:
                name = segment_name(stream, self._batch, self.task)
                files.append(save(outcome.derived[stream], name, control.store))
            found[stream] = before.plus(files)
        return found

    def parted(self) -> dict[str, Part]:
        """What this shard has made of the streams to which every shard adds a part."""
        outcome, found = self.outcome, {}
        for stream in outcome.parted:
            files = []
            if self.share.number and stream in outcome.derived:  # the first shard has its part in `whole`
                name = segment_name(stream, self._batch, self.task)
                files.append(save(outcome.derived[stream], name, self.control.store))
            found[stream] = Part(Segments().plus(files), outcome.needed[stream])
        return found

    def states(self) -> dict[str, Segments]:
        """What operators keep between batches, as segments: new ones where it has changed,
        else those of before."""
        found = {}
        for name, elements in self.outcome.states.items():
            before = self.control.segments.get(name, Segments())
            same = (
                elements.equals(merged(before.files, self.control.store))
                if before.files
                else not len(elements)
            )
            if not same:
                file = save(elements, segment_name(name, self._batch, self.task), self.control.store)
                before = Segments().plus([file])
            found[name] = before
        return found


def _row(*values: object) -> pa.RecordBatch:
    arrays = [pa.array([value], kind) for value, kind in zip(values, _OUTPUT.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_OUTPUT)


def pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
