"""/metrics: the names that dashboards rely on, in both formats of Prometheus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from rheos.server.config import Config, SinksConfig, StreamConfig
from rheos.server.serve import served
from tests.runtime.streams import lines
from tests.server.city import City, wait
from tests.server.conftest import client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN = "application/openmetrics-text"
# What Prometheus sends.
SCRAPER = f"{OPEN};version=1.0.0;q=0.5,{OPEN};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

COUNTERS = {
    *(f"rheos_stream_{name}" for name in ("elements", "failures")),
    *(f"rheos_query_{name}" for name in ("instants", "skipped", "rows")),
    *(f"rheos_{name}" for name in ("push_accepted", "push_refused", "subscribers_cut_off")),
    *(f"rheos_{name}" for name in ("dead_letters", "http_requests", "sink_taken", "sink_dropped")),
}
GAUGES = {
    *(f"rheos_{name}" for name in ("stream_rate", "stream_lag_seconds", "stream_held", "query_running")),
    "rheos_query_shards",
    *(f"rheos_{name}" for name in ("push_backlog_bytes", "subscribers", "views", "static_triples", "up")),
    *(f"rheos_{name}" for name in ("stream_connected", "sink_waiting", "sink_waiting_bytes")),
    *(f"rheos_{name}" for name in ("sink_behind_seconds", "process_memory_bytes", "process_open_files")),
}
HISTOGRAMS = {f"rheos_{name}_seconds" for name in ("query_evaluation", "batch", "sink_delivery")}


@pytest.mark.parametrize(
    "accept", [SCRAPER, OPEN, None, "text/plain", "*/*", "text/plain;version=x", "image/png"]
)
def test_the_metrics_that_there_are(plain: httpx.Client, accept: str | None) -> None:
    plain.get("/nothing")
    response = plain.get("/metrics", headers={} if accept is None else {"Accept": accept})
    assert response.status_code == 200
    assert response.headers["vary"] == "Accept"
    media = response.headers["content-type"].partition(";")[0]
    assert media == (OPEN if accept in (SCRAPER, OPEN) else "text/plain")
    read = openmetrics if media == OPEN else parser
    families = {family.name: family for family in read.text_string_to_metric_families(response.text)}
    assert {name for name, family in families.items() if family.type == "counter"} == COUNTERS
    assert {name for name, family in families.items() if family.type == "gauge"} == GAUGES
    assert {name for name, family in families.items() if family.type == "histogram"} == HISTOGRAMS
    requests = families["rheos_http_requests"].samples
    assert any(sample.labels == {"method": "GET", "status": "404"} for sample in requests)
    assert {sample.name for sample in requests} == {"rheos_http_requests_total"}
    [triples] = families["rheos_static_triples"].samples
    assert (triples.labels, triples.value) == ({}, 4)


def samples(http: httpx.Client) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(http.get("/metrics").text)
        for sample in family.samples
    }


def test_counters_never_fall_and_times_are_histograms(spark: SparkSession, tmp_path: Path) -> None:
    config = Config(
        port=0,
        state=tmp_path / "state",
        sinks=SinksConfig(folder=tmp_path),
        streams=(StreamConfig("s"),),
    )
    text = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"
    sink = str(tmp_path / "out.ndjson")
    with served(config, spark) as host, client(f"http://127.0.0.1:{host.port}") as http:
        city = City(host, http)
        assert http.put("/q", content=text, params={"sink": sink}).status_code == 201
        city.push("s", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
        wait(lambda: samples(http).get(("rheos_sink_taken_total", "q", sink)) == 1, "the sink has it")
        before = samples(http)
        assert before["rheos_batch_seconds_count",] > 0
        assert before["rheos_batch_seconds_bucket", "+Inf"] == before["rheos_batch_seconds_count",]
        assert before["rheos_query_evaluation_seconds_count", "q"] == 1
        assert before["rheos_query_evaluation_seconds_sum", "q"] > 0
        assert before["rheos_sink_delivery_seconds_count", "q", sink] == 1
        assert before["rheos_query_shards", "q"] == 1
        left = config.state / "engine" / "static" / "of-a-run-before.arrow"
        left.parent.mkdir(exist_ok=True)
        left.touch()
        # All of these begin again: the streams pause, and the query is another.
        assert http.put("/more", json={}).status_code == 201
        assert http.put("/q", content=text.replace("10s", "5s"), params={"sink": sink}).status_code == 200
        city.push("s", lines([("a", "p", "d", 12), ("a", "p", "e", 31), ("a", "p", "late", 1)]))
        wait(lambda: samples(http)["rheos_dead_letters_total", "late", "s"] == 1, "the late element is read")
        assert not left.exists()
        after = samples(http)
        fallen = {
            key: (count, after.get(key))
            for key, count in before.items()
            if key[0].endswith(("_total", "_count", "_sum", "_bucket")) and after.get(key, 0) < count
        }
        assert fallen == {}
        for process in ("driver", "jvm", "workers"):
            assert after["rheos_process_memory_bytes", process] > 1_000_000
            assert after["rheos_process_open_files", process] > 3


def test_the_page_lists_all_metrics() -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    listed = set(re.findall(r"`(\w+)`", page[page.index("### Metrics") : page.index("## Safety")]))
    names = {name.removeprefix("rheos_") for name in GAUGES | HISTOGRAMS}
    names |= {f"{name.removeprefix('rheos_')}_total" for name in COUNTERS}
    assert names <= listed
