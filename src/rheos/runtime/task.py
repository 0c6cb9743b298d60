"""A batch in a Spark task: rows that are chunks come in, the answers of the queries of a group go out.

Every group is one task. A process that the task watches over has the plan and the static graphs from
broadcasts, and keeps what it made of them for the next batch. It reads the state that the batch before left
in files, and leaves its own.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import pyarrow as pa

from rheos.runtime.buffers import DeadLetter, Progress
from rheos.runtime.evaluating import Report
from rheos.runtime.evaluation import Answers
from rheos.runtime.kept import load_kept
from rheos.runtime.plan import Control, Plan
from rheos.runtime.segments import Segments, load, longest, save
from rheos.runtime.step import Arrivals, Outcome, step
from rheos.runtime.watched import AtWork, received, watched
from rheos.sources.chunks import Chunk
from rheos.store.tables import filled

if TYPE_CHECKING:
    from pyspark import Broadcast

OUTPUT = "group INT, query STRING, about STRING, instants BINARY, rows BINARY, path STRING"
_OUTPUT = pa.schema(
    [
        ("group", pa.int32()),
        ("query", pa.string()),
        ("about", pa.string()),
        ("instants", pa.binary()),
        ("rows", pa.binary()),
        ("path", pa.string()),
    ]
)

# Answers that are larger than this go to the driver through a file, not through the JVM.
INLINE_BYTES = 1 << 20


class Shipped(NamedTuple):
    """What is sent to the workers when it changes: `key` tells versions apart, `data` is pickled."""

    key: str
    data: Broadcast[bytes]


@dataclass
class Database:
    """What a worker has of the static data: the graphs, and tables that were read from files."""

    connection: duckdb.DuckDBPyConnection
    loaded: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: bytes) -> Database:
        return cls(filled({name: unpack(data) for name, data in pickle.loads(graphs).items()}))


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A batch of the groups of queries that are one task's; the state goes to files in the folder `state`.

    DuckDB has so many threads, so many bytes of `memory`, and the folder `spill` for what does not fit.
    """

    control: Control
    state: str
    threads: int
    memory: int
    durable: bool = False  # files are on the disk before anybody hears of them
    spill: str = ""

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]:
        rows = sorted(
            (row for batch in batches for row in batch.to_pylist()),
            key=lambda row: (row["group"], row["stream"], row["part"], row["number"]),
        )
        plan: Plan = received("plan", pickle.loads)
        database: Database = received("static", Database.of)
        self._set_up(database)
        for group in sorted({row["group"] for row in rows}):
            arrivals: dict[str, Arrivals] = {}
            for row in rows:
                if row["group"] == group and row["stream"]:
                    before = arrivals.get(row["stream"], Arrivals())
                    chunks = (
                        before.chunks
                        if row["ended"]
                        else [*before.chunks, Chunk.unpack(row["data"], row["path"])]
                    )
                    arrivals[row["stream"]] = Arrivals(chunks, before.ended or row["ended"])
            segments = control.segments
            wanted = {
                name
                for query in plan.groups[group]
                for name in (*query.streams, *query.states, query.derived or "")
            }
            buffers = {stream: load(segments[stream]) for stream in wanted & segments.keys()}
            outcome = step(
                plan.groups[group],
                plan.streams(group),
                control,
                buffers,
                arrivals,
                database.connection,
                plan.relatives,
                at_work,
            )
            live = {
                stream: Segments(
                    buffer.dropped,
                    (save(buffer.elements, Path(self.state, f"{group}-{number}.arrow"), self.durable),),
                )
                for number, (stream, buffer) in enumerate(sorted(outcome.buffers.items()))
            }
            yield from output(group, outcome, live, Path(self.state))

    def _set_up(self, database: Database) -> None:
        load_kept(database.connection, self.control.kept, database.loaded)
        settings = {"threads": self.threads, "memory_limit": f"'{self.memory >> 20}MiB'"}
        if self.spill:
            settings["temp_directory"] = f"'{self.spill}'"
        for name, value in settings.items():
            database.connection.execute(f"SET {name} = {value}")


