"""Kafka as a source: what its URLs say, without a broker; then topics of a real one, compared with files."""

from __future__ import annotations

import json
import random
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rheos import Engine, RheosError
from rheos.addresses import AddressError, Allowed
from rheos.errors import EnvironmentFault
from rheos.execute import session as sessions
from rheos.sources.decoding import decoder
from rheos.sources.frames import CLOCK, PARTITION
from rheos.sources.kafka import Kafka as Topic
from rheos.sources.kafka import gathered, open_topic, reached
from tests.runtime.streams import line, moment
from tests.services.kafka import Kafka, new_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://ex/readings"
COUNT = f"""REGISTER QUERY counts AS SELECT ?p (COUNT(*) AS ?n)
FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] WHERE {{ ?s ?p ?o }} GROUP BY ?p"""
ENDING = {"startingOffsets": "earliest", "endingOffsets": "latest"}


# --- URLs --------------------------------------------------------------------------------------------------


def opened(url: str, **more: Any) -> Topic:
    return open_topic(url, f"<{STREAM}>", "s_", decoder(), **more)


def test_a_url_says_where_and_from_when() -> None:
    topic = opened("kafka://a:1,b/readings.v1?group=mine&startingOffsets=earliest&failOnDataLoss=false")
    assert (topic.servers, topic.topic, topic.bounded) == ("a:1,b:9092", "readings.v1", False)
    assert topic.options == {
        "groupIdPrefix": "mine",
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
    }


def test_a_bounded_topic_is_read_from_its_beginning() -> None:
    topic = opened("kafka://a/t?endingOffsets=latest")
    assert topic.bounded
    assert topic.options == {"startingOffsets": "earliest"}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("kafka://a/t?grup=x", "unknown parameter 'grup': there is group"),
        ("kafka://a/t?sasl.jaas.config=x", "unknown parameter 'sasl.jaas.config'"),
        ("kafka://a/t?startingOffsets=soon", "startingOffsets is earliest or latest, not 'soon'"),
        ("kafka://a/t?endingOffsets=earliest", "endingOffsets is latest"),
        ("kafka://a/t?group=", "group is a value"),
        ("kafka://a/t?group=a&group=b", "given twice"),
        ("kafka://a/", "one topic"),
        ("kafka://a/t,u", "one topic"),
        ("kafka://a/t/u", "one topic"),
    ],
)
def test_what_a_url_cannot_say(url: str, words: str) -> None:
    with pytest.raises(RheosError, match=words):
        opened(url)


def test_secrets_are_options_and_never_shown() -> None:
    with pytest.raises(AddressError, match="no user and no password") as found:
        opened("kafka://me:secret@a/t")
    assert "secret" not in str(found.value)
    topic = opened(
        "kafka://a/t", options={"security.protocol": "SASL_SSL", "kafka.sasl.jaas.config": "secret"}
    )
    assert topic.options["kafka.security.protocol"] == "SASL_SSL"
    assert topic.options["kafka.sasl.jaas.config"] == "secret"
    assert "secret" not in repr(topic)


@pytest.mark.parametrize("name", ["bootstrap.servers", "kafka.enable.auto.commit"])
def test_options_that_are_the_engine_s_own_are_refused(name: str) -> None:
    with pytest.raises(RheosError, match=name.removeprefix("kafka.")):
        opened("kafka://a/t", options={name: "x"})


def test_only_allowed_brokers_are_contacted() -> None:
    with pytest.raises(AddressError, match="b:9092 is not allowed"):
        opened("kafka://a,b/t", allowed=Allowed.of(["a:9092"]))


def test_options_are_for_live_sources(tmp_path: Path) -> None:
    (tmp_path / "s.nq").write_text(line("a", "p", "b", 1))
    with Engine() as engine, pytest.raises(RheosError, match="options are for kafka://"):
        engine.add_stream(STREAM, str(tmp_path / "s.nq"), options={"security.protocol": "SSL"})


# --- without a broker --------------------------------------------------------------------------------------


def rows(*items: tuple[int, int]) -> pa.RecordBatch:
    """Messages by partition and offset."""
    names = [PARTITION, "offset", "value", CLOCK]
    columns: list[list[Any]] = [
        [p for p, _ in items],
        [o for _, o in items],
        [b"x"] * len(items),
        [0] * len(items),
    ]
    return pa.RecordBatch.from_pydict(dict(zip(names, columns, strict=True)))


def test_messages_are_gathered_by_partition_in_their_order() -> None:
    found = list(gathered(iter([rows((0, 1), (0, 2)), rows((0, 3)), rows((1, 9)), rows((0, 4))])))
    assert [(number, batch.column("offset").to_pylist()) for number, batch in found] == [
        (0, [1, 2, 3]),
        (1, [9]),
        (0, [4]),
    ]


