"""MQTT as a sink, against a real Mosquitto: every answer at least once, and repetitions can be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.services.certificates import Certificate
from tests.services.mosquitto import Mosquitto, mosquitto  # noqa: F401
from tests.sinks.deliveries import GRAPH, Bench, answers, triples, wait
from tests.sinks.subscriber import subscribed


def once(messages: list[Any]) -> list[int]:
    """The numbers of messages, those with the same id only once."""
    bodies = [json.loads(message.payload) for message in messages]
    return [int(body["row"]["x"]["value"]) for body in {body["id"]: body for body in bodies}.values()]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_answers_are_messages(tmp_path: Path, mosquitto: Mosquitto, version: str) -> None:  # noqa: F811
    url = mosquitto.url("answers/{query}")
    with subscribed(mosquitto.port, "answers/+") as found:
        bench = Bench(tmp_path / "state").add(url, options={"version": version}).recover()
        bench.say(answers(0, 250))
        bench.say(answers(250, 1))
        bench.drain()
        bench.close()
        wait(lambda: len(found) >= 251, "all came")
    assert once(found) == list(range(251))
    assert {message.topic for message in found} == {"answers/high"}
    first = json.loads(found[0].payload)
    assert first["id"].endswith("-0-0")
    properties = [getattr(message.properties, "UserProperty", None) for message in found]
    assert properties[0] == ([("rheos-id", first["id"])] if version == "5" else None)


def test_triples_are_elements(tmp_path: Path, mosquitto: Mosquitto) -> None:  # noqa: F811
    with subscribed(mosquitto.port, "seen") as found:
        bench = (
            Bench(tmp_path / "state")
            .add(mosquitto.url("seen"), GRAPH, options={"format": "nquads"})
            .recover()
        )
        bench.say(triples(1, 1), GRAPH)
        bench.drain()
        bench.close()
        wait(lambda: found, "it came")
    assert found[0].payload.decode() == (
        "<http://ex/s1> <http://ex/p1> <http://ex/o1> "
        '"1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    )


def test_a_broker_that_is_killed(tmp_path: Path, mosquitto: Mosquitto) -> None:  # noqa: F811
    with subscribed(mosquitto.port, "answers") as found:
        bench = Bench(tmp_path / "state").add(mosquitto.url("answers")).recover()
        bench.say(answers(0, 100))
        wait(lambda: len(found) == 100, "the first came")
        mosquitto.kill()
        bench.say(answers(100, 100))
        wait(lambda: bench.metrics().trouble, "it notices")
        mosquitto.start()
        bench.drain()
        wait(lambda: len(set(once(found))) == 200, "the others came")
        bench.close()
    assert sorted(once(found)) == list(range(200))


def test_a_password_is_an_option(tmp_path: Path, mosquitto: Mosquitto) -> None:  # noqa: F811
    mosquitto.stop()
    mosquitto.anonymous = False
    mosquitto.start()
    bench = Bench(tmp_path / "state").add(mosquitto.url("a"), options={"username": "me", "password": "wrong"})
    bench.recover().say(answers(0, 1))
    wait(lambda: bench.metrics().trouble, "it is refused")
    assert "refuses the connection" in str(bench.metrics().trouble)
    assert "wrong" not in " ".join(bench.warnings)
    bench.close()


def test_tls_with_a_certificate_of_our_own(
    tmp_path: Path,
    mosquitto: Mosquitto,  # noqa: F811
    certificate: Certificate,
) -> None:
    mosquitto.stop()
    secure = mosquitto.listen_with_tls(certificate)
    mosquitto.start()
    to = f"mqtts://127.0.0.1:{secure}/answers"
    with subscribed(mosquitto.port, "answers") as found:
        bench = Bench(tmp_path / "stranger").add(to).recover()
        bench.say(answers(0, 1))
        wait(lambda: "certificate" in str(bench.metrics().trouble).lower(), "it is not trusted")
        bench.close()
        bench = Bench(tmp_path / "state").add(to, options=certificate.ca).recover()
        bench.say(answers(0, 3))
        bench.drain()
        bench.close()
        wait(lambda: len(found) >= 3, "all came")
    assert once(found) == [0, 1, 2]
