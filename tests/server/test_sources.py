"""Sources of a server: brokers and the Web, from the configuration and from clients."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos.server.config import Config, StreamConfig
from rheos.server.serve import served
from rheos.sources.receivers import base
from tests.runtime.streams import line
from tests.server.city import City, values, wait
from tests.server.conftest import client
from tests.services import artifacts
from tests.services.kafka import Kafka, new_broker
from tests.services.mosquitto import Mosquitto
from tests.services.processes import HOST, free_port
from tests.services.web import Headers, Reply, web
from tests.sources.receiving import publishing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """PREFIX : <http://ex/> SELECT ?o FROM STREAM <{}> [RANGE 10s STEP 10s] WHERE {{ ?s :p ?o }}"""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(base, "LONGEST_PAUSE", 1.0)


@contextmanager
def serving(spark: SparkSession, folder: Path, **more: object) -> Iterator[City]:
    config = Config(port=0, state=folder / "state", **more)  # type: ignore[arg-type]
    with served(config, spark) as host, client(host.base) as http:
        yield City(host, http)


def test_a_client_makes_streams_of_allowed_places(
    spark: SparkSession, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    place = f"{HOST}:{mosquitto.port}"
    with serving(spark, tmp_path, allow=(place,), streams=(StreamConfig("pushed"),)) as city:
        elsewhere = city.http.put("/sensors", json={"source": f"mqtt://{HOST}:{free_port()}/a"})
        assert elsewhere.status_code == 400
        assert "is not allowed" in elsewhere.json()["detail"]
        assert city.http.put("/sensors", json={"source": "/etc/passwd"}).status_code == 400
        made = city.http.put("/sensors", json={"source": mosquitto.url("room/+"), "time": "arrival"})
        assert made.status_code == 201, made.text
        assert made.json()["kind"] == "source"
        assert city.put("seen", QUERY.format(f"{city.base}sensors").replace("10s", "1s")).status_code == 201
        wait(lambda: city.stream("sensors")["connected"] is True, "a connection")
        with publishing(mosquitto) as publisher, city.events("seen") as events:
            publisher.send("room/1", b"<http://ex/s> <http://ex/p> <http://ex/warm> .")
            wait(lambda: city.stream("sensors")["elements"] == 1, "the element")

            def later() -> bool:
                """The window is complete when time has gone on."""
                publisher.send("room/2", b"<http://ex/s> <http://ex/p> <http://ex/later> .")
                return bool(city.query("seen")["rows"])

            wait(later, "an answer")
            # `later` may have come within the same second, and the rows of an instant are in no order.
            assert any(values(event, "o")[1] == "warm" for event in islice(events, 2))
        assert 'rheos_stream_connected{stream="sensors"} 1.0' in city.http.get("/metrics").text
        assert city.http.delete("/seen").status_code == 204
        assert city.http.delete("/sensors").status_code == 204
        assert [stream["name"] for stream in city.http.get("/streams").json()["streams"]] == ["pushed"]


def test_a_source_that_is_down_is_shown_and_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    port = free_port()
    source = f"sse+http://{HOST}:{port}/events"
    pieces: queue.Queue[bytes | None] = queue.Queue()
    for name, seconds in (("one", 1), ("two", 20)):
        pieces.put(b"data: " + line("s", "p", name, seconds).encode() + b"\n")

    def answer(path: str, headers: Headers) -> Reply:
        return Reply(200, {"Content-Type": "text/event-stream"}, b": hello\n\n", pieces)

    with serving(spark, tmp_path, streams=(StreamConfig("feed", source),)) as city:
        wait(lambda: city.http.get("/health").json()["status"] == "degraded", "that it is noticed")
        assert "it is not connected" in city.http.get("/health").json()["streams"]["feed"]
        assert city.stream("feed")["trouble"]
        assert city.put("seen", QUERY.format(f"{city.base}feed")).status_code == 201
        with web(answer, port), city.events("seen") as events:
            assert values(next(events), "o") == ("00:10", "one")
            assert city.http.get("/health").json()["status"] == "ok"
            assert city.stream("feed")["trouble"] is None


@pytest.mark.slow
def test_topics_come_and_go_while_others_flow(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    """Spark's checkpoint has the offsets of each topic under its name."""
    first, second = kafka.topic(spark), kafka.topic(spark, partitions=2)
    allow = (f"{HOST}:{kafka.port}",)
    source = kafka.url(first, startingOffsets="earliest")
    with serving(spark, tmp_path, allow=allow, streams=(StreamConfig("one", source),)) as city:
        kafka.write(spark, first, [(0, line("s", "p", "a", 1).encode())])
        wait(lambda: city.stream("one")["elements"] == 1, "the first element")
        missing = city.http.put("/two", json={"source": kafka.url("nowhere")})
        assert missing.status_code == 502
        assert "nowhere" in missing.json()["detail"]
        made = city.http.put("/two", json={"source": kafka.url(second, startingOffsets="earliest")})
        assert made.status_code == 201, made.text
        texts = [(number, line("s", "p", name, 1).encode()) for number, name in enumerate("bc")]
        kafka.write(spark, second, texts)
        kafka.write(spark, first, [(0, line("s", "p", "d", 2).encode())])
        wait(lambda: city.stream("two")["elements"] == 2, "the elements of the second")
        wait(lambda: city.stream("one")["elements"] == 2, "the second element of the first")
        assert city.http.delete("/two").status_code == 204
        kafka.write(spark, first, [(0, line("s", "p", "e", 3).encode())])
        wait(lambda: city.stream("one")["elements"] == 3, "the third element")


@pytest.mark.slow
def test_a_server_waits_for_a_broker_that_is_down_when_it_starts(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    try:
        broker = new_broker(tmp_path / "broker")
    except artifacts.Missing as missing:
        pytest.skip(str(missing))
    broker.start()
    topic = broker.topic(spark)
    broker.write(spark, topic, [(0, line("s", "p", "a", 1).encode())])
    broker.stop()
    impatient = {"default.api.timeout.ms": "2000", "request.timeout.ms": "1000"}
    source = StreamConfig("one", broker.url(topic, startingOffsets="earliest"), options=impatient)
    try:
        with serving(spark, tmp_path, streams=(source, StreamConfig("pushed"))) as city:
            wait(lambda: city.http.get("/health").json()["status"] == "failing", "that it is told")
            assert "Kafka does not answer" in city.http.get("/health").json()["detail"]
            city.push("pushed", line("s", "p", "x", 1))  # which is on the disk
            broker.start()
            wait(lambda: city.http.get("/health").json()["status"] == "ok", "that all is well")
            wait(lambda: city.stream("one")["elements"] == 1, "the element of the topic")
            wait(lambda: city.stream("pushed")["elements"] == 1, "the element that was pushed")
    finally:
        broker.stop()
