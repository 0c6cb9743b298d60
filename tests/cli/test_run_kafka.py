"""`rheos run` from a real Kafka, as a process: killed itself, and its broker killed, it answers what the same
elements in a file give, each answer once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos.execute.session import KAFKA_JARS
from tests.cli.command import rheos
from tests.runtime.streams import line
from tests.services import artifacts
from tests.services.kafka import Kafka, new_broker
from tests.sources.test_kafka import COUNT, ENDING, STREAM, readings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PATIENCE = 300.0


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One of our own: it is killed."""
    try:
        artifacts.connector()
        found = new_broker(tmp_path_factory.mktemp("broker"))
    except artifacts.Missing as missing:
        pytest.skip(str(missing))
    found.start()
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """An own session of rheos gets the connector that the tests have."""
    try:
        monkeypatch.setenv(KAFKA_JARS, artifacts.connector().folder)
    except artifacts.Missing as missing:
        pytest.skip(str(missing))


class Run:
    """A `rheos run` that writes to a file and keeps its state."""

    def __init__(self, folder: Path, source: str, *more: str) -> None:
        self.folder = folder
        self.output = folder / "out.ndjson"
        (folder / "counts.rq").write_text(COUNT)
        self.command = [sys.executable, "-m", "rheos", "run", str(folder / "counts.rq")]
        self.command += ["--stream", f"{STREAM}={source}", "--output", str(self.output), *more]
        self.command += ["--checkpoint", str(folder / "checkpoint"), "--batch-size", "30000"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "err.txt").open("ab") as errors:
            self.process = subprocess.Popen(
                self.command, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def kill(self) -> None:
        """kill -9, with its JVM and its workers."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def lines(self) -> list[str]:
        return self.output.read_text().splitlines() if self.output.exists() else []

    def wait(self, count: int) -> None:
        """Until so many answers are there."""
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE
        while len(self.lines()) < count:
            assert self.process.poll() is None, self.errors()
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.1)

    def end(self) -> None:
        assert self.process is not None
        assert self.process.wait(PATIENCE) == 0, self.errors()

    def errors(self) -> str:
        return (self.folder / "err.txt").read_text()[-4000:]


def expected(folder: Path, found: list[tuple[int, float, str]]) -> list[str]:
    """What the same elements give from a file."""
    (folder / "all.nq").write_text("".join(text for _, _, text in found))
    (folder / "file.rq").write_text(COUNT)
    done = rheos("run", folder / "file.rq", "--stream", f"{STREAM}={folder / 'all.nq'}", "--quiet")
    assert done.status == 0, done.err
    return done.out.splitlines()


def by_instant(lines: list[str]) -> list[str]:
    """The order within an instant is free; no line may be there twice."""
    assert len(lines) == len(set(lines))
    return sorted(lines)


@pytest.mark.slow
def test_the_driver_is_killed_again_and_again(kafka: Kafka, spark: SparkSession, tmp_path: Path) -> None:
    found = readings(6000)
    topic = kafka.topic(spark, partitions=3)
    kafka.write(spark, topic, [(partition, text.encode()) for partition, _, text in found])
    run = Run(tmp_path, kafka.url(topic, **ENDING))
    for count in (1, 90):
        run.start()
        run.wait(count)
        run.kill()
    run.start()
    run.end()
    assert by_instant(run.lines()) == by_instant(expected(tmp_path, found))


@pytest.mark.slow
def test_the_broker_is_killed_while_streams_flow(broker: Kafka, spark: SparkSession, tmp_path: Path) -> None:
    found = readings(3000)
    topic = broker.topic(spark, partitions=3)
    run = Run(tmp_path, broker.url(topic, startingOffsets="earliest"))
    run.start()
    half = [(partition, text.encode()) for partition, _, text in found[:1500]]
    broker.write(spark, topic, half)
    run.wait(20)
    broker.kill()
    deadline = time.monotonic() + PATIENCE
    while "no broker answers" not in run.errors():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    broker.start()
    rest = [(partition, text.encode()) for partition, _, text in found[1500:]]
    # One more in each partition: then all is complete that was before, and no timeout has to tell it.
    rest += [(partition, line("last", "p", "o", 9999).encode()) for partition in range(3)]
    broker.write(spark, topic, rest)
    wanted = by_instant(expected(tmp_path, found))
    run.wait(len(wanted))
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGINT)
    run.process.wait(60)
    assert by_instant(run.lines()) == wanted
    assert run.errors().count("no broker answers") == 1


@pytest.mark.slow
def test_a_run_from_the_command_line_ends_where_the_topic_ended(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    found = readings(300)
    topic = kafka.topic(spark)
    kafka.write(spark, topic, [(0, text.encode()) for _, _, text in found])
    (tmp_path / "counts.rq").write_text(COUNT)
    url = kafka.url(topic, **ENDING)
    done = rheos("run", tmp_path / "counts.rq", "--stream", f"{STREAM}={url}", "--quiet")
    assert done.status == 0, done.err
    assert by_instant(done.out.splitlines()) == by_instant(expected(tmp_path, found))


@pytest.mark.slow
def test_a_connector_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An own session asks for the connector of the installed Spark, and takes no other."""
    found = artifacts.connector()
    if found.version == found.wanted:
        pytest.skip("Maven Central has the connector of this Spark")
    monkeypatch.delenv(KAFKA_JARS)
    (tmp_path / "counts.rq").write_text(COUNT)
    done = rheos("run", tmp_path / "counts.rq", "--stream", f"{STREAM}=kafka://127.0.0.1:1/t")
    coordinates = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{found.wanted}"
    done.faulted(coordinates, "could not be fetched from Maven Central", KAFKA_JARS)


@pytest.mark.slow
def test_a_given_session_without_the_connector_is_told_its_coordinates() -> None:
    program = f"""
from pyspark.sql import SparkSession
from rheos import Engine
settings = {{"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
with Engine(spark) as engine:
    engine.add_stream({STREAM!r}, "kafka://127.0.0.1:1/t")
    engine.register({COUNT!r})
    try:
        engine.run(timeout=5)
    except Exception as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.startswith("EnvironmentFault"), done.stderr
    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{artifacts.connector().wanted}" in done.stdout
