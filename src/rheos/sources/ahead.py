"""The bound on how far ahead of the wall clock an element may be: finds the elements beyond the bound.

Without the bound, one element of the year 9999 would make every later element late. The wall clock decides
here, so the decision for an element is made once. A push stream decides when it takes the element into its
log, and the log records the decision. For other live sources the batch decides that reads the element. All
tasks of the batch use one moment of the driver's clock, and the decision becomes durable with the other
results of the batch. A batch that a crash left unfinished may decide otherwise when it is repeated, because
nobody has seen any of its results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rheos import durations
from rheos.sources.times import Microseconds

HOUR = 3_600_000_000


class Ahead(NamedTuple):
    """The time of the clock, and how far after that time an element may be, in microseconds."""

    clock: int
    allowed: int

    def beyond(self, elements: pa.RecordBatch) -> Microseconds:
        """The rows that are too far ahead."""
        times: Microseconds = elements.column("time").to_numpy()
        return np.flatnonzero(times > self.clock + self.allowed)

    def reason(self, time: int) -> str:
        from rheos.answers.continuous import time_text

        return (
            f"too far ahead: its time is {time_text(time)}, when the clock was at {time_text(self.clock)};"
            f" at most {durations.short(self.allowed)} are allowed"
        )


def without(elements: pa.RecordBatch, rows: Microseconds) -> pa.RecordBatch:
    """The elements without some rows."""
    kept = np.ones(elements.num_rows, bool)
    kept[rows] = False
    return elements.filter(pa.array(kept))
