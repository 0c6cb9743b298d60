"""Streams as Linked Data, queries and their answers, elements that are pushed: one server, through a real
socket."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pyoxigraph as ox
import pytest
from prometheus_client.parser import text_string_to_metric_families
from schemathesis import Case

from rheos.algebra.streams import LogicalWindow
from rheos.server import linked as linked_data
from rheos.server import views
from rheos.server.config import Config, StreamConfig
from rheos.server.limits import Limits
from rheos.server.serve import served
from tests.runtime.streams import line, lines
from tests.server.city import NQUADS, City, values, wait
from tests.server.conftest import client
from tests.server.test_negotiation import TABLE
from tests.server.test_openapi import CHECKS, SHORT, described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLD = "http://www.streaminglinkeddata.org/schema#"
SEE_ALSO = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#seeAlso")
PREFIX = "PREFIX : <http://ex/>"
SCRIPT = "<script>alert(1)</script>"


def select(stream: str, window: str = "RANGE 10s STEP 10s") -> str:
    return f"{PREFIX} SELECT ?o FROM STREAM <{stream}> [{window}] WHERE {{ ?s :p ?o }}"


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    folder = tmp_path_factory.mktemp("city")
    (folder / "old.nq").write_text(lines([("a", "p", "b", 1), ("a", "p", "c", 2)]))
    names = ("linked", "windowed", "asked", "pushed", "flood")
    streams = (
        *(StreamConfig(name) for name in names),
        StreamConfig("old", source=str(folder / "old.nq"), window=LogicalWindow(10_000_000, 10_000_000)),
    )
    config = Config(
        port=0, state=folder / "state", streams=streams, limits=Limits(slow=1.0, queries=12, body=1 << 20)
    )
    with served(config, spark) as host, client(host.base) as http:
        yield City(host, http)


# --- Linked Data ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linked(city: City) -> City:
    """The city with something in the window of a stream."""
    script = f'<http://ex/a> <http://ex/p> "{SCRIPT}" "2026-01-01T00:00:03Z"'
    script += "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
    city.push("linked", lines([("a", "p", "b", 1), ("a", "p", "c", 1), ("b", "p", "c", 2)]) + script)
    city.push("linked", line("a", "p", "later", 20))
    wait(lambda: "lastUpdate" in city.http.get("/trdf/linked").text, "something in the window")
    return city


@pytest.mark.parametrize(("accept", "chosen"), TABLE)
def test_a_stream_leads_to_the_form_that_is_wanted(
    linked: City, accept: str | None, chosen: str | None
) -> None:
    headers = {"Accept": accept or ""}
    for path in (
        "linked",
        "linked/2026-01-01T00%3A00%3A01Z",
        "linked/physical/5",
        "linked/logical/PT1H/PT10M",
    ):
        response = linked.http.get(f"/{path}", headers=headers)
        assert response.headers["vary"] == "Accept"
        if chosen is None:
            assert response.status_code == 406
            assert "text/turtle" in response.json()["detail"]
        else:
            assert response.status_code == 303
            place = "page" if "html" in chosen else "trdf"
            assert response.headers["location"] == f"/{place}/{path}"


FORMATS = ["text/turtle", "application/trig", "application/n-triples", "application/n-quads"]
FORMATS += ["application/ld+json", "application/rdf+xml"]


def graph(response: httpx.Response) -> list[ox.Quad]:
    assert response.status_code == 200, response.text
    format = ox.RdfFormat.from_media_type(response.headers["content-type"].partition(";")[0])
    assert format is not None
    return list(ox.parse(response.content, format))


@pytest.mark.parametrize("media", FORMATS)
def test_what_is_in_the_window_now(linked: City, media: str) -> None:
    response = linked.http.get("/trdf/linked", headers={"Accept": f"{media}, */*;q=0.1"})
    assert response.headers["content-type"].partition(";")[0] == media
    quads = graph(response)
    me = ox.NamedNode(f"{linked.base}linked")
    about = {q.predicate.value.rpartition("#")[2]: q.object.value for q in quads if q.subject == me}
    assert about == {
        "windowType": f"{SLD}physical",
        "windowSize": "100",
        "lastUpdate": "2026-01-01T00:00:03Z",
        "expires": "2026-01-01T00:00:03.666666Z",
        "seeAlso": about["seeAlso"],
    }
    moments = {q.object.value for q in quads if q.predicate == SEE_ALSO}
    assert moments == {f"{linked.base}linked/2026-01-01T00%3A00%3A0{second}Z" for second in (1, 2, 3)}
    received = {q.subject.value: q.object.value for q in quads if q.predicate.value == f"{SLD}receivedAt"}
    assert received == {moment: moment.rpartition("/")[2].replace("%3A", ":") for moment in moments}
    named = {q.graph_name for q in quads}
    assert named == ({me} if media in ("application/trig", "application/n-quads") else {ox.DefaultGraph()})


@pytest.mark.parametrize("media", FORMATS)
def test_a_moment_of_a_stream(linked: City, media: str) -> None:
    path = "/linked/2026-01-01T00%3A00%3A01Z"
    response = linked.http.get(path, headers={"Accept": media}, follow_redirects=True)
    quads = graph(response)
    me = ox.NamedNode(linked.base.rstrip("/") + path)
    held = {q.object.value for q in quads if q.subject == ox.NamedNode("http://ex/a")}
    assert held == {"http://ex/b", "http://ex/c"}
    about = {q.predicate.value: q.object.value for q in quads if q.subject == me}
    assert about[f"{SLD}receivedAt"] == "2026-01-01T00:00:01Z"
    assert about[SEE_ALSO.value] == f"{linked.base}linked"
    assert len(quads) == 5


def test_headers_say_what_the_data_says(linked: City) -> None:
    response = linked.http.get("/trdf/linked")
    assert response.headers["last-modified"] == "Thu, 01 Jan 2026 00:00:03 GMT"
    assert response.headers["expires"] == "Thu, 01 Jan 2026 00:00:03 GMT"
    assert response.headers["vary"] == "Accept"
    assert f'<{linked.base}linked>; rel="describes"' in response.headers["link"]
    tag = response.headers["etag"]
    known = linked.http.get("/trdf/linked", headers={"If-None-Match": f'"other", {tag}'})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    since = {"If-Modified-Since": response.headers["last-modified"]}
    assert linked.http.get("/trdf/linked", headers=since).status_code == 304
    other = linked.http.get("/trdf/linked", headers={"If-None-Match": tag, "Accept": "application/trig"})
    assert other.status_code == 200  # another form has another tag
    head = linked.http.head("/trdf/linked")
    assert (head.status_code, head.headers["etag"], head.content) == (200, tag, b"")
    moment = linked.http.get("/trdf/linked/2026-01-01T00:00:02Z")
    assert moment.headers["last-modified"] == "Thu, 01 Jan 2026 00:00:02 GMT"


def test_what_is_not_there(linked: City) -> None:
    for path, status in [
        ("/nothing", 404),
        ("/trdf/nothing", 404),
        ("/page/nothing", 404),
        ("/linked/2026-01-01T00%3A00%3A09Z", 303),  # whether it is there is known only there
        ("/trdf/linked/2026-01-01T00%3A00%3A09Z", 404),
        ("/page/linked/2026-01-01T00%3A00%3A09Z", 404),
        ("/linked/yesterday", 404),
        ("/linked/2026-13-01T00%3A00%3A00Z", 404),
        ("/linked/physical/0", 400),
        ("/linked/physical/9999999", 303),
        ("/trdf/linked/physical/9999999", 400),
        ("/trdf/linked/logical/P30D/tumbling", 400),
        ("/trdf/linked/logical/PT1H/P1D", 400),
        ("/trdf/linked/logical/PT10H/PT0.001S", 400),
        ("/linked/other/5", 404),
    ]:
        response = linked.http.get(path)
        assert response.status_code == status, path
        if status >= 400:
            assert response.headers["content-type"] == "application/problem+json"
    assert linked.http.get("/trdf/linked", headers={"Accept": "text/html"}).status_code == 406
    # The same moment in another zone, and the same window in other words.
    zone = linked.http.get("/linked/2026-01-01T01%3A00%3A01%2B01%3A00")
    assert zone.headers["location"] == "/trdf/linked/2026-01-01T00%3A00%3A01Z"
    words = linked.http.get("/linked/logical/PT60M/PT3600S")
    assert (words.status_code, words.headers["location"]) == (308, "/linked/logical/PT1H/tumbling")


def test_pages_escape_what_comes_from_data(linked: City) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ("/linked", "/linked/2026-01-01T00%3A00%3A03Z", "/linked/physical/3"):
        response = linked.http.get(path, headers=browser, follow_redirects=True)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        assert SCRIPT not in response.text
        assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "&lt;script&gt;" in linked.http.get("/page/linked/2026-01-01T00%3A00%3A03Z").text
    assert '<a href="/linked">' in linked.http.get("/").text


def test_a_moment_can_be_pushed_to_another_stream(linked: City) -> None:
    trig = linked.http.get("/trdf/linked/2026-01-01T00%3A00%3A01Z", headers={"Accept": "application/trig"})
    pushed = linked.http.post("/pushed", content=trig.content, headers={"Content-Type": "application/trig"})
    assert (pushed.status_code, pushed.json()) == (202, {"accepted": 2, "late": 0, "ahead": 0, "bad": []})


# --- windows that clients choose -----------------------------------------------------------------------


def seen(city: City, path: str) -> set[str]:
    """The objects of all the moments that are in a window."""
    found: set[str] = set()
    for quad in graph(city.http.get(f"/trdf/{path}", headers={"Accept": "text/turtle"})):
        if quad.predicate == SEE_ALSO:
            moment = f"/trdf/{quad.object.value.removeprefix(city.base)}"
            triples = graph(city.http.get(moment, headers={"Accept": "text/turtle"}))
            found |= {q.object.value for q in triples if q.predicate.value == "http://ex/p"}
    return {value.removeprefix("http://ex/") for value in found}


def test_windows_that_clients_choose(city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    city.push("windowed", lines([("a", "p", f"o{second}", second) for second in range(0, 20, 2)]))
    wait(lambda: city.stream("windowed")["elements"] == 10, "the elements")
    # The first who ask wait a little for what is still held, which may be all of it.
    city.http.get("/trdf/windowed/physical/2")
    city.http.get("/trdf/windowed/logical/PT6S/PT4S")
    wait(lambda: seen(city, "windowed/physical/2") == {"o14", "o16"}, "the last two")
    wait(lambda: seen(city, "windowed/logical/PT6S/PT4S") == {"o12", "o14", "o16"}, "six seconds until 16")
    about = city.http.get("/trdf/windowed/logical/PT6S/PT4S").text
    assert "sld:logicalSliding" in about
    assert '"PT6S"^^xsd:duration' in about
    assert '"2026-01-01T00:00:20Z"' in about  # when it expires
    city.push("windowed", lines([("a", "p", "late", 21), ("a", "p", "later", 25)]))
    wait(lambda: seen(city, "windowed/physical/2") == {"o18", "late"}, "it moves")
    wait(lambda: seen(city, "windowed/logical/PT6S/PT4S") == {"late"}, "it moves")
    tumbling = city.http.get("/trdf/windowed/logical/PT10S/tumbling").text
    assert "sld:logicalTumbling" in tumbling

    # One query for all who look through a window, and none when nobody does any more.
    names = {name for name in city.host.metrics().queries if name.startswith("windowed/")}
    chosen = {"windowed/physical/2", "windowed/logical/PT6S/PT4S", "windowed/logical/PT10S/tumbling"}
    assert names == {"windowed/physical/100", *chosen}
    assert "windowed/physical/2" not in {
        query["name"] for query in city.http.get("/queries").json()["queries"]
    }
    with monkeypatch.context() as later:
        later.setattr(views.time, "monotonic", lambda now=time.monotonic: now() + 1000)
        city.host.views.close_unasked()
    assert {n for n in city.host.metrics().queries if n.startswith("windowed/")} == {"windowed/physical/100"}


def test_a_source_that_has_ended(city: City) -> None:
    wait(lambda: seen(city, "old") == {"b", "c"}, "its last window")
    assert city.stream("old")["ended"]
    assert city.stream("old")["window"] == "logical/PT10S/tumbling"
    refused = city.http.post("/old", content=line("a", "p", "b", 1), headers=NQUADS)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


# --- queries -------------------------------------------------------------------------------------------


def test_the_life_of_a_query(city: City) -> None:
    created = city.put("life", select("asked"))
    assert (created.status_code, created.headers["location"]) == (201, "/life")
    assert created.json()["kind"] == "select"
    assert city.put("life", select("asked")).status_code == 200
    with city.events("life") as events:
        city.push("asked", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
        first = next(events)
        assert values(first, "o") == ("00:10", "b")
        assert city.query("life")["subscribers"] == 1

        assert city.http.post("/life", content="stop").json()["running"] is False
        city.push("asked", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
        wait(lambda: city.stream("asked")["elements"] == 4, "elements that it does not see")
        assert city.http.post("/life", content=" START\n").json()["running"] is True
        city.push("asked", lines([("a", "p", "f", 22), ("a", "p", "g", 31)]))
        assert values(next(events), "o") == ("00:30", "f")

        # Another text takes its place; a wrong one does not.
        assert city.put("life", "SELECT").status_code == 400
        assert city.query("life")["text"] == select("asked")
        assert (
            city.put("life", select("asked").replace("SELECT ?o", "SELECT (?o AS ?new)")).status_code == 200
        )
        city.push("asked", lines([("a", "p", "h", 32), ("a", "p", "i", 41)]))
        assert values(next(events), "new") == ("00:40", "h")

        assert city.http.delete("/life").status_code == 204
        assert list(events) == []  # the connection was closed
    assert city.http.delete("/life").status_code == 404
    assert city.http.post("/life", content="stop").status_code == 404
    assert city.http.get("/life/events").status_code == 404


def test_queries_that_are_refused(city: City) -> None:
    def refused(name: str, text: str) -> tuple[int, dict[str, object]]:
        response = city.put(name, text)
        assert response.headers["content-type"] == "application/problem+json"
        return response.status_code, response.json()

    status, problem = refused(
        "bad", "SELECT ?s\nFROM STREAM <asked> [RANGE 1s STEP 1s]\nWHERE { ?s ex:p ?o }"
    )
    assert (status, problem["line"], problem["column"]) == (400, 3, 12)
    status, problem = refused("bad", select("nowhere"))
    assert (status, problem["line"]) == (400, 1)
    assert "nobody supplies the stream" in str(problem["title"])
    status, problem = refused("bad", f"REGISTER QUERY other AS {select('asked')}")
    assert status == 400
    assert "calls itself other" in str(problem["title"])
    assert refused("bad", "SELECT * { ?s ?p ?o }")[0] == 400  # there is no stream in it
    assert refused("asked", select("asked"))[0] == 409
    assert refused("trdf", select("asked"))[0] == 400
    assert city.http.put("/bad?dialect=sql", content=select("asked")).status_code == 400
    assert city.http.put("/bad", content=b"\xff").status_code == 400
    city.put("command", select("asked"))
    assert city.http.post("/command", content="dance").status_code == 400
    page = city.http.get("/command", headers={"Accept": "text/html"}, follow_redirects=True)
    assert "&lt;asked&gt;" in page.text
    assert city.http.get("/command", headers={"Accept": "text/turtle"}).status_code == 406
    city.http.delete("/command")


def test_derived_streams(city: City) -> None:
    text = (
        f"REGISTER STREAM made AS {PREFIX} CONSTRUCT {{ ?o :p ?s }} FROM STREAM <asked> [RANGE 10s STEP 10s]"
    )
    text += " WHERE { ?s :p ?o }"
    assert city.put("made", text).json()["stream"] == f"{city.base}made"
    assert city.put("reader", select("made")).status_code == 201
    with city.events("reader") as events:
        city.push("asked", lines([("x", "p", "y", 52), ("x", "p", "z", 61), ("x", "p", "z", 71)]))
        assert values(next(events), "o") == ("01:00", "x")
    wait(lambda: seen(city, "made") == {"x"}, "what was made, as Linked Data")
    assert city.stream("made")["kind"] == "derived"
    assert city.http.delete("/made").status_code == 409
    assert city.put("made", text.replace("STREAM made", "QUERY made")).status_code == 409
    assert city.put("made", text.replace("?o :p ?s", "?s :p ?o")).status_code == 200
    assert [city.http.delete(f"/{name}").status_code for name in ("reader", "made")] == [204, 204]
    assert city.http.get("/made").status_code == 404


def test_cqels_too(city: City) -> None:
    text = f"{PREFIX} SELECT ?o WHERE {{ STREAM <asked> [NOW] {{ ?s :q ?o }} }}"
    assert city.put("now", text).status_code == 201
    with city.events("now") as events:
        city.push("asked", lines([("x", "q", "new", 80), ("x", "p", "z", 81)]))
        assert values(next(events), "o") == ("01:20", "new")
    city.http.delete("/now")


def test_there_are_not_too_many_queries(city: City) -> None:
    before = len(city.http.get("/queries").json()["queries"])
    statuses = [city.put(f"many{n}", select("asked")).status_code for n in range(before, 13)]
    assert statuses == [201] * (12 - before) + [403]
    for number in range(before, 12):
        city.http.delete(f"/many{number}")


# --- events --------------------------------------------------------------------------------------------


def test_who_comes_back_misses_nothing(city: City) -> None:
    city.put("again", select("asked", "RANGE 1s STEP 1s"))
    with city.events("again") as events:
        city.push("asked", lines([("e", "p", f"e{n}", 100 + n) for n in range(4)]))
        first = next(events)
        assert values(first, "o") == ("01:40", "e0")
    city.push("asked", lines([("e", "p", f"e{n}", 100 + n) for n in range(4, 8)]))
    wait(lambda: city.query("again")["rows"] == 7, "answers while nobody listens")
    with city.events("again", first["id"]) as events:
        found = [next(events) for _ in range(6)]
        assert [values(event, "o")[1] for event in found] == [f"e{n}" for n in range(1, 7)]
        city.push("asked", line("e", "p", "e8", 108))
        assert values(next(events), "o")[1] == "e7"
    identifiers = [int(event["id"]) for event in (first, *found)]
    assert identifiers == sorted(set(identifiers))
    with city.events("again", "0") as events:
        assert values(next(events), "o")[1] == "e0"
    with city.http.stream("GET", f"/again/events?after={found[-1]['id']}") as response:
        assert any('"e7"' in line or "e7" in line for line in response.iter_lines())
    assert city.http.get("/again/events", headers={"Last-Event-ID": "yesterday"}).status_code == 400
    assert city.http.get("/asked/events").status_code == 404
    city.http.delete("/again")


def test_who_never_reads_is_cut_off_and_holds_nobody_up(city: City) -> None:
    city.put("flooded", f"{PREFIX} SELECT ?s ?o FROM STREAM <flood> [RANGE 10s STEP 1s] WHERE {{ ?s :p ?o }}")
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    url = httpx.URL(city.base)
    deaf.connect((url.host, url.port))
    deaf.sendall(b"GET /flooded/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    wait(lambda: city.query("flooded")["subscribers"] == 1, "the one who will not read")
    heard: list[str] = []

    def listen() -> None:
        with client(city.base) as http, City(city.host, http).events("flooded") as events:
            heard.extend(event["id"] for event in events)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    wait(lambda: city.query("flooded")["subscribers"] == 2, "and one who will")
    wide = "w" * 300
    for second in range(0, 40, 10):
        city.push("flood", lines([(f"{wide}{n}", "p", "o", second + n / 200) for n in range(2000)]))
    city.push("flood", line("a", "p", "b", 60))
    wait(lambda: len(heard) > 30_000, "so many answers that buffers are full")
    wait(lambda: "rheos_subscribers_cut_off_total 1" in city.http.get("/metrics").text, "it is cut off")
    wait(lambda: len(heard) == city.query("flooded")["rows"], "the other has heard everything")
    assert city.query("flooded")["subscribers"] == 1
    deaf.close()
    city.http.delete("/flooded")
    listener.join()


# --- pushing -------------------------------------------------------------------------------------------


def test_bodies_that_are_pushed(city: City) -> None:
    def push(content: str | bytes, media: str) -> httpx.Response:
        return city.http.post("/pushed", content=content, headers={"Content-Type": media})

    good = line("a", "p", "b", 5)
    mixed = push(good + "rubbish\n" + good.replace("00:00:05Z", "25:00:00Z") + good, "application/n-quads")
    assert mixed.status_code == 202
    assert mixed.json()["accepted"] == 2
    assert [(bad["line"], bad["text"][:7]) for bad in mixed.json()["bad"]] == [(2, "rubbish"), (3, "<http:/")]
    graphs = '<http://ex/a> <http://ex/p> "1" <http://ex/g> .\nrubbish\n<http://ex/g> '
    graphs += '<http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:06Z"^^'
    graphs += "<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
    assert [push(graphs, "application/n-quads").json()[key] for key in ("accepted",)] == [1]
    assert push(graphs, "application/n-quads").json()["bad"][0]["line"] == 2
    trig = "PREFIX : <http://ex/> :a :p :b . :g { :a :p [] }"
    assert push(trig, "application/trig; charset=utf-8").json() == {
        "accepted": 2,
        "late": 0,
        "ahead": 0,
        "bad": [],
    }
    json_ld = json.dumps({"@id": "http://ex/a", "http://ex/p": [{"@id": "b"}, {"@value": 5}]})
    assert push(json_ld, "application/ld+json").json() == {"accepted": 2, "late": 0, "ahead": 0, "bad": []}
    assert push("", "application/n-quads").json() == {"accepted": 0, "late": 0, "ahead": 0, "bad": []}
    for content, media, status in [
        ("rubbish\n", "application/n-quads", 400),
        ("{ not trig", "application/trig", 400),
        ("{ not json", "application/ld+json", 400),
        (b"\xff\xfe", "application/n-quads", 400),
        (good, "text/csv", 415),
        (good, "", 415),
        (good * 10_000, "application/n-quads", 413),
    ]:
        response = push(content, media)
        assert response.status_code == status, (content[:20], response.text)
    assert "application/trig" in push(good, "text/csv").headers["accept-post"]
    named = push("ok\nrubbish\n", "application/n-quads").json()
    assert [bad["line"] for bad in named["bad"]] == [1, 2]
    # Those without a time came last, at the server's: they are what is seen now.
    city.push("pushed", "<http://ex/a> <http://ex/p> <http://ex/last> .\n")
    year = time.strftime("%Y-", time.gmtime())
    wait(lambda: f'"{year}' in city.http.get("/trdf/pushed").text, "elements at the server's time")
    assert city.http.post("/nowhere", content=good, headers=NQUADS).status_code == 404


def test_streams_that_clients_make(city: City) -> None:
    media = {"Content-Type": "application/json"}
    described = {"lateness": "5s", "window": "logical/PT10S/PT5S"}
    assert city.http.put("/made-here", json=described).status_code == 201
    assert city.http.put("/made-here", json=described).status_code == 200
    assert city.http.put("/made-here", json={}).status_code == 409
    assert city.put("made-here", select("asked")).status_code == 409
    assert city.http.put("/other", content="[]", headers=media).status_code == 400
    assert city.http.put("/other", content="{", headers=media).status_code == 400
    assert city.http.put("/other", json={"source": "/etc/passwd"}).status_code == 400
    assert city.http.put("/other", json={"lateness": "soon"}).status_code == 400
    assert city.http.put("/asked", json={}).status_code == 409

    assert city.put("late", select("made-here")).status_code == 201
    with city.events("late") as events:
        city.push("made-here", lines([("a", "p", "b", 7), ("a", "p", "c", 3), ("a", "p", "d", 30)]))
        assert sorted(values(next(events), "o")[1] for _ in range(2)) == ["b", "c"]
    assert city.http.delete("/made-here").status_code == 409
    assert city.http.delete("/late").status_code == 204
    assert city.http.delete("/made-here").status_code == 204
    assert city.http.get("/made-here").status_code == 404
    assert city.http.delete("/asked").status_code == 409  # it is of the configuration
    wait(lambda: city.http.get("/health").status_code == 200, "the others flow on")


# --- operation -----------------------------------------------------------------------------------------


def test_metrics(linked: City) -> None:
    response = linked.http.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }
    assert found["rheos_stream_elements_total", "linked"] == 5
    assert found["rheos_push_accepted_total", "linked"] == 5
    assert found[("rheos_up",)] == 1
    names = {name for name, *_ in found}
    assert {
        "rheos_stream_lag_seconds",
        "rheos_stream_held",
        "rheos_stream_rate",
        "rheos_dead_letters_total",
    } <= names
    health = linked.http.get("/health")
    # Others of these tests push rubbish, to streams of their own.
    assert (health.status_code, "linked" in health.json().get("streams", {})) == (200, False)


@described.exclude(path_regex="events$").parametrize()
@SHORT
def test_requests_about_what_is_there(case: Case, city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams and queries under the names that requests happen to have; nobody waits for first looks."""
    monkeypatch.setattr(linked_data, "_FIRST_LOOK", 0.0)
    if "name" in case.path_parameters:
        kinds = ("asked", "old", "thought-of")
        case.path_parameters["name"] = kinds[len(str(case.path_parameters["name"])) % 3]
    if "moment" in case.path_parameters:
        case.path_parameters["moment"] = "2026-01-01T00:00:01Z"
    if "thought-of" not in city.host.queries:
        city.put("thought-of", select("asked"))
    case.validate_response(case.call(base_url=city.base), checks=CHECKS)
