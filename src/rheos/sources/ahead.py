"""The bound on how far ahead of the clock on the wall an element may be: elements come in, those beyond it
go out, each with the reason.

Without it one element of the year 9999 would make every later one late. The clock on the wall decides here,
so the decision is made once: a push stream makes it when it takes an element into its log, and the log says
how it was made; for other live sources it is made by the batch that reads the element, for all of its tasks
at one moment of the driver's clock, and becomes durable with all else that the batch came to. A batch that a
crash left undone may decide otherwise when it is done again: nobody has seen anything of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rheos import durations
from rheos.sources.times import Microseconds

HOUR = 3_600_000_000


class Ahead(NamedTuple):
    """What the clock says, and how far after that an element may be, in microseconds."""

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
    """The elements but for some rows."""
    kept = np.ones(elements.num_rows, bool)
    kept[rows] = False
    return elements.filter(pa.array(kept))
