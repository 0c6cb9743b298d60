"""Receivers of MQTT against a real Mosquitto: what is on the disk, and how they go on."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from rheos import RheosError
from rheos.sources.receivers.mqtt import Mqtt
from tests.services.certificates import Certificate
from tests.services.mosquitto import Mosquitto, new_mosquitto
from tests.services.processes import HOST
from tests.sources.receiving import connected, opened, publishing, running, text, wait_for


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_messages_of_a_filter_come_in_order_and_once(
    version: str, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    url = mosquitto.url(f"city/+/temperature?version={version}")
    with running(url, tmp_path / "log") as found, publishing(mosquitto) as publisher:
        connected(found)
        names = [f"o{number}" for number in range(300)]
        publisher.send("city/a/temperature", *map(text, names[:200]))
        publisher.send("city/a/humidity", text("other"))
        publisher.send("city/b/temperature", *map(text, names[200:]))
        found.has(*names)


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_the_broker_keeps_what_comes_while_nobody_is_connected(
    version: str, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    url = mosquitto.url(f"a?version={version}")
    with publishing(mosquitto) as publisher:
        with running(url, tmp_path / "log") as found:
            connected(found)
            publisher.send("a", text("one"))
            found.has("one")
        publisher.send("a", text("two"), text("three"))
        with running(url, tmp_path / "log") as found:
            found.has("one", "two", "three")


def test_what_is_not_on_the_disk_is_delivered_again(
    mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full once: the message is not acknowledged, and comes again."""
    with running(mosquitto.url("a"), tmp_path / "log") as found, publishing(mosquitto) as publisher:
        connected(found)
        usual, faults = found.log.append, iter([OSError(28, "No space left on device")])

        def append(*given: Any, **more: Any) -> int:
            for fault in faults:
                raise fault
            return usual(*given, **more)

        monkeypatch.setattr(found.log, "append", append)
        publisher.send("a", text("one"), text("two"))
        found.has("one", "two")
        assert "No space left" in found.warnings[0]


