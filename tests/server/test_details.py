"""Plans, last answers and dry runs, and how much of anything there may be: one server, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from rheos.server.config import Config, QueryConfig, StreamConfig
from rheos.server.limits import Limits
from rheos.server.serve import served
from tests.runtime.streams import line, lines
from tests.server.city import City, values, wait
from tests.server.conftest import client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SELECT = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 1s STEP 1s] WHERE { ?s :p ?o }"
MAKER = SELECT.replace("SELECT ?o", "CONSTRUCT { ?o :of ?s }")
NOW = "PREFIX : <http://ex/> SELECT ?o WHERE { STREAM <s> [NOW] { ?s :p ?o } }"


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    config = Config(
        port=0,
        state=tmp_path_factory.mktemp("details") / "state",
        streams=(StreamConfig("s"), StreamConfig("empty")),
        queries=(QueryConfig("all", SELECT), QueryConfig("now", NOW)),
        limits=Limits(subscribers=2, streams=2, views=1, query=1000, body=2000, kept=20_000),
    )
    with served(config, spark) as host, client(host.base) as http:
        found = City(host, http)
        found.push("s", lines([("a", "p", f"o{n}", n) for n in range(8)]))
        wait(lambda: found.query("all")["rows"] == 7, "answers")
        wait(lambda: found.query("now")["rows"] == 7, "answers")
        yield found


def test_how_a_query_is_answered(city: City) -> None:
    plan = city.http.get("/all/plan").json()["plan"]
    assert plan["language"] == "C-SPARQL"
    assert any("SELECT" in text for title, text in plan.items() if title.startswith("SQL"))
    now = city.http.get("/now/plan").json()["plan"]
    assert now["language"] == "CQELS-QL"
    assert now["last batch"]
    assert city.http.get("/s/plan").status_code == 404


def test_the_last_answers(city: City) -> None:
    found = city.http.get("/all/answers?most=3").json()
    assert [answer["row"]["o"]["value"] for answer in found["answers"]] == [
        f"http://ex/o{n}" for n in (4, 5, 6)
    ]
    assert found["last"] == found["answers"][-1]["id"]
    with city.http.stream("GET", f"/all/events?after={found['answers'][-2]['id']}") as response:
        assert any("ex/o6" in text for text in response.iter_lines())  # they go on where these end
    everything = city.http.get("/all/answers").json()["answers"]
    assert [answer["at"][17:19] for answer in everything] == [f"0{n}" for n in range(7)]
    assert city.http.get("/all/answers?most=0").json()["answers"] == []
    assert city.http.get("/all/answers?most=-1").status_code == 400
    assert city.http.get("/s/answers").status_code == 404


def test_a_dry_run_says_what_a_query_would_do(city: City) -> None:
    before = city.http.get("/queries").json()
    found = city.http.post("/check", content=SELECT).json()
    assert (found["kind"], found["variables"], found["streams"]) == ("select", ["o"], [f"{city.base}s"])
    assert found["plan"]["language"] == "C-SPARQL"
    assert found["answers"] == []
    made = city.http.post("/check?name=made", content=f"REGISTER STREAM made AS {MAKER}").json()
    assert made["kind"] == "construct"
    assert city.http.get("/made").status_code == 404
    # For some seconds it runs, on what is still there, and nobody else sees that.
    tried = city.http.post("/check?name=trial&seconds=10", content=SELECT).json()
    assert tried["error"] is None
    assert [(answer["query"], answer["at"][17:19]) for answer in tried["answers"]] == [("trial", "06")]
    after = city.http.get("/queries").json()
    assert [query["name"] for query in after["queries"]] == [query["name"] for query in before["queries"]]
    assert not [name for name in city.host.metrics().queries if name.startswith("trial/")]
    assert "trial/" not in city.http.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "text", "status", "place"),
    [
        ("/check", "SELECT ?o\nFROM STREAM <s> [RANGE 1s STEP 1s]\nWHERE { ?s ex:p ?o }", 400, (3, 12)),
        ("/check", SELECT.replace("<s>", "<nowhere>"), 400, (1, 45)),
        ("/check", "SELECT * { ?s ?p ?o }", 400, (1, 1)),
        ("/check?name=other", f"REGISTER QUERY me AS {SELECT}", 400, (1, 1)),
        ("/check?name=s", SELECT, 409, (None, None)),
        ("/check?dialect=sql", SELECT, 400, (None, None)),
        ("/check?seconds=long", SELECT, 400, (None, None)),
    ],
)
def test_a_dry_run_names_the_place_of_a_mistake(
    city: City, path: str, text: str, status: int, place: tuple[int | None, int | None]
) -> None:
    response = city.http.post(path, content=text)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem.get("line"), problem.get("column")) == (status, *place)


def test_rates_are_there_for_a_sparkline(city: City) -> None:
    city.push("s", line("a", "p", "more", 9))
    wait(lambda: len(city.stream("s")["rates"]) > 1, "two samples")
    assert all(rate >= 0 for rate in city.stream("s")["rates"] + city.query("all")["rates"])
    assert city.stream("s")["rates_until"].endswith("Z")
    assert city.stream("empty")["rates_until"] is None


def test_a_query_says_what_it_reads_and_how_far_it_is_behind(city: City) -> None:
    query = city.query("all")
    assert query["reads"] == [f"{city.base}s"]
    assert isinstance(query["lag"], float)


def test_what_a_window_holds_is_a_graph_for_a_query(city: City) -> None:
    def objects(text: str) -> set[str]:
        found = city.http.get("/sparql", params={"query": text}).json()["results"]["bindings"]
        return {row["o"]["value"].removeprefix("http://ex/") for row in found}

    asked = "SELECT ?o { GRAPH <s> { ?s <http://ex/p> ?o } }"
    wait(lambda: {"o1", "o5"} <= objects(asked), "the window of the stream")
    assert objects(f"SELECT ?o FROM <{city.base}s> {{ ?s ?p ?o }}") == objects(asked)
    assert objects("SELECT ?o { GRAPH <empty> { ?s ?p ?o } }") == set()
    assert objects("SELECT ?o { GRAPH ?g { ?s ?p ?o } }") == set()


# --- limits --------------------------------------------------------------------------------------------


def test_there_are_not_too_many_subscribers(city: City) -> None:
    with city.events("all"), client(city.base) as other, City(city.host, other).events("now"):
        refused = httpx.get(f"{city.base}all/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
    wait(lambda: city.http.head("/all/events").status_code == 200, "one may come when another has gone")


def test_there_are_not_too_many_streams(city: City) -> None:
    assert city.http.put("/another", json={}).status_code == 403


def test_there_are_not_too_many_views_and_who_comes_later_sees_the_same(city: City) -> None:
    def shown() -> str:
        return city.http.get("/trdf/s/physical/3").text

    wait(lambda: "seeAlso" in shown(), "what the window holds")
    first = shown()
    assert city.http.get("/trdf/s/physical/4").status_code == 503
    # It is dropped when nobody asks, and shows what there is to the next who does, though nothing moves.
    city.host.views.close("s")
    wait(lambda: shown() == first, "the same again")


def test_texts_and_bodies_are_not_too_long(city: City) -> None:
    long = SELECT + " #" + "x" * 1000
    assert city.put("long", long).status_code == 413
    assert city.http.post("/check", content=long).status_code == 413
    assert city.http.get("/sparql", params={"query": long}).status_code == 414
    assert city.http.post("/sparql", data={"query": long}).status_code == 413
    pushed = city.http.post("/s", content="#" * 2001, headers={"Content-Type": "application/n-quads"})
    assert pushed.status_code == 413


def test_a_query_that_is_stopped_keeps_its_answers(city: City) -> None:
    assert city.http.post("/all", content="stop").json()["running"] is False
    with city.events("all", "0") as events:
        assert values(next(events), "o") == ("00:00", "o0")


def test_who_comes_back_too_late_is_told_what_is_missing(city: City) -> None:
    first = city.http.get("/now/answers").json()["answers"][0]["id"]
    for second in range(100, 400, 15):
        city.push("s", lines([("a", "p", f"late{second + n}", second + n) for n in range(15)]))
    wait(lambda: city.query("now")["rows"] > 300, "more answers than are kept")
    with city.events("now", str(first)) as events:
        gap, after = next(events), next(events)
    missing = json.loads(gap["data"])
    assert (gap["event"], missing["after"]) == ("gap", first)
    assert first < missing["until"] < int(after["id"])
    kept = city.http.get("/now/answers?most=1000").json()["answers"]
    assert (kept[0]["id"], kept[-1]["row"]["o"]["value"]) == (int(after["id"]), "http://ex/late398")
