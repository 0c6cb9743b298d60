"""Linked Data: the addresses of streams, moments and windows. Each address redirects to the RDF or to the
page, as the client prefers. The RDF is served here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rheos.algebra.streams import LogicalWindow, MovingWindow
from rheos.answers.continuous import time_text
from rheos.server import graphs, windows
from rheos.server.caching import Version, tag_of
from rheos.server.host import Host
from rheos.server.negotiation import choose
from rheos.server.problems import Problem
from rheos.server.views import SECOND, Content, Triple, View
from rheos.sources.times import read_one
from rheos.terms import XSD

HTML = ("text/html", "application/xhtml+xml")
RDF = tuple(graphs.FORMATS)

_FIRST_LOOK = 3.0  # seconds that the first client of a view waits for its content


@dataclass(frozen=True)
class Linked:
    """The handlers of `/name`, `/name/moment`, `/name/physical/…` and `/name/logical/…`, and of the same
    addresses below `/trdf`."""

    host: Host

    # --- the addresses of things: 303 to their RDF or page --------------------------------------------

    async def resource(self, request: Request) -> Response:
        name = request.path_params["name"]
        query = self.host.queries.get(name)
        if self.host.stream_iri(name) is None and query is not None:
            # The answers of this query are not RDF, so it has only a page.
            return self._see_other(request, name, rdf=False)
        self.known(name)
        return self._see_other(request, name)

    async def moment(self, request: Request) -> Response:
        name = self.known(request.path_params["name"])
        moment = read_moment(request.path_params["moment"])
        return self._see_other(request, f"{name}/{graphs.moment_path(moment)}")

    async def window(self, request: Request) -> Response:
        name = self.known(request.path_params["name"])
        path = windows.path_of(read_window(request))
        if path != window_path(request):
            return RedirectResponse(f"/{name}/{path}", 308)
        return self._see_other(request, f"{name}/{path}")

    def known(self, name: str) -> str:
        if self.host.stream_iri(name) is None:
            raise Problem(404, f"There is no stream {name}")
        return name

    def _see_other(self, request: Request, path: str, *, rdf: bool = True) -> Response:
        chosen = choose(request.headers.get("accept"), (*RDF, *HTML) if rdf else HTML)
        if chosen is None:
            raise not_acceptable((*RDF, *HTML) if rdf else HTML)
        place = f"/{'page' if chosen in HTML else 'trdf'}/{path}"
        # RedirectResponse would quote the colons of a moment a second time.
        return Response(status_code=303, headers={"Location": place, "Vary": "Accept"})

    # --- RDF -------------------------------------------------------------------------------------------

    async def trdf(self, request: Request) -> Response:
        return await self._read_stream(request, None)

    async def trdf_window(self, request: Request) -> Response:
        return await self._read_stream(request, read_window(request))

    async def trdf_moment(self, request: Request) -> Response:
        name = self.known(request.path_params["name"])
        moment = read_moment(request.path_params["moment"])
        media = acceptable(request, RDF)
        path = f"{name}/{graphs.moment_path(moment)}"
        body, version = await run_in_threadpool(self._i_graph, name, moment, path, media)
        return self._answer(request, path, body, media, version)

    def _i_graph(self, name: str, moment: int, path: str, media: str) -> tuple[bytes, Version]:
        found, triples = self.moment_of(name, moment)
        seen_in = sorted(self.host.base + (view.stream if view.lasting else view.name) for view, _ in found)
        body = in_format(
            media,
            lambda: graphs.i_graph(self.host.base + path, moment, triples, seen_in, graphs.FORMATS[media]),
        )
        expires = max(leaves(view, content, moment) for view, content in found)
        # The list of s-graphs that show the moment may change within a second.
        return body, Version(tag_of(body), moment, expires, ambiguous=True)

    def moment_of(self, name: str, moment: int) -> tuple[list[tuple[View, Content]], list[Triple]]:
        """The windows that hold a moment of a stream, and its triples."""
        found = list(self.host.views.holding(name, moment))
        if not found:
            raise not_held(name, moment)
        return found, sorted({triple for _, content in found for triple in content.moments[moment]})

    async def _read_stream(self, request: Request, window: MovingWindow | None) -> Response:
        name = self.known(request.path_params["name"])
        media = acceptable(request, RDF)
        view, content = await self.view(name, window)
        path = name if window is None else f"{name}/{windows.path_of(window)}"
        body, version = await run_in_threadpool(self._s_graph, name, view, content, path, media)
        return self._answer(request, path, body, media, version)

    def _s_graph(
        self, name: str, view: View, content: Content | None, path: str, media: str
    ) -> tuple[bytes, Version]:
        iri, stream, format = self.host.base + path, self.host.base + name, graphs.FORMATS[media]
        if content is None:
            expires = time.time_ns() // 1000 + SECOND
            body = graphs.s_graph(iri, stream, view.window, None, expires, format)
            return body, Version(tag_of(body), None, expires)
        expires = content.expires(view.window)
        known = content.bodies.get(f"{path} {media}")
        body = known or in_format(
            media, lambda: graphs.s_graph(iri, stream, view.window, content, expires, format)
        )
        content.bodies[f"{path} {media}"] = body
        return body, Version(tag_of(body), content.at, expires, content.same_second)

    async def view(self, name: str, window: MovingWindow | None) -> tuple[View, Content | None]:
        """A view and its content. The first client that asks for a view waits a little for its content."""
        view = await run_in_threadpool(self.host.view, name, window)
        if view is None:
            raise Problem(404, f"There is no stream {name}")
        until = view.opened + (0 if view.lasting else _FIRST_LOOK)
        while view.content is None and time.monotonic() < until:
            await asyncio.sleep(0.05)
        return view, view.content

    def _answer(self, request: Request, path: str, body: bytes, media: str, version: Version) -> Response:
        links = [
            f'<{self.host.base}{path}>; rel="describes"',
            f'</page/{path}>; rel="alternate"; type="text/html"',
        ]
        headers = {**version.headers, "Vary": "Accept", "Link": ", ".join(links)}
        if version.is_known(request.headers):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media)


def read_moment(text: str) -> int:
    try:
        moment, _ = read_one(f'"{text}"^^<{XSD}dateTime>')
    except ValueError as error:
        raise Problem(404, "There is no such moment", str(error)) from None
    return moment


def window_path(request: Request) -> str:
    size, step = request.path_params["size"], request.path_params.get("step")
    return f"physical/{size}" if step is None else f"logical/{size}/{step}"


def read_window(request: Request) -> MovingWindow:
    try:
        return windows.read(window_path(request))
    except ValueError as error:
        raise Problem(400, "There is no such window", str(error)) from None


def leaves(view: View, content: Content, moment: int) -> int:
    """When a moment leaves a window."""
    window = view.window
    if isinstance(window, LogicalWindow):
        return -(-(moment + window.range) // window.step) * window.step
    return content.expires(window)


def acceptable(request: Request, offers: tuple[str, ...]) -> str:
    chosen = choose(request.headers.get("accept"), offers)
    if chosen is None:
        raise not_acceptable(offers)
    return chosen


def not_acceptable(offers: tuple[str, ...]) -> Problem:
    return Problem(
        406, "Nothing of what you accept is here", f"there is {', '.join(offers)}", headers={"Vary": "Accept"}
    )


def not_held(name: str, moment: int) -> Problem:
    detail = (
        f"{time_text(moment)} is in no window on {name} now: it has left, or there never was such an element"
    )
    return Problem(404, "There is no such moment", detail)


def in_format(media: str, write: Callable[[], bytes]) -> bytes:
    """Write a graph, or raise a Problem if the format cannot hold one of its terms."""
    try:
        return write()
    except ValueError as error:
        detail = f"{media} cannot hold this graph: {error}"
        raise Problem(406, "This graph has no such form", detail, headers={"Vary": "Accept"}) from None
