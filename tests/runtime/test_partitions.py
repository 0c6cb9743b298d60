"""Streams of several partitions: what is late, in which order elements are, and how far they are complete,
wherever batches are cut. First without Spark, against a slow and obvious reference; then as DataFrames."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from rheos import Engine, RheosError
from rheos.errors import CheckpointError
from rheos.filesystems import uri_of
from rheos.runtime.driver.watch import Stream, Watch
from rheos.runtime.plan import Control
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.progress import Partition, Progress
from rheos.runtime.state.segments import Segments, load, save
from rheos.runtime.state.store import Store
from rheos.runtime.worker.clock import complete
from rheos.sources.base import Offset, Part, Source
from rheos.sources.chunks import Chunk, Header, elements, unpacked
from rheos.sources.reader import Streams, StreamsReader
from rheos.sources.times import FOREVER, NEVER
from tests.runtime.arrivals import NO_STORE, arrive
from tests.runtime.streams import NEW_YEAR, lines, moment
from tests.runtime.test_clock import at
from tests.runtime.test_streams import STREAM, query, reported, wait
from tests.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S = f"<{STREAM}>"


class Element(NamedTuple):
    """The number of an element in its partition, and its time."""

    partition: int
    number: int
    time: int

    @property
    def name(self) -> str:
        return f"<http://ex/{self.partition}-{self.number}>"


def chunk_of(partition: int, items: Sequence[Element], *, last: bool = False) -> Chunk:
    times = np.array([item.time for item in items], np.int64)
    names = pa.array([item.name for item in items], pa.string())
    batch = elements([names, names, names], times, times, np.arange(1, len(items) + 1))
    return Chunk(batch, f"partition {partition}", len(items), partition=partition, last=last)


def names(table: pa.Table) -> list[str]:
    found: list[str] = table.column("s").to_pylist()
    return found


class Run:
    """A stream as a task has it, and as the state store has it: a buffer, and a segment for each chunk."""

    def __init__(self, lateness: int, folder: Path) -> None:
        self.lateness, self.folder = lateness, folder
        self.progress, self.buffer, self.segments = Progress(), Buffer.empty(), Segments()
        self.late: list[str] = []
        self.idle: frozenset[tuple[str, int]] = frozenset()

    def batch(self, *chunks: Chunk) -> int:
        """Take in a batch: up to which time the stream is complete then."""
        before = Progress.of_json(json.loads(json.dumps(asdict(self.progress))))
        assert before == self.progress
        arrived = arrive(S, chunks, before, self.lateness)
        assert all(
            b.column("time").to_numpy().min(initial=FOREVER) > before.complete for b in arrived.elements
        )
        self.buffer = self.buffer.with_more(arrived.elements)
        store = Store(uri_of(self.folder))
        files = [
            save(part, f"segments/{len(self.segments.files)}-{n}.arrow", store)
            for n, part in enumerate(arrived.elements)
        ]
        self.segments = self.segments.plus(files)
        self.late += [letter.text.split()[0] for letter in arrived.letters]
        control = Control(1, {S: before}, NO_STORE, lateness={S: self.lateness}, idle=self.idle)
        [known] = complete({S: arrived.progress}, control).values()
        self.progress = arrived.progress.completed(known)
        assert names(self.buffer.elements) == names(load(self.segments, store).elements)
        return known


def reference(streams: Sequence[Sequence[Element]], lateness: int) -> tuple[list[Element], set[str]]:
    """All elements in the order of the stream, and those that are late in their own partition."""
    good, late = [], set()
    for partition in streams:
        high = NEVER
        for item in partition:
            if item.time < high - lateness:
                late.add(item.name)
            else:
                good.append(item)
            high = max(high, item.time)
    return sorted(good, key=lambda item: (item.time, item.partition, item.number)), late


@pytest.mark.parametrize("seed", spread(60, 15))
def test_random_partitions_and_cuts(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    lateness = chosen.choice([0, 0, 2, 5])
    streams = []
    for partition in range(chosen.randint(1, 4)):
        clock, items = chosen.randint(0, 20), []
        for number in range(chosen.randint(0, 25)):
            clock += chosen.choice([0, 0, 1, 2, 9])
            items.append(Element(partition, number, max(0, clock - chosen.choice([0, 0, 1, 4, 8]))))
        streams.append(items)
    expected, late = reference(streams, lateness)
    run = Run(lateness, tmp_path)
    # All partitions show up in the first batch, as a source sees to, some of them with nothing in it.
    left = [list(items) for items in streams]
    first = True
    while first or any(left):
        chunks = []
        for partition, items in enumerate(left):
            taken = chosen.randint(0, 6)
            cut = chosen.randint(0, min(taken, len(items)))
            pieces = [items[:cut], items[cut:taken]]
            chunks += [chunk_of(partition, piece) for piece in pieces if piece or first]
            del items[:taken]
        known = run.batch(*chunks)
        first = False
        # What is complete is final: its places never change again.
        settled = run.buffer.up_to(known)
        assert names(run.buffer.elements)[:settled] == [item.name for item in expected[:settled]]
        assert all(item.time > known for item in expected[settled:])
    assert names(run.buffer.elements) == [item.name for item in expected]
    assert set(run.late) == late
    assert run.progress.accepted == len(expected)


def test_order_at_the_same_time_is_by_partition_then_arrival(tmp_path: Path) -> None:
    run = Run(0, tmp_path)
    first = [[Element(1, 0, 5), Element(1, 1, 5)], [Element(0, 0, 4)]]
    assert run.batch(*(chunk_of(items[0].partition, items) for items in first)) == 3
    assert run.batch(chunk_of(0, [Element(0, 1, 5), Element(0, 2, 6)])) == 4
    assert run.batch(chunk_of(1, [Element(1, 2, 9)])) == 5
    assert [name[11:-1] for name in names(run.buffer.elements)] == ["0-0", "0-1", "1-0", "1-1", "0-2", "1-2"]


def test_a_partition_that_is_idle_is_not_waited_for(tmp_path: Path) -> None:
    run = Run(0, tmp_path)
    assert run.batch(chunk_of(0, [Element(0, 0, 50)]), chunk_of(1, [Element(1, 0, 10)])) == 9
    run.idle = frozenset([(S, 1)])
    # It brings something in this very batch, so it is not idle after all.
    assert run.batch(chunk_of(1, [Element(1, 1, 20)])) == 19
    assert run.batch(chunk_of(0, [Element(0, 1, 60)])) == 59
    run.idle = frozenset()
    # It was not late by its own order, but 30 is final by now; the stream does not go back.
    assert run.batch(chunk_of(1, [Element(1, 2, 30), Element(1, 3, 59), Element(1, 4, 70)])) == 59
    assert run.late == ["<http://ex/1-2>", "<http://ex/1-3>"]
    assert run.batch(chunk_of(0, [Element(0, 2, 80)])) == 69
    assert run.progress.late == 2
    assert len(run.buffer.elements) == 6


def test_a_partition_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    run = Run(0, tmp_path)
    assert run.batch(chunk_of(0, [Element(0, 0, 50)]), chunk_of(1, [Element(1, 0, 10)])) == 9
    assert run.batch(chunk_of(1, [], last=True)) == 49
    assert run.batch(chunk_of(0, [Element(0, 1, 60)], last=True)) == FOREVER
    assert run.late == []
    assert not run.progress.ended  # another partition could come
    assert run.batch(chunk_of(2, [Element(2, 0, 60), Element(2, 1, 61)])) == 60
    assert run.late == ["<http://ex/2-0>"]


def test_a_partition_that_shows_up_later_changes_nothing_that_is_complete() -> None:
    before = at(100)
    before = before.completed(99)
    arrived = arrive(S, [chunk_of(1, [Element(1, 0, 90), Element(1, 1, 99), Element(1, 2, 100)])], before, 0)
    assert [letter.kind for letter in arrived.letters] == ["late", "late"]
    assert arrived.letters[0].reason == (
        "late: its time is 1970-01-01T00:00:00.00009Z, the stream is already complete to "
        "1970-01-01T00:00:00.000099Z, without this partition; a lateness of 0.00001s would have kept it"
    )
    assert arrived.progress.accepted == 1
    assert complete({S: arrived.progress}, Control(1, {S: before}, NO_STORE)) == {S: 99}


def test_what_was_written_before_there_were_partitions() -> None:
    old = {
        "high": 7,
        "read": 3,
        "bad": 1,
        "late": 0,
        "without_zone": 0,
        "place": "f",
        "line": 3,
        "ended": False,
    }
    assert Progress.of_json(old) == Progress({0: Partition(7, "f", 3)}, read=3, bad=1)
    new = {**old, "high": NEVER, "read": 0, "bad": 0, "place": "", "line": 0}
    assert Progress.of_json(new) == Progress()


def test_a_checkpoint_of_an_earlier_version_is_refused() -> None:
    file = {"path": "state/1/0-0.arrow", "rows": 1, "first": 1, "last": 1, "in_order": True}
    with pytest.raises(CheckpointError, match="an earlier version"):
        Segments.of_json({"dropped": 2, "files": [file]})


def test_idle_partitions_are_noticed_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("rheos.runtime.driver.watch.time.monotonic", lambda: now[0])
    watch = Watch({S: Stream(None, idle=10.0)})
    both = at(5, 7, read=2)
    watch.heard({}, {S: both})
    now[0] = 109.0
    more = Progress({**both.partitions, 0: Partition(6)}, read=3)
    watch.heard({S: both}, {S: more})
    now[0] = 111.0
    assert watch.notice({S: more})
    assert (watch.silent, watch.idle) == (set(), {(S, 1)})
    assert not watch.notice({S: more})
    now[0] = 120.0
    assert watch.notice({S: more})
    assert (watch.silent, watch.idle) == ({S}, {(S, 0), (S, 1)})
    watch.heard({S: more}, {S: Progress({**more.partitions, 1: Partition(8)}, read=4)})
    assert (watch.silent, watch.idle) == (set(), {(S, 0)})


class Two(Source):
    """A source whose second partition ends at its second offset."""

    def begin(self) -> Offset:
        return {"at": 0}

    def latest(self, offset: Offset, most: int = 0) -> Offset:
        return {"at": offset["at"] + 1}

    def ended(self, offset: Offset) -> bool:
        return False

    def ended_partitions(self, offset: Offset) -> frozenset[int]:
        return frozenset([1] if offset["at"] >= 2 else [])

    def parts(self, start: Offset, end: Offset, size: int = 0) -> Sequence[Part]:
        return []

    def read(self, part: Part) -> list[Chunk]:  # type: ignore[override]
        return []


def test_the_reader_says_that_a_partition_has_ended(tmp_path: Path) -> None:
    reader = StreamsReader(Streams({S: Two()}, str(tmp_path / "beat"), 1000, NO_STORE))
    offsets = [reader.initialOffset()]
    for _ in range(3):
        offsets.append(reader.latestOffset(offsets[-1], None))
    found = [reader.partitions(a, b) for a, b in itertools.pairwise(offsets)]
    # Where nothing was read there is a row without a stream, so that the task runs.
    batches = [[batch for part in parts for batch in reader.read(part)] for parts in found]
    rows = [[row for batch in some for row in batch.to_pylist()] for some in batches]
    assert [[row["stream"] for row in some] for some in rows] == [[""], [S], [""]]
    [row] = rows[1]
    header, elements = Header.of_json(row["header"]), unpacked(row["data"])
    assert (row["ended"], header.partition, header.last, len(elements)) == (False, 1, True, 0)


# --- DataFrames ----------------------------------------------------------------------------------------

ROWS = "subject STRING, predicate STRING, object STRING, time TIMESTAMP"
COUNT = query("count", "?s (COUNT(*) AS ?n)", "?s :p ?o } GROUP BY ?s #", "RANGE 20s STEP 10s")
LAST = query("last", "?s ?o", "?s :p ?o", "RANGE TRIPLES 7 STEP 5")


def row(number: int, seconds: float, partition: int) -> str:
    content = {
        "subject": f"http://ex/s{number % 7}",
        "predicate": "http://ex/p",
        "object": f"http://ex/o{number}",
        "time": moment(seconds).split('"')[1],
        "partition": partition,
    }
    return json.dumps(content) + "\n"


def put_file(folder: Path, number: int, text: str) -> None:
    """A file that Spark takes for later than those with smaller numbers."""
    path = folder / f"{number:03}.json"
    path.write_text(text)
    os.utime(path, (NEW_YEAR + number, NEW_YEAR + number))


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_two_partitions_do_not_make_each_other_late(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for partition in range(2):
        put_file(folder, partition, "".join(row(n, n, partition) for n in range(partition, 100, 2)))
    (tmp_path / "s.nq").write_text(lines((f"s{n % 7}", "p", f"o{n}", n) for n in range(100)))
    found = []
    for source in (spark.readStream.schema(ROWS).json(str(folder)), tmp_path / "s.nq"):
        with Engine(spark, shards=shards) as engine:
            engine.add_stream(STREAM, source)
            handles = [engine.register(COUNT), engine.register(LAST)]
            assert engine.run()
            metrics = engine.metrics.streams[STREAM]
            assert (metrics.read, metrics.late) == (100, 0)
            found.append([reported(handle) for handle in handles])
    assert found[0] == found[1]


def round_robin(folder: Path, number: int, partitions: int, files: int) -> None:
    """Messages that were sent to one partition after the other, as files: in each of them one partition,
    and in a batch as many of them as there are partitions."""
    folder.mkdir()
    size = number // files
    for part, partition in itertools.product(range(files), range(partitions)):
        numbers = range(part * size + partition, (part + 1) * size, partitions)
        put_file(folder, part * partitions + partition, "".join(row(n, n / 100, partition) for n in numbers))


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_messages_sent_round_robin_are_answered_as_those_of_a_file(
    spark: SparkSession, tmp_path: Path, shards: int
) -> None:
    number = 30_000 if shards == 1 else 3000
    round_robin(tmp_path / "in", number, 3, 5)
    (tmp_path / "s.nq").write_text(lines((f"s{n % 7}", "p", f"o{n}", n / 100) for n in range(number)))
    frame = spark.readStream.schema(f"{ROWS}, partition INT").option("maxFilesPerTrigger", 3)
    found = []
    for source in (frame.json(str(tmp_path / "in")), tmp_path / "s.nq"):
        with Engine(spark, shards=shards) as engine:
            engine.add_stream(STREAM, source)
            handle = engine.register(COUNT)
            assert engine.run()
            assert engine.metrics.streams[STREAM].late == 0
            found.append((reported(handle), engine.metrics.batches))
    assert found[0][0] == found[1][0]
    assert len(found[0][0]) == number // 1000 + 1
    assert found[0][1] >= 5


@pytest.mark.slow
def test_partitions_of_a_source_keep_their_numbers_beside_other_streams(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Without a column `partition` it is Spark's own number that counts; the file beside it is read in parts
    whose number differs from batch to batch."""
    file = tmp_path / "s.nq"
    file.write_text(lines(("a", "p", f"o{n}", n) for n in range(3000)))
    frame = (
        spark.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=200, numPartitions=3, startTimestamp=0)
        .load()
        .where("value < 1000")
        .selectExpr(
            "concat('http://ex/s', value % 7) AS subject",
            "'http://ex/p' AS predicate",
            "concat('http://ex/o', value) AS object",
            f"timestamp_seconds({NEW_YEAR} + value) AS time",
        )
    )
    with Engine(spark, batch_bytes=100_000) as engine:
        engine.add_stream(STREAM, frame)
        engine.add_stream("http://ex/file", file)
        handle = engine.register(COUNT)
        engine.register(query("other", "?s", "?s :p ?o", stream="http://ex/file"))
        engine.start()
        wait(lambda: engine.metrics.streams[STREAM].read == 1000, "all rows")
        wait(lambda: len(handle.results) >= 99, "windows")
        engine.stop()
        assert engine.metrics.streams[STREAM].late == 0
        assert [sum(int(r["n"]) for r in rows) for _, rows in reported(handle)][2:98] == [20] * 96


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_a_partition_of_a_dataframe_that_goes_idle(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    frame = spark.readStream.schema(f"{ROWS}, partition INT").json(str(folder))
    put_file(folder, 1, "".join(row(n, n, partition=0) for n in range(56)) + row(5, 5, partition=1))
    with Engine(spark, shards=shards) as engine:
        engine.add_stream(STREAM, frame, idle=3.0)
        handle = engine.register(query("all", "(COUNT(*) AS ?n)", "?s :p ?o"))
        engine.start()
        wait(lambda: engine.metrics.streams[STREAM].read == 57, "the first rows")
        wait(lambda: bool(handle.results), "what they complete")  # it is told after it was counted
        at_first = reported(handle)
        put_file(folder, 2, row(60, 60, partition=0))
        wait(lambda: len(handle.results) >= 7, "nobody waits for the second partition")
        put_file(folder, 3, row(33, 33, partition=1) + row(61, 61, partition=1) + row(71, 71, partition=0))
        wait(lambda: engine.metrics.streams[STREAM].late == 1, "it is back, and one of its elements is late")
        put_file(folder, 4, row(85, 85, partition=1) + row(82, 82, partition=0))
        wait(lambda: len(handle.results) >= 9, "they go on together")
        engine.stop()
    assert [at for at, _ in at_first] == [0]  # the second was only at 5
    assert [(at, int(rows[0]["n"])) for at, rows in reported(handle)] == [
        (0, 1), *((at, 10) for at in (10, 20, 30, 40, 50)), (60, 6), (70, 1), (80, 1)
    ]  # fmt: skip


def test_a_partition_has_a_number(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.schema(f"{ROWS}, partition STRING").json(str(tmp_path))
    with Engine(spark) as engine, pytest.raises(RheosError, match="whole numbers, not string"):
        engine.add_stream(STREAM, frame)
