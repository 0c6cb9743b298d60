"""Opening receivers: the receiver of a URL by its scheme, and all receivers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from rheos.addresses import Allowed
from rheos.sources.decoding import Decoder
from rheos.sources.push import PushLog
from rheos.sources.receivers import events, mqtt, polling, websocket
from rheos.sources.receivers.base import Health, Receiver
from rheos.sources.receivers.brokers import BrokerWatch

_KINDS: dict[type[Receiver], tuple[str, ...]] = {
    mqtt.Mqtt: mqtt.SCHEMES,
    polling.Poll: polling.SCHEMES,
    events.Events: events.SCHEMES,
    websocket.WebSocket: websocket.SCHEMES,
}
RECEIVERS = {scheme: kind for kind, schemes in _KINDS.items() for scheme in schemes}


def open_receiver(
    url: str,
    prefix: str,
    decoder: Decoder,
    options: Mapping[str, str] | None = None,
    allowed: Allowed | None = None,
) -> Receiver:
    return RECEIVERS[url.partition(":")[0].lower()](url, prefix, decoder, options, allowed)


class Reception(NamedTuple):
    """A receiver and the log that it fills."""

    receiver: Receiver
    log: PushLog


class Receivers:
    """The receivers of an engine, and the brokers that Spark reads from, by the name of their stream."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._receptions: dict[str, Reception] = {}
        self._brokers: dict[str, BrokerWatch] = {}

    def add(self, stream: str, receiver: Receiver, folder: Path, ahead: int | None) -> PushLog:
        """Add a receiver and make the log that it fills. It begins to receive with `start`."""
        log = PushLog(folder, ahead)
        self._receptions[stream] = Reception(receiver, log)
        return log

    def watch(self, stream: str, url: str, servers: str) -> None:
        self._brokers[stream] = BrokerWatch(url, servers)

    def start(self, streams: Collection[str]) -> None:
        """Start the receivers and watches of some streams."""
        for stream, (receiver, log) in self._receptions.items():
            if stream in streams:
                receiver.start(log, self._warn)
        for stream, broker in self._brokers.items():
            if stream in streams:
                broker.start(self._warn)

    def stop(self) -> None:
        for receiver, _ in self._receptions.values():
            receiver.stop()
        for broker in self._brokers.values():
            broker.stop()

    def remove(self, stream: str) -> None:
        """Remove a stream with its log, so that a later stream of the same name begins anew."""
        reception, broker = self._receptions.pop(stream, None), self._brokers.pop(stream, None)
        if reception is not None:
            reception.receiver.stop()
            reception.log.note = None
            reception.log.forget()
            reception.log.close()
        if broker is not None:
            broker.stop()

    def close(self) -> None:
        self.stop()
        for _, log in self._receptions.values():
            log.close()
        self._receptions.clear()
        self._brokers.clear()

    def health(self) -> dict[str, Health]:
        found = {stream: reception.receiver.health for stream, reception in self._receptions.items()}
        return found | {stream: broker.health for stream, broker in self._brokers.items()}

    def log_of(self, stream: str) -> PushLog | None:
        found = self._receptions.get(stream)
        return None if found is None else found.log
