"""Progress: how far a stream has been read, and which elements of its chunks are accepted.

A stream has one or more partitions, each with its own order of arrival. The watermark of a partition is the
highest time seen in it, less the allowed lateness. An element that is older than the watermark when it
arrives is late. Everything here is a pure function, so a task can repeat it after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rheos import durations
from rheos.sources.chunks import Header, triple_text
from rheos.sources.times import FOREVER, NEVER, Microseconds


@dataclass(frozen=True, slots=True)
class Partition:
    """How far a partition has been read: `high` is the highest time seen, `place` the file that is being
    read, and `line` the number of lines read of this file."""

    high: int = NEVER
    place: str = ""
    line: int = 0
    ended: bool = False

    def lines_before(self, chunk: Header) -> int:
        """How many lines of its file come before a chunk."""
        return 0 if chunk.first or chunk.place != self.place else self.line

    def moved(self, chunk: Header) -> Partition:
        line = self.lines_before(chunk) + chunk.lines
        return Partition(max(self.high, chunk.high), chunk.place, line, self.ended or chunk.last)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stream has been read; it can be written as JSON.

    `complete` is the time up to which the stream was taken to be complete. Answers up to that time are final,
    so an element with such a time is late. Partitions that flow always have a watermark after `complete`; a
    partition that was idle, or that is new, may not.
    """

    partitions: Mapping[int, Partition] = field(default_factory=dict)
    complete: int = NEVER
    read: int = 0
    bad: int = 0
    late: int = 0
    ahead: int = 0
    without_zone: int = 0
    ended: bool = False

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Progress:
        """The progress in a record. Records from before streams had partitions are read, too."""
        left = dict(values)
        if "partitions" not in left:
            only = Partition(*(left.pop(name) for name in ("high", "place", "line")))
            return cls({0: only} if left["read"] else {}, **left)
        found = left.pop("partitions").items()
        return cls({int(number): Partition(**partition) for number, partition in found}, **left)

    @property
    def high(self) -> int:
        """The highest time seen; NEVER if there was no element."""
        return max((partition.high for partition in self.partitions.values()), default=NEVER)

    @property
    def dead(self) -> int:
        return self.bad + self.late + self.ahead

    @property
    def accepted(self) -> int:
        return self.read - self.dead

    def partition(self, number: int) -> Partition:
        return self.partitions.get(number, Partition())

    def knowing(self, partitions: Iterable[int]) -> Progress:
        """The progress with all of these partitions. The stream also waits for those of which nothing has
        been read yet."""
        new = {number: Partition() for number in partitions if number not in self.partitions}
        return replace(self, partitions={**self.partitions, **new})

    def having_ended(self) -> Progress:
        return replace(self, ended=True)

    def moved(self, chunk: Header, late: int) -> Progress:
        """The progress after a chunk, of which `late` elements were late for earlier chunks."""
        ahead = sum(bad.kind == "ahead" for bad in chunk.bad)
        moved = self.partition(chunk.partition).moved(chunk)
        return replace(
            self,
            partitions={**self.partitions, chunk.partition: moved},
            read=self.read + chunk.rows + len(chunk.late) + len(chunk.bad),
            bad=self.bad + len(chunk.bad) - ahead,
            ahead=self.ahead + ahead,
            late=self.late + len(chunk.late) + late,
            without_zone=self.without_zone + chunk.without_zone,
        )

    def watermark(self, lateness: int, idle: Set[int] = frozenset()) -> int:
        """The lowest watermark of the partitions that have not ended and are not idle. FOREVER if all have
        ended or are idle; NEVER if no partition is known."""
        flowing = (p for number, p in self.partitions.items() if not p.ended and number not in idle)
        low = min((partition.high for partition in flowing), default=FOREVER if self.partitions else NEVER)
        return low if low in (NEVER, FOREVER) else low - lateness

    def completed(self, until: int) -> Progress:
        """The progress after queries were evaluated up to a time; FOREVER means up to the last element."""
        return replace(self, complete=max(self.complete, self.high if until == FOREVER else until))

    def anew(self) -> Progress:
        """The progress with a clock that starts again; the counts of elements stay."""
        partitions = {number: replace(p, high=NEVER) for number, p in self.partitions.items()}
        return replace(self, partitions=partitions, complete=NEVER)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A line or an element that a stream could not use: where it was, its text, and why it is refused. `kind`
    is `bad`, `late` or `ahead`."""

    stream: str
    kind: str
    place: str
    line: int
    text: str
    reason: str

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Arrival(NamedTuple):
    """A chunk in the task that evaluates. `segment` is the name of the file with its elements in the state
    store, if there is one."""

    header: Header
    elements: pa.Table
    segment: str | None = None


class TakenIn(NamedTuple):
    """The result of taking in the chunks of a batch. `late` says, for each chunk, how many of its first
    elements are late."""

    progress: Progress
    late: list[int]
    letters: list[DeadLetter]


def take_in(stream: str, arrivals: Sequence[Arrival], progress: Progress, lateness: int) -> TakenIn:
    """Take in chunks: number their lines, find the elements that are late for earlier chunks, and compute the
    progress after all of them."""
    found = TakenIn(progress, [], [])
    for arrival in arrivals:
        found = _take(stream, arrival, found, lateness)
    return found


def _take(stream: str, arrival: Arrival, taken: TakenIn, lateness: int) -> TakenIn:
    progress, header, elements = taken.progress, arrival.header, arrival.elements
    partition = progress.partition(header.partition)
    before = partition.lines_before(header)

    def late(line: int, triple: tuple[str, ...], time: int, seen: int) -> DeadLetter:
        reason = _late(time, max(partition.high, seen), progress.complete, lateness)
        number = before + line if line else 0  # elements of a document have no line numbers
        return DeadLetter(stream, "late", header.place, number, triple_text(triple), reason)

    letters = [
        DeadLetter(stream, bad.kind, header.place, before + bad.line, bad.text.rstrip("\r\n"), bad.reason)
        for bad in header.bad
    ]
    letters += [late(item.line, item.triple, item.time, item.seen) for item in header.late]
    times: Microseconds = elements.column("time").to_numpy()
    earliest = max(partition.high - lateness, progress.complete + 1)
    count = int(np.searchsorted(times, earliest, side="left"))
    if count:
        rows = elements.slice(0, count).to_pylist()
        seen = seen_before(times, elements.column("turn").to_numpy(), count)
        for row, high in zip(rows, seen, strict=True):
            letters.append(late(row["line"], (row["s"], row["p"], row["o"]), row["time"], int(high)))
    letters.sort(key=lambda found: found.line)
    return TakenIn(progress.moved(header, count), [*taken.late, count], [*taken.letters, *letters])


def seen_before(times: Microseconds, turns: Microseconds, count: int) -> Microseconds:
    """For each of the first `count` elements, the highest time that arrived before it. The elements are
    sorted by time; `turns` are their positions in the order of arrival."""
    order = np.argsort(turns, kind="stable")
    seen = np.empty(len(times), np.int64)
    seen[order] = np.maximum.accumulate(np.concatenate(([NEVER], times[order])))[:-1]
    found: Microseconds = seen[:count]
    return found


def _late(time: int, high: int, complete: int, lateness: int) -> str:
    """Why an element is late: for its own partition, or because the stream was complete
    without this partition."""
    from rheos.answers.continuous import time_text

    told = f"late: its time is {time_text(time)}, the stream is already "
    if time < high - lateness:
        told += f"at {time_text(high - lateness)}"
        needed = high - time
    else:
        told += f"complete to {time_text(complete)}, without this partition"
        needed = complete - time + lateness + 1
    return f"{told}; a lateness of {durations.short(needed)} would have kept it"
