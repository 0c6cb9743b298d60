"""Who may do what, and that no write was forgotten."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import logging
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.requests import HTTPConnection
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from rheos.errors import RheosError
from rheos.server import access
from rheos.server.config import Config, QueryConfig, StreamConfig, Tls
from rheos.server.limits import Limits
from rheos.server.problems import Problem
from rheos.server.serve import served
from tests.server.city import wait
from tests.server.conftest import PATIENCE, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOKEN = "correct-horse-battery"
WRITES = [
    ("PUT", "/name", {"content": "SELECT …"}),
    ("POST", "/name", {"content": "stop"}),
    ("DELETE", "/name", {}),
    ("POST", "/check", {"content": "SELECT …"}),
    ("POST", "/preview", {"content": "no JSON"}),
    ("PUT", "/rdf-graph-store", {"content": "", "params": "default"}),
    ("POST", "/rdf-graph-store", {"content": "", "params": "default"}),
    ("DELETE", "/rdf-graph-store", {"params": "graph=http://ex/g"}),
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
    assert [response.status_code for response in statuses] == [
        400,
        404,
        404,
        400,
        400,
        415,
        415,
        404,
        200,
        200,
    ]


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


def basic(password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"me:{password}".encode()).decode()}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    config = Config(
        port=0,
        state=tmp_path_factory.mktemp("closed") / "state",
        token=TOKEN,
        read_token="everything",
        queries=(QueryConfig("own", "no query", read_token="only-this-one"),),
        limits=Limits(query=1000),
    )
    yield from serving(config)


@pytest.mark.parametrize("path", ["/", "/queries", "/metrics", "/sparql?query=ASK%20%7B%7D", "/page/x", "/x"])
def test_reading_may_need_a_token_too(closed: httpx.Client, path: str) -> None:
    for headers in (
        {},
        bearer("wrong"),
        basic("wrong"),
        bearer("only-this-one"),
        {"Authorization": "Basic ?"},
    ):
        response = closed.get(path, headers=headers)
        assert response.status_code == 401
        assert "Basic" in response.headers["www-authenticate"]  # what a browser asks its user for
    for headers in (bearer("everything"), basic("everything"), bearer(TOKEN), basic(TOKEN)):
        assert closed.get(path, headers=headers).status_code in (200, 404)


def test_a_query_may_have_a_token_of_its_own(closed: httpx.Client) -> None:
    for path in ("/own", "/own/answers", "/own/plan", "/page/own", "/%6fwn", "/own/"):
        assert closed.get(path, headers=bearer("everything")).status_code == 401
        for token in ("only-this-one", TOKEN):
            assert closed.get(path, headers=bearer(token)).status_code != 401


def test_a_query_with_a_token_is_in_no_list_for_others(closed: httpx.Client) -> None:
    """Its text and its error, which shows a line of the text, are for those who may read it."""

    def names(token: str) -> list[str]:
        found = closed.get("/queries", headers=bearer(token))
        assert ("no query" in found.text) == (token == TOKEN)
        return [query["name"] for query in found.json()["queries"]]

    assert (names("everything"), names(TOKEN)) == ([], ["own"])
    for path in ("/", "/new?from=own", "/sparql"):
        page = closed.get(path, headers={**bearer("everything"), "Accept": "text/html"})
        assert page.status_code == 200
        assert "own</a>" not in page.text
        assert "no query" not in page.text
    assert "own</a>" in closed.get("/", headers={**bearer(TOKEN), "Accept": "text/html"}).text
    assert "no query" not in closed.get("/health").text
    assert "no query" in closed.get("/health", headers=bearer("only-this-one")).text


def test_a_stream_may_have_a_token_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "s.nq").touch()
    stream = StreamConfig("own", source=str(tmp_path / "s.nq"), read_token="only-this-one")
    config = Config(port=0, state=tmp_path / "state", token=TOKEN, streams=(stream,))
    rules = access.Access.of(config, "http://127.0.0.1/")
    for path in ("/own", "/trdf/own", "/page/own/physical/5", "/own/2026-01-01T00%3A00%3A00Z"):
        assert refused(rules, path, {})
        assert refused(rules, path, bearer("another-token"))
        assert not refused(rules, path, bearer("only-this-one"))
        assert not refused(rules, path, bearer(TOKEN))
    assert not refused(rules, "/other", {})


def test_a_stream_with_a_token_is_no_graph_for_others(tmp_path: Path) -> None:
    """What its window holds can be asked for at /sparql, too."""
    (tmp_path / "s.nq").touch()
    stream = StreamConfig("own", source=str(tmp_path / "s.nq"), read_token="only-this-one")
    config = Config(port=0, state=tmp_path / "state", token=TOKEN, streams=(stream,))
    for client in serving(config):
        for query in ("ASK { GRAPH <own> { ?s ?p ?o } }", "ASK FROM <own> { ?s ?p ?o }"):
            asked = {"query": query}
            for headers in ({}, bearer("another-token")):
                assert client.get("/sparql", params=asked, headers=headers).status_code == 401
                assert client.post("/sparql", data=asked, headers=headers).status_code == 401
            assert client.get("/sparql", params=asked, headers=bearer("only-this-one")).status_code == 200
        for headers, listed in (({}, []), (bearer("only-this-one"), ["own"])):
            found = client.get("/streams", headers=headers).json()["streams"]
            assert [stream["name"] for stream in found] == listed
            assert (f"{client.base_url}own" in client.get("/new", headers=headers).text) == bool(listed)
        assert client.get("/sparql", params={"query": "ASK {}"}).status_code == 200


def refused(rules: access.Access, path: str, headers: dict[str, str]) -> bool:
    """Whether a request to read is refused."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path.replace("%3A", ":"), "headers": raw}
    try:
        rules.read(HTTPConnection(scope))
    except Problem as problem:
        return problem.status == 401
    return False


