"""What the server tells of itself: counts come in, /metrics in the text format of Prometheus and /health go
out."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rheos.runtime.metrics import StreamMetrics
from rheos.server.events import Subscribers
from rheos.server.host import Host, Stream

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float | None]

# Name, kind, what it is, and the field of the engine's own metrics.
STREAMS = (
    ("stream_elements_total", "counter", "Elements read.", "read"),
    ("stream_late_total", "counter", "Elements that came too late.", "late"),
    ("stream_bad_total", "counter", "Elements that could not be read.", "bad"),
    ("stream_ahead_total", "counter", "Elements that were too far ahead of the clock.", "ahead"),
    ("stream_rate", "gauge", "Elements a second lately.", "rate"),
    ("stream_lag_seconds", "gauge", "How far the time of a live stream is behind the clock.", "lag"),
    ("stream_held", "gauge", "Elements that some window can still see.", "live"),
)
QUERIES = (
    ("query_instants_total", "counter", "Instants reported.", "instants"),
    ("query_rows_total", "counter", "Rows, triples or booleans reported.", "rows"),
    ("query_running", "gauge", "Whether the query runs.", "running"),
    ("query_evaluations_total", "counter", "Batches in which the query reported.", "evaluations"),
    ("query_evaluation_seconds_total", "counter", "Time that these evaluations took.", "total_seconds"),
)


@dataclass
class Counters:
    """What only the web side can count."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, method: str, status: int) -> None:
        with self._lock:
            self.requests[method, status] += 1

    def pushed(self, stream: str, accepted: int, refused: int) -> None:
        with self._lock:
            self.accepted[stream] += accepted
            self.refused[stream] += refused


@dataclass(frozen=True)
class Reports:
    host: Host
    counters: Counters
    subscribers: Subscribers

    async def health(self, request: Request) -> Response:
        if self.host.failure is not None:
            return JSONResponse({"status": "failing", "detail": self.host.failure}, 503)
        if not self.host.runs:
            return JSONResponse({"status": "starting"}, 503)
        troubles = self.host.health.troubles()
        return JSONResponse({"status": "degraded" if troubles else "ok", **troubles})

    async def metrics(self, request: Request) -> Response:
        text = await run_in_threadpool(self.text)
        return Response(
            text, media_type=None, headers={"Content-Type": PROMETHEUS, "Cache-Control": "no-store"}
        )

    def text(self) -> str:
        """All the metrics, family by family."""
        host, metrics = self.host, self.host.metrics()
        streams = list(host.streams.values())
        lines: list[str] = []
        for name, kind, help, value in STREAMS:
            found = ((s.name, metrics.streams.get(s.iri, StreamMetrics())) for s in streams)
            lines += family(name, kind, help, [({"stream": n}, getattr(m, value)) for n, m in found])
        for name, kind, help, value in QUERIES:
            # Those with a slash are views, which are counted below.
            known = ((query, found) for query, found in metrics.queries.items() if "/" not in query)
            lines += family(name, kind, help, [({"query": n}, getattr(m, value)) for n, m in known])
        for name, kind, help, samples in self.others(metrics.batches, streams):
            lines += family(name, kind, help, samples)
        return "\n".join(lines) + "\n"

    def others(
        self, batches: int, streams: Sequence[Stream]
    ) -> Iterator[tuple[str, str, str, Sequence[Sample]]]:
        host, counters, subscribers = self.host, self.counters, self.subscribers
        accepted, refused = (labelled("stream", found) for found in (counters.accepted, counters.refused))
        backlogs = {stream.name: stream.log.backlog for stream in streams if stream.log is not None}
        requests = dict(counters.requests).items()
        yield "push_accepted_total", "counter", "Elements accepted from clients.", accepted
        yield "push_refused_total", "counter", "Lines from clients that are no elements.", refused
        yield "push_backlog_bytes", "gauge", "Pushed and not read yet.", labelled("stream", backlogs)
        waiting = labelled("query", subscribers.counts())
        yield "subscribers", "gauge", "Connections that wait for answers.", waiting
        cut_off: list[Sample] = [({}, subscribers.cut_off)]
        yield "subscribers_cut_off_total", "counter", "Subscribers that were too slow.", cut_off
        yield "views", "gauge", "Windows that are looked through.", [({}, len(host.views))]
        yield "static_triples", "gauge", "Triples in the static graphs.", [({}, host.engine.graphs.size)]
        yield "batches_total", "counter", "Batches since the streams were started.", [({}, batches)]
        yield "up", "gauge", "Whether streams flow.", [({}, host.failure is None and host.runs)]
        answered = [({"method": method, "status": str(status)}, n) for (method, status), n in requests]
        yield "http_requests_total", "counter", "Requests answered.", answered


def labelled(label: str, counts: Mapping[str, int]) -> list[Sample]:
    return [({label: name}, count) for name, count in dict(counts).items()]


def family(name: str, kind: str, help: str, samples: Iterable[Sample]) -> list[str]:
    """A metric with its samples; one that has no value is left out."""
    lines = [f"# HELP rheos_{name} {help}", f"# TYPE rheos_{name} {kind}"]
    for labels, value in samples:
        if value is not None:
            shown = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
            lines.append(
                f"rheos_{name}{{{shown}}} {float(value):.17g}"
                if shown
                else f"rheos_{name} {float(value):.17g}"
            )
    return lines


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
