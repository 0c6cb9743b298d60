"""How the work of a query was shared out, in its JSON and in the metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from rheos.runtime.driver.metrics import Metrics as Known
from rheos.runtime.driver.metrics import QueryMetrics
from rheos.runtime.operator import Answers
from rheos.runtime.worker.batch import Report
from rheos.server import control, metrics
from tests.runtime.batches import Batches

S = "http://ex/s"
QUERY = f"REGISTER QUERY q AS SELECT ?o FROM STREAM <{S}> [RANGE 1s STEP 1s] WHERE {{ ?s ?p ?o }}"


def test_a_query_says_how_its_work_was_shared_out(monkeypatch: Any) -> None:
    handle = Batches([S], [QUERY]).streaming.registry.handles["q"]
    times = pa.table({"instant": [1], "at": [1]})
    handle.report(
        Report("q", Answers(times, times.append_column("o", [["<a>"]])), 1.0, "variable", 3, ("here",))
    )
    monkeypatch.setattr(control, "lag_of", lambda host, query: None)
    host: Any = SimpleNamespace(
        entailment_of=lambda asked: "none", rates=SimpleNamespace(of=lambda name: []), queries={}
    )
    own: Any = SimpleNamespace(host=host, subscribers=SimpleNamespace(counts=dict), _until=lambda name: None)
    kept = SimpleNamespace(text=QUERY, dialect="csparql", asked=None)
    query: Any = SimpleNamespace(name="q", kept=kept, handle=handle, stream=None, failure=None)
    shown = control.Control._query(own, query)
    assert (shown.sharding, shown.shards, shown.executors) == ("variable", 3, ["here"])


def test_the_metrics_say_into_how_many_shards() -> None:
    host: Any = SimpleNamespace(streams={})
    found = metrics.Metrics._of_engine(
        metrics.Metrics(host, metrics.Counters(), None),  # type: ignore[arg-type]
        Known(queries={"q": QueryMetrics(shards=3), "new": QueryMetrics(), "q/view": QueryMetrics(shards=1)}),
    )
    (shards,) = [family for family in found if family.name == "rheos_query_shards"]
    assert {sample.labels["query"]: sample.value for sample in shards.samples} == {"q": 3, "new": 0}
