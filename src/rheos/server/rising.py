"""Rising: counts that may begin again come in, counts that never fall go out.

A query that is replaced counts from zero again, and so does a sink that is assigned again. For Prometheus,
which computes rates, a count must not fall: so the count from before is added.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from rheos.runtime.driver.metrics import Times

MOST = 10_000

C = TypeVar("C", float, Times)


class Rising(Generic[C]):
    """The last count of each key. If there are more than `most` keys, the one that was not used for the
    longest time is forgotten: queries come and go, and their names would fill the memory."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, ...], tuple[C, C | None]] = {}  # the last count, and what was before it

    def of(self, key: tuple[str, ...], count: C) -> C:
        """A count, plus what was counted under the same key before the count began again."""
        with self._lock:
            last, before = self._seen.pop(key, (None, None))
            if last is not None and count < last:
                before = last if before is None else before + last
            self._seen[key] = (count, before)
            if len(self._seen) > self._most:
                del self._seen[next(iter(self._seen))]
            return count if before is None else count + before
