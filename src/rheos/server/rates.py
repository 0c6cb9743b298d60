"""Rates: how many elements and rows a second there were in the last two minutes, by event time.

The engine counts batch by batch, and a batch has what came in no matter which time. So a rate is not what was
counted in a second on the wall, but what was counted between two event times: a stream of fifty elements a
second has that rate, however its elements are cut into batches.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rheos.runtime.driver.metrics import Metrics

SAMPLES = 60
EVERY = 2.0  # seconds
_SPAN = SAMPLES * EVERY
_MARGIN = EVERY / 2  # a rate is the mean over its seconds and so much on both sides
_PATIENCE = 5.0  # seconds without anything, after which the rate is zero
_FAR = 3  # times the usual distance: what comes after so long was not spread over all of it
_MOST = 4000  # points of a curve
_SECOND = 1_000_000

Counts = Mapping[str, tuple[int | None, int]]


def counted(metrics: Metrics, streams: Mapping[str, str]) -> Counts:
    """How many elements and rows an engine has counted, and up to which event time; the streams have their
    names by their IRIs. Queries with a slash in their names are views."""
    queries = {name: found for name, found in metrics.queries.items() if "/" not in name}
    rows = {name: (found.event_time, found.rows) for name, found in queries.items()}
    known = ((name, metrics.streams.get(iri)) for iri, name in streams.items())
    return rows | {name: (found.event_time, found.read) for name, found in known if found is not None}


@dataclass
class _Curve:
    """How many there were up to some event times (seconds), and when the last of these was heard of."""

    points: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_MOST))
    heard: float = 0.0

    def add(self, at: float, count: int, now: float) -> None:
        again = self.points and (at < self.points[-1][0] or count < self.points[-1][1])
        if not self.points or again:  # a stream was reset, or a query was replaced
            self.points = deque([(at, count)], maxlen=_MOST)  # in one step: others may ask meanwhile
            self.heard = now
            return
        last, before = self.points[-1]
        if count == before:
            return
        if at == last:
            self.points[-1] = at, count
        else:
            usual = self._usual()
            if len(self.points) > _FAR and at - last > max(_FAR * usual, _PATIENCE):
                self.points.append((at - usual, before))
            self.points.append((at, count))
        self.heard = now
        while len(self.points) > 2 and self.points[1][0] < at - _SPAN - 2 * EVERY:
            self.points.popleft()

    def _usual(self) -> float:
        """How far apart points usually are."""
        gaps = [b - a for (a, _), (b, _) in pairwise(list(self.points))]
        return statistics.median(gaps) if gaps else EVERY

    def until(self, now: float) -> float:
        """The event time up to which rates are known: it goes on while nothing comes."""
        silence = now - self.heard
        last = self.points[-1][0]
        if silence > max(_PATIENCE, _FAR * self._usual()):
            last += silence
        return last // EVERY * EVERY

    def rates(self, now: float) -> list[float]:
        """The rates of spans of event time, the oldest first."""
        times, counts = zip(*list(self.points), strict=True)
        end = self.until(now)
        count = min(SAMPLES, int((end - times[0]) // EVERY))
        ends = end - EVERY * np.arange(count - 1, -1, -1)
        high = np.minimum(ends + _MARGIN, max(end, times[-1]))
        low = np.maximum(ends - EVERY - _MARGIN, times[0])
        found = (np.interp(high, times, counts) - np.interp(low, times, counts)) / (high - low)
        return [float(f"{rate:.3g}") for rate in found.tolist()]


class Rates:
    """The counts of the last two minutes. One thread adds to them, any thread may ask."""

    def __init__(self) -> None:
        self._curves: dict[str, _Curve] = {}

    def add(self, counts: Counts) -> None:
        """How many there were so far of each name, and up to which event time (microseconds)."""
        now = time.monotonic()
        for name, (at, count) in counts.items():
            if at is not None:
                curve = self._curves.get(name, _Curve())
                curve.add(at / _SECOND, count, now)
                self._curves[name] = curve  # where it is known to others, it has a point
        for gone in self._curves.keys() - counts.keys():
            del self._curves[gone]

    def of(self, name: str) -> list[float]:
        """The rates of a name, the oldest first."""
        curve = self._curves.get(name)
        return [] if curve is None else curve.rates(time.monotonic())

    def until(self, name: str) -> int | None:
        """The event time (microseconds) at which the last of the rates ends."""
        curve = self._curves.get(name)
        return None if curve is None else round(curve.until(time.monotonic()) * _SECOND)
