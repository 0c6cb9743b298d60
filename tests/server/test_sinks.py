"""Sinks of a server: in the configuration, by PUT, in the lists, in /health and /metrics, after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest
from msgspec.structs import replace

from rheos.server.config import Config, ConfigError, QueryConfig, StreamConfig, config_of
from rheos.server.serve import served
from rheos.sinks.base import SinkSpec
from tests.runtime.streams import lines
from tests.server.city import City, healthy, wait
from tests.server.conftest import client
from tests.sinks.receiver import receiving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE = "http://streams.test/"
SELECT = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"
TRIPLES = (
    "PREFIX : <http://ex/> CONSTRUCT { ?o :q ?s } FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"
)


@contextmanager
def life(config: Config, spark: SparkSession) -> Iterator[City]:
    with served(config, spark) as host, client(f"http://127.0.0.1:{host.port}") as http:
        yield City(host, http)


@pytest.mark.slow
def test_sinks_of_a_server(spark: SparkSession, tmp_path: Path) -> None:
    with receiving(down=True) as receiver, receiving() as other:
        written = {
            "base": BASE,
            "port": 0,
            "allow": [f"127.0.0.1:{other.port}"],
            "sinks": {"folder": "clients", "full": "drop"},
            "streams": {"s": {"push": True}, "t": {"push": True, "ahead": "none"}},
            "queries": {
                "own": {
                    "text": SELECT,
                    "sinks": [
                        "parquet:answers",
                        {"to": receiver.url, "options": {"authorization": "secret-x"}},
                    ],
                }
            },
        }
        config = config_of(written, folder=tmp_path)
        with life(config, spark) as city:
            put = city.http.put(
                "/mine", content=SELECT, params={"sink": [other.url, "out/"], "sink-limit": "5000"}
            )
            assert put.status_code == 201, put.text
            assert [sink["to"] for sink in put.json()["sinks"]] == [other.url, f"{tmp_path}/clients/out/"]
            assert (
                city.http.put("/fed", content=TRIPLES, params={"sink": f"stream:{BASE}t"}).status_code == 201
            )
            refused = [
                ("http://127.0.0.1:1/", 403, "This address may not be contacted"),
                (receiver.url, 403, "This address may not be contacted"),
                ("/etc/passwd", 403, "Clients may not have files written there"),
                ("parquet:../out", 403, "Clients may not have files written there"),
                ("parquet:s3://bucket/x", 403, "Clients name files by their path"),
                ("iceberg:local.t", 403, "Clients name files by their path"),
                ("ftp://x/y", 409, "ftp://x/y: there is no sink for ftp:"),
                (f"stream:{BASE}t", 409, "and a stream needs triples"),
            ]
            for to, status, title in refused:
                response = city.http.put("/bad", content=SELECT, params={"sink": to})
                assert response.status_code == status, to
                assert title in response.json()["title"]
            for parameters in ({"sink-limit": "much"}, {"sink-full": "wait"}, {"sink": ["a/", "a/"]}):
                assert city.http.put("/bad", content=SELECT, params=parameters).status_code == 400
            assert city.http.get("/bad/plan").status_code == 404

            city.push("s", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
            wait(lambda: other.answers, "the webhook of a client")
            wait(lambda: city.stream("t")["elements"] == 1, "a stream gets the triples")
            wait(
                lambda: "sinks" in city.http.get("/health").json(), "health tells of the webhook that is down"
            )
            health = city.http.get("/health").json()
            assert health["status"] == "degraded"
            [(name, reason)] = health["sinks"].items()
            assert name == f"own → {receiver.url}"
            assert "1 answers wait: it answers 503" in reason
            own = {sink["to"]: sink for sink in city.query("own")["sinks"]}
            assert own[receiver.url]["waiting"] == 1
            wait(lambda: city.query("own")["sinks"][0]["taken"] == 1, "parquet is not held up")
            metrics = city.http.get("/metrics").text
            assert f'rheos_sink_waiting{{query="own",sink="{receiver.url}"}} 1.0' in metrics
            assert f'rheos_sink_taken_total{{query="mine",sink="{other.url}"}} 1.0' in metrics

            # The same text with other sinks: the query goes on, and keeps its windows.
            assert city.http.put("/mine", content=SELECT, params={"sink": "out/"}).status_code == 200
            assert [sink["taken"] for sink in city.query("mine")["sinks"]] == [1]
        assert "secret" not in (tmp_path / "rheos-state" / "server.json").read_text()
        assert len((tmp_path / "clients" / "out" / "mine.ndjson").read_text().splitlines()) == 1

        receiver.down = False
        with life(config, spark) as city:
            wait(lambda: len(receiver.answers) == 1, "what waited goes out after the restart")
            assert receiver.headers["Authorization"] == "secret-x"
            assert [sink["to"] for sink in city.query("mine")["sinks"]] == [f"{tmp_path}/clients/out/"]
            city.push("s", lines([("a", "p", "d", 21)]))
            wait(lambda: len(receiver.answers) == 2, "and what comes then")
            assert city.http.delete("/mine").status_code == 204
            wait(lambda: healthy(city.http), "all is well")
    assert ds.dataset(str(tmp_path / "answers"), partitioning="hive").count_rows() >= 1

    without = replace(config, queries=(QueryConfig("own", SELECT, sinks=(SinkSpec("delta:x"),)),))
    with life(without, spark) as city:
        assert "io.delta:delta-spark" in city.query("own")["error"]


@pytest.mark.parametrize(
    ("sinks", "message"),
    [
        ("parquet:x", r"\[queries\.q\] sinks: expected a list of sinks"),
        ([3], r"\[queries\.q\.sinks\] to: expected a text, not 3"),
        ([{"limit": 3}], r'\[queries\.q\.sinks\] a sink has an address, to = "…"'),
        ([{"to": "x", "speed": 3}], r"\[queries\.q\.sinks\] unknown key 'speed'"),
        ([{"to": "x", "full": "wait"}], r"full: expected one of stop, drop"),
        (["kafka://me:pw@host/x"], "no user and no password"),
    ],
)
def test_what_a_configuration_may_not_say(sinks: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of({"queries": {"q": {"text": SELECT, "sinks": sinks}}})


def test_places_that_are_allowed() -> None:
    assert config_of({"allow": ["a:1", "b"]}).allow == ("a:1", "b")
    with pytest.raises(ConfigError, match=r"allow: expected host:port or host, not 'http://a'"):
        config_of({"allow": ["http://a"]})
    assert StreamConfig("s").is_push