def test_a_topic_has_ended_when_all_of_its_partitions_have() -> None:
    ends = {0: 10, 1: 0, 2: 5}
    other = json.dumps({"beat": 0, "streams": {}})
    assert not reached([other, json.dumps({"t": {"0": 10, "1": 0, "2": 4}})], "t", ends)
    assert reached([other, json.dumps({"t": {"0": 10, "1": 0, "2": 5}}), None], "t", ends)
    assert not reached([other], "t", ends)


def test_the_connector_is_that_of_the_installed_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import pyspark

    coordinates = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    monkeypatch.delenv(sessions.KAFKA_JARS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = sessions.kafka_settings()
    assert found == {"spark.jars.packages": coordinates, "spark.jars.ivy": str(tmp_path / "rheos" / "ivy")}
    monkeypatch.setenv(sessions.KAFKA_JARS, str(tmp_path))
    with pytest.raises(EnvironmentFault, match="there are no jars in it"):
        sessions.kafka_settings()
    (tmp_path / "a.jar").touch()
    assert sessions.kafka_settings() == {"spark.jars": str(tmp_path / "a.jar")}


# --- with one ----------------------------------------------------------------------------------------------


def readings(count: int, seed: int = 7) -> list[tuple[int, float, str]]:
    """Elements by partition, with most of them in the first; each partition is in order of time."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        partition = chance.choices((0, 1, 2), (90, 9, 1))[0]
        time = number / 10
        found.append(
            (partition, time, line(f"s{number}", f"p{number % 3}", f"o{chance.randrange(50)}", time))
        )
    return found


def counted(engine: Engine, source: str, **options: Any) -> list[tuple[str, list[str]]]:
    """What the query says of a stream, until that ends."""
    engine.clear()
    engine.add_stream(STREAM, source, **options)
    query = engine.register(COUNT, keep=None)
    assert engine.run(timeout=180)
    return [
        (str(answer.at), sorted(f"{row['p'].value} {row['n'].value}" for row in answer.rows or []))
        for answer in query.results
    ]


@pytest.fixture
def engine(spark: SparkSession) -> Any:
    with Engine(spark) as made:
        yield made


@pytest.mark.slow
def test_three_skewed_partitions_give_what_a_file_gives(
    kafka: Kafka, spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    found = readings(3000)
    topic = kafka.topic(spark, partitions=3)
    kafka.write(spark, topic, [(partition, text.encode()) for partition, _, text in found])
    (tmp_path / "all.nq").write_text("".join(text for _, _, text in found))
    from_file = counted(engine, str(tmp_path / "all.nq"))
    assert len(from_file) == 31
    assert counted(engine, kafka.url(topic, **ENDING)) == from_file
    assert not engine.metrics.streams[STREAM].dead


def test_a_partition_without_messages_is_waited_for(
    kafka: Kafka, spark: SparkSession, engine: Engine
) -> None:
    """An instant is not complete before every partition has passed it."""
    topic = kafka.topic(spark, partitions=2)
    kafka.write(spark, topic, [(0, line("a", "p", f"o{n}", n).encode()) for n in range(30)])
    engine.add_stream(STREAM, kafka.url(topic, startingOffsets="earliest"))
    query = engine.register(COUNT, keep=None)
    assert not engine.run(timeout=8)
    assert engine.metrics.streams[STREAM].read == 30
    assert query.results == []
    engine.start()
    kafka.write(spark, topic, [(1, line("b", "p", "o", 25).encode())])
    assert wait_for(lambda: len(query.results) == 3)
    assert [str(row["n"].value) for answer in query.results for row in answer.rows or []] == ["1", "10", "10"]
    engine.stop()


def test_a_partition_that_is_added_while_the_engine_runs(
    kafka: Kafka, spark: SparkSession, engine: Engine
) -> None:
    """It is read from its beginning, with a clock of its own, and waited for from then on."""
    topic = kafka.topic(spark)

    def write(partition: int, *seconds: int) -> None:
        kafka.write(spark, topic, [(partition, line("a", "p", f"o{n}", n).encode()) for n in seconds])

    write(0, 1, 11, 21)
    engine.add_stream(STREAM, kafka.url(topic, startingOffsets="earliest"))
    query = engine.register(COUNT, keep=None)
    engine.start()
    assert wait_for(lambda: len(query.results) == 2)
    kafka.widen(spark, topic, 2)
    write(1, 22)
    assert wait_for(lambda: engine.metrics.streams[STREAM].read == 4)
    write(0, 45)
    assert wait_for(lambda: engine.metrics.streams[STREAM].read == 5)
    assert len(query.results) == 2  # the new partition is not there yet
    write(1, 41)
    assert wait_for(lambda: len(query.results) == 3)
    assert [str(row["n"].value) for answer in query.results for row in answer.rows or []] == ["1", "1", "2"]
    assert not engine.metrics.streams[STREAM].dead
    engine.stop()


def wait_for(condition: Any, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_bad_and_late_messages_are_dead_letters_with_their_offsets(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.topic(spark)
    good = [line("a", "p", "o1", 101), "no element", line("a", "p", "o2", 50), line("a", "p", "o3", 102)]
    kafka.write(spark, topic, [(0, text.encode()) for text in good])
    letters = tmp_path / "letters.ndjson"
    with Engine(spark, dead_letters=letters) as engine:
        assert len(counted(engine, kafka.url(topic, **ENDING))) == 1
    found = [json.loads(text) for text in letters.read_text().splitlines()]
    assert [(item["kind"], item["place"], item["line"]) for item in found] == [
        ("bad", f"{topic}/0", 1),
        ("late", f"{topic}/0", 2),
    ]


def test_elements_too_far_ahead_are_refused_unless_told_otherwise(
    kafka: Kafka, spark: SparkSession, engine: Engine
) -> None:
    topic = kafka.topic(spark)
    future = line("a", "p", "o", 1).replace("2026-", "2999-")
    kafka.write(spark, topic, [(0, line("a", "p", "o", 1).encode()), (0, future.encode())])
    assert len(counted(engine, kafka.url(topic, **ENDING))) == 1
    assert engine.metrics.streams[STREAM].ahead == 1
    assert len(counted(engine, kafka.url(topic, **ENDING), ahead=None)) == 2


def test_an_empty_topic_ends_too(kafka: Kafka, spark: SparkSession, engine: Engine) -> None:
    assert counted(engine, kafka.url(kafka.topic(spark, partitions=2), **ENDING)) == []


def test_a_topic_that_is_not_there_is_named(kafka: Kafka, spark: SparkSession, engine: Engine) -> None:
    engine.add_stream(STREAM, kafka.url("nowhere"))
    engine.register(COUNT)
    with pytest.raises(RheosError, match=r"nowhere: Kafka does not answer: .*topic"):
        engine.run(timeout=30)


@pytest.mark.slow
def test_a_broker_that_is_away_for_longer_than_spark_waits(
    spark: SparkSession, tmp_path: Path, kafka: Kafka
) -> None:
    """Spark gives up soon here; the run goes on from its journal when the broker is back."""
    (tmp_path / "broker").mkdir()
    broker = new_broker(tmp_path / "broker")
    broker.start()
    impatient = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1000"}
    try:
        topic = broker.topic(spark)
        broker.write(
            spark, topic, [(0, line("a", "p", "o", 1).encode()), (0, line("a", "p", "o", 11).encode())]
        )
        with Engine(spark, checkpoint=tmp_path / "checkpoint") as engine:
            engine.add_stream(STREAM, broker.url(topic, startingOffsets="earliest"), options=impatient)
            query = engine.register(COUNT, keep=None)
            ended: list[bool] = []
            thread = threading.Thread(target=lambda: ended.append(engine.run(timeout=240)))
            thread.start()
            assert wait_for(lambda: len(query.results) == 1)
            first = engine.streaming.loop
            broker.kill()
            assert wait_for(lambda: engine.streaming.loop is not first), "Spark has given up"
            broker.start()
            broker.write(spark, topic, [(0, line("a", "p", "o", 21).encode())])
            assert wait_for(lambda: len(query.results) == 2)
            engine.stop()
            thread.join(60)
    finally:
        broker.stop()
    assert [str(row["n"].value) for answer in query.results for row in answer.rows or []] == ["1", "1"]


def test_graphs_and_lateness(kafka: Kafka, spark: SparkSession, engine: Engine) -> None:
    topic = kafka.topic(spark)
    graph = (
        "@prefix e: <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> . e:g%d { e:a e:p e:b , e:c }"
    )
    graph += " e:g%d prov:generatedAtTime %s ."
    texts = [graph % (n, n, moment(seconds)) for n, seconds in enumerate((12, 8, 25))]
    kafka.write(spark, topic, [(0, text.encode()) for text in texts])
    found = counted(engine, kafka.url(topic, **ENDING), lateness=timedelta(seconds=5))
    assert [texts for _, texts in found] == [["http://ex/p 2"]] * 3
