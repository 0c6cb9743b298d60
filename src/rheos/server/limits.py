"""How much of anything there may be: bodies come in piece by piece, and go out whole if they are not too
long."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from rheos.algebra.entailment import ENTAILMENTS
from rheos.engine import DIALECTS
from rheos.server.problems import Problem
from rheos.server.state import Asked


@dataclass(frozen=True, slots=True)
class Limits:
    """The table `[limits]` of a configuration; lengths are in bytes, times in seconds."""

    body: int = 16 << 20  # of one request that adds elements
    query: int = 64 << 10  # the text of a query or an update
    queries: int = 100
    streams: int = 50
    views: int = 50  # windows that clients look through
    subscribers: int = 200
    backlog: int = 1 << 30  # what a push stream may have that was not read yet
    kept: int = 64 << 20  # answers that are kept for subscribers who come back
    window: int = 24 * 3600  # the longest window that a client may choose
    triples: int = 100_000  # the same for physical windows
    evaluation: float = 30.0  # of a query over static data, or of a continuous one for a batch
    at_once: int = 8  # queries over static data that run at the same time
    slow: float = 10.0  # how long a subscriber may take nothing
    unasked: float = 300.0  # after so long a view that nobody has asked for is dropped
    behind: float = 30.0  # how long elements may wait to be evaluated before /health says so


async def body(request: Request, most: int) -> bytes:
    """All of a body, if it has no more than so many bytes.

    One that is a little too long is read to its end all the same: a client that still writes when the
    connection is closed does not get to see why.
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
    """A body that is the text of a query or a command."""
    content = await body(request, most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(400, "The body is not UTF-8") from None


def asked(request: Request, text: str) -> Asked:
    """A query, with the language and the entailment that its request says."""
    dialect = request.query_params.get("dialect", "auto")
    if dialect not in DIALECTS:
        raise Problem(400, "There is no such dialect", f"{dialect}; there is {', '.join(DIALECTS)}")
    entailment = request.query_params.get("entailment")
    if entailment not in (None, *ENTAILMENTS):
        detail = f"{entailment}; there is {', '.join(ENTAILMENTS)}"
        raise Problem(400, "There is no such entailment", detail)
    return Asked(text, dialect, entailment)


def too_long(most: int) -> Problem:
    # There may be more of it on its way, so the connection is of no use for another request.
    headers = {"Connection": "close"}
    return Problem(413, "The body is too long", f"at most {most} bytes are taken", headers=headers)
