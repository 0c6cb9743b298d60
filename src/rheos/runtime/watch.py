"""What the clock on the wall says of streams: how fast they flow, and whether one has fallen silent.

It never changes an answer; only that an instant counts as complete although a stream has not said so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheos.runtime.buffers import NEVER, Progress
from rheos.runtime.metrics import StreamMetrics
from rheos.sources.base import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of an engine: where it comes from, the lateness that is allowed (microseconds), and after how
    many seconds of silence it no longer holds up the others. Rows of a Spark `frame` are chunks already."""

    source: Source | None
    lateness: int = 0
    idle: float | None = None
    frame: DataFrame | None = None

    @property
    def live(self) -> bool:
        return self.source is None or self.source.live


class Watch:
    """When each stream was heard of last, and those that are `silent`."""

    def __init__(self, streams: Mapping[str, Stream]) -> None:
        self.streams = streams
        self.silent: set[str] = set()
        self._heard = dict.fromkeys(streams, time.monotonic())
        self._rates: dict[str, float] = {}
        self._since = time.monotonic()

    def heard(self, before: Mapping[str, Progress], after: Mapping[str, Progress]) -> int:
        """Take note of a batch: how far the streams were and are; how many elements that is."""
        now = time.monotonic()
        total = 0
        for name, progress in after.items():
            more = progress.read - before.get(name, Progress()).read
            total += more
            if more:
                self._heard[name] = now
                self.silent.discard(name)
            rate = more / max(now - self._since, 1e-3)
            self._rates[name] = 0.5 * self._rates.get(name, rate) + 0.5 * rate
        self._since = now
        return total

    def notice(self, progress: Mapping[str, Progress]) -> bool:
        """Whether a live stream has now been idle for so long that it is silent."""
        now = time.monotonic()
        found = {
            name
            for name, stream in self.streams.items()
            if stream.live
            and stream.idle is not None
            and name in progress
            and name not in self.silent
            and now - self._heard[name] > stream.idle
        }
        self.silent |= found
        return bool(found)

    def metrics(self, name: str, progress: Progress, live: int) -> StreamMetrics:
        event_time = None if progress.high == NEVER else progress.high
        lag = None
        if self.streams[name].live and event_time is not None:
            lag = time.time() - event_time / 1e6
        return StreamMetrics(
            progress.read,
            progress.bad,
            progress.late,
            progress.without_zone,
            event_time,
            self._rates.get(name, 0.0),
            lag,
            live,
            progress.ended,
        )
