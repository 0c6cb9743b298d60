"""What a running engine shows of itself: how far its streams are, and what its queries have answered."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

# The bounds between which times are counted, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took, again and again: how often it took at most each of `BOUNDS` and more than the
    one before, at the end how often it took longer, and the sum of all in seconds."""

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
        """Whether it has counted less."""
        return isinstance(other, Times) and self.count < other.count


NONE = Times()


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """A stream: elements read and what became of those that could not be used; `event_time` is the highest
    time seen (microseconds), `rate` elements a second lately, `lag` how far event time is behind the wall
    clock, for live sources. `connected` says of a broker or a server whether it is, `trouble` why it is not,
    and `failures` how often that was so."""

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
    """A query: the instants and rows that it reported, how long and where its last evaluation ran, and the
    `times` of all. `sharding` says how its work was last shared out: `one` shard, by `time` or by a
    `variable`; into how many `shards`, on which `executors`. `failure` says why it was stopped by the engine;
    `callback_errors` counts what its subscribers raised. `skipped` are the instants that it gave up.
    `event_time` is the last instant that it reported (microseconds)."""

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
    """A sink of a query: how many answers wait for it, in how many bytes, and for how many seconds the first
    of them has waited; how many it has taken and how many were dropped since the process began. `trouble`
    says why it takes none now. `times` are those from the end of a batch until the sink had its answers."""

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
    """Streams by their IRI and queries by their name, as they are now, and the sinks of queries that have
    some. `static_milliseconds` is how long the static parts of queries of CQELS-QL took when they were last
    computed. `batches` are those since the streams were last started, `batch_times` those of all."""

    streams: dict[str, StreamMetrics] = field(default_factory=dict)
    queries: dict[str, QueryMetrics] = field(default_factory=dict)
    batches: int = 0
    static_milliseconds: float = 0.0
    sinks: dict[str, list[SinkMetrics]] = field(default_factory=dict)
    batch_times: Times = NONE
