"""The pages' addresses: requests come in, what there is is looked up, responses with HTML go out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from rheos.algebra.streams import Window
from rheos.server import graphs, windows
from rheos.server.host import Host
from rheos.server.linked import Linked, read_moment, read_window
from rheos.server.pages import html


def static_files() -> StaticFiles:
    """The files that pages need; no other can be reached."""
    return StaticFiles(directory=Path(__file__).parent / "static")


@dataclass(frozen=True)
class Pages:
    host: Host
    linked: Linked

    async def overview(self, request: Request) -> Response:
        made = (query.name for query in self.host.queries.values() if query.stream)
        return respond(html.overview(sorted([*self.host.streams, *made]), sorted(self.host.queries)))

    async def new(self, request: Request) -> Response:
        return respond(html.new())

    async def named(self, request: Request) -> Response:
        name = request.path_params["name"]
        query = self.host.queries.get(name)
        if query is not None and query.stream is None:
            state = query.error or ("running" if query.kept.running else "stopped")
            return respond(html.query(name, query.kept.text, state))
        return await self._stream(request, None)

    async def window(self, request: Request) -> Response:
        return await self._stream(request, read_window(request))

    async def _stream(self, request: Request, window: Window | None) -> Response:
        name = self.linked.known(request.path_params["name"])
        view, content = await self.linked.view(name, window)
        rdf = request.scope["raw_path"].decode().removeprefix("/page")
        return respond(html.stream(name, windows.path_of(view.window), content), rdf)

    async def moment(self, request: Request) -> Response:
        name = self.linked.known(request.path_params["name"])
        moment = read_moment(request.path_params["moment"])
        _, triples = await run_in_threadpool(self.linked.moment_of, name, moment)
        return respond(html.moment(name, moment, triples), f"/{quote(name)}/{graphs.moment_path(moment)}")


def respond(text: str, rdf: str | None = None) -> Response:
    """A page; `rdf` is the address of the same as RDF, below /trdf."""
    more: Mapping[str, str] = {} if rdf is None else {"Link": f'</trdf{rdf}>; rel="alternate"'}
    headers = {**html.SECURITY, "Cache-Control": "no-cache", **more}
    return Response(text, headers=headers, media_type="text/html")
