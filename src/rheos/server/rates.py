"""Rates: elements and rows per second of event time, over the last two minutes.

The engine counts once per batch, and the elements of a batch may span any length of event time. So a rate is
not what was counted in a second of wall-clock time, but what was counted between two event times: a stream of
fifty elements a second has that rate, however its elements are cut into batches.
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
_MARGIN = EVERY / 2  # a rate is the mean over its two seconds and this margin on both sides
_PATIENCE = 5.0  # seconds without a count before a curve can fall to zero
_FAR = 3  # times the usual distance of points: a count after a longer gap is not spread over all of the gap
_MOST = 4000  # points of a curve
_SECOND = 1_000_000

Counts = Mapping[str, tuple[int | None, int]]


def counted(metrics: Metrics, streams: Mapping[str, str]) -> Counts:
    """For each query its event time and its number of rows, for each stream its event time and its number of
    elements. `streams` has the names of streams by their IRIs. Views, which are the queries with a slash in
    their names, are left out."""
    queries = {name: found for name, found in metrics.queries.items() if "/" not in name}
    rows = {name: (found.event_time, found.rows) for name, found in queries.items()}
    known = ((name, metrics.streams.get(iri)) for iri, name in streams.items())
    return rows | {name: (found.event_time, found.read) for name, found in known if found is not None}


@dataclass
class _Curve:
    """A count as a curve over event time: `points` are event times in seconds, each with the count up to it.
    `heard` is when the last change of the count came in, on the monotonic clock."""

    points: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_MOST))
    heard: float = 0.0

    def add(self, at: float, count: int, now: float) -> None:
        again = self.points and (at < self.points[-1][0] or count < self.points[-1][1])
        if not self.points or again:  # a stream was reset, or a query was replaced
            self.points = deque([(at, count)], maxlen=_MOST)  # in one step: other threads read meanwhile
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
        """The event time up to which rates are known. After a long silence it goes on with the clock."""
        silence = now - self.heard
        last = self.points[-1][0]
        if silence > max(_PATIENCE, _FAR * self._usual()):
            last += silence
        return last // EVERY * EVERY

    def rates(self, now: float) -> list[float]:
        """One rate for each `EVERY` seconds of event time, the oldest first."""
        times, counts = zip(*list(self.points), strict=True)
        end = self.until(now)
        count = min(SAMPLES, int((end - times[0]) // EVERY))
        ends = end - EVERY * np.arange(count - 1, -1, -1)
        high = np.minimum(ends + _MARGIN, max(end, times[-1]))
        low = np.maximum(ends - EVERY - _MARGIN, times[0])
        found = (np.interp(high, times, counts) - np.interp(low, times, counts)) / (high - low)
        return [float(f"{rate:.3g}") for rate in found.tolist()]


class Rates:
    """The rates of all streams and queries. One thread adds counts, any thread may ask for rates."""

    def __init__(self) -> None:
        self._curves: dict[str, _Curve] = {}

    def add(self, counts: Counts) -> None:
        """Add the present count of each name, with its event time in microseconds."""
        now = time.monotonic()
        for name, (at, count) in counts.items():
            if at is not None:
                curve = self._curves.get(name, _Curve())
                curve.add(at / _SECOND, count, now)
                self._curves[name] = curve  # last: a curve that other threads can see has a point
        for gone in self._curves.keys() - counts.keys():
            del self._curves[gone]

    def of(self, name: str) -> list[float]:
        """The rates of a stream or a query, the oldest first."""
        curve = self._curves.get(name)
        return [] if curve is None else curve.rates(time.monotonic())

    def until(self, name: str) -> int | None:
        """The event time (microseconds) at which the last of the rates ends."""
        curve = self._curves.get(name)
        return None if curve is None else round(curve.until(time.monotonic()) * _SECOND)
