"""`rheos update` and `rheos load` against a real server, and that what they change survives it."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rheos.server.config import Config
from rheos.server.host import Host
from rheos.server.serve import served
from tests.server.conftest import client

TOKEN = "correct-horse"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "base.ttl").write_text("<http://ex/base> <http://ex/p> [ <http://ex/q> 1 ] .")
    base, data = "http://streams.test/", (str(tmp_path / "base.ttl"),)
    return Config(port=0, base=base, state=tmp_path / "state", token=TOKEN, data=data)


@pytest.fixture
def server(config: Config) -> Iterator[str]:
    with served(config) as host:
        yield address(host)


def address(host: Host) -> str:
    return f"http://127.0.0.1:{host.port}/"


def rheos(folder: Path, *arguments: str, token: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rheos", *arguments, *(["--token-file", "token"] if token else [])]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def objects(http: httpx.Client, graph: str = "") -> list[str]:
    pattern = "?s <http://ex/p> ?o"
    text = f"SELECT ?o {{ {f'GRAPH <{graph}> {{ {pattern} }}' if graph else pattern} FILTER(!isBlank(?o)) }}"
    response = http.get("/sparql", params={"query": text}, headers={"Accept": "text/csv"})
    return sorted(response.text.split()[1:])


def test_changes_survive_the_server(config: Config, tmp_path: Path) -> None:
    (tmp_path / "more.nt.gz").write_bytes(gzip.compress(b"<http://ex/a> <http://ex/p> <http://ex/b> .\n"))
    (tmp_path / "news.ttl").write_text("<http://ex/n> <http://ex/p> 1 , 2 .")
    with served(config) as host, client(address(host)) as http:
        at = ("--server", address(host))
        done = rheos(tmp_path, "update", "-q", "INSERT DATA { <http://ex/a> <http://ex/p> 7 }", *at)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "1 triple changed\n")
        done = rheos(tmp_path, "load", "more.nt.gz", *at)
        assert (done.returncode, done.stderr) == (0, "1 triple changed by more.nt.gz\n")
        done = rheos(tmp_path, "load", "news.ttl", "--graph", "http://ex/news", *at)
        assert (done.returncode, done.stderr) == (0, "2 triples changed by news.ttl\n")
        (tmp_path / "news.ttl").write_text("<http://ex/n> <http://ex/p> 3 .")
        done = rheos(tmp_path, "load", "news.ttl", "--graph", "http://ex/news", "--replace", *at)
        assert (done.returncode, done.stderr) == (0, "3 triples changed by news.ttl\n")
        # What the configuration names can be changed too, also what has no name.
        done = rheos(tmp_path, "update", "-q", "DELETE WHERE { ?s <http://ex/q> ?o }", *at)
        assert done.stderr == "1 triple changed\n"
        before = objects(http), objects(http, "http://ex/news")
        assert before == (["7", "http://ex/b"], ["3"])
    with served(config) as host, client(address(host)) as http:
        assert (objects(http), objects(http, "http://ex/news")) == before
        asked = http.get("/sparql", params={"query": "ASK { ?s <http://ex/q> ?o }"})
        assert asked.json()["boolean"] is False


@pytest.mark.parametrize(
    ("arguments", "token", "told"),
    [
        (["update", "-q", "CLEAR ALL"], False, "Writing needs the token: Authorization: Bearer …\n"),
        (["update", "-q", "CLEAR"], True, "line 1, column 6"),
        (["load", "nowhere.ttl"], True, "nowhere.ttl: No such file or directory\n"),
        (["load", "token"], True, "a file name without an extension"),
        (["load", "wrong.ttl"], True, "What is to be loaded cannot be read: "),
        (["load", "base.ttl", "--graph", "no iri"], True, "expected an absolute IRI, not 'no iri'"),
        (["load", "base.ttl", "base.ttl", "--replace"], True, "--replace goes with one file"),
    ],
)
def test_what_is_wrong_is_told(
    server: str, tmp_path: Path, arguments: list[str], token: bool, told: str
) -> None:
    (tmp_path / "wrong.ttl").write_text("<http://ex/a> <http://ex/p>")
    done = rheos(tmp_path, *arguments, "--server", server, token=token)
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    done = rheos(tmp_path, "update", "-q", "CLEAR ALL", "--server", "http://127.0.0.1:9/", token=False)
    assert done.returncode == 1
    assert done.stderr == "http://127.0.0.1:9/ does not answer: [Errno 111] Connection refused\n"
    done = rheos(tmp_path, "update", "-q", "CLEAR ALL", "--server", "city", token=False)
    assert "the address of a server begins with http:// or https://, not 'city'" in done.stderr


def test_graphs_as_wholes(server: str) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    turtle = {**token, "Content-Type": "text/turtle"}
    with client(server) as http:
        named = {"graph": "http://ex/g"}
        assert http.get("/rdf-graph-store", params=named).status_code == 404
        assert http.put("/rdf-graph-store", params=named, content="<a> <p> 1 .").status_code == 401
        put = http.put("/rdf-graph-store", params=named, content="<a> <http://ex/p> 1 .", headers=turtle)
        assert (put.status_code, put.json()) == (200, {"changed": 1})
        found = http.get("/rdf-graph-store", params=named, headers={"Accept": "application/n-triples"})
        integer = "<http://www.w3.org/2001/XMLSchema#integer>"
        assert found.text == f'<http://ex/a> <http://ex/p> "1"^^{integer} .\n'
        more = http.post("/rdf-graph-store", params=named, content="<b> <http://ex/p> 1 .", headers=turtle)
        assert more.json() == {"changed": 1}
        assert http.get("/rdf-graph-store?default", headers={"Accept": "text/turtle"}).status_code == 200
        gone = http.delete("/rdf-graph-store", params=named, headers=token)
        assert gone.json() == {"changed": 2}
        assert http.delete("/rdf-graph-store", params=named, headers=token).status_code == 404
        for params in ({}, {"default": "", "graph": "http://ex/g"}, {"graph": "no iri"}):
            assert http.get("/rdf-graph-store", params=params).status_code == 400
        plain = {**token, "Content-Type": "text/plain"}
        assert http.post("/rdf-graph-store?default", content="x", headers=plain).status_code == 415
