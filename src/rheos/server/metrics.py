"""Metrics for Prometheus: the counts of the engine and of the web side, served at /metrics."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rheos import processes
from rheos.runtime.driver.metrics import BOUNDS, StreamMetrics, Times
from rheos.runtime.driver.metrics import Metrics as Known
from rheos.server.events import Subscribers
from rheos.server.host import Host
from rheos.server.negotiation import choose
from rheos.server.rising import Rising

TEXT = "text/plain"
# `choose_encoder` of prometheus_client is not used: it fails for versions that are no numbers, and ignores
# the qualities (`q=`) of an Accept header.
FORMATS: dict[str, tuple[str, Callable[[Collector], bytes]]] = {
    TEXT: ("text/plain; version=0.0.4; charset=utf-8", generate_latest),
    "application/openmetrics-text": (openmetrics.CONTENT_TYPE_LATEST, openmetrics.generate_latest),
}

Simple = CounterMetricFamily | GaugeMetricFamily
Family = Simple | HistogramMetricFamily

# Each metric of a stream, a query or a sink: its name, its help text, and the field of the engine's metrics.
STREAMS = (
    ("stream_elements_total", "Elements read.", "read"),
    ("stream_rate", "Elements a second lately.", "rate"),
    ("stream_lag_seconds", "How far the time of a live stream is behind the clock.", "lag"),
    ("stream_connected", "Whether the broker or server of a stream can be reached.", "connected"),
    ("stream_failures_total", "How often it could not, or was lost.", "failures"),
    ("stream_held", "Elements that some window can still see.", "live"),
)
QUERIES = (
    ("query_instants_total", "Instants reported.", "instants"),
    ("query_skipped_total", "Instants that a query gave up, because it may be stretched.", "skipped"),
    ("query_rows_total", "Rows, triples or booleans reported.", "rows"),
    ("query_running", "Whether the query runs.", "running"),
    ("query_shards", "Into how many shards the work of the query was last shared out.", "shards"),
)
# Why an element becomes a dead letter, as the engine counts it.
REASONS = ("late", "bad", "ahead")
SINKS = (
    ("sink_waiting", "Answers that a sink has not taken yet.", "waiting"),
    ("sink_waiting_bytes", "The size of these.", "bytes"),
    ("sink_behind_seconds", "How long the first of these has waited.", "behind"),
    ("sink_taken_total", "Answers that a sink has taken.", "taken"),
    ("sink_dropped_total", "Answers that a sink does not get, because too many waited.", "dropped"),
)


@dataclass
class Counters:
    """The counts that only the web side can know. The counters of prometheus_client are not used: each would
    bring a second metric, the time at which the counter was made."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, method: str, status: int) -> None:
        with self._lock:
            self.requests[method, str(status)] += 1

    def pushed(self, stream: str, accepted: int, refused: int) -> None:
        with self._lock:
            self.accepted[stream] += accepted
            self.refused[stream] += refused


