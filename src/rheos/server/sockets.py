"""WebSockets: sends the answers of a query to its subscribers as they come, beside Server-Sent Events.

A message is an answer as a line of NDJSON has it, with its number as `id` in front. With `?after=` a client
names the number of the last answer that it has. There are two other messages: `{"gap":{"after":…,"until":…}}`
says that the answers between these numbers are no longer kept, and `{"query":…,"failure":…}` says that the
query has failed. Messages from a client are ignored.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from rheos.server.access import Access
from rheos.server.answers import Line
from rheos.server.events import PIECE, Events
from rheos.server.logs import log
from rheos.server.problems import Problem

_GOING_AWAY = 1001
_TOO_SLOW = 1008


@dataclass(frozen=True)
class Sockets:
    """The handlers of `/name/ws`."""

    events: Events
    access: Access

    async def plain(self, request: Request) -> Response:
        """A request that asks for no WebSocket."""
        self.events.asked(request)
        headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
        raise Problem(
            426, "This is the address of a WebSocket", "ask for /name/events instead", headers=headers
        )

    async def answers(self, socket: WebSocket) -> None:
        try:
            self.access.socket(socket)
            name, after = self.events.asked(socket)
        except Problem as problem:
            await refused(socket, problem)
            return
        await socket.accept()
        log("a WebSocket was opened", path=socket.url.path)
        subscribers, more = self.events.subscribers, asyncio.Event()
        waiting = subscribers.waiting.setdefault(name, set())
        waiting.add(more)
        gone = asyncio.ensure_future(left(socket, more))
        try:
            await self._send_all(Sending(socket, self.events.host.limits.slow), name, after, more, gone)
            if not gone.done():
                await socket.close(_GOING_AWAY if subscribers.closing else 1000)
        except TimeoutError:
            subscribers.cut_off += 1
            log("a subscriber was cut off", level="warning", query=name)
            with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
                async with asyncio.timeout(1):
                    await socket.close(_TOO_SLOW)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client went away while a message was sent
        finally:
            waiting.discard(more)
            gone.cancel()

    async def _send_all(
        self, sending: Sending, name: str, after: int, more: asyncio.Event, gone: asyncio.Future[None]
    ) -> None:
        host, subscribers = self.events.host, self.events.subscribers
        lost = host.answers.lost(name)
        if after < lost:
            await sending.send(json.dumps({"gap": {"after": after, "until": lost}}))
        told: str | None = None  # why the query was stopped
        while not gone.done() and not subscribers.closing:
            more.clear()
            found = host.answers.after(name, after, PIECE)
            if found is None:
                return  # the query was deleted
            for line in found:
                await sending.send(numbered(line))
                after = line.number
            failure = host.failure_of(name)
            if not found and failure != told:
                told = failure
                if failure is not None:
                    await sending.send(json.dumps({"query": name, "failure": failure}, ensure_ascii=False))
            elif not found:
                await more.wait()


async def refused(socket: WebSocket, problem: Problem) -> None:
    """Refuse to open a WebSocket, with a response that says why."""
    log("a WebSocket was refused", path=socket.url.path, status=problem.status)
    await socket.send_denial_response(problem.response())


@dataclass(frozen=True)
class Sending:
    """Sends to a client; TimeoutError if it takes nothing for `slow` seconds."""

    socket: WebSocket
    slow: float

    async def send(self, text: str) -> None:
        async with asyncio.timeout(self.slow):
            await self.socket.send_text(text)


def numbered(line: Line) -> str:
    return f'{{"id":{line.number},{line.text[1:].decode()}'


async def left(socket: WebSocket, more: asyncio.Event) -> None:
    """Wait until the client has gone."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    more.set()