def test_who_may_read_may_not_write(closed: httpx.Client) -> None:
    assert closed.put("/name", content="SELECT …", headers=bearer("everything")).status_code == 401


def test_probes_need_no_token(closed: httpx.Client) -> None:
    assert closed.get("/openapi.json").status_code == 200
    response = closed.get("/health")
    assert response.status_code == 503
    assert response.json()["detail"].endswith("cannot be registered: own")


def test_a_query_that_is_wrong_can_be_mended(spark: SparkSession, tmp_path: Path) -> None:
    """While /health is 503 the server answers; probes that keep it running ask for /openapi.json."""
    config = Config(
        port=0,
        state=tmp_path / "state",
        streams=(StreamConfig("s"),),
        queries=(QueryConfig("own", "SELECT * FROM STREAM <s> [RANGE 10s STEP] { ?s ?p ?o }"),),
    )
    with served(config, spark) as host, httpx.Client(base_url=host.base, timeout=PATIENCE) as http:
        wait(lambda: http.get("/health").json()["status"] == "failing", "the query is named")
        assert http.get("/health").status_code == 503
        assert http.get("/openapi.json").status_code == 200
        mended = "SELECT * FROM STREAM <s> [RANGE 10s STEP 10s] { ?s ?p ?o }"
        assert http.put("/own", content=mended).status_code == 200
        wait(lambda: http.get("/health").status_code == 200, "nothing is wrong")


def test_a_server_may_refuse_to_start_with_a_query_that_is_wrong(tmp_path: Path) -> None:
    config = Config(port=0, state=tmp_path, strict=True, queries=(QueryConfig("own", "no query"),))
    with pytest.raises(RheosError, match="queries of the configuration are wrong\nown: "):
        next(serving(config))


def test_requests_may_be_limited(tmp_path: Path) -> None:
    for hasty in serving(Config(port=0, state=tmp_path, limits=Limits(requests=1))):
        responses = [hasty.get("/openapi.json") for _ in range(60)]
        assert [response.status_code for response in responses[:10]] == [200] * 10
        refused = [response for response in responses if response.status_code == 429]
        assert {response.headers["retry-after"] for response in refused} == {"1"}


