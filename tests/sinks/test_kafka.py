"""Kafka as a sink, against a real broker: every answer once for a consumer that reads what is committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from rheos.addresses import address
from rheos.sinks.base import Batch, Notes
from rheos.sinks.kafka import KafkaSink
from tests.services.kafka import Kafka, kafka  # noqa: F401
from tests.services.processes import free_port
from tests.sinks.deliveries import GRAPH, QUERY, Bench, answers, triples, wait
from tests.sinks.topics import committed, new_topic


def numbers(messages: list[Any]) -> list[int]:
    return [int(json.loads(message.value())["row"]["x"]["value"]) for message in messages]


def test_answers_are_messages(tmp_path: Path, kafka: Kafka) -> None:  # noqa: F811
    topic = new_topic(kafka)
    bench = Bench(tmp_path).add(kafka.url(topic)).recover()
    bench.say(answers(0, 3))
    bench.say(answers(3, 20_000))
    bench.drain()
    bench.close()
    found = committed(kafka, topic)
    assert numbers(found) == list(range(20_003))
    assert {message.key() for message in found} == {b"high"}
    assert json.loads(found[1].value()) == {
        "query": "high",
        "at": "1970-01-01T00:00:01Z",
        "row": {
            "x": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
        },
    }
    headers = dict(found[1].headers())
    assert (headers["rheos-query"], headers["rheos-at"]) == (b"high", b"1970-01-01T00:00:01Z")
    assert headers["rheos-id"].endswith(b"-0-1")
    assert len({dict(message.headers())["rheos-id"] for message in found}) == 20_003


def test_triples_are_elements_and_a_variable_is_the_key(tmp_path: Path, kafka: Kafka) -> None:  # noqa: F811
    topic = new_topic(kafka, 3)
    bench = (
        Bench(tmp_path).add(kafka.url(topic), GRAPH, options={"format": "nquads", "key": "subject"}).recover()
    )
    bench.say(triples(0, 50), GRAPH)
    bench.drain()
    bench.close()
    found = committed(kafka, topic)
    assert {message.partition() for message in found} == {0, 1, 2}
    assert {message.key() for message in found} == {f"http://ex/s{n}".encode() for n in range(50)}
    stamp = '"1970-01-01T00:00:07Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    assert f"<http://ex/s7> <http://ex/p7> <http://ex/o7> {stamp} .".encode() in {m.value() for m in found}


def test_a_batch_that_comes_again_is_known_to_the_broker(tmp_path: Path, kafka: Kafka) -> None:  # noqa: F811
    """As after a kill between the commit and the note of it."""
    topic = new_topic(kafka)
    first = Bench(tmp_path).add(kafka.url(topic)).recover()
    first.say(answers(0, 10))
    first.drain()
    first.close()
    second = Bench(tmp_path).add(kafka.url(topic))
    second.sinks.put(0, [(QUERY, answers(0, 10))])
    second.recover(0)
    second.say(answers(10, 5))
    second.drain()
    second.close()
    assert numbers(committed(kafka, topic)) == list(range(15))


def test_what_a_dead_process_has_not_committed_is_not_there(kafka: Kafka) -> None:  # noqa: F811
    topic = new_topic(kafka)

    def opened() -> KafkaSink:
        sink = KafkaSink(address(kafka.url(topic)), {})
        sink.open("run", "high", Notes({}, lambda content: None))
        return sink

    zombie = opened()
    assert zombie._producer is not None
    zombie._producer.begin_transaction()
    zombie._produce(zombie._producer, Batch("run", QUERY, 0, answers(0, 10)))
    sink = opened()
    sink.take(Batch("run", QUERY, 0, answers(0, 10)), lambda count: None)
    with pytest.raises(KafkaException, match="newer instance"):
        zombie._producer.commit_transaction(30)
    sink.close()
    zombie.close()
    assert numbers(committed(kafka, topic)) == list(range(10))


def test_a_broker_that_is_not_there_holds_up_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path).add(f"kafka://127.0.0.1:{free_port()}/topic", limit=1).recover()
    assert bench.say(answers(0, 10)) == {}
    assert "does not keep up" in bench.say(answers(10, 10))["high"]
    assert bench.metrics().waiting == 20
    bench.close()


@pytest.mark.slow
def test_a_broker_that_is_killed_gets_everything_once(tmp_path: Path, kafka: Kafka) -> None:  # noqa: F811
    topic = new_topic(kafka, 3)
    bench = Bench(tmp_path).add(kafka.url(topic), options={"key": "x"}).recover()
    for batch in range(5):
        bench.say(answers(batch * 1000, 1000))
    wait(lambda: bench.metrics().taken, "some are there")
    kafka.kill()
    try:
        for batch in range(5, 10):
            bench.say(answers(batch * 1000, 1000))
        wait(lambda: bench.metrics().trouble, "it notices")
    finally:
        kafka.start()
    bench.sinks.drain(240)
    bench.close()
    found = committed(kafka, topic)
    assert sorted(numbers(found)) == list(range(10_000))
