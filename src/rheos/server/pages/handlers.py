"""The handlers of the pages: they look up what a page shows and respond with its HTML."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from rheos.algebra.streams import MovingWindow
from rheos.engine import DIALECTS
from rheos.errors import RheosError
from rheos.server import graphs, windows
from rheos.server.access import Access
from rheos.server.host import Host, Query, Stream
from rheos.server.linked import HTML, Linked, read_moment, read_window
from rheos.server.models import Records
from rheos.server.negotiation import choose
from rheos.server.pages import overview, queries, streams
from rheos.server.pages.rendering import SECURITY, failure
from rheos.server.problems import PROBLEM_JSON, Problem
from rheos.syntax.detect import detect

_AUTO = "auto"

# The formats of static data by media type, for the page on which static data is added.
DATA = {
    "text/turtle": "Turtle",
    "application/n-triples": "N-Triples",
    "application/trig": "TriG",
    "application/n-quads": "N-Quads",
    "application/ld+json": "JSON-LD",
    "application/rdf+xml": "RDF/XML",
}


class Files(StaticFiles):
    """Static files. A browser may keep them, but asks every time whether they have changed: scripts of
    different versions do not fit together."""

    def file_response(self, *arguments: Any, **more: Any) -> Response:
        response = super().file_response(*arguments, **more)
        response.headers["Cache-Control"] = "no-cache"
        return response


def static_files() -> StaticFiles:
    """The files in `static`; no other file can be reached."""
    return Files(directory=Path(__file__).parent / "static")


def wants_page(request: Request, others: Iterable[str] = (PROBLEM_JSON,)) -> bool:
    """True if a client prefers HTML to these other media types."""
    return choose(request.headers.get("accept"), (*others, *HTML)) in HTML


Handler = Callable[["Pages", Request], Awaitable[Response]]


def for_people(handler: Handler) -> Handler:
    """A handler whose problems are pages, for clients that want HTML."""

    @wraps(handler)
    async def handle(pages: Pages, request: Request) -> Response:
        try:
            return await handler(pages, request)
        except RheosError as error:
            problem = Problem.of(error)
        except Problem as known:
            problem = known
        if not wants_page(request):
            return problem.response()
        return respond(failure(problem.title, problem.detail), status=problem.status)

    return handle


@dataclass(frozen=True)
class Pages:
    """The handlers of all pages."""

    host: Host
    linked: Linked
    access: Access

    async def overview(self, request: Request) -> Response:
        streams, known = self._readable(request)
        own = [(stream.name, kind_of(self.host, stream.name)) for stream in streams]
        made = [(query.name, "derived") for query in known if query.stream]
        return respond(
            overview.overview([*own, *made], [(query.name, language_of(query)) for query in known])
        )

    async def new(self, request: Request) -> Response:
        # A query of plain SPARQL is asked once, on a page of its own.
        dialects = [dialect for dialect in DIALECTS if dialect != "sparql"]
        return respond(queries.new(self._streams(request), dialects))

    def _streams(self, request: Request) -> list[tuple[str, str]]:
        """All streams that a client may read, with their IRIs."""
        streams, known = self._readable(request)
        own = [(stream.name, stream.iri) for stream in streams]
        return [*own, *((query.name, query.stream) for query in known if query.stream)]

    def _readable(self, request: Request) -> tuple[list[Stream], list[Query]]:
        """The streams and the queries that a client may read: others have a token of their own."""
        streams, known = list(self.host.streams.values()), list(self.host.queries.values())
        return (
            [stream for stream in streams if self.access.may_read(request, stream.name)],
            [query for query in known if self.access.may_read(request, query.name)],
        )

    async def sparql(self, request: Request) -> Response:
        return respond(queries.sparql(self._streams(request)), vary=True)

    async def flow(self, request: Request) -> Response:
        return respond(overview.flow())

    async def new_data(self, request: Request) -> Response:
        return respond(streams.new_data(DATA))

    async def new_stream(self, request: Request) -> Response:
        return respond(streams.new(get_args(Records)))

    @for_people
    async def named(self, request: Request) -> Response:
        name = request.path_params["name"]
        query = self.host.queries.get(name)
        if query is not None and query.stream is None:
            return respond(queries.query(name, query.kept.text, language_of(query)))
        return await self._stream(request, None)

    @for_people
    async def window(self, request: Request) -> Response:
        return await self._stream(request, read_window(request))

    async def _stream(self, request: Request, window: MovingWindow | None) -> Response:
        name = self.linked.known(request.path_params["name"])
        view, content = await self.linked.view(name, window)
        rdf = request.scope["raw_path"].decode().removeprefix("/page")
        query, path = self.host.queries.get(name), windows.path_of(view.window)

        def page() -> str:
            if query is None:
                return streams.stream(name, kind_of(self.host, name), path, content)
            seen = streams.seen(name, path, content)
            return queries.query(name, query.kept.text, language_of(query), seen)

        return respond(await run_in_threadpool(page), rdf)

    @for_people
    async def moment(self, request: Request) -> Response:
        name = self.linked.known(request.path_params["name"])
        moment = read_moment(request.path_params["moment"])
        found, triples = await run_in_threadpool(self.linked.moment_of, name, moment)
        paths = {
            windows.path_of(view.window): f"/{quote(name if view.lasting else view.name)}"
            for view, _ in found
        }
        path = f"{quote(name)}/{graphs.moment_path(moment)}"
        return respond(streams.moment(name, moment, triples, self.host.base + path, paths), f"/{path}")


def kind_of(host: Host, name: str) -> str:
    return "pushed" if host.streams[name].log is not None else "source"


def language_of(query: Query) -> str:
    given = query.kept.dialect
    return detect(query.kept.text) if given == _AUTO else given


def respond(text: str, rdf: str | None = None, status: int = 200, *, vary: bool = False) -> Response:
    """The response with a page. `rdf` is the address of the same thing as RDF, below /trdf. `vary` is for
    pages at whose address other clients get something else than HTML."""
    more: dict[str, str] = {} if rdf is None else {"Link": f'</trdf{rdf}>; rel="alternate"'}
    more |= {"Vary": "Accept"} if vary else {}
    headers = {**SECURITY, "Cache-Control": "no-cache", **more}
    return Response(text, status, headers=headers, media_type="text/html")
