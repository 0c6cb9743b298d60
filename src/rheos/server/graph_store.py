"""The SPARQL 1.1 Graph Store HTTP Protocol: whole graphs of the static data at /rdf-graph-store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rheos.server import graphs, limits, models
from rheos.server.access import Access
from rheos.server.config import absolute_iri
from rheos.server.host import Host
from rheos.server.linked import acceptable
from rheos.server.negotiation import media_type
from rheos.server.problems import Problem
from rheos.terms import iri

T = TypeVar("T")


class GraphStore:
    """`/rdf-graph-store?default` and `?graph=IRI`."""

    def __init__(self, host: Host, access: Access) -> None:
        self.host = host
        self.access = access

    async def get(self, request: Request) -> Response:
        """A graph."""
        name = self._name(request)
        media = acceptable(request, tuple(graphs.FORMATS))

        def read() -> str:
            self._check_known(name)
            chosen = () if name is None else (name,)
            found = self.host.engine.query(
                "CONSTRUCT WHERE { ?s ?p ?o }",
                dialect="sparql",
                default_graphs=chosen,
                timeout=self.host.limits.evaluation,
            )
            return found.serialize(graphs.FORMATS[media].file_extension)

        body = await run_in_threadpool(read)
        return Response(body, headers={"Vary": "Accept", "Cache-Control": "no-cache"}, media_type=media)

    async def put(self, request: Request) -> Response:
        """Replace a graph."""
        return await self._add(request, replace=True)

    async def post(self, request: Request) -> Response:
        """Add to a graph."""
        return await self._add(request, replace=False)

    async def delete(self, request: Request) -> Response:
        """Drop a graph; the default graph is emptied."""
        self.access.write(request)
        name = self._name(request)

        def drop() -> int:
            self._check_known(name)
            with self.host.engine.graphs.revise() as revision:
                return revision.drop(None if name is None else iri(name))

        return models.reply(models.Changed(await _stored(drop)))

    async def _add(self, request: Request, *, replace: bool) -> Response:
        self.access.write(request)
        name, media = self._name(request), media_type(request.headers.get("content-type"))
        if media not in graphs.FORMATS:
            known = ", ".join(graphs.FORMATS)
            raise Problem(415, "This is no RDF", known, headers={"Accept-Post": known})
        content = await limits.body(request, self.host.limits.body)
        store = self.host.engine.graphs

        def add() -> int:
            base = self.host.base if name is None else name
            reading = store.read(data=content, format=media, graph=name, base=base)
            with store.revise() as revision:
                gone = revision.clear(None if name is None else iri(name)) if replace else 0
                return gone + revision.add(reading)

        return models.reply(models.Changed(await _stored(add)))

    def _name(self, request: Request) -> str | None:
        """The IRI of the graph; None for the default graph."""
        default, names = "default" in request.query_params, request.query_params.getlist("graph")
        if default + len(names) != 1:
            raise Problem(400, "Which graph is meant?", "either ?default or ?graph=IRI")
        try:
            return absolute_iri(names[0]) if names else None
        except ValueError as error:
            raise Problem(400, "The name of the graph is wrong", str(error)) from None

    def _check_known(self, name: str | None) -> None:
        if name is not None and iri(name) not in self.host.engine.graphs.graph_names:
            raise Problem(404, "There is no such graph", name)


async def _stored(change: Callable[[], T]) -> T:
    try:
        return await run_in_threadpool(change)
    except OSError as error:
        raise Problem(507, "The change could not be stored", error.strerror) from None
