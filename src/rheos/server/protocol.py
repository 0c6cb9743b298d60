"""The SPARQL 1.1 Protocol: queries and updates of the static data at /sparql."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from rheos.answers.result import Result
from rheos.deadline import Deadline, under
from rheos.server import graphs, limits, models
from rheos.server.access import Access
from rheos.server.host import Host
from rheos.server.linked import acceptable
from rheos.server.negotiation import media_type
from rheos.server.problems import Problem

SOLUTIONS = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/xml": "xml",
}
# CSV and TSV cannot hold the answer of an ASK query.
BOOLEANS = {media: name for media, name in SOLUTIONS.items() if name in ("json", "xml")}

FORM = "application/x-www-form-urlencoded"
DIRECT = {"application/sparql-query": "query", "application/sparql-update": "update"}

# The parameters that give the default graph and the named graphs.
GRAPHS = {
    "query": ("default-graph-uri", "named-graph-uri"),
    "update": ("using-graph-uri", "using-named-graph-uri"),
}

T = TypeVar("T")

_LOOK = 0.2  # seconds between two checks that the client is still there


@dataclass(frozen=True, slots=True)
class Operation:
    """A query or an update, and the graphs from the parameters of its request."""

    text: str
    is_update: bool
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]


class Protocol:
    """The handlers of `/sparql`. At most `at_once` requests are answered at once; the others get 503."""

    def __init__(self, host: Host, access: Access) -> None:
        self.host = host
        self.access = access
        self._threads = anyio.CapacityLimiter(max(1, host.limits.at_once))
        self._running: set[Deadline] = set()

    def close(self) -> None:
        """Stop all requests, so that the server can end."""
        for deadline in list(self._running):
            deadline.cancel()

    async def get(self, request: Request) -> Response:
        pairs = request.query_params.multi_items()
        if any(name == "update" for name, _ in pairs):
            raise Problem(400, "An update is sent by POST")
        return await self._answer(request, operation(pairs, self.host.limits.query, status=414))

    async def post(self, request: Request) -> Response:
        media = media_type(request.headers.get("content-type"))
        content = await limits.body(request, self.host.limits.query)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise Problem(400, "The body is not UTF-8") from None
        pairs = list(request.query_params.multi_items())
        if media == FORM:
            pairs += form(text)
        elif media in DIRECT:
            pairs.append((DIRECT[media], text))
        else:
            known = ", ".join((*DIRECT, FORM))
            raise Problem(415, "This is no operation of SPARQL", known, headers={"Accept-Post": known})
        found = operation(pairs, self.host.limits.query)
        request.scope["writes"] = found.is_update
        if found.is_update:
            self.access.write(request)
            return await self._update(request, found)
        return await self._answer(request, found)

    async def _answer(self, request: Request, asked: Operation) -> Response:
        held = self.host.views.held(lambda name: self.access.read_named(request, name))

        def answer() -> tuple[str, str]:
            result = self.host.engine.query(
                asked.text,
                dialect="sparql",
                default_graphs=asked.default_graphs,
                named_graphs=asked.named_graphs,
                beside=held,
            )
            offers = offered(result)
            media = acceptable(request, tuple(offers))
            return result.serialize(offers[media]), media

        body, media = await self._run(request, answer)
        return Response(body, headers={"Vary": "Accept", "Cache-Control": "no-cache"}, media_type=media)

    async def _update(self, request: Request, asked: Operation) -> Response:
        changed = await self._run(
            request,
            lambda: self.host.engine.update(
                asked.text, default_graphs=asked.default_graphs, named_graphs=asked.named_graphs
            ),
        )
        return models.reply(models.Changed(changed))

    async def _run(self, request: Request, work: Callable[[], T]) -> T:
        """Do work for a client. The work is stopped when the time is over or the client goes away."""
        if len(self._running) >= self.host.limits.at_once:
            detail = f"{self.host.limits.at_once} requests are being answered"
            raise Problem(503, "The server is busy", detail, headers={"Retry-After": "1"})
        deadline = Deadline(self.host.limits.evaluation)
        self._running.add(deadline)

        def limited() -> T:
            with under(deadline):
                return work()

        async def cancel_when_gone() -> None:
            while not await request.is_disconnected():
                await asyncio.sleep(_LOOK)
            deadline.cancel()

        looking = asyncio.ensure_future(cancel_when_gone())
        try:
            return await to_thread.run_sync(limited, limiter=self._threads)
        finally:
            looking.cancel()
            self._running.discard(deadline)


def form(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Problem(400, "The body is no form", str(error)) from None


def operation(pairs: Sequence[tuple[str, str]], longest: int, status: int = 413) -> Operation:
    """The operation in the parameters of a request (SPARQL 1.1 Protocol, sections 2.1 and 2.2)."""
    texts = [(name, value) for name, value in pairs if name in ("query", "update")]
    if len(texts) != 1:
        detail = "there is more than one query or update" if texts else "a query or an update is needed"
        raise Problem(400, "This is no operation of SPARQL", detail)
    [(kind, text)] = texts
    if len(text.encode(errors="replace")) > longest:
        raise Problem(status, "The text is too long", f"at most {longest} bytes")
    names = GRAPHS[kind]
    default, named = (tuple(value for name, value in pairs if name == wanted) for wanted in names)
    return Operation(text, kind == "update", default, named)


def offered(result: Result) -> dict[str, str]:
    """The media types in which a result can be written, each with the name of its format."""
    if result.kind == "ask":
        return BOOLEANS
    if result.kind == "select":
        return SOLUTIONS
    return {media: format.file_extension for media, format in graphs.FORMATS.items()}
