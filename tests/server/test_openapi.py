"""The description of the interface: requests that are made from it, and that nobody would think of, find no
fault of the server, and what they get is described."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, checks
from starlette.routing import Route

from rheos.server import openapi, protocol, push
from rheos.server.app import application
from rheos.server.config import Config
from rheos.server.events import Subscribers
from rheos.server.limits import Limits
from rheos.server.serve import served
from tests.server.conftest import serving

CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
)
SHORT = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)

for media in (*push.MEDIA_TYPES, *protocol.DIRECT):
    if "json" not in media:
        schemathesis.serializer.alias(media, "text/plain")

described = schemathesis.openapi.from_dict(openapi.description("http://127.0.0.1/"))


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that may have no streams: to add one would start Spark."""
    config = Config(port=0, state=tmp_path_factory.mktemp("openapi") / "state", limits=Limits(streams=0))
    yield from serving(config)


@described.parametrize()
@SHORT
def test_requests_about_what_is_not_there(case: Case, http: httpx.Client) -> None:
    case.validate_response(case.call(base_url=str(http.base_url)), checks=CHECKS)


def test_every_address_is_described(tmp_path: Path) -> None:
    with served(Config(port=0, state=tmp_path / "state")) as host:
        loop = asyncio.new_event_loop()
        routes = application(host, Subscribers(loop)).starlette.routes
        loop.close()
    paths = {route.path for route in routes if isinstance(route, Route)}
    assert paths == openapi.description("")["paths"].keys()


def test_the_description_is_valid_openapi() -> None:
    described.validate()


def test_the_description_is_served(http: httpx.Client) -> None:
    response = http.get("/openapi.json")
    assert response.json()["openapi"] == "3.1.0"
    assert response.json()["paths"].keys() == openapi.description("")["paths"].keys()
