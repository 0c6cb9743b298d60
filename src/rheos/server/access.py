"""Access: decides whether a request is allowed, and raises a Problem if it is not.

Everybody may read. Writing needs the token, where there is one. Without a token the server listens on this
machine only. Then the danger is a page of another site, open in a browser on this machine. It can send
requests in the user's name, which have the Origin of that site. It can also use a host name of its own that
points to this machine.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from rheos.server.config import Config, is_loopback
from rheos.server.problems import Problem

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of a server."""

    token: str | None
    own_host: str | None  # the host name in the server's own addresses

    @classmethod
    def of(cls, config: Config, base: str) -> Access:
        return cls(config.token, urlsplit(base).hostname)

    def read(self, request: HTTPConnection) -> None:
        """Refuse a host name that is not the server's. With a token this is not needed."""
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        if self.token is None and host and host != self.own_host and not is_loopback(host):
            raise Problem(421, "This server has no such name", f"{host}; base = … gives it one")

    def socket(self, request: HTTPConnection) -> None:
        """Refuse pages of other sites where only this machine may read. What comes over a WebSocket a browser
        gives to any page, unlike the responses to other requests."""
        self.read(request)
        if self.token is None:
            self._check_origin(request)

    def _check_origin(self, request: HTTPConnection) -> None:
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise Problem(403, "Pages of others may not do that", f"the request comes from {origin}")

    def write(self, request: Request) -> None:
        """Refuse pages of other sites, and clients without the token."""
        self.read(request)
        self._check_origin(request)
        if self.token is None:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self.token.encode())
        if kind.lower() != "bearer" or not right:
            headers = {"WWW-Authenticate": 'Bearer realm="rheos"'}
            raise Problem(401, "Writing needs the token", "Authorization: Bearer …", headers=headers)
