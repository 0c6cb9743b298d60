"""MQTT 3.1.1 and 5: messages of a topic filter, at least once from the broker and once in the log.

    mqtt://host:1883/city/+/temperature      mqtts://host/city/#?version=3.1.1

The broker keeps the session while nobody is connected, under a name that stands in the note of the log. A
message is acknowledged when it is on the disk. If the broker has not seen the acknowledgement and delivers
the message again, the message is recognised by its number and content, and not taken twice. A mapping can
read the levels of the topic.

A session that is still there may lack the subscription: the broker refused it, or the connection broke too
early. So MQTT 5 subscribes at every connection, and asks for retained messages only where the subscription is
new (section 3.8.3.1). MQTT 3.1.1 cannot ask that, and a second subscription would bring these messages again;
there the note tells whether the broker has acknowledged the subscription.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qsl

from rheos.addresses import Address, Allowed
from rheos.errors import LoadError, MissingExtra
from rheos.sources.receivers.base import MOST, Message, Receiver

SCHEMES = ("mqtt", "mqtts")
VERSIONS = ("5", "3.1.1")
_OPTIONS = ("username", "password", "ca", "certificate", "key")
_KEEP_ALIVE = 30  # seconds
_WEEK = 7 * 24 * 3600  # seconds that the broker keeps a session that nobody is connected to
# How many messages may wait for an acknowledgement (MQTT 5, section 3.1.2.11.3).
_UNDER_WAY = 100


class Mqtt(Receiver):
    """The messages of a topic filter."""

    @classmethod
    def known_options(cls) -> Collection[str]:
        return _OPTIONS

    def parsed(self, allowed: Allowed) -> Address:
        # A number sign is a wildcard here, not the beginning of a fragment.
        address = allowed.check(self.url.replace("#", "%23"))
        self.version = VERSIONS[0]
        for name, value in parse_qsl(address.query, keep_blank_values=True):
            if name != "version":
                raise LoadError(f"unknown parameter {name!r}: there is version", self.url)
            if value not in VERSIONS:
                raise LoadError(f"the parameter version is {' or '.join(VERSIONS)}, not {value!r}", self.url)
            self.version = value
        self.filter = address.path.removeprefix("/")
        _check_filter(self.filter, self.url)
        if ("certificate" in self.options) != ("key" in self.options):
            raise LoadError("the options certificate and key belong together", self.url)
        tls = [name for name in ("ca", "certificate") if name in self.options]
        if tls and address.scheme != "mqtts":
            raise LoadError(f"the option {tls[0]} is for mqtts://", self.url)
        _paho()
        return address

    def receive(self) -> None:
        self._waiting: list[Any] = []
        self._fault: str | None = None
        note = self.log.note or {}
        self._name: str = note.get("client") or f"rheos-{uuid.uuid4().hex[:16]}"
        self._stored: OrderedDict[int, str] = OrderedDict(
            (int(number), content) for number, content in note.get("stored", ())
        )
        self._subscribed: str | None = note.get("subscribed")
        self._noted = self._subscribed
        if "client" not in note:
            self.take([], self._note())  # the name is in the log before the broker gets it
        client = self._client()
        try:
            self._connect(client)
            while not self.stopping:
                self._loop(client, 0.5)
                before = -1
                while before < len(self._waiting) < MOST:
                    before = len(self._waiting)
                    self._loop(client, 0.0)
                self._store(client)
        finally:
            client.disconnect()
            client.loop(0.1)
            client.loop_misc()

    def _note(self) -> dict[str, Any]:
        self._noted = self._subscribed
        note = {"client": self._name, "stored": list(self._stored.items())}
        return note if self._subscribed is None else {**note, "subscribed": self._subscribed}

    def _store(self, client: Any) -> None:
        """Write the messages that have come to the log, and then acknowledge them."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            if self._noted != self._subscribed:
                self.take([], self._note())
            return
        new = []
        for message in waiting:
            content = _content(message)
            if message.dup and self._stored.get(message.mid) == content:
                continue
            new.append(Message(message.payload, message.topic))
            if message.qos:
                self._stored[message.mid] = content
                self._stored.move_to_end(message.mid)
        while len(self._stored) > 2 * _UNDER_WAY:
            self._stored.popitem(last=False)
        if new or self._noted != self._subscribed:
            self.take(new, self._note())
        for message in waiting:
            client.ack(message.mid, message.qos)

    def _loop(self, client: Any, seconds: float) -> None:
        code = client.loop(seconds)
        if self._fault is not None:
            raise ConnectionError(self._fault)
        if code:
            raise ConnectionError(f"the connection was lost: {_paho().error_string(code)}")

    def _client(self) -> Any:
        paho = _paho()
        new = self.version == "5"
        # Another filter needs another session: in the old one the broker would go on with the old filter.
        own = hashlib.blake2b(self.filter.encode(), digest_size=4).hexdigest()
        client = paho.Client(
            paho.CallbackAPIVersion.VERSION2,
            client_id=f"{self._name}-{own}",
            clean_session=None if new else False,
            protocol=paho.MQTTv5 if new else paho.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        if "username" in self.options:
            client.username_pw_set(self.options["username"], self.options.get("password"))
        if self.address.scheme == "mqtts":
            chosen = (self.options.get(name) for name in ("ca", "certificate", "key"))
            client.tls_set(*chosen)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = lambda _client, _data, message: self._waiting.append(message)
        return client

    def _connect(self, client: Any) -> None:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        client.connect_timeout = 10.0
        if self.version == "5":
            properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _WEEK
            properties.ReceiveMaximum = _UNDER_WAY
            client.connect(
                self.address.host, self.address.port, _KEEP_ALIVE, clean_start=False, properties=properties
            )
        else:
            client.connect(self.address.host, self.address.port, _KEEP_ALIVE)

    def _on_connect(self, client: Any, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            hint = "; ?version=3.1.1 asks for that" if "rotocol" in str(reason) else ""
            self._fault = f"the broker refused the connection: {reason}{hint}"
        elif self.version == "5":
            options = _paho().SubscribeOptions
            retained = options.RETAIN_SEND_IF_NEW_SUB
            client.subscribe(self.filter, options=options(qos=1, retainHandling=retained))
        elif flags.session_present and self._subscribed == self.filter:
            self.up()
        else:
            self._subscribed = None
            if self._noted is not None:
                self.take([], self._note())  # before the broker may refuse it
            client.subscribe(self.filter, qos=1)

    def _on_subscribe(self, _client: Any, _data: Any, _mid: Any, reasons: Any, _properties: Any) -> None:
        refused = [reason for reason in reasons if reason.is_failure]
        if refused:
            self._subscribed = None
            self._fault = f"the broker refused the subscription to {self.filter}: {refused[0]}"
        else:
            self._subscribed = self.filter
            self.up()


def _content(message: Any) -> str:
    whole = message.topic.encode() + b"\0" + message.payload
    return hashlib.blake2b(whole, digest_size=6).hexdigest()


def _check_filter(text: str, url: str) -> None:
    """Raise LoadError if a text is no topic filter (MQTT 5, section 4.7)."""
    levels = text.split("/")
    wrong = not text or "\0" in text or len(text.encode()) > 65535
    wrong = wrong or any(len(level) > 1 and ("+" in level or "#" in level) for level in levels)
    if wrong or "#" in levels[:-1]:
        raise LoadError("expected mqtt://host:port/topic, where + is a level and # all that follow", url)


def _paho() -> Any:
    try:
        import paho.mqtt.client
    except ImportError:
        raise MissingExtra("streams of MQTT need paho-mqtt", "mqtt") from None
    return paho.mqtt.client
