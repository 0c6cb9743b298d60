"""The web application: all addresses, and the work that is done for every request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from rheos.errors import RheosError
from rheos.server import openapi
from rheos.server.access import Access
from rheos.server.control import Control
from rheos.server.details import Details
from rheos.server.events import Events, Subscribers
from rheos.server.graph_store import GraphStore
from rheos.server.graphs import FORMATS
from rheos.server.host import Host
from rheos.server.limits import Pace
from rheos.server.linked import Linked
from rheos.server.logs import log
from rheos.server.metrics import Counters, Metrics
from rheos.server.negotiation import media_type
from rheos.server.pages import Pages
from rheos.server.pages.handlers import static_files, wants_page
from rheos.server.problems import Problem, on_failure, on_http_exception, on_problem, on_rheos_error
from rheos.server.protocol import DIRECT, SOLUTIONS, Protocol
from rheos.server.sockets import Sockets, refused

Handler = Callable[[Request], Awaitable[Response]]

CHANGING = ("PUT", "DELETE", "PATCH")
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"]


class Application(NamedTuple):
    """The application. `close` ends its running requests, some of which would never end by themselves."""

    starlette: Starlette
    close: Callable[[], None]


def application(host: Host, subscribers: Subscribers) -> Application:
    """Make the application of an open host."""
    access, counters = Access.of(host.config, host.base), Counters()
    linked, events = Linked(host), Events(host, subscribers)
    pages, details = Pages(host, linked, access), Details(host, access)
    control = Control(host, access, counters, subscribers)
    sockets = Sockets(events, access)
    protocol, store = Protocol(host, access), GraphStore(host, access)
    metrics = Metrics(host, counters, subscribers)

    async def sparql(request: Request) -> Response:
        """A page for clients that want HTML and send no query, an answer for all others."""
        shows = not request.query_params and wants_page(request, (*SOLUTIONS, *FORMATS))
        return await (pages.sparql if shows else protocol.get)(request)

    async def health(request: Request) -> Response:
        return host.health.report(lambda name: access.may_read(request, name))

    async def described(request: Request) -> Response:
        return JSONResponse(openapi.description(host.base))

    routes = [
        at("/", GET=pages.overview),
        at("/new", GET=pages.new),
        at("/new-stream", GET=pages.new_stream),
        at("/new-data", GET=pages.new_data),
        at("/flow", GET=pages.flow),
        Mount("/static", static_files(), name="static"),
        at("/openapi.json", GET=described),
        at("/health", GET=health),
        at("/metrics", GET=metrics.metrics),
        at("/queries", GET=control.queries),
        at("/streams", GET=control.streams),
        at("/sparql", GET=sparql, POST=protocol.post),
        at("/rdf-graph-store", GET=store.get, PUT=store.put, POST=store.post, DELETE=store.delete),
        at("/trdf/{name}", GET=linked.trdf),
        at("/trdf/{name}/{moment}", GET=linked.trdf_moment),
        at("/trdf/{name}/physical/{size}", GET=linked.trdf_window),
        at("/trdf/{name}/logical/{size}/{step}", GET=linked.trdf_window),
        at("/page/{name}", GET=pages.named),
        at("/page/{name}/{moment}", GET=pages.moment),
        at("/page/{name}/physical/{size}", GET=pages.window),
        at("/page/{name}/logical/{size}/{step}", GET=pages.window),
        at("/check", POST=details.check),
        at("/preview", POST=details.preview),
        at("/{name}", GET=linked.resource, PUT=control.put, POST=control.post, DELETE=control.delete),
        at("/{name}/events", GET=events.events),
        WebSocketRoute("/{name}/ws", sockets.answers),
        at("/{name}/ws", GET=sockets.plain),
        at("/{name}/answers", GET=details.answers),
        at("/{name}/plan", GET=details.plan),
        at("/{name}/{moment}", GET=linked.moment),
        at("/{name}/physical/{size}", GET=linked.window),
        at("/{name}/logical/{size}/{step}", GET=linked.window),
    ]

    def close() -> None:
        subscribers.close()
        protocol.close()

    starlette = Starlette(
        routes=routes,
        middleware=[Middleware(Every, access=access, counters=counters, pace=Pace(host.limits.requests))],
        exception_handlers={
            Problem: on_problem,
            RheosError: on_rheos_error,
            HTTPException: on_http_exception,
            Exception: on_failure,
        },
    )
    return Application(starlette, close)


def at(path: str, **handlers: Handler) -> Route:
    """An address with a handler for each method. The route refuses all other methods itself: otherwise
    Starlette would look for another address that fits and has the method."""
    allowed = [*(["GET", "HEAD"] if "GET" in handlers else []), *(m for m in handlers if m != "GET")]

    async def handle(request: Request) -> Response:
        handler = handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise HTTPException(405, headers={"Allow": ", ".join(allowed)})
        return await handler(request)

    return Route(path, handle, methods=METHODS)


@dataclass
class Every:
    """Middleware: checks the host name of every request and how many its client has sent, counts it, and
    logs it. WebSockets check the name themselves, and log that they are opened."""

    app: ASGIApp
    access: Access
    counters: Counters
    pace: Pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = (scope.get("client") or ("",))[0]
        if scope["type"] != "http":
            try:
                self.pace.count(client)
            except Problem as problem:
                await refused(WebSocket(scope, receive, send), problem)
            else:
                await self.app(scope, receive, send)
            return
        scope["writes"] = may_write(scope)
        began, status = time.perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
                self.counters.answered(scope["method"], status)
            await send(message)

        try:
            try:
                self.pace.count(client)
                self.access.read(Request(scope))
            except Problem as problem:
                await problem.response()(scope, receive, sent)
                return
            await self.app(scope, receive, sent)
        finally:
            took = round((time.perf_counter() - began) * 1000, 1)
            fields = {"method": scope["method"], "path": scope["path"], "status": status}
            # Changes are logged at the usual level, also those that are refused, so that the log tells which
            # client made or tried them.
            event, level = ("write", "info") if scope["writes"] else ("request", "debug")
            log(event, level=level, **fields, milliseconds=took, client=client)


def may_write(scope: Scope) -> bool:
    """True if a request changes something, as far as its head tells. A form for /sparql counts as an update
    until its handler has read that it is a query."""
    if scope["method"] != "POST":
        return scope["method"] in CHANGING
    media = media_type(Headers(scope=scope).get("content-type"))
    return scope["path"] != "/sparql" or DIRECT.get(media) != "query"
