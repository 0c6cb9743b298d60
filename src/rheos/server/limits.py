"""Limits: how much a server takes of everything, and functions that read bodies within these limits."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from msgspec import Struct
from starlette.requests import ClientDisconnect, Request

from rheos.algebra.entailment import ENTAILMENTS
from rheos.engine import DIALECTS
from rheos.server.models import Count, Seconds
from rheos.server.problems import Problem
from rheos.server.state import Asked

_SAVED = 10.0  # seconds


class Limits(Struct, frozen=True, kw_only=True):
    """`[limits]` of the configuration. Sizes are in bytes, times in seconds."""

    body: Count = 16 << 20  # a request that adds elements
    query: Count = 64 << 10  # the text of a query or an update
    queries: Count = 100
    streams: Count = 50
    views: Count = 50  # windows that clients look through
    subscribers: Count = 200
    backlog: Count = 1 << 30  # of a push stream, not read yet
    kept: Count = 64 << 20  # the answer log
    window: Count = 24 * 3600  # the longest window that a client may choose
    triples: Count = 100_000  # the same for physical windows
    evaluation: Seconds = 30.0  # of a query over static data, or of a continuous query in one batch
    requests: Count = 0  # of one client in a second; 0 is as many as it likes
    at_once: Count = 8  # queries over static data that run at the same time
    slow: Seconds = 10.0  # how long a subscriber may take nothing
    unasked: Seconds = 300.0  # how long a view stays when nobody asks for it
    behind: Seconds = 30.0  # how long elements may wait to be evaluated before /health says so


@dataclass
class Pace:
    """Limits how often each client may ask: `rate` requests a second. A client that was silent may send the
    requests of `_SAVED` seconds at once, and no more."""

    rate: int
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)  # requests left, and at what time

    def count(self, client: str) -> None:
        """Count a request of a client; Problem if it is one too many."""
        if not self.rate:
            return
        now, most = time.monotonic(), self.rate * _SAVED
        left, since = self._left.pop(client, (most, now))
        left = min(most, left + (now - since) * self.rate)
        self._left[client] = (left - 1 if left >= 1 else left, now)  # the dict is in order of last requests
        oldest = next(iter(self._left))
        if now - self._left[oldest][1] > _SAVED:
            del self._left[oldest]
        if left < 1:
            headers = {"Retry-After": str(math.ceil((1 - left) / self.rate))}
            raise Problem(429, "Too many requests", f"at most {self.rate} a second", headers=headers)


async def body(request: Request, most: int) -> bytes:
    """Read a body of at most `most` bytes.

    A body that is a little too long is still read to its end: a client that is still writing when the
    connection closes would not see why its request was refused.
    """
    patience = 2 * most + (1 << 20)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > patience:
        raise too_long(most)
    pieces, size = [], 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size <= most:
                pieces.append(piece)
            elif size > patience:
                break
    except ClientDisconnect:
        raise Problem(400, "The body did not come to its end") from None
    if size > most:
        raise too_long(most)
    return b"".join(pieces)


async def text(request: Request, most: int) -> str:
    """Read a body that is text."""
    content = await body(request, most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(400, "The body is not UTF-8") from None


def asked(request: Request, text: str) -> Asked:
    """A query, with the dialect and the entailment from the parameters of its request."""
    dialect = request.query_params.get("dialect", "auto")
    if dialect not in DIALECTS:
        raise Problem(400, "There is no such dialect", f"{dialect}; there is {', '.join(DIALECTS)}")
    entailment = request.query_params.get("entailment")
    if entailment not in (None, *ENTAILMENTS):
        detail = f"{entailment}; there is {', '.join(ENTAILMENTS)}"
        raise Problem(400, "There is no such entailment", detail)
    return Asked(text, dialect, entailment)


def too_long(most: int) -> Problem:
    # The rest of the body may still come, so this connection cannot be used again.
    headers = {"Connection": "close"}
    return Problem(413, "The body is too long", f"at most {most} bytes are taken", headers=headers)
