"""Access: decides whether a request is allowed, and raises a Problem if it is not.

Everybody may read, unless there is a token for reading. A stream or a query may have a token of its own for
reading. Writing needs the token of the server, if it has one, and clients that may write may read everything.
A token is sent as `Bearer`, or as the password of `Basic`, which a browser asks its user for.

Without a token the server listens on this machine only. Then the danger is a page of another site, open in a
browser on this machine. The page can send requests in the user's name; these have the Origin of that site. It
can also use a host name of its own that points to this machine.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from rheos.server.config import Config, is_loopback
from rheos.server.problems import Problem

Handler = Callable[[Request], Awaitable[Response]]

# Addresses that show no data, and that probes and the pages themselves need without a token.
_OPEN = {"health", "static", "openapi.json", "favicon.ico", "robots.txt"}
# Addresses whose second part is the name of a stream or a query.
_NAMING = {"page", "trdf"}
_BEARER = 'Bearer realm="rheos"'


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of a server."""

    token: str | None
    own_host: str | None  # the host name in the server's own addresses
    read_token: str | None = None
    read_tokens: Mapping[str, str] = field(default_factory=dict)  # of streams and queries

    @classmethod
    def of(cls, config: Config, base: str) -> Access:
        return cls(config.token, urlsplit(base).hostname, config.read_token, config.read_tokens)

    def read(self, request: HTTPConnection) -> None:
        """Refuse requests to a host name that is not the server's own, and clients without the token for
        reading."""
        self._check_name(request)
        first, _, rest = request.scope["path"].strip("/").partition("/")
        if first in _OPEN:
            return
        self.read_named(request, rest.partition("/")[0] if first in _NAMING else first)

    def read_named(self, request: HTTPConnection, name: str) -> None:
        """Refuse clients that may not read a stream or a query."""
        if not self.may_read(request, name):
            raise _unknown("Reading needs a token", f'{_BEARER}, Basic realm="rheos", charset="UTF-8"')

    def may_read(self, request: HTTPConnection, name: str) -> bool:
        """True if a client may read a stream or a query. Lists have only these."""
        needed = self.read_tokens.get(name, self.read_token)
        return needed is None or _has(request, needed, self.token)

    def _check_name(self, request: HTTPConnection) -> None:
        # A server with a token does not need this check.
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        if self.token is None and host and host != self.own_host and not is_loopback(host):
            raise Problem(421, "This server has no such name", f"{host}; base = … gives it one")

    def socket(self, request: HTTPConnection) -> None:
        """Refuse clients that may not read and, on a server without a token, pages of other sites. A browser
        gives the messages of a WebSocket to any page, unlike the responses to other requests."""
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
        if self.token is not None and not _has(request, self.token):
            # Basic is not offered: a browser would ask for a password, but the pages ask for the token.
            raise _unknown("Writing needs the token", _BEARER)


def _has(request: HTTPConnection, *tokens: str | None) -> bool:
    """True if a client has sent one of these tokens."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    sent = given.strip().encode()
    if kind.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif kind.lower() != "bearer":
        return False
    return any(hmac.compare_digest(sent, token.encode()) for token in tokens if token is not None)


def _unknown(title: str, ways: str) -> Problem:
    return Problem(401, title, "Authorization: Bearer …", headers={"WWW-Authenticate": ways})