@dataclass(frozen=True, slots=True)
class Task:
    """What every task of a batch does: it has the batch evaluated by a process that it watches over."""

    plan: Shipped
    static: Shipped
    work: Evaluate

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles

        spill = str(Path(SparkFiles.getRootDirectory(), f"duckdb-{os.getpid()}"))
        shipped = {
            kind: (given.key, lambda given=given: given.data.value)
            for kind, given in (("plan", self.plan), ("static", self.static))
        }
        yield from watched(replace(self.work, spill=spill), list(batches), shipped)


def output(
    group: int, outcome: Outcome, live: Mapping[str, Segments], folder: Path
) -> Iterator[pa.RecordBatch]:
    about = {
        "progress": {stream: asdict(progress) for stream, progress in outcome.progress.items()},
        "letters": [letter.json() for letter in outcome.letters],
        "reached": outcome.reached,
        "flows": outcome.flows,
        "failures": outcome.failures,
        "deferred": sorted(outcome.deferred),
        "apart": sorted(outcome.apart),
        "segments": {stream: asdict(segments) for stream, segments in live.items()},
    }
    yield _row(group, "", json.dumps(about), b"", b"", None)
    for number, report in enumerate(outcome.reports):
        instants, rows = report.answers
        path, data = None, b""
        if rows.nbytes < INLINE_BYTES:
            data = pack(rows)
        else:
            path = str(folder / f"answers-{group}-{number}.{os.getpid()}.arrow")
            with pa.OSFile(path, "wb") as sink:
                write(rows, sink)
        milliseconds = json.dumps({"milliseconds": report.milliseconds})
        yield _row(group, report.query, milliseconds, pack(instants), data, path)


def _row(*values: object) -> pa.RecordBatch:
    arrays = [pa.array([value], kind) for value, kind in zip(values, _OUTPUT.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_OUTPUT)


@dataclass(slots=True)
class Collected:
    """The outcomes of all groups of a batch, in the driver."""

    progress: dict[str, Progress]
    letters: list[DeadLetter]
    reports: list[Report]
    reached: dict[str, int]
    segments: dict[str, Segments]
    flows: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    deferred: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    abandoned: bool = False  # a thread is still at work in the Spark session, and cannot be stopped

    def add(self, other: Collected) -> None:
        """What came of the same batch in another way. A stream that both have read has come as far in both;
        its segments hold what either needs."""
        self.letters += [letter for letter in other.letters if letter.stream not in self.progress]
        self.progress |= other.progress
        self.reports += other.reports
        self.reached |= other.reached
        self.flows |= other.flows
        self.failures |= other.failures
        self.deferred |= other.deferred
        self.apart |= other.apart
        self.abandoned |= other.abandoned
        for stream, kept in other.segments.items():
            self.segments[stream] = longest([kept, self.segments.get(stream, kept)])


def collect(table: pa.Table, readers: Mapping[str, list[int]], execution: str) -> Collected:
    """Read what the tasks gave out. Of a stream that several groups read, the first one tells."""
    found = Collected({}, [], [], {}, {})
    for row in table.to_pylist():
        about = json.loads(row["about"])
        if row["query"]:
            answers = Answers(unpack(row["instants"]), unpack(row["rows"], row["path"]))
            found.reports.append(Report(row["query"], answers, about["milliseconds"], execution))
            continue
        mine = {stream for stream, groups in readers.items() if groups[0] == row["group"]}
        found.progress |= {
            stream: Progress.of_json(values) for stream, values in about["progress"].items() if stream in mine
        }
        found.letters += [DeadLetter(**letter) for letter in about["letters"] if letter["stream"] in mine]
        found.reached |= about["reached"]
        found.flows |= about["flows"]
        found.failures |= about["failures"]
        found.deferred.update(about["deferred"])
        found.apart.update(about["apart"])
        for stream, values in about["segments"].items():
            kept = Segments.of_json(values)
            found.segments[stream] = longest([kept, found.segments.get(stream, kept)])
    return found


def pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    write(table, sink)
    return bytes(sink.getvalue())


def write(table: pa.Table, sink: pa.NativeFile) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def unpack(data: bytes, path: str | None = None) -> pa.Table:
    with pa.ipc.open_stream(data if path is None else pa.memory_map(path)) as reader:
        return reader.read_all()
