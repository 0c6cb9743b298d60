"""Server-Sent Events: the data of each event is a message.

    sse+http://host/events

After a pause the receiver sends the id of the last event that is in the log (`Last-Event-ID`), and a server
that supports this goes on behind that event. The type of an event is the topic of its message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from rheos.addresses import Address, Allowed
from rheos.sources.receivers import http
from rheos.sources.receivers.base import Message, Receiver

SCHEMES = ("sse+http", "sse+https")
_LARGEST = 64 << 20  # bytes of an event


class Events(Receiver):
    """The events of a URL."""

    _exchange: http.Exchange | None = None
    _retry: float | None = None

    @classmethod
    def known_options(cls) -> Collection[str]:
        return http.OPTIONS

    def parsed(self, allowed: Allowed) -> Address:
        self.target = self.url[len("sse+") :].partition("#")[0]
        return allowed.check(self.target)

    def receive(self) -> None:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        last = (self.log.note or {}).get("id")
        if last:
            headers["Last-Event-ID"] = last
        self._exchange = exchange = http.get(self.target, headers, self.options, self.allowed)
        try:
            response = exchange.response
            kind = response.headers.get_content_type()
            if response.status != 200:
                raise ConnectionError(f"the server says {response.status} {response.reason}")
            if kind != "text/event-stream":
                raise ConnectionError(f"the server sends {kind}, not text/event-stream")
            exchange.unhurried()
            self.up()
            parser = EventParser(last or "")
            while not self.stopping and (piece := response.read1(1 << 16)):
                messages = list(parser.feed(piece))
                if parser.retry is not None:
                    self._retry = parser.retry / 1000
                if messages:
                    self.take(messages, {"id": parser.last} if parser.last else None)
        finally:
            exchange.close()

    def interrupt(self) -> None:
        if self._exchange is not None:
            self._exchange.close()

    def next_pause(self) -> float:
        """The pause that the server asks for, before the first try after a failure; else the usual one."""
        usual = super().next_pause()
        return self._retry if self._retry is not None and self._failed_in_a_row <= 1 else usual


@dataclass
class EventParser:
    """Bytes of an event stream come in, messages go out (HTML, section 9.2.6). `last` is the id of the last
    event that was complete."""

    last: str = ""
    retry: int | None = None
    _rest: bytes = b""
    _id: str | None = None
    _kind: str = ""
    _data: list[str] = field(default_factory=list)
    _begun: bool = False

    def feed(self, piece: bytes) -> Iterator[Message]:
        data = self._rest + piece
        # The line feed that belongs to a carriage return at the end may come with the next bytes.
        held = data.endswith(b"\r")
        data = data[:-1] if held else data
        *lines, self._rest = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest += b"\r" if held else b""
        if len(self._rest) > _LARGEST or sum(map(len, self._data)) > _LARGEST:
            raise ConnectionError(f"an event has more than {_LARGEST >> 20} MiB")
        for line in lines:
            text = line.decode(errors="replace")
            if not self._begun:
                self._begun, text = True, text.removeprefix("\ufeff")
            if text:
                self._field(text)
            else:
                yield from self._event()

    def _field(self, text: str) -> None:
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value)

    def _event(self) -> Iterator[Message]:
        if self._id is not None:
            self.last = self._id
        if self._data:
            yield Message("\n".join(self._data).encode(), self._kind or "message")
        self._kind, self._data = "", []
