"""Push streams with a mapping, and previews of mappings: one server, through a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from rheos.mapping import Mapping
from rheos.server.config import Config, ConfigError, QueryConfig, StreamConfig, config_of
from rheos.server.serve import served
from tests.runtime.streams import line
from tests.server.city import City, wait
from tests.server.conftest import client

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

MAPPING = "PREFIX : <http://ex/> CONSTRUCT { ?s :v ?v } WHERE { BIND(IRI(CONCAT('http://ex/', ?id)) AS ?s) }"
QUERY = "PREFIX : <http://ex/> SELECT ?s ?v WHERE { STREAM <records> [NOW] { ?s :v ?v } }"
TYPES = {
    "application/json": '[{"id": "a", "v": 1, "ts": %d}, {"id": "b"}]',
    "application/x-ndjson": '{"id": "a", "v": 1, "ts": %d}\n{oops\n',
    "text/csv": "id,v,ts\na,1,%d\nb,2\n",
    "text/tab-separated-values": "id\tv\tts\na\t1\t%d\nb\t2\n",
}


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    config = Config(
        port=0,
        state=tmp_path_factory.mktemp("mapped") / "state",
        streams=(StreamConfig("records", mapping=Mapping(MAPPING), time="field:ts"), StreamConfig("rdf")),
        queries=(QueryConfig("q", QUERY),),
    )
    with served(config, spark) as host, client(host.base) as http:
        yield City(host, http)


def post(city: City, name: str, text: str | bytes, media: str) -> httpx.Response:
    return city.http.post(f"/{name}", content=text, headers={"Content-Type": media})


def test_records_of_every_type_are_elements(city: City) -> None:
    for number, (media, text) in enumerate(TYPES.items(), start=1):
        response = post(city, "records", text % (1767225600 + number), media)
        assert response.status_code == 202, response.text
        assert response.json()["accepted"] == 1
        [bad] = response.json()["bad"]
        assert bad["reason"]
    wait(lambda: city.query("q")["rows"] >= 2, "answers")


def test_rdf_can_be_pushed_beside_records(city: City) -> None:
    assert post(city, "records", line("x", "v", "o", 30), "application/n-quads").json()["accepted"] == 1


def test_records_need_a_mapping(city: City) -> None:
    response = post(city, "rdf", "{}", "application/json")
    assert response.status_code == 415
    assert response.json()["detail"] == "application/json is not RDF: it needs a stream with a mapping"


def test_a_body_without_a_good_record_is_refused(city: City) -> None:
    response = post(city, "records", '{"id": "a"}', "application/json")
    assert response.status_code == 400
    assert response.json()["bad"] == [
        {"line": 1, "text": '{"id": "a"}', "reason": "the record gives no time: it has no ts"}
    ]


def test_a_client_makes_a_stream_with_a_mapping(city: City) -> None:
    made = city.http.put("/own", json={"mapping": MAPPING, "time": "arrival"})
    assert made.status_code == 201, made.text
    assert post(city, "own", '{"id": "a", "v": 1}', "application/json").json()["accepted"] == 1
    wrong = city.http.put("/wrong", json={"mapping": "CONSTRUCT { ?s :v ?v } WHERE {}", "time": "arrival"})
    assert wrong.status_code == 400
    assert "unknown prefix" in wrong.json()["detail"]
    never = city.http.put("/wrong", json={"mapping": MAPPING})
    assert "gives no time" in never.json()["detail"]
    message = city.http.put("/wrong", json={"mapping": MAPPING, "time": "message"})
    assert "what is pushed has no time of its own" in message.json()["detail"]


def preview(city: City, **given: Any) -> httpx.Response:
    body = {"mapping": MAPPING, "time": "field:ts", **given}
    return city.http.post("/preview", content=json.dumps(body), headers={"Content-Type": "application/json"})


def test_a_preview_shows_elements_and_what_is_wrong(city: City) -> None:
    found = preview(city, records='{"id": "a", "v": 1, "ts": 1767225600}\n{oops', format="ndjson").json()
    assert found["count"] == 1
    assert found["elements"] == [
        '<http://ex/a> <http://ex/v> "1"^^<http://www.w3.org/2001/XMLSchema#integer>'
        ' "2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    ]
    assert [bad["line"] for bad in found["bad"]] == [2]


def test_a_preview_of_a_wrong_mapping_says_where(city: City) -> None:
    wrong = preview(city, mapping="CONSTRUCT {\n ?s ?p }", records="{}")
    assert wrong.status_code == 400
    assert (wrong.json()["line"], wrong.json()["column"]) == (2, 8)
    assert preview(city, records="{}", time="noon").status_code == 400
    assert preview(city, records="{}", format="xml").status_code == 400
    assert preview(city, mapping="@prefix rml: <http://w3id.org/rml/> .", records="{}").json()["detail"] == (
        "the mapping: there is no triples map in it"
    )


def test_the_configuration_names_the_file_of_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "m.rq").write_text(MAPPING)
    table = {"push": True, "mapping": "m.rq", "time": "field:ts"}
    [stream] = config_of({"streams": {"s": table}}, folder=tmp_path).streams
    assert stream.mapping is not None
    assert stream.mapping.text == MAPPING
    with pytest.raises(ConfigError, match=r"\[streams.s\] mapping: .*nothing.rq: the mapping cannot be read"):
        config_of({"streams": {"s": {**table, "mapping": "nothing.rq"}}}, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"\[streams.s\] time: the time of a stream is one of"):
        config_of({"streams": {"s": {"push": True, "time": "noon"}}}, folder=tmp_path)