def test_websockets_are_limited_too(tmp_path: Path) -> None:
    with served(Config(port=0, state=tmp_path, limits=Limits(requests=1))) as host:
        statuses = []
        for _ in range(60):
            with pytest.raises(InvalidStatus) as caught:
                connect(f"ws://127.0.0.1:{host.port}/none/ws", open_timeout=PATIENCE)
            statuses.append(caught.value.response.status_code)
        assert statuses[:10] == [404] * 10
        assert 429 in statuses


@pytest.fixture
def written(caplog: pytest.LogCaptureFixture) -> Callable[[int], list[tuple[str, str, int]]]:
    """The writes in the log: method, path and status. The last line comes after its response."""
    caplog.set_level(logging.DEBUG, logger="rheos.server")

    def lines(number: int) -> list[tuple[str, str, int]]:
        wait(lambda: len(caplog.records) >= number, "every request is logged")
        fields = [record.fields for record in caplog.records if record.getMessage() == "write"]  # type: ignore[attr-defined]
        assert {record.levelname for record in caplog.records if record.getMessage() == "write"} <= {"INFO"}
        return [(one["method"], one["path"], one["status"]) for one in fields]

    return lines


def asked(web: httpx.Client, **more: str) -> None:
    """Every kind of write, and some requests that write nothing."""
    for method, path, arguments in WRITES:
        headers = {**arguments.get("headers", {}), **more}  # type: ignore[dict-item]
        web.request(method, path, **{**arguments, "headers": headers})  # type: ignore[arg-type]
    web.patch("/name", headers=more)
    web.get("/queries", headers=more)
    web.get("/sparql", params={"query": "ASK {}"}, headers=more)
    web.post("/sparql", content="ASK {}", headers={"Content-Type": "application/sparql-query", **more})


NUMBER = len(WRITES) + 4  # of the requests of `asked`
CHANGES = [*((method, path) for method, path, _ in WRITES), ("PATCH", "/name")]
Written = Callable[[int], list[tuple[str, str, int]]]


def test_writes_of_those_who_may_not_read_are_logged(closed: httpx.Client, written: Written) -> None:
    asked(closed)
    assert written(NUMBER) == [(*change, 401) for change in CHANGES]


def test_writes_of_pages_of_others_are_logged(plain: httpx.Client, written: Written) -> None:
    asked(plain, Origin="http://evil.example")
    assert written(NUMBER) == [(*change, 403) for change in CHANGES[:-1]] + [("PATCH", "/name", 405)]


def test_writes_beyond_the_limit_are_logged(tmp_path: Path, written: Written) -> None:
    for hasty in serving(Config(port=0, state=tmp_path, limits=Limits(requests=1))):
        while hasty.get("/openapi.json").status_code == 200:
            pass
        asked(hasty)
        found = written(NUMBER)
        assert [change[:2] for change in found] == CHANGES
        # A request a second is allowed, and this may take more than one.
        assert [change[2] for change in found].count(429) >= len(CHANGES) - 2


def test_a_query_in_a_form_is_no_write(plain: httpx.Client, written: Written) -> None:
    assert plain.post("/sparql", data={"query": "ASK {}"}).status_code == 200
    assert plain.post("/sparql", data={"update": "CLEAR SILENT GRAPH <http://ex/no>"}).status_code == 200
    assert written(2) == [("POST", "/sparql", 200)]


def test_https_without_a_proxy(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    config = Config(port=0, state=tmp_path / "state", tls=Tls(certificate, key))
    with served(config) as host:
        assert host.base == f"https://127.0.0.1:{host.port}/"
        context = ssl.create_default_context(cafile=str(certificate))
        assert httpx.get(f"{host.base}health", verify=context).json() == {"status": "ok"}


def own_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody else has signed, and its key."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(address, critical=False)
        .sign(secret, hashes.SHA256())
    )
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate, key
