"""WebSocket: each message of a connection is a message of the stream.

    ws://host/readings      wss://host/readings

A WebSocket has no memory: messages that are sent while nobody is connected are lost, unless the server
repeats them.
"""

from __future__ import annotations

import socket
from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

from rheos.addresses import Address, Allowed
from rheos.errors import MissingExtra
from rheos.sources.receivers import http
from rheos.sources.receivers.base import MOST, Message, Receiver

SCHEMES = ("ws", "wss")
_LARGEST = 64 << 20  # bytes of a message
_SECONDS = 30.0


class WebSocket(Receiver):
    """The messages of a connection."""

    @classmethod
    def known_options(cls) -> Collection[str]:
        return http.OPTIONS

    def parsed(self, allowed: Allowed) -> Address:
        if find_spec("websockets") is None:
            raise MissingExtra("streams of WebSockets need websockets", "server")
        self.target = self.url.partition("#")[0]
        return allowed.check(self.target)

    def receive(self) -> None:
        from websockets.sync.client import connect

        secure = self.address.scheme == "wss"
        # If we give the socket, the library follows no redirection, which could lead to any place.
        with (
            socket.create_connection((self.address.host, self.address.port), _SECONDS) as own,
            connect(
                self.target,
                sock=own,
                ssl=http.tls(self.options) if secure else None,
                additional_headers=http.credentials(self.options),
                proxy=None,
                open_timeout=_SECONDS,
                max_size=_LARGEST,
            ) as connection,
        ):
            self.up()
            while not self.stopping:
                self.take(list(_come(connection)))


def _come(connection: Any) -> list[Message]:
    """The messages that have come, after a short wait for the first one."""
    found: list[Message] = []
    while len(found) < MOST:
        try:
            content = connection.recv(timeout=0.0 if found else 0.5)
        except TimeoutError:
            break
        found.append(Message(content.encode() if isinstance(content, str) else content))
    return found
