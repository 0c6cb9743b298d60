"""Details of queries: plans, last answers, and dry runs of queries and mappings that are not registered."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import msgspec
from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rheos.answers.formatter import Formatter
from rheos.errors import PlacedError, RheosError
from rheos.mapping import Mapping
from rheos.runtime.driver.handle import Handle
from rheos.server import limits, models, push
from rheos.server.access import Access
from rheos.server.host import Host, Query
from rheos.server.problems import Problem
from rheos.server.state import Asked
from rheos.sources.decoding import Decoding
from rheos.sources.push import lines

_NO_CACHE = {"Cache-Control": "no-cache"}
_MOST_ANSWERS = 1000
_SHOWN = 100  # rows of a dry run, and elements of a preview
_LONGEST = 10.0  # seconds of a dry run
_LOOK = 0.05  # seconds between two looks for answers


@dataclass(frozen=True)
class Details:
    """The handlers of `/name/plan`, `/name/answers`, `/check` and `/preview`. At most two dry runs are done
    at a time."""

    host: Host
    access: Access
    trials: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(2))

    async def plan(self, request: Request) -> Response:
        """The plan of a query, in parts with titles."""
        query = self._query(request)
        parts = await run_in_threadpool(self._explanation, query.kept.asked)
        if query.handle is not None and query.handle.plan:
            parts["last batch"] = query.handle.plan
        return models.reply(models.Plan(query.name, parts), headers=_NO_CACHE)

    async def answers(self, request: Request) -> Response:
        """The last answers of a query, each with its number."""
        name = self._query(request).name
        most = number_of(request, "most", 100, _MOST_ANSWERS)
        found = await run_in_threadpool(self.host.answers.latest, name, most)
        shown = [{"id": line.number, **json.loads(line.text)} for line in found]
        last = found[-1].number if found else self.host.answers.last(name)
        return models.reply(models.Answers(last, shown), headers=_NO_CACHE)

    async def check(self, request: Request) -> Response:
        """A dry run: the plan of a query and, if the client wants to wait, its first answers. The query is
        not registered under its name, and nobody else sees the answers."""
        self.access.write(request)
        text = await limits.text(request, self.host.limits.query)
        asked = limits.asked(request, text)
        name = request.query_params.get("name", "query")
        seconds = number_of(request, "seconds", 0, int(_LONGEST))
        found = await to_thread.run_sync(lambda: self._checked(name, asked, seconds), limiter=self.trials)
        return models.reply(found, headers=_NO_CACHE)

    def _checked(self, name: str, asked: Asked, seconds: float) -> models.Check:
        checked = self.host.check_query(name, asked)
        answers, error = list[dict[str, Any]](), None
        if seconds:
            with self.host.trial(checked, asked, f"trial/{uuid.uuid4().hex}") as handle:
                answers = first_answers(handle, name, seconds)
                error = handle.metrics.failure
        return models.Check(
            kind=checked.kind,
            variables=list(checked.info.columns),
            streams=sorted(stream[1:-1] for stream in checked.registered.streams),
            plan=self._explanation(asked),
            answers=answers,
            error=error,
        )

    async def preview(self, request: Request) -> Response:
        """What a mapping makes of some records. The elements are not stored."""
        self.access.write(request)
        text = await limits.text(request, self.host.limits.body)
        try:
            given = msgspec.json.decode(text, type=models.Preview)
        except msgspec.MsgspecError as error:
            raise Problem(400, "This is nothing to preview", str(error)) from None
        found = await to_thread.run_sync(lambda: previewed(given, self.host.base), limiter=self.trials)
        return models.reply(found, headers=_NO_CACHE)

    def _explanation(self, asked: Asked) -> dict[str, str]:
        return self.host.engine.explanation(
            asked.text,
            base=self.host.base,
            dialect=asked.dialect,
            entailment=self.host.entailment_of(asked),
        )

    def _query(self, request: Request) -> Query:
        name = request.path_params["name"]
        query = self.host.queries.get(name)
        if query is None:
            raise Problem(404, f"There is no query {name}")
        return query


def previewed(given: models.Preview, base: str) -> models.Mapped:
    try:
        chunk = push.read_records(
            given.records.encode(), given.format, Decoding(Mapping.of(given.mapping), given.time, base)
        )
    except RheosError as error:
        if isinstance(error.__cause__, PlacedError):  # a mistake in a query, which has a line and a column
            raise error.__cause__ from None
        raise Problem(400, "The mapping cannot be used", str(error)) from None
    shown = chunk.elements.slice(0, _SHOWN)
    elements = lines(shown, 0).decode().splitlines() if shown.num_rows else []
    return models.Mapped(elements, chunk.elements.num_rows, push.shown(chunk.bad[:_SHOWN]))


def first_answers(handle: Handle, name: str, seconds: float) -> list[dict[str, Any]]:
    """The first answers of a query, in the form of events. Waits some seconds for them."""
    until = time.monotonic() + seconds
    while not any(len(answer.table) for answer in handle.results) and time.monotonic() < until:
        time.sleep(_LOOK)
    info, found = replace(handle.info, name=name), list[dict[str, Any]]()
    for answer in handle.results:
        lines = Formatter("ndjson").batch([(info, answer.batch().slice(0, _SHOWN - len(found)))])
        found += [json.loads(line) for line in lines.splitlines()]
    return found


def number_of(request: Request, name: str, default: int, most: int) -> int:
    """A parameter that is a whole number; `most` if it is larger."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise Problem(400, f"There is no such {name}", f"{name} is a whole number, not {given!r}")
    return min(int(given), most)
