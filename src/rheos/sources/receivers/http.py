"""HTTP for receivers: a URL comes in, a response goes out. Only allowed places are contacted."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urljoin, urlsplit

from rheos.addresses import Address, Allowed

OPTIONS = ("token", "username", "password", "ca")
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_SECONDS = 30.0  # to connect, and for each piece of an answer


class Exchange:
    """A request and its response. `close` ends it, from any thread."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse, url: str) -> None:
        self.response = response
        self.url = url
        self._connection = connection

    def unhurried(self) -> None:
        """Wait for data without a time limit, as long as the other side is there."""
        if self._connection.sock is not None:
            self._connection.sock.settimeout(None)
            self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def close(self) -> None:
        with suppress(OSError, AttributeError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def get(url: str, headers: Mapping[str, str], options: Mapping[str, str], allowed: Allowed) -> Exchange:
    """GET a URL; AddressError if it, or what it redirects to, is not allowed."""
    origin = allowed.check(url)
    for _ in range(_MOST_REDIRECTS):
        address = allowed.check(url)
        # Only the server that the user named may see the credentials, not one that it redirects to.
        known = (address.scheme, address.places) == (origin.scheme, origin.places)
        sent = {**headers, **(credentials(options) if known else {})}
        connection = connected(address, options)
        try:
            parts = urlsplit(url)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", target, headers={"User-Agent": "rheos", **sent})
            response = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        if response.status not in _REDIRECTS:
            return Exchange(connection, response, url)
        connection.close()
        url = urljoin(url, response.headers.get("Location", ""))
    raise HTTPException(f"more than {_MOST_REDIRECTS} redirections")


def connected(address: Address, options: Mapping[str, str]) -> HTTPConnection:
    if address.scheme in ("http", "ws"):
        return HTTPConnection(address.host, address.port, timeout=_SECONDS)
    return HTTPSConnection(address.host, address.port, timeout=_SECONDS, context=tls(options))


def tls(options: Mapping[str, str]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=options.get("ca"))


def credentials(options: Mapping[str, str]) -> dict[str, str]:
    """The header with the credentials of the user; empty without any."""
    if "token" in options:
        return {"Authorization": f"Bearer {options['token']}"}
    if "username" in options:
        pair = f"{options['username']}:{options.get('password', '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}