class Metrics(Collector):
    """`/metrics`, in the text format of Prometheus or as OpenMetrics."""

    def __init__(self, host: Host, counters: Counters, subscribers: Subscribers) -> None:
        self.host = host
        self.counters = counters
        self.subscribers = subscribers
        self._counts, self._times = Rising[float](), Rising[Times]()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    async def metrics(self, request: Request) -> Response:
        # A client that accepts neither of the two formats gets the text format.
        chosen = choose(request.headers.get("accept"), tuple(FORMATS)) or TEXT
        content_type, encode = FORMATS[chosen]
        body = await run_in_threadpool(encode, self._registry)
        headers = {"Content-Type": content_type, "Cache-Control": "no-store", "Vary": "Accept"}
        return Response(body, headers=headers)

    def collect(self) -> Iterator[Family]:
        for found in (*self._of_engine(self.host.metrics()), *self._of_web(), *of_processes()):
            if isinstance(found, CounterMetricFamily):
                self._rise(found)
            yield found

    def _rise(self, found: CounterMetricFamily) -> None:
        """Make sure that the counts of a metric never fall."""
        found.samples[:] = [
            sample._replace(value=self._counts.of((sample.name, *sample.labels.values()), sample.value))
            for sample in found.samples
        ]

    def _of_engine(self, engine: Known) -> Iterator[Family]:
        streams = {stream.name: stream.iri for stream in list(self.host.streams.values())}
        found = {name: engine.streams.get(iri, StreamMetrics()) for name, iri in streams.items()}
        for name, text, value in STREAMS:
            yield labelled(name, text, "stream", {key: getattr(m, value) for key, m in found.items()})
        letters = family(
            "dead_letters_total", "Elements that could not be used, and why.", ("stream", "reason")
        )
        for name, metrics in found.items():
            for reason in REASONS:
                letters.add_metric((name, reason), getattr(metrics, reason))
        yield letters
        # The queries with a slash in their names are views, which are counted below.
        queries = {name: metrics for name, metrics in engine.queries.items() if "/" not in name}
        for name, text, value in QUERIES:
            yield labelled(name, text, "query", {key: getattr(m, value) for key, m in queries.items()})
        for name, text, value in SINKS:
            taken = family(name, text, ("query", "sink"))
            for query, sinks in engine.sinks.items():
                for sink in sinks:
                    taken.add_metric((query, sink.to), float(getattr(sink, value)))
            yield taken
        times: dict[tuple[str, ...], Times] = {(name,): m.times for name, m in queries.items()}
        told = "Time that a query took in a batch in which it reported."
        yield self._histogram("query_evaluation_seconds", told, ("query",), times)
        told = "Time of a batch, from its elements to its answers on the disk."
        yield self._histogram("batch_seconds", told, (), {(): engine.batch_times})
        times = {(query, sink.to): sink.times for query, sinks in engine.sinks.items() for sink in sinks}
        told = "Time from the answers of a batch until a sink had taken them."
        yield self._histogram("sink_delivery_seconds", told, ("query", "sink"), times)

    def _histogram(
        self, name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], Times]
    ) -> HistogramMetricFamily:
        found = HistogramMetricFamily(f"rheos_{name}", text, labels=labels)
        bounds = [*map(str, BOUNDS), "+Inf"]
        for named, value in values.items():
            times = self._times.of((name, *named), value)
            buckets = list(zip(bounds, map(float, accumulate(times.counts)), strict=True))
            found.add_metric(named, buckets, times.total)
        return found

    def _of_web(self) -> Iterator[Family]:
        counters, subscribers = self.counters, self.subscribers
        accepted, refused = dict(counters.accepted), dict(counters.refused)
        logs = {stream.name: stream.log for stream in list(self.host.streams.values())}
        backlogs = {name: log.backlog for name, log in logs.items() if log is not None}
        yield labelled("push_accepted_total", "Elements accepted from clients.", "stream", accepted)
        yield labelled("push_refused_total", "Lines from clients that are no elements.", "stream", refused)
        yield labelled("push_backlog_bytes", "Pushed and not read yet.", "stream", backlogs)
        waiting = subscribers.counts()
        yield labelled("subscribers", "Connections that wait for answers.", "query", waiting)
        yield single("subscribers_cut_off_total", "Subscribers that were too slow.", subscribers.cut_off)
        yield single("views", "Windows that are looked through.", len(self.host.views))
        yield single("static_triples", "Triples in the static graphs.", self.host.engine.graphs.size)
        yield single("up", "Whether streams flow.", self.host.failure is None and self.host.runs)
        requests = family("http_requests_total", "Requests answered.", ("method", "status"))
        for labels, count in dict(counters.requests).items():
            requests.add_metric(labels, count)
        yield requests


def of_processes() -> Iterator[Family]:
    """The memory and the open files of this process, its JVM and its workers. There are no values on systems
    that do not tell."""
    used = {role: use for role, use in processes.by_role(os.getpid()).items() if use.processes}
    memory = {role: use.memory for role, use in used.items()}
    yield labelled(
        "process_memory_bytes", "Memory of the driver, the JVM and the workers.", "process", memory
    )
    files = {role: use.files for role, use in used.items()}
    yield labelled("process_open_files", "Files, sockets and pipes that they have open.", "process", files)


def family(name: str, text: str, labels: tuple[str, ...] = ()) -> Simple:
    """A metric without values: a counter if its name ends in `_total`, otherwise a gauge."""
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    return kind(f"rheos_{name}", text, labels=labels)


def labelled(name: str, text: str, label: str, values: Mapping[str, float | None]) -> Simple:
    """A metric with a value for each stream or query; None is left out."""
    found = family(name, text, (label,))
    for named, value in values.items():
        if value is not None:
            found.add_metric((named,), float(value))
    return found


def single(name: str, text: str, value: float) -> Simple:
    found = family(name, text)
    found.add_metric((), float(value))
    return found
