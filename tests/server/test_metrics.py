"""/metrics: the names that dashboards rely on, in both formats of Prometheus."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

OPEN = "application/openmetrics-text"
# What Prometheus sends.
SCRAPER = f"{OPEN};version=1.0.0;q=0.5,{OPEN};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

COUNTERS = {
    *(f"rheos_stream_{name}" for name in ("elements", "late", "bad", "ahead", "failures")),
    *(f"rheos_query_{name}" for name in ("instants", "skipped", "rows", "evaluations", "evaluation_seconds")),
    *(f"rheos_{name}" for name in ("push_accepted", "push_refused", "subscribers_cut_off")),
    *(f"rheos_{name}" for name in ("batches", "http_requests", "sink_taken", "sink_dropped")),
}
GAUGES = {
    *(f"rheos_{name}" for name in ("stream_rate", "stream_lag_seconds", "stream_held", "query_running")),
    *(f"rheos_{name}" for name in ("push_backlog_bytes", "subscribers", "views", "static_triples", "up")),
    *(f"rheos_{name}" for name in ("stream_connected", "sink_waiting", "sink_waiting_bytes")),
    "rheos_sink_behind_seconds",
}


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
    requests = families["rheos_http_requests"].samples
    assert any(sample.labels == {"method": "GET", "status": "404"} for sample in requests)
    assert {sample.name for sample in requests} == {"rheos_http_requests_total"}
    [triples] = families["rheos_static_triples"].samples
    assert (triples.labels, triples.value) == ({}, 4)
