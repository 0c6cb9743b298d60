"""What went wrong: errors come in, answers of the type application/problem+json (RFC 9457) go out."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rheos.errors import EvaluationError, LoadError, PlacedError, ResourceError, RheosError, TimeLimitError
from rheos.server.logs import log

PROBLEM_JSON = "application/problem+json"


class Problem(Exception):
    """A request that cannot be done: its status, in a few words what is wrong, and more about it."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def response(self) -> Response:
        content = {"title": self.title, "status": self.status, "detail": self.detail, **self.more}
        known = {name: value for name, value in content.items() if value is not None}
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(json.dumps(known, ensure_ascii=False), self.status, headers, PROBLEM_JSON)

    @classmethod
    def of(cls, error: RheosError) -> Problem:
        """What an error of the engine is to a client; a text that is wrong is shown with the place."""
        match error:
            case PlacedError():
                return cls(400, error.message, str(error), line=error.line, column=error.column)
            case TimeLimitError():
                return cls(503, "The evaluation took too long", str(error))
            case ResourceError():
                return cls(503, "The evaluation needs too much", str(error))
            case LoadError():
                return cls(400, "What is to be loaded cannot be read", str(error))
            case EvaluationError():
                return cls(500, "The evaluation failed", str(error))
        # The rest is about what is there already: names in use, streams that are read.
        return cls(409, str(error))


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def on_rheos_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RheosError)
    return Problem.of(error).response()


async def on_http_exception(request: Request, error: Exception) -> Response:
    """What the router refuses: addresses and methods that are not there."""
    assert isinstance(error, HTTPException)
    title = http.HTTPStatus(error.status_code).phrase
    return Problem(error.status_code, title, headers=error.headers).response()


async def on_failure(request: Request, error: Exception) -> Response:
    """A fault of the server: the log knows more than the client is told."""
    log(
        "failure",
        level="error",
        path=request.url.path,
        error=f"{type(error).__name__}: {error}",
        exception=error,
    )
    return Problem(500, "The server failed", "the fault is in the server's log").response()
