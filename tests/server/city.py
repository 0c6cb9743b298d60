"""A server with streams for tests: how to push, to wait, and to read events."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from rheos.server.host import Host
from tests.server.conftest import PATIENCE

NQUADS = {"Content-Type": "application/n-quads"}


@dataclass
class City:
    """A server and a client of it."""

    host: Host
    http: httpx.Client

    @property
    def base(self) -> str:
        return self.host.base

    def push(self, stream: str, text: str | bytes) -> httpx.Response:
        response = self.http.post(f"/{stream}", content=text, headers=NQUADS)
        assert response.status_code == 202, response.text
        return response

    def query(self, name: str) -> dict[str, Any]:
        return next(item for item in self.http.get("/queries").json()["queries"] if item["name"] == name)

    def stream(self, name: str) -> dict[str, Any]:
        return next(item for item in self.http.get("/streams").json()["streams"] if item["name"] == name)

    def put(self, name: str, text: str) -> httpx.Response:
        return self.http.put(f"/{name}", content=text)

    @contextmanager
    def events(self, query: str, last: str | None = None) -> Iterator[Iterator[dict[str, str]]]:
        """The events of a query as they come, comments left out."""
        headers = {} if last is None else {"Last-Event-ID": last}
        with self.http.stream("GET", f"/{query}/events", headers=headers) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield read_events(response.iter_lines())


def healthy(http: httpx.Client) -> bool:
    """Whether /health has nothing to say, but how far a server is behind on a busy machine."""
    told = http.get("/health").json()
    told.pop("behind", None)
    return bool(told == {"status": "ok"})


def read_events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    found: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        else:
            if "data" in found:
                yield found
            found = {}


def values(event: dict[str, str], variable: str) -> tuple[str, str]:
    """When an answer was, and the end of the value of a variable."""
    data = json.loads(event["data"])
    return data["at"][14:19], data["row"][variable]["value"].removeprefix("http://ex/")


def wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.1)
