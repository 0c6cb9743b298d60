"""Who may do what, and that no write was forgotten."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import httpx
import pytest

from rheos.server import access
from rheos.server.config import Config
from rheos.server.limits import Limits
from tests.server.conftest import serving

TOKEN = "correct-horse-battery"
WRITES = [
    ("PUT", "/name", {"content": "SELECT …"}),
    ("POST", "/name", {"content": "stop"}),
    ("DELETE", "/name", {}),
    ("POST", "/check", {"content": "SELECT …"}),
    ("POST", "/preview", {"content": "no JSON"}),
    ("POST", "/sparql", {"data": {"update": "CLEAR ALL"}}),
    ("POST", "/sparql", {"content": "CLEAR ALL", "headers": {"Content-Type": "application/sparql-update"}}),
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    state = tmp_path_factory.mktemp("guarded") / "state"
    yield from serving(Config(port=0, state=state, token=TOKEN, limits=Limits(query=1000)))


@pytest.mark.parametrize(("method", "path", "arguments"), WRITES)
@pytest.mark.parametrize(
    "given", [None, "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü"]
)
def test_writing_needs_the_token(
    guarded: httpx.Client, method: str, path: str, arguments: dict[str, object], given: str | None
) -> None:
    headers = {**arguments.get("headers", {})}  # type: ignore[dict-item]
    if given is not None:
        headers["Authorization"] = given.encode()
    response = guarded.request(method, path, **{**arguments, "headers": headers})  # type: ignore[arg-type]
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert TOKEN not in response.text


def test_the_token_is_compared_in_constant_time(
    guarded: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr(
        access.hmac, "compare_digest", lambda given, wanted: compared.append((given, wanted)) or False
    )
    assert guarded.delete("/name", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401
    assert compared == [(TOKEN.encode(), TOKEN.encode())]


def test_with_the_token_it_is_the_request_that_counts(guarded: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    statuses = [
        guarded.request(method, path, **{**arguments, "headers": {**arguments.get("headers", {}), **headers}})  # type: ignore[arg-type, dict-item]
        for method, path, arguments in WRITES
    ]
    assert [response.status_code for response in statuses] == [400, 404, 404, 400, 400, 200, 200]


def test_reading_is_open(guarded: httpx.Client) -> None:
    for path in ("/", "/queries", "/streams", "/metrics", "/health", "/openapi.json"):
        assert guarded.get(path).status_code == 200
    assert guarded.get("/sparql", params={"query": "ASK {}"}).status_code == 200
    assert guarded.post("/sparql", data={"query": "ASK {}"}).status_code == 200


def test_every_way_to_write_is_in_the_table_above(guarded: httpx.Client) -> None:
    paths = guarded.get("/openapi.json").json()["paths"]
    writing = {
        (method.upper(), path)
        for path, item in paths.items()
        for method in item
        if method not in ("get", "head")
    }
    assert writing == {(method, path.replace("/name", "/{name}")) for method, path, _ in WRITES}


@pytest.mark.parametrize(("method", "path", "arguments"), WRITES)
def test_pages_of_others_may_not_write(
    plain: httpx.Client, method: str, path: str, arguments: dict[str, object]
) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        headers = {**arguments.get("headers", {}), "Origin": origin}  # type: ignore[dict-item]
        response = plain.request(method, path, **{**arguments, "headers": headers})  # type: ignore[arg-type]
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers


def test_a_name_that_was_made_to_point_here(plain: httpx.Client) -> None:
    assert plain.get("/queries", headers={"Host": "evil.example"}).status_code == 421
    assert plain.get("/queries", headers={"Host": "localhost:1234"}).status_code == 200
    own = str(plain.base_url).removeprefix("http://").strip("/")
    update = {"Content-Type": "application/sparql-update", "Origin": f"http://{own}"}
    assert plain.post("/sparql", content="", headers=update).status_code == 200


def test_long_bodies_are_refused(guarded: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.put("/q", content="x" * 2000, headers=headers).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(100_000):
            yield b"x" * 1000

    try:
        response = guarded.put("/q", content=endless(), headers=headers)
        assert response.status_code == 413
    except (httpx.WriteError, httpx.ReadError):
        pass  # the connection was closed while the client still wrote


@pytest.mark.parametrize("name", ["queries", "metrics", "a%20b", "-x", "x" * 101, "%3Cscript%3E", "sparql"])
def test_names_that_cannot_be(plain: httpx.Client, name: str) -> None:
    response = plain.put(f"/{name}", content="SELECT …")
    assert response.status_code in (400, 405)
    assert "<script>" not in response.text


def test_headers_that_browsers_mind(plain: httpx.Client) -> None:
    page = plain.get("/")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert plain.get("/no/such/thing").headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../handlers.py",
        "/static/%2e%2e/handlers.py",
        "/static/..%2fhandlers.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2f__init__.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..\\handlers.py",
        "/static/",
        "/static/%00",
    ],
)
def test_static_files_are_those_of_the_package(plain: httpx.Client, path: str) -> None:
    assert plain.get("/static/rheos.css").headers["content-type"].startswith("text/css")
    # httpx would take the dots away.
    connection = http.client.HTTPConnection(plain.base_url.host, plain.base_url.port)
    connection.request("GET", path)
    response = connection.getresponse()
    assert response.status == 404
    assert b"import" not in response.read()
    connection.close()
