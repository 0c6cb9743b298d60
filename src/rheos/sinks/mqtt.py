"""MQTT: the answers of a query as messages of a topic, at least once (QoS 1).

A message is a line of NDJSON with one more member, `"id"`: run, batch and number of the answer. A message may
come twice if the connection or the process ended before the broker had acknowledged it; both times it has the
same `id`. With `format = "nquads"`, a message is an element of a stream as N-Quads. With MQTT 5, the id is
also the user property `rheos-id`.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rheos.addresses import Address
from rheos.answers.continuous import QueryInfo
from rheos.errors import MissingExtra, RheosError
from rheos.sinks.base import Batch, Lines, Notes, Sink, Taken, Unreachable, filled

if TYPE_CHECKING:
    from paho.mqtt.client import Client

PATIENCE = 30.0  # seconds for an answer of the broker
_PIECE = 100  # messages that are on their way at the same time
_TRUE = ("true", "false")


class MqttSink(Sink):
    """A topic of an MQTT broker. Credentials and certificates are options."""

    OPTIONS = ("format", "retain", "version", "username", "password", "ca", "certificate", "key")

    def __init__(self, address: Address, options: Mapping[str, str]) -> None:
        try:
            import paho.mqtt.client  # noqa: F401
        except ImportError:
            raise MissingExtra("mqtt:// needs the package paho-mqtt", "mqtt") from None
        self._address = address
        self._topic = address.path.removeprefix("/")
        url = f"{address.scheme}://{address.host}:{address.port}{address.path}"
        if not self._topic or address.fragment or any(mark in self._topic for mark in "+#"):
            raise RheosError(f"{url}: answers go to a topic without + and #")
        if address.query:
            raise RheosError(f"{url}: options do not stand in the address")
        self._lines = Lines(options.get("format", "ndjson"))
        self._options = options
        if options.get("version", "5") not in ("5", "3.1.1"):
            raise RheosError(f"the versions of MQTT are 5 and 3.1.1, not {options['version']!r}")
        if options.get("retain", "false") not in _TRUE:
            raise RheosError(f"retain is true or false, not {options['retain']!r}")
        self._five = options.get("version", "5") == "5"
        self._client: Client | None = None
        self._lost = threading.Event()

    def check(self, query: QueryInfo) -> None:
        self._lines.check(query)

    def open(self, run: str, query: str, notes: Notes) -> None:
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        connected = threading.Event()
        refused: list[str] = []

        def on_connect(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            if reason.is_failure:
                refused.append(str(reason))
            connected.set()

        def on_disconnect(*_: Any) -> None:
            self._lost.set()
            connected.set()

        protocol = mqtt.MQTTv5 if self._five else mqtt.MQTTv311
        client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=protocol, reconnect_on_failure=False)
        client.on_connect = on_connect
        client.on_disconnect = on_disconnect
        client.max_inflight_messages_set(_PIECE)
        if "username" in self._options:
            client.username_pw_set(self._options["username"], self._options.get("password"))
        if self._address.scheme == "mqtts":
            context = ssl.create_default_context(cafile=self._options.get("ca"))
            if "certificate" in self._options:
                context.load_cert_chain(self._options["certificate"], self._options.get("key"))
            client.tls_set_context(context)
        self._lost.clear()
        self._client = client
        client.connect_timeout = PATIENCE
        client.connect(self._address.host, self._address.port)
        client.loop_start()
        connected.wait(PATIENCE)
        if refused:
            raise Unreachable(f"the broker refuses the connection: {refused[0]}")
        if not client.is_connected():
            raise Unreachable("the broker has not answered")

    def take(self, batch: Batch, taken: Taken) -> None:
        import paho.mqtt.client as mqtt
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        assert self._client is not None
        topic = filled(self._topic, batch.query.name, "")
        retain = self._options.get("retain") == "true"
        for start, table in batch.pieces(_PIECE):
            sent = []
            for place, line in enumerate(self._lines.of(batch.query, table), start):
                properties = None
                if self._five:
                    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
                    properties.UserProperty = [("rheos-id", batch.name(place))]
                if self._lines.format == "ndjson":
                    line = f'{line[:-1]},"id":"{batch.name(place)}"}}'
                sent.append(self._client.publish(topic, line, 1, retain, properties))
            for message in sent:
                if message.rc != mqtt.MQTT_ERR_SUCCESS:
                    raise Unreachable(mqtt.error_string(message.rc))
            self._acknowledged(sent)
            taken(start + len(table))

    def _acknowledged(self, sent: list[Any]) -> None:
        """Wait until the broker has acknowledged all of these messages."""
        for message in sent:
            waited = 0.0
            while not message.is_published():
                if self._lost.is_set() or waited >= PATIENCE:
                    raise Unreachable("the connection to the broker was lost")
                message.wait_for_publish(0.5)
                waited += 0.5

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