def test_what_is_delivered_again_is_not_taken_twice(
    mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks when the message is on the disk and before the broker knows it."""
    import paho.mqtt.client as paho

    usual, broken = paho.Client.ack, threading.Event()

    def ack(self: Any, mid: int, qos: int) -> Any:
        if not broken.is_set():
            broken.set()
            raise ConnectionError("before the acknowledgement")
        return usual(self, mid, qos)

    monkeypatch.setattr(paho.Client, "ack", ack)
    with running(mosquitto.url("a"), tmp_path / "log") as found, publishing(mosquitto) as publisher:
        connected(found)
        publisher.send("a", text("one"))
        wait_for(broken.is_set, "the break")
        publisher.send("a", text("two"), text("one"))  # the same content once more is another message
        found.has("one", "two", "one")


def test_a_broker_that_is_killed_loses_nothing(mosquitto: Mosquitto, tmp_path: Path) -> None:
    with running(mosquitto.url("a/#"), tmp_path / "log") as found:
        connected(found)
        with publishing(mosquitto) as publisher:
            publisher.send("a/b", text("one"))
            found.has("one")
        mosquitto.kill()
        wait_for(lambda: found.receiver.health.trouble is not None, "that it is noticed")
        mosquitto.start()
        wait_for(lambda: found.receiver.health.trouble is None, "that it is back")
        with publishing(mosquitto) as publisher:
            publisher.send("a/b/c", text("two"))
        found.has("one", "two")
        assert len(found.warnings) == 2


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_session_without_a_subscription_gets_one(
    version: str, mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks when the broker has the session and not yet the subscription."""
    import paho.mqtt.client as paho

    usual, broken = paho.Client.subscribe, threading.Event()

    def subscribe(*given: Any, **more: Any) -> Any:
        if not broken.is_set():
            broken.set()
            raise ConnectionError("before the subscription")
        return usual(*given, **more)

    monkeypatch.setattr(paho.Client, "subscribe", subscribe)
    url = mosquitto.url(f"a?version={version}")
    with running(url, tmp_path / "log") as found, publishing(mosquitto) as publisher:
        wait_for(broken.is_set, "the break")
        connected(found)
        publisher.send("a", text("one"))
        found.has("one")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_refused_subscription_is_trouble_for_as_long_as_it_is_refused(
    version: str, mosquitto: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the session is there, and an earlier one had the subscription."""
    url, log = mosquitto.url(f"a?version={version}"), tmp_path / "log"
    with running(url, log) as found:
        connected(found)
    mosquitto.kill()
    (mosquitto.folder / "mosquitto.db").unlink(missing_ok=True)  # the broker has lost its sessions
    mosquitto.start()

    class Refusal:
        is_failure = True

        def __str__(self) -> str:
            return "Not authorized"

    usual = Mqtt._on_subscribe

    def refused(self: Mqtt, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        usual(self, client, data, mid, [Refusal()], properties)

    with monkeypatch.context() as patched:
        patched.setattr(Mqtt, "_on_subscribe", refused)
        with running(url, log) as found:
            wait_for(lambda: found.receiver.health.failures > 3, "some tries")
            assert not found.receiver.health.connected
            assert "refused the subscription to a: Not authorized" in str(found.receiver.health.trouble)
    with running(url, log) as found, publishing(mosquitto) as publisher:
        connected(found)
        publisher.send("a", text("one"))
        found.has("one")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_retained_messages_come_once(version: str, mosquitto: Mosquitto, tmp_path: Path) -> None:
    url = mosquitto.url(f"a?version={version}")
    with publishing(mosquitto) as publisher:
        publisher.send("a", text("kept"), retain=True)
        for _ in range(3):
            with running(url, tmp_path / "log") as found:
                connected(found)
                found.has("kept")
        publisher.send("a", text("more"))
        with running(url, tmp_path / "log") as found:
            found.has("kept", "more")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "expected mqtt://"),
        ("a+/b", "expected mqtt://"),
        ("a/#/b", "expected mqtt://"),
        ("a?qos=2", "unknown parameter 'qos'"),
        ("a?version=4", "version is 5 or 3.1.1"),
    ],
)
def test_what_a_url_of_mqtt_cannot_say(path: str, words: str) -> None:
    with pytest.raises(RheosError, match=words):
        opened(f"mqtt://host/{path}")


def test_a_password_is_an_option(tmp_path: Path) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = new_mosquitto(folder)
    passwords = folder / "passwords"
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), "me", "secret"], check=True, timeout=30)
    passwords.chmod(0o644)
    broker.anonymous, broker.more = False, f"password_file {passwords}\n"
    broker.start()
    try:
        with running(broker.url("a"), tmp_path / "log") as found:
            wait_for(lambda: found.receiver.health.trouble is not None, "a refusal")
            assert "refused the connection" in str(found.receiver.health.trouble)
        options = {"username": "me", "password": "secret"}
        with running(broker.url("a"), tmp_path / "log", options=options) as found:
            connected(found)
            with publishing(broker, **options) as publisher:
                publisher.send("a", text("one"))
            found.has("one")
    finally:
        broker.stop()


def test_tls_with_a_certificate_of_our_own(tmp_path: Path, certificate: Certificate) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = new_mosquitto(folder)
    secure = broker.listen_with_tls(certificate)
    broker.start()
    url = f"mqtts://{HOST}:{secure}/a"
    try:
        with running(url, tmp_path / "log") as found:
            wait_for(lambda: "certificate" in str(found.receiver.health.trouble).lower(), "a refusal")
        with running(url, tmp_path / "log", options=certificate.ca) as found:
            connected(found)
            with publishing(broker) as publisher:
                publisher.send("a", text("one"))
            found.has("one")
    finally:
        broker.stop()
