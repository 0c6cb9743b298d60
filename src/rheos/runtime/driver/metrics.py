"""Metrics: what a running engine shows of its streams, queries and sinks."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

# The upper bounds of a histogram's buckets, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Times:
    """A histogram of durations. `counts` has, for each of `BOUNDS`, how many durations were at most that long
    and longer than the bound before; the last count is for longer ones. `total` is the sum in seconds."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def plus(self, seconds: float) -> Times:
        at = bisect_left(BOUNDS, seconds)
        counts = (*self.counts[:at], self.counts[at] + 1, *self.counts[at + 1 :])
        return Times(counts, self.total + seconds)

    def __add__(self, other: Times) -> Times:
        counts = tuple(ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True))
        return Times(counts, self.total + other.total)

    def __lt__(self, other: object) -> bool:
        """Whether this histogram has counted fewer durations."""
        return isinstance(other, Times) and self.count < other.count


NONE = Times()


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """The metrics of a stream: how many elements were read, and how many of them could not be used, by
    reason. `event_time` is the highest time seen (microseconds), `rate` the recent number of elements a
    second. For live sources, `lag` is how far event time is behind the wall clock (seconds). For a source at
    a broker or a server, `connected` says whether the connection stands, `trouble` why not, and `failures`
    how often it failed."""

    read: int = 0
    bad: int = 0
    late: int = 0
    ahead: int = 0
    warnings: int = 0
    event_time: int | None = None
    rate: float = 0.0
    lag: float | None = None
    live: int = 0
    ended: bool = False
    connected: bool | None = None
    trouble: str | None = None
    failures: int = 0

    @property
    def dead(self) -> int:
        return self.bad + self.late + self.ahead


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """The metrics of a query: how many instants and rows it reported, how long and where its last evaluation
    ran, and the `times` of all evaluations. `sharding` says how its work was last shared out: `one` shard, by
    `time` or by a `variable`; into how many `shards`, on which `executors`. `failure` says why the engine
    stopped it. `callback_errors` counts the errors that its subscribers raised. `skipped` counts the instants
    that it gave up. `event_time` is the last instant that it reported (microseconds)."""

    instants: int = 0
    rows: int = 0
    milliseconds: float | None = None
    execution: str | None = None
    running: bool = True
    failure: str | None = None
    callback_errors: int = 0
    sharding: str | None = None
    shards: int = 0
    executors: tuple[str, ...] = ()
    skipped: int = 0
    times: Times = NONE
    event_time: int | None = None


@dataclass(frozen=True, slots=True)
class SinkMetrics:
    """The metrics of a sink: how many answers wait for it, in how many bytes, and for how many seconds the
    first of them has waited (`behind`); how many it has taken, and how many were dropped, since the process
    began. `trouble` says why it takes none now. `times` are the durations from the writing of a batch's
    answers to the outbox until the sink had taken them."""

    to: str
    waiting: int = 0
    bytes: int = 0
    behind: float = 0.0
    taken: int = 0
    dropped: int = 0
    trouble: str | None = None
    times: Times = NONE


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of an engine: streams by their IRI, queries by their name, and sinks by the name of their
    query. `static_milliseconds` is how long it took to fill tables of static data when some were last
    filled. `batches` counts the batches since the streams were last started; `batch_times` has the
    durations of all batches."""

    streams: dict[str, StreamMetrics] = field(default_factory=dict)
    queries: dict[str, QueryMetrics] = field(default_factory=dict)
    batches: int = 0
    static_milliseconds: float = 0.0
    sinks: dict[str, list[SinkMetrics]] = field(default_factory=dict)
    batch_times: Times = NONE
