"""`rheos bench kafka`: a topic of passages to a windowed count, beside PySpark on the same topic and rheos on
a file of the same lines, in one run and one Spark.

PySpark answers twice: the same windowed count, for which it takes the gate and the time out of the same bytes
(`split`, no JSON), and the bare number of messages. The broker is that of the tests, from `make services`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rheos import Engine
from rheos.answers.formatter import Formatter
from rheos.errors import EnvironmentFault
from rheos.execute.session import KAFKA_JARS
from rheos_bench import Settings
from rheos_bench.passages import COUNT, Window
from rheos_bench.report import duration, heading, machine, table, verdict
from rheos_bench.runs import Lines, measured
from rheos_bench.streams import STREAM, write_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW = Window(10, 10)
PARTITIONS = 2
TARGET = 0.5  # of PySpark's rate
_ROOT = Path(__file__).parents[3]


class Taken(NamedTuple):
    """How long a way took, from the moment that its first batch was planned, and how many messages it saw."""

    what: str
    seconds: float
    elements: int

    @property
    def rate(self) -> float:
        return self.elements / self.seconds


def run(settings: Settings) -> None:
    artifacts, services = _services()
    try:
        connector = artifacts.connector()
        os.environ[KAFKA_JARS] = connector.folder
        with tempfile.TemporaryDirectory(prefix="rheos-bench-") as name:
            broker = services.new_broker(Path(name))
            broker.start()
            try:
                _run(settings, Path(name), broker, connector.note)
            finally:
                broker.stop()
    except artifacts.Missing as missing:
        raise EnvironmentFault(str(missing)) from None


def _run(settings: Settings, folder: Path, broker: Any, note: str) -> None:
    heading(f"Kafka: {settings.triples:,} messages in {PARTITIONS} partitions to a count by gate, {WINDOW}")
    print(f"{machine()}\n{note}\n", flush=True)
    path = write_stream(folder / "passages.nq", settings.triples)
    with Engine(kafka=True) as engine:
        spark = engine.session()
        topic = broker.topic(spark, PARTITIONS)
        produced = _produce(broker.servers, topic, path)
        size = path.stat().st_size
        print(f"written to the topic in {duration(produced)}: {size / 1e6:,.0f} MB\n", flush=True)
        ways: list[Callable[[], Taken]] = [
            lambda: _rheos(engine, broker.url(topic, endingOffsets="latest")),
            lambda: _pyspark(spark, broker.servers, topic, folder, "windowed count"),
            lambda: _pyspark(spark, broker.servers, topic, folder, "bare count"),
            lambda: _file(engine, path, settings.triples),
        ]
        # Each twice, the second counts: the first also compiles, in all of them.
        rounds = [[way() for way in ways] for _ in range(1 if settings.quick else 2)]
    found = rounds[-1]
    for one in found:
        if one.elements != settings.triples:
            raise AssertionError(f"{one.what} saw {one.elements:,} of {settings.triples:,} messages")
    ours, windowed, bare, _ = found
    rows = []
    for one in found:
        share = "" if one is ours else f"{ours.rate / one.rate:.2f}"
        told = verdict(ours.rate >= TARGET * one.rate) if one in (windowed, bare) else ""
        rows.append([one.what, duration(one.seconds), f"{one.rate:,.0f}", share, told])
    table(["", "time", "elements/s", "rheos on Kafka ÷ this", f"at least {TARGET}"], rows)


def _services() -> tuple[Any, Any]:
    """The broker of the tests, which are beside this package in the repository."""
    sys.path.insert(0, str(_ROOT))
    try:
        return import_module("tests.services.artifacts"), import_module("tests.services.kafka")
    except ImportError as error:
        raise EnvironmentFault(f"the broker is started by the tests in {_ROOT}: {error}") from None
    finally:
        sys.path.remove(str(_ROOT))


def _produce(servers: str, topic: str, path: Path) -> float:
    """Write the lines of a file to the partitions in turn, each in order."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": servers, "linger.ms": 50, "batch.size": 1 << 20, "acks": "all"}
    producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
    began = time.perf_counter()
    with path.open("rb") as lines:
        for number, line in enumerate(lines):
            while True:
                try:
                    producer.produce(topic, line.rstrip(b"\n"), partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
            if not number % 10_000:
                producer.poll(0)
    left = producer.flush(300)
    if left:
        raise EnvironmentFault(f"the broker has not taken {left:,} messages")
    return time.perf_counter() - began


def _rheos(engine: Engine, url: str) -> Taken:
    engine.streaming.clear()
    engine.add_stream(STREAM, url)
    handle = engine.register(COUNT.over(WINDOW, "counts"), keep=0)
    seen = [0]
    handle.subscribe(lambda answer: seen.__setitem__(0, seen[0] + _sum(answer)))
    engine.stream_to(Lines(), Formatter("ndjson", [handle.info]))
    engine.run()
    ended = time.time()
    first = (engine.streaming.location.folder / "spark" / "offsets" / "0").stat().st_mtime
    return Taken("rheos, from the topic", ended - first, seen[0])


def _sum(answer: Any) -> int:
    return sum(int(row["n"].value) for row in answer.rows or [])


def _file(engine: Engine, path: Path, elements: int) -> Taken:
    found = measured(engine, STREAM, path, elements, [COUNT.over(WINDOW, "counts")])
    return Taken("rheos, from a file", found.seconds, engine.metrics.streams[STREAM].read)


def _pyspark(spark: SparkSession, servers: str, topic: str, folder: Path, what: str) -> Taken:
    from pyspark.sql import functions as sql

    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    # Engines tell sources by their names; here, too, the session asks for one.
    messages = reader.name("messages").load()
    if what == "bare count":
        counted, mode = messages.groupBy().count(), "complete"
    else:
        terms = sql.split(sql.col("value").cast("string"), " ")
        passages = messages.select(
            sql.element_at(terms, 3).alias("gate"),
            sql.to_timestamp(sql.substring(sql.element_at(terms, 4), 2, 27)).alias("at"),
        )
        groups = [sql.window("at", f"{WINDOW.range} seconds"), sql.col("gate")]
        counted, mode = passages.groupBy(*groups).count(), "complete"
    seen = [0]

    def count(frame: DataFrame, number: int) -> None:
        seen[0] = frame.agg(sql.sum("count")).collect()[0][0] or 0

    place = Path(tempfile.mkdtemp(prefix="pyspark-", dir=folder))
    query = (
        counted.writeStream.outputMode(mode)
        .foreachBatch(count)
        .option("checkpointLocation", str(place))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    ended = time.time()
    first = (place / "offsets" / "0").stat().st_mtime
    return Taken(f"PySpark, {what}", ended - first, seen[0])
