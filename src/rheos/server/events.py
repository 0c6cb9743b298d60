"""Events: sends the answers of a query to its subscribers as they come (Server-Sent Events).

Every subscriber reads the answer log at its own pace, so a slow subscriber holds up nobody else. A subscriber
that takes nothing for too long is cut off. It may come back and go on after the last answer that it has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rheos.server.answers import Line
from rheos.server.host import Host
from rheos.server.logs import log
from rheos.server.problems import Problem

PIECE = 32 << 10  # bytes of answers that are sent at once
_SILENCE = 15.0  # seconds after which a comment shows that the connection still stands
_RETRY = 2000  # milliseconds after which a client comes back


class Connection(Protocol):
    """The part of a connection of the web server that is used here. `serve` puts it into every request."""

    transport: asyncio.Transport


@dataclass
class Subscribers:
    """All subscribers, by query. Only the thread of the event loop may use this object; other threads may
    only call `changed`."""

    loop: asyncio.AbstractEventLoop
    waiting: dict[str, set[asyncio.Event]] = field(default_factory=dict)
    cut_off: int = 0
    closing: bool = False

    def changed(self, names: set[str]) -> None:
        with suppress(RuntimeError):  # the event loop ends before the engine
            self.loop.call_soon_threadsafe(self._wake, names)

    def close(self) -> None:
        """End all connections, so that the server can end."""
        self.closing = True
        self._wake(set(self.waiting))

    def _wake(self, names: set[str]) -> None:
        for name in names:
            for event in self.waiting.get(name, ()):
                event.set()

    @property
    def count(self) -> int:
        return sum(map(len, self.waiting.values()))

    def counts(self) -> Mapping[str, int]:
        return {name: len(events) for name, events in self.waiting.items() if events}


@dataclass(frozen=True)
class Events:
    """The handlers of `/name/events`."""

    host: Host
    subscribers: Subscribers

    async def events(self, request: Request) -> Response:
        name, after = self.asked(request)
        return EventStream(self.host, self.subscribers, name, after)

    def asked(self, request: HTTPConnection) -> tuple[str, int]:
        """The query that a subscriber asks for, and the number of the last answer that it has."""
        name = request.path_params["name"]
        if name not in self.host.queries:
            what = "is a stream; its queries have events" if name in self.host.streams else "is not there"
            raise Problem(404, f"There is no query {name}", f"{name} {what}")
        if self.subscribers.count >= self.host.limits.subscribers:
            detail = f"at most {self.host.limits.subscribers} are served"
            raise Problem(503, "There are too many subscribers", detail, headers={"Retry-After": "30"})
        answers = self.host.answers
        given = request.headers.get("last-event-id") or request.query_params.get("after") or ""
        if given and not (given.isascii() and given.isdecimal() and len(given) < 19):
            raise Problem(400, "There is no such event", f"Last-Event-ID is a number, not {given!r}")
        last = answers.last(name)
        # A number that is too large comes from an older log that was lost.
        return name, min(int(given), last) if given else last


class EventStream(Response):
    """The answers of a query after a number, for as long as the client stays."""

    def __init__(self, host: Host, subscribers: Subscribers, name: str, after: int) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(None, headers=headers, media_type="text/event-stream")
        del self.headers["content-length"]
        self._host = host
        self._answers = host.answers
        self._subscribers = subscribers
        self._name = name
        self._after = after
        self._slow = host.limits.slow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        more = asyncio.Event()
        waiting = self._subscribers.waiting.setdefault(self._name, set())
        waiting.add(more)
        gone = asyncio.ensure_future(disconnected(receive, more))
        try:
            async with asyncio.timeout(None) as limit:
                await self._send_all(more, gone, Sending(send, limit, self._slow))
        except TimeoutError:
            self._subscribers.cut_off += 1
            log("a subscriber was cut off", level="warning", query=self._name, slow=self._slow)
            abort(scope)
        finally:
            waiting.discard(more)
            gone.cancel()

    async def _send_all(self, more: asyncio.Event, gone: asyncio.Future[None], sending: Sending) -> None:
        await sending.send(f"retry: {_RETRY}\n\n".encode())
        lost = self._answers.lost(self._name)
        if self._after < lost:
            await sending.send(gap(self._after, lost))
        told: str | None = None  # why the query was stopped
        while not gone.done() and not self._subscribers.closing:
            more.clear()
            found = self._answers.after(self._name, self._after, PIECE)
            if found is None:
                break  # the query was deleted
            if found:
                await sending.send(b"".join(map(event, found)))
                self._after = found[-1].number
                continue
            failure = self._host.failure_of(self._name)
            if failure != told:
                told = failure
                if failure is not None:
                    await sending.send(failed(self._name, failure))
                continue
            try:
                await asyncio.wait_for(more.wait(), _SILENCE)
            except TimeoutError:
                await sending.send(b":\n\n")
        await sending.send(b"", last=True)


@dataclass(frozen=True)
class Sending:
    """Sends to a client. `limit` ends the connection if the client takes nothing for `slow` seconds."""

    to_client: Send
    limit: asyncio.Timeout
    slow: float

    async def send(self, body: bytes, *, last: bool = False) -> None:
        self.limit.reschedule(asyncio.get_running_loop().time() + self.slow)
        await self.to_client({"type": "http.response.body", "body": body, "more_body": not last})
        self.limit.reschedule(None)


def event(line: Line) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (line.number, line.text)


def failed(query: str, failure: str) -> bytes:
    """The event that says that the query has failed: nothing more comes until somebody starts it again."""
    content = json.dumps({"query": query, "failure": failure}, ensure_ascii=False)
    return f"event: failed\ndata: {content}\n\n".encode()


def gap(after: int, until: int) -> bytes:
    """The event that says that the answers between two numbers are no longer kept."""
    return f"event: gap\ndata: {json.dumps({'after': after, 'until': until})}\n\n".encode()


async def disconnected(receive: Receive, more: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    more.set()


def abort(scope: Scope) -> None:
    """End a connection at once. Bytes that the client has not taken are dropped."""
    state: Mapping[str, Any] = scope.get("state", {})
    connection: Connection | None = state.get("connection")
    if connection is not None:
        connection.transport.abort()
