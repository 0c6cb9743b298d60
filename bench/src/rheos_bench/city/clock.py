"""When instants are complete: what was sent to streams comes in, and from when on an answer can be expected.

An instant is complete for a query when each of its streams has brought something later, or has brought
nothing for its idle timeout. If all are silent, the clock of the query stops at the first instant after the
last element; what is after that waits for the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

SECOND = 1_000_000
NEVER = float("inf")


@dataclass
class Sent:
    """What was sent to one stream: the times of the elements, in order, and when each was sent, in seconds
    since 1970."""

    times: list[int] = field(default_factory=list)
    when: list[float] = field(default_factory=list)

    def add(self, time: int, when: float) -> None:
        self.times.append(time)
        self.when.append(when)

    def last(self, instant: int) -> int | None:
        """The place of the last element that is not after an instant."""
        at = bisect_right(self.times, instant) - 1
        return at if at >= 0 else None

    def later(self, instant: int) -> float:
        """When something was sent that is after an instant."""
        at = bisect_right(self.times, instant)
        return self.when[at] if at < len(self.times) else NEVER

    def complete(self, instant: int, idle: float) -> float:
        """When the stream was complete up to an instant."""
        at = self.last(instant)
        silent = NEVER if at is None else self.when[at] + idle
        return min(self.later(instant), silent)


def complete(streams: Iterable[Sent], instant: int, idle: float) -> float:
    """When an instant was complete for a query over these streams; NEVER if it was not."""
    sent = list(streams)
    when = max(stream.complete(instant, idle) for stream in sent)
    seen = [stream.times[at] for stream in sent if (at := stream.last(instant)) is not None]
    if not seen or instant >= max(seen) + SECOND:
        when = max(when, min(stream.later(instant) for stream in sent))
    return when
