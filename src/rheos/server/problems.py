"""Problems: turns errors into responses of the type application/problem+json (RFC 9457)."""

from __future__ import annotations

import http
from collections.abc import Mapping, Sequence

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rheos.errors import EvaluationError, LoadError, PlacedError, ResourceError, RheosError, TimeLimitError
from rheos.server import models
from rheos.server.logs import log

PROBLEM_JSON = "application/problem+json"


class Problem(Exception):
    """A request that is refused: the status, what is wrong in a few words, and the details."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        line: int | None = None,
        column: int | None = None,
        bad: Sequence[models.Bad] = (),
    ) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})
        self.line = line
        self.column = column
        self.bad = bad

    def response(self) -> Response:
        body = models.Problem(self.title, self.status, self.detail, self.line, self.column, [*self.bad])
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(msgspec.json.encode(body), self.status, headers, PROBLEM_JSON)

    @classmethod
    def of(cls, error: RheosError) -> Problem:
        """The problem for an error of the engine. A mistake in a text comes with its line and column."""
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
        # All other errors are conflicts with the present state: names in use, streams that are read.
        return cls(409, str(error))


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def on_rheos_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RheosError)
    return Problem.of(error).response()


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Addresses and methods that do not exist."""
    assert isinstance(error, HTTPException)
    title = http.HTTPStatus(error.status_code).phrase
    return Problem(error.status_code, title, headers=error.headers).response()


async def on_failure(request: Request, error: Exception) -> Response:
    """A fault of the server. The log says more than the client is told."""
    log(
        "failure",
        level="error",
        path=request.url.path,
        error=f"{type(error).__name__}: {error}",
        exception=error,
    )
    return Problem(500, "The server failed", "the fault is in the server's log").response()
