"""The watch: what depends on the wall clock. How fast streams flow, whether one has fallen silent, and how
far ahead of the clock an element may be.

The wall clock has only two effects: an instant may count as complete although a silent stream has not reached
it, and elements that are too far ahead are refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.runtime.driver.metrics import StreamMetrics
from rheos.runtime.state.progress import Progress
from rheos.sources.base import Source
from rheos.sources.times import NEVER

if TYPE_CHECKING:
    from rheos.sources.frames import Frame
    from rheos.sources.kafka import Kafka


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of an engine. It comes from a `source`, or from a Spark `frame`: a user's DataFrame or a topic
    of Kafka. `lateness` is the allowed lateness (microseconds). After `idle` seconds of silence, the stream
    or a partition of it no longer holds up the others. `ahead` is how far ahead of the clock an element may
    be (microseconds)."""

    source: Source | None
    lateness: int = 0
    idle: float | None = None
    frame: Frame | Kafka | None = None
    ahead: int | None = None

    @property
    def live(self) -> bool:
        return self.source is None or self.source.live


class Watch:
    """Notes when each stream last had elements, and which streams are `silent` and
    which partitions `idle`."""

    def __init__(self, streams: Mapping[str, Stream]) -> None:
        self.streams = streams
        self.silent: set[str] = set()
        self.idle: set[tuple[str, int]] = set()
        self._heard = dict.fromkeys(streams, time.monotonic())
        self._partitions: dict[tuple[str, int], float] = {}
        self._rates: dict[str, float] = {}
        self._begun = self._since = time.monotonic()

    def heard(self, before: Mapping[str, Progress], after: Mapping[str, Progress]) -> int:
        """Note the progress of the streams before and after a batch. The result is how many
        elements were read."""
        now = time.monotonic()
        total = 0
        for name, progress in after.items():
            known = before.get(name, Progress())
            more = progress.read - known.read
            total += more
            if more:
                self._heard[name] = now
                self.silent.discard(name)
            for number, partition in progress.partitions.items():
                if partition != known.partitions.get(number):
                    self._partitions[name, number] = now
                    self.idle.discard((name, number))
            rate = more / max(now - self._since, 1e-3)
            self._rates[name] = 0.5 * self._rates.get(name, rate) + 0.5 * rate
        self._since = now
        return total

    def notice(self, progress: Mapping[str, Progress]) -> bool:
        """Find the live streams that are silent and the partitions that are idle by now; True if there are
        more than before."""
        now, before = time.monotonic(), len(self.silent) + len(self.idle)
        for name, stream in self.streams.items():
            if not stream.live or stream.idle is None or name not in progress:
                continue
            if now - self._heard[name] > stream.idle:
                self.silent.add(name)
            for number in list(progress[name].partitions):
                # The idle time of a partition that is known from an earlier run begins with this run.
                heard = self._partitions.setdefault((name, number), self._begun)
                if now - heard > stream.idle:
                    self.idle.add((name, number))
        return len(self.silent) + len(self.idle) > before

    def metrics(self, name: str, progress: Progress, live: int) -> StreamMetrics:
        event_time = None if progress.high == NEVER else progress.high
        lag = None
        if self.streams[name].live and event_time is not None:
            lag = time.time() - event_time / 1e6
        return StreamMetrics(
            progress.read,
            progress.bad,
            progress.late,
            progress.ahead,
            progress.without_zone,
            event_time,
            self._rates.get(name, 0.0),
            lag,
            live,
            progress.ended,
        )
