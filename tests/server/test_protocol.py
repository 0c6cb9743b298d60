"""The SPARQL Protocol over the static data, through a real socket."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import httpx
import pyoxigraph as ox
import pytest

from rheos.server.config import Config
from rheos.server.limits import Limits
from tests.server.conftest import serving

COUNT = "SELECT (COUNT(*) AS ?n) { ?s <http://ex/p> ?o }"
DIRECT = {"Content-Type": "application/sparql-query"}
UPDATE = {"Content-Type": "application/sparql-update"}


def counted(response: httpx.Response) -> int:
    assert response.status_code == 200, response.text
    return int(response.json()["results"]["bindings"][0]["n"]["value"])


def test_three_ways_to_ask(plain: httpx.Client) -> None:
    assert counted(plain.get("/sparql", params={"query": COUNT})) == 3
    assert counted(plain.post("/sparql", data={"query": COUNT})) == 3
    assert counted(plain.post("/sparql", content=COUNT, headers=DIRECT)) == 3
    assert plain.head("/sparql", params={"query": COUNT}).status_code == 200


def test_graphs_beside_the_query(plain: httpx.Client) -> None:
    news = "http://ex/news"
    assert counted(plain.get("/sparql", params={"query": COUNT, "default-graph-uri": news})) == 1
    named = "SELECT (COUNT(*) AS ?n) FROM <http://ex/none> { GRAPH ?g { ?s ?p ?o } }"
    assert counted(plain.get("/sparql", params={"query": named, "named-graph-uri": news})) == 1
    assert (
        counted(plain.post("/sparql", params={"default-graph-uri": news}, content=COUNT, headers=DIRECT)) == 1
    )


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv", "text/csv"),
        ("text/tab-separated-values", "text/tab-separated-values"),
        ("application/json", "application/json"),
        ("text/html, application/sparql-results+xml;q=0.5", "application/sparql-results+xml"),
    ],
)
def test_forms_of_solutions(plain: httpx.Client, accept: str | None, media: str) -> None:
    headers = {} if accept is None else {"Accept": accept}
    response = plain.get("/sparql", params={"query": COUNT}, headers=headers)
    assert response.headers["content-type"].partition(";")[0] == media
    assert response.headers["vary"] == "Accept"
    assert "3" in response.text
    if media.endswith("xml"):
        ElementTree.fromstring(response.content)


@pytest.mark.parametrize(
    "media",
    [
        *("text/turtle", "application/trig", "application/n-triples", "application/n-quads"),
        *("application/ld+json", "application/rdf+xml"),
    ],
)
def test_forms_of_graphs(plain: httpx.Client, media: str) -> None:
    query = "CONSTRUCT { ?s <http://ex/q> ?o } { ?s <http://ex/p> ?o }"
    response = plain.get("/sparql", params={"query": query}, headers={"Accept": media})
    assert response.headers["content-type"].partition(";")[0] == media
    format = ox.RdfFormat.from_media_type(media)
    assert format is not None
    assert len(list(ox.parse(response.content, format))) == 3


def test_yes_or_no(plain: httpx.Client) -> None:
    ask = "ASK { <http://ex/a> <http://ex/p> 1 }"
    assert plain.get("/sparql", params={"query": ask}).json()["boolean"] is True
    refused = plain.get("/sparql", params={"query": ask}, headers={"Accept": "text/csv"})
    assert refused.status_code == 406


def test_what_is_wrong_with_a_query_has_its_place(plain: httpx.Client) -> None:
    response = plain.get("/sparql", params={"query": "SELECT *\nWHERE { ?s ex:p ?o }"})
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["status"], problem["line"], problem["column"]) == (400, 2, 12)
    assert problem["title"] == "unknown prefix 'ex:'"
    assert "^" in problem["detail"]
    service = plain.get("/sparql", params={"query": "SELECT * { SERVICE <http://ex/> { ?s ?p ?o } }"})
    assert (service.status_code, service.json()["column"]) == (400, 12)


@pytest.mark.parametrize(
    ("method", "arguments", "status"),
    [
        ("GET", {}, 400),
        ("GET", {"params": {"update": "CLEAR ALL"}}, 400),
        ("GET", {"params": [("query", COUNT), ("query", COUNT)]}, 400),
        ("POST", {"data": {"query": COUNT, "update": "CLEAR ALL"}}, 400),
        ("POST", {"data": {}}, 415),
        ("POST", {"content": COUNT, "headers": {"Content-Type": "text/plain"}}, 415),
        ("POST", {"content": b"\xff", "headers": DIRECT}, 400),
        ("GET", {"params": {"query": COUNT}, "headers": {"Accept": "image/png"}}, 406),
        ("GET", {"params": {"query": f"{COUNT} # {'x' * 50_000}"}}, 200),
        ("POST", {"content": f"{COUNT} # {'x' * 70_000}", "headers": DIRECT}, 413),
        (
            "GET",
            {"params": {"query": "REGISTER QUERY q AS SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] {}"}},
            400,
        ),
        ("GET", {"params": {"query": COUNT, "default-graph-uri": "not an iri"}}, 400),
        ("PUT", {"content": COUNT}, 405),
        ("DELETE", {}, 405),
    ],
)
def test_statuses(plain: httpx.Client, method: str, arguments: dict[str, object], status: int) -> None:
    response = plain.request(method, "/sparql", **arguments)  # type: ignore[arg-type]
    assert response.status_code == status, response.text
    if status >= 400:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == status
    if status == 405:
        assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_updates(plain: httpx.Client) -> None:
    insert = "INSERT DATA { GRAPH <http://ex/u> { <http://ex/x> <http://ex/p> 1 , 2 } }"
    assert plain.post("/sparql", content=insert, headers=UPDATE).json() == {"changed": 2}
    move = "INSERT { GRAPH <http://ex/v> { ?s ?p ?o } } WHERE { ?s ?p ?o }"
    using = {"using-graph-uri": "http://ex/u"}
    assert plain.post("/sparql", data={"update": move, **using}).json() == {"changed": 2}
    refused = plain.post("/sparql", params=using, content=f"WITH <http://ex/u> {move}", headers=UPDATE)
    assert (refused.status_code, refused.json()["line"]) == (400, 1)
    gone = plain.post(
        "/sparql", content="DROP GRAPH <http://ex/u> ;\nDROP GRAPH <http://ex/u>", headers=UPDATE
    )
    assert (gone.status_code, gone.json()["line"]) == (400, 2)
    dropped = plain.post(
        "/sparql", content="DROP GRAPH <http://ex/u> ; DROP GRAPH <http://ex/v>", headers=UPDATE
    )
    assert dropped.json() == {"changed": 4}


def test_load_reads_its_folder_and_no_other_file(
    plain: httpx.Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = (
        max(tmp_path_factory.getbasetemp().glob("plain*"), key=lambda path: path.stat().st_mtime) / "loadable"
    )

    def load(path: object) -> httpx.Response:
        text = f"LOAD <file://{path}> INTO GRAPH <http://ex/loaded>"
        return plain.post("/sparql", content=text, headers=UPDATE)

    assert load(folder / "more.ttl").json() == {"changed": 1}
    for path in (folder.parent / "secret.ttl", folder / "../secret.ttl", folder / "link.ttl", "/etc/passwd"):
        response = load(path)
        assert response.status_code == 400
        assert "may not read it" in response.json()["detail"]
    assert plain.post("/sparql", content="DROP GRAPH <http://ex/loaded>", headers=UPDATE).status_code == 200


def test_a_query_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    data = tmp_path / "many.nt"
    data.write_text(
        "".join(
            f"<http://ex/s{n}> <http://ex/p> {n} .\n".replace(f" {n} .", f' "{n}" .') for n in range(3000)
        )
    )
    limits = Limits(evaluation=0.5)
    config = Config(port=0, state=tmp_path / "state", data=(str(data),), limits=limits)
    product = "{ ?a ?p ?x . ?b ?p ?y . ?c ?p ?z . FILTER(CONCAT(STR(?x), STR(?y), STR(?z)) = 'none') }"
    for http in serving(config):
        slow = http.get("/sparql", params={"query": f"SELECT * {product}"})
        assert (slow.status_code, slow.json()["title"]) == (503, "The evaluation took too long")
        update = f"INSERT DATA {{ <http://ex/x> <http://ex/p> 1 }} ; DELETE {{ ?a ?p ?x }} WHERE {product}"
        assert http.post("/sparql", content=update, headers=UPDATE).status_code == 503
        assert counted(http.get("/sparql", params={"query": COUNT})) == 3000
