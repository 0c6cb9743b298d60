"""Receivers at work in a test, and somebody who publishes messages to them over MQTT."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rheos.sources.base import Offset
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import decoder
from rheos.sources.push import PushLog
from rheos.sources.receivers.base import Receiver
from rheos.sources.receivers.opening import open_receiver
from tests.runtime.streams import line
from tests.services.mosquitto import Mosquitto
from tests.services.processes import HOST

PATIENCE = 60.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def opened(url: str, **more: Any) -> Receiver:
    return open_receiver(url, "s_", more.pop("decoder", None) or decoder(), **more)


class Running:
    """A receiver at work, its log, and its warnings."""

    def __init__(self, receiver: Receiver, folder: Path) -> None:
        self.receiver = receiver
        self.log = PushLog(folder)
        self.warnings: list[str] = []
        receiver.start(self.log, self.warnings.append)

    def chunks(self) -> list[Chunk]:
        source = self.log.source_of("here")
        end: Offset = source.latest(source.begin())
        return [chunk for part in source.parts(source.begin(), end) for chunk in source.read(part)]

    def objects(self) -> list[str]:
        """What has come so far, by the ends of the objects."""
        found = [o for chunk in self.chunks() for o in chunk.elements.column("o").to_pylist()]
        return [o.removeprefix("<http://ex/").removesuffix(">") for o in found]

    def has(self, *objects: str) -> None:
        wait_for(lambda: self.objects() == list(objects), f"{objects}, there is {self.objects()}")


@contextmanager
def running(url: str, folder: Path, **more: Any) -> Iterator[Running]:
    found = Running(opened(url, **more), folder)
    try:
        yield found
    finally:
        found.receiver.stop()
        found.log.close()


def text(name: str, seconds: float = 1) -> bytes:
    return line("s", "p", name, seconds).encode()


class Publisher:
    """Publishes with QoS 1: each message is at the broker when `send` returns."""

    def __init__(self, broker: Mosquitto, **credentials: str) -> None:
        import paho.mqtt.client as paho

        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        if credentials:
            self.client.username_pw_set(**credentials)
        self.client.connect(HOST, broker.port)
        self.client.loop_start()

    def send(self, topic: str, *payloads: bytes, retain: bool = False) -> None:
        sent = [self.client.publish(topic, payload, qos=1, retain=retain) for payload in payloads]
        for one in sent:
            one.wait_for_publish(PATIENCE)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def connected(found: Running) -> None:
    """Wait until the broker has the subscription."""
    wait_for(lambda: found.receiver.health.connected, "a connection")


@contextmanager
def publishing(broker: Mosquitto, **credentials: str) -> Iterator[Publisher]:
    publisher = Publisher(broker, **credentials)
    try:
        yield publisher
    finally:
        publisher.close()
