"""A subscriber of an MQTT broker, with a session that outlives its connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

PATIENCE = 60.0


@contextmanager
def subscribed(port: int, topic: str, name: str = "subscriber") -> Iterator[list[Any]]:
    """The messages as they come; it is subscribed when the block begins."""
    found: list[Any] = []
    ready = threading.Event()
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5)
    client.on_connect = lambda client, *_: client.subscribe(topic, 1)
    client.on_subscribe = lambda *_: ready.set()
    client.on_message = lambda client, data, message: found.append(message)
    properties = mqtt.Properties(mqtt.PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    client.connect("127.0.0.1", port, clean_start=False, properties=properties)
    client.loop_start()
    assert ready.wait(PATIENCE)
    try:
        yield found
    finally:
        client.disconnect()
        client.loop_stop()
