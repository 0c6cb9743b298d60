"""Rates: how many elements and rows a second there were in the last two minutes, for sparklines."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Mapping

SAMPLES = 60
EVERY = 2.0  # seconds


class Rates:
    """The counts of the last two minutes. One thread adds to them, any thread may ask."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, Mapping[str, int]]] = deque(maxlen=SAMPLES + 1)

    @property
    def due(self) -> bool:
        return not self._samples or time.monotonic() - self._samples[-1][0] >= EVERY

    def add(self, counts: Mapping[str, int]) -> None:
        self._samples.append((time.monotonic(), counts))

    def of(self, name: str) -> list[float]:
        """The rates between one sample and the next, the oldest first."""
        found = [(at, counts[name]) for at, counts in list(self._samples) if name in counts]
        # The count starts again at zero when a query is replaced.
        return [round(max(0, b - a) / (till - at), 1) for (at, a), (till, b) in itertools.pairwise(found)]
