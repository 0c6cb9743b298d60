"""Control: the handlers by which clients change queries and streams (PUT, POST, DELETE) and list them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rheos.answers.continuous import time_text
from rheos.runtime.driver.metrics import Metrics, QueryMetrics, StreamMetrics
from rheos.server import limits, models, push, windows
from rheos.server.access import Access
from rheos.server.config import ConfigError, check_name
from rheos.server.events import Subscribers
from rheos.server.host import Host, Query, Stream
from rheos.server.lags import lag_of
from rheos.server.metrics import Counters
from rheos.server.negotiation import media_type
from rheos.server.problems import Problem
from rheos.server.sinks import asked_by_client

T = TypeVar("T")

_COMMANDS = {"start": True, "stop": False}
_RESET = b"reset"
_STREAM_JSON = "application/json"


@dataclass(frozen=True)
class Control:
    """The handlers of `/name` that change something, and those of `/queries` and `/streams`."""

    host: Host
    access: Access
    counters: Counters
    subscribers: Subscribers

    # --- PUT -----------------------------------------------------------------------------------------

    async def put(self, request: Request) -> Response:
        """Register a query, or make a stream from a description in JSON."""
        self.access.write(request)
        name = request.path_params["name"]
        try:
            check_name(name)
        except ValueError as error:
            raise Problem(400, "This cannot be a name", str(error)) from None
        text = await limits.text(request, self.host.limits.query)
        if media_type(request.headers.get("content-type")) == _STREAM_JSON:
            new = await run_in_threadpool(self._put_stream, name, text)
            shown: models.Stream | models.Query = self._stream(self.host.streams[name], self.host.metrics())
        else:
            sinks = asked_by_client(request, self.host.config)
            new = await run_in_threadpool(self.host.put_query, name, limits.asked(request, text), sinks)
            shown = self._query(self.host.queries[name])
        return models.reply(shown, 201 if new else 200, {"Location": f"/{name}"})

    def _put_stream(self, name: str, text: str) -> bool:
        try:
            described = json.loads(text or "{}")
            if not isinstance(described, dict):
                raise ConfigError("a stream is described by an object")
            return self.host.put_stream(name, described)
        except (ConfigError, json.JSONDecodeError, RecursionError) as error:
            raise Problem(400, "This does not describe a stream", str(error)) from None

    # --- POST ----------------------------------------------------------------------------------------

    async def post(self, request: Request) -> Response:
        """Start or stop a query, reset a stream, or add elements to a push stream."""
        self.access.write(request)
        name = request.path_params["name"]
        if name in self.host.queries:
            return await self._command(request, name)
        stream = self.host.streams.get(name)
        if stream is None:
            raise Problem(404, f"There is no {name}")
        content = await limits.body(request, self.host.limits.body)
        media = media_type(request.headers.get("content-type"))
        if media not in push.ALL_TYPES and content.strip().lower() == _RESET:
            return await self._reset(name)
        if stream.log is None:
            detail = f"{name} has a source of its own; the only command that it takes is reset"
            raise Problem(405, "Nothing can be added to this stream", detail, headers={"Allow": "GET, HEAD"})
        clock = self.host.clock_of(stream), stream.config.lateness
        try:
            accepted = await run_in_threadpool(
                push.accept, stream.log, stream.decoding, content, media, self.host.limits.backlog, *clock
            )
        except Problem as problem:
            stream.refused += len(problem.bad)
            self.counters.pushed(name, 0, len(problem.bad))
            raise
        stream.refused += len(accepted.bad)
        self.counters.pushed(name, accepted.elements, len(accepted.bad) + accepted.ahead)
        return models.reply(accepted.json(), 202)

    async def _reset(self, name: str) -> Response:
        try:
            await run_in_threadpool(self.host.reset_stream, name)
        except KeyError:  # another client has deleted it
            raise Problem(404, f"There is no {name}") from None
        return models.reply(self._stream(self.host.streams[name], self.host.metrics()))

    async def _command(self, request: Request, name: str) -> Response:
        content = await limits.body(request, self.host.limits.query)
        command = content.decode(errors="replace").strip().lower()
        if command not in _COMMANDS:
            raise Problem(400, "There is no such command", f"the body is {' or '.join(_COMMANDS)}")
        try:
            await run_in_threadpool(lambda: self.host.run_query(name, run=_COMMANDS[command]))
        except KeyError:  # another client has deleted it
            raise Problem(404, f"There is no query {name}") from None
        return models.reply(self._query(self.host.queries[name]))

    # --- DELETE --------------------------------------------------------------------------------------

    async def delete(self, request: Request) -> Response:
        self.access.write(request)
        name = request.path_params["name"]
        delete = self.host.delete_stream if name in self.host.streams else self.host.delete_query
        try:
            await run_in_threadpool(delete, name)
        except KeyError:
            raise Problem(404, f"There is no {name}") from None
        return Response(status_code=204)

    # --- lists ---------------------------------------------------------------------------------------

    async def queries(self, request: Request) -> Response:
        found = [self._query(query) for query in self._readable(request, self.host.queries)]
        return models.reply(models.Queries(found), headers={"Cache-Control": "no-cache"})

    async def streams(self, request: Request) -> Response:
        metrics = self.host.metrics()
        found = [self._stream(stream, metrics) for stream in self._readable(request, self.host.streams)]
        made = [(query, query.stream) for query in self._readable(request, self.host.queries)]
        found += [self._derived(query, iri) for query, iri in made if iri]
        return models.reply(models.Streams(found), headers={"Cache-Control": "no-cache"})

    def _readable(self, request: Request, named: Mapping[str, T]) -> list[T]:
        """The streams or queries that a client may read: others have a token of their own for reading."""
        return [one for name, one in list(named.items()) if self.access.may_read(request, name)]

    def _query(self, query: Query) -> models.Query:
        handle = query.handle
        metrics = QueryMetrics() if handle is None else handle.metrics
        return models.Query(
            name=query.name,
            text=query.kept.text,
            dialect=query.kept.dialect,
            entailment=self.host.entailment_of(query.kept.asked),
            kind=None if handle is None else handle.kind,
            variables=[] if handle is None else list(handle.info.columns),
            stream=query.stream,
            running=handle is not None and handle.running,
            error=query.failure,
            instants=metrics.instants,
            skipped=metrics.skipped,
            gives_up=None if handle is None else handle.registered.operator.gives_up,
            rows=metrics.rows,
            milliseconds=metrics.milliseconds,
            execution=metrics.execution,
            sharding=metrics.sharding,
            shards=metrics.shards,
            executors=list(metrics.executors),
            subscribers=self.subscribers.counts().get(query.name, 0),
            reads=[] if handle is None else sorted(name[1:-1] for name in handle.registered.streams),
            lag=lag_of(self.host, query),
            sinks=[]
            if handle is None
            else [msgspec.convert(sink, models.Sink, from_attributes=True) for sink in handle.sinks],
            rates=self.host.rates.of(query.name),
            rates_until=self._until(query.name),
        )

    def _stream(self, stream: Stream, all: Metrics) -> models.Stream:
        metrics = all.streams.get(stream.iri, StreamMetrics())
        return models.Stream(
            name=stream.name,
            iri=stream.iri,
            kind="push" if stream.log is not None else "source",
            window=windows.path_of(self.host.window_of(stream.name)),
            elements=metrics.read,
            late=metrics.late,
            bad=metrics.bad,
            ahead=metrics.ahead,
            rate=metrics.rate,
            lag=metrics.lag,
            held=metrics.live,
            time=None if metrics.event_time is None else time_text(metrics.event_time),
            ended=metrics.ended,
            connected=metrics.connected,
            trouble=metrics.trouble,
            rates=self.host.rates.of(stream.name),
            rates_until=self._until(stream.name),
        )

    def _derived(self, query: Query, iri: str) -> models.Stream:
        metrics = QueryMetrics() if query.handle is None else query.handle.metrics
        return models.Stream(
            name=query.name,
            iri=iri,
            kind="derived",
            window=windows.path_of(self.host.window_of(query.name)),
            elements=metrics.rows,
            rates=self.host.rates.of(query.name),
            rates_until=self._until(query.name),
        )

    def _until(self, name: str) -> str | None:
        until = self.host.rates.until(name)
        return None if until is None else time_text(until)
