"""A batch in a Spark task: rows that are chunks come in, the answers of the queries of a group go out.

Every group is one task. It finds the plan and the static graphs in a broadcast, keeps what it made of
them for the next batch, reads the state that the batch before left in files, and leaves its own.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa

from rheos.runtime.buffers import DeadLetter, Progress
from rheos.runtime.evaluating import Report
from rheos.runtime.evaluation import Answers
from rheos.runtime.kept import KeptTable, load_kept
from rheos.runtime.plan import Control, Plan
from rheos.runtime.segments import Segments, load, longest, save
from rheos.runtime.step import Arrivals, Outcome, step
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


# What this worker has unpacked, by what it is for: only the last version of each is kept.
_unpacked: dict[str, tuple[str, Any]] = {}


def plan_of(shipped: Shipped) -> Plan:
    plan = _kept("plan", shipped.key, lambda: pickle.loads(shipped.data.value))
    assert isinstance(plan, Plan)
    return plan


def connection_of(shipped: Shipped, kept: Mapping[str, KeptTable], threads: int) -> duckdb.DuckDBPyConnection:
    def fill() -> duckdb.DuckDBPyConnection:
        return filled({name: unpack(data) for name, data in pickle.loads(shipped.data.value).items()})

    database = _kept("static", shipped.key, lambda: Database(fill()))
    assert isinstance(database, Database)
    load_kept(database.connection, kept, database.loaded)
    database.connection.execute(f"SET threads = {threads}")
    return database.connection


@dataclass
class Database:
    """What a worker has of the static data: the graphs, and tables that were read from files."""

    connection: duckdb.DuckDBPyConnection
    loaded: dict[str, str] = field(default_factory=dict)


def _kept(kind: str, key: str, make: Any) -> object:
    known = _unpacked.get(kind)
    if known is None or known[0] != key:
        _unpacked[kind] = known = (key, make())
    return known[1]


@dataclass(frozen=True, slots=True)
class Task:
    """What every task of a batch does; the state goes to files in the folder `state`."""

    plan: Shipped
    static: Shipped
    control: Control
    state: str
    threads: int = 1

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = sorted(
            (row for batch in batches for row in batch.to_pylist()),
            key=lambda row: (row["group"], row["stream"], row["part"], row["number"]),
        )
        plan = plan_of(self.plan)
        connection = connection_of(self.static, self.control.kept, self.threads)
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
            segments = self.control.segments
            wanted = {
                name
                for query in plan.groups[group]
                for name in (*query.streams, *query.states, query.derived or "")
            }
            buffers = {stream: load(segments[stream]) for stream in wanted & segments.keys()}
            outcome = step(
                plan.groups[group],
                plan.streams(group),
                self.control,
                buffers,
                arrivals,
                connection,
                plan.relatives,
            )
            kept = {
                stream: Segments(
                    buffer.dropped, (save(buffer.elements, Path(self.state, f"{group}-{number}.arrow")),)
                )
                for number, (stream, buffer) in enumerate(sorted(outcome.buffers.items()))
            }
            yield from output(group, outcome, kept, Path(self.state))


def output(
    group: int, outcome: Outcome, kept: Mapping[str, Segments], folder: Path
) -> Iterator[pa.RecordBatch]:
    about = {
        "progress": {stream: asdict(progress) for stream, progress in outcome.progress.items()},
        "letters": [letter.json() for letter in outcome.letters],
        "reached": outcome.reached,
        "flows": outcome.flows,
        "failures": outcome.failures,
        "segments": {stream: asdict(segments) for stream, segments in kept.items()},
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

    def add(self, other: Collected) -> None:
        """What came of the same batch in another way. A stream that both have read has come as far in both;
        its segments hold what either needs."""
        self.letters += [letter for letter in other.letters if letter.stream not in self.progress]
        self.progress |= other.progress
        self.reports += other.reports
        self.reached |= other.reached
        self.flows |= other.flows
        self.failures |= other.failures
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
