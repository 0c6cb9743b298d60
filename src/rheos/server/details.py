"""More about queries, for pages and whoever writes one: how a query is answered, its last answers, and what
would become of a text that is not registered yet."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio import to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rheos.answers.formatter import Formatter
from rheos.runtime.registry import Handle
from rheos.server import limits
from rheos.server.access import Access
from rheos.server.host import Host, Query
from rheos.server.problems import Problem
from rheos.server.state import Asked

_NO_CACHE = {"Cache-Control": "no-cache"}
_MOST_ANSWERS = 1000
_SHOWN = 100  # rows of a trial
_LONGEST = 10.0  # seconds of one
_LOOK = 0.05


@dataclass(frozen=True)
class Details:
    host: Host
    access: Access
    trials: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(2))

    async def plan(self, request: Request) -> Response:
        """How a query is answered, in parts with titles."""
        query = self._query(request)
        parts = await run_in_threadpool(self._explanation, query.kept.asked)
        if query.handle is not None and query.handle.plan:
            parts["last batch"] = query.handle.plan
        return JSONResponse({"name": query.name, "plan": parts}, headers=_NO_CACHE)

    async def answers(self, request: Request) -> Response:
        """The last answers of a query that are kept, each with its number, and the number of the last."""
        name = self._query(request).name
        most = number_of(request, "most", 100, _MOST_ANSWERS)
        found = await run_in_threadpool(self.host.answers.latest, name, most)
        shown = [{"id": line.number, **json.loads(line.text)} for line in found]
        last = found[-1].number if found else self.host.answers.last(name)
        return JSONResponse({"last": last, "answers": shown}, headers=_NO_CACHE)

    async def check(self, request: Request) -> Response:
        """What a text would do: its plan, and on trial what it answers within some seconds. Nothing is
        registered under its name, and nobody else sees what it answers."""
        self.access.write(request)
        text = await limits.text(request, self.host.limits.query)
        asked = limits.asked(request, text)
        name = request.query_params.get("name", "query")
        seconds = number_of(request, "seconds", 0, int(_LONGEST))
        found = await to_thread.run_sync(lambda: self._checked(name, asked, seconds), limiter=self.trials)
        return JSONResponse(found, headers=_NO_CACHE)

    def _checked(self, name: str, asked: Asked, seconds: float) -> dict[str, Any]:
        checked = self.host.check_query(name, asked)
        answers, error = list[dict[str, Any]](), None
        if seconds:
            with self.host.trial(checked, asked, f"trial/{uuid.uuid4().hex}") as handle:
                answers = first_answers(handle, name, seconds)
                error = handle.metrics.failure
        return {
            "kind": checked.kind,
            "variables": list(checked.info.columns),
            "streams": sorted(stream[1:-1] for stream in checked.registered.streams),
            "plan": self._explanation(asked),
            "answers": answers,
            "error": error,
        }

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


def first_answers(handle: Handle, name: str, seconds: float) -> list[dict[str, Any]]:
    """What a query answers first, if it does within so long, in the form that events have."""
    until = time.monotonic() + seconds
    while not any(len(answer.table) for answer in handle.results) and time.monotonic() < until:
        time.sleep(_LOOK)
    info, found = replace(handle.info, name=name), list[dict[str, Any]]()
    for answer in handle.results:
        lines = Formatter("ndjson").batch([(info, answer.batch().slice(0, _SHOWN - len(found)))])
        found += [json.loads(line) for line in lines.splitlines()]
    return found


def number_of(request: Request, name: str, default: int, most: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise Problem(400, f"There is no such {name}", f"{name} is a whole number, not {given!r}")
    return min(int(given), most)
