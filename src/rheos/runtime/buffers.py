"""The buffer of a stream: chunks come in, in order of arrival, and its live elements go out in order of time.

Everything here is a pure function of the buffer and the chunks: a task can do it again, and does after a
crash. A stream has one or more partitions, each with its own order of arrival. The watermark of a partition
is the highest time seen in it, less the lateness that is allowed; an element older than that at its arrival
is late. The others are put in order: by time, and at the same time by partition, then by arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rheos import durations
from rheos.sources.ahead import Ahead, without
from rheos.sources.chunks import ELEMENTS, BadLine, Chunk
from rheos.sources.times import Microseconds

# Earlier and later than any time that a stream can have.
NEVER, FOREVER = -(2**62), 2**62

# What is kept of an element. The partition decides only about the order of elements of the same time.
LIVE = pa.schema(
    [*(ELEMENTS.field(name) for name in ("s", "p", "o", "start", "time")), ("partition", pa.int64())]
)
_SEEN = [name for name in LIVE.names if name != "partition"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a chunk moves its stream by; it can be written as JSON. `high` is its highest time."""

    rows: int
    bad: int
    ahead: int
    high: int
    without_zone: int
    place: str
    lines: int
    first: bool
    partition: int = 0
    last: bool = False

    @classmethod
    def of(cls, chunk: Chunk) -> Summary:
        times: Microseconds = chunk.elements.column("time").to_numpy()
        ahead = sum(bad.kind == "ahead" for bad in chunk.bad)
        return cls(
            len(times),
            len(chunk.bad) - ahead,
            ahead,
            int(times.max()) if len(times) else NEVER,
            chunk.without_zone,
            chunk.place,
            chunk.lines,
            chunk.first,
            chunk.partition,
            chunk.last,
        )


@dataclass(frozen=True, slots=True)
class Partition:
    """How far a partition has been read: `high` is the highest time seen, `line` the number of lines read of
    the `place` (a file) it is at."""

    high: int = NEVER
    place: str = ""
    line: int = 0
    ended: bool = False

    def lines_before(self, chunk: Summary) -> int:
        """How many lines of its place come before a chunk."""
        return 0 if chunk.first or chunk.place != self.place else self.line

    def moved(self, chunk: Summary) -> Partition:
        line = self.lines_before(chunk) + chunk.lines
        return Partition(max(self.high, chunk.high), chunk.place, line, self.ended or chunk.last)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stream has been read; it can be written as JSON.

    `complete` is the time up to which it has been taken to be complete: whatever was evaluated up to there is
    final, so an element of then can no longer come in. The partitions that flow stay after it by themselves;
    one that was idle, or that shows up only now, may not.
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
        """Also what was written before streams had partitions."""
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

    def having_ended(self) -> Progress:
        return replace(self, ended=True)

    def with_late(self, more: int) -> Progress:
        return replace(self, late=self.late + more)

    def moved(self, chunk: Summary) -> Progress:
        """How far the stream is after a chunk, but for how many of its elements were late."""
        moved = self.partition(chunk.partition).moved(chunk)
        return replace(
            self,
            partitions={**self.partitions, chunk.partition: moved},
            read=self.read + chunk.rows + chunk.bad + chunk.ahead,
            bad=self.bad + chunk.bad,
            ahead=self.ahead + chunk.ahead,
            without_zone=self.without_zone + chunk.without_zone,
        )

    def watermark(self, lateness: int, idle: Set[int] = frozenset()) -> int:
        """The lowest watermark of the partitions that have not ended and are not idle; FOREVER if all have or
        are, NEVER if none is known."""
        flowing = (p for number, p in self.partitions.items() if not p.ended and number not in idle)
        low = min((partition.high for partition in flowing), default=FOREVER if self.partitions else NEVER)
        return low if low in (NEVER, FOREVER) else low - lateness

    def completed(self, until: int) -> Progress:
        """Now that all up to a time was evaluated; FOREVER is up to the last element."""
        return replace(self, complete=max(self.complete, self.high if until == FOREVER else until))

    def anew(self) -> Progress:
        """With a clock that has not begun; what was counted stays."""
        partitions = {number: replace(p, high=NEVER) for number, p in self.partitions.items()}
        return replace(self, partitions=partitions, complete=NEVER)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What a stream could not use: where it was, what it was, and why; `kind` is `bad`, `late` or `ahead`."""

    stream: str
    kind: str
    place: str
    line: int
    text: str
    reason: str

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Buffer:
    """The live elements of a stream in their order, and how many went before them."""

    elements: pa.Table
    dropped: int = 0

    @classmethod
    def empty(cls, dropped: int = 0) -> Buffer:
        return cls(LIVE.empty_table(), dropped)

    @property
    def placed(self) -> pa.Table:
        """The elements with their place: their number in the stream, from 1."""
        first = self.dropped + 1
        places = np.arange(first, first + len(self.elements), dtype=np.int64)
        return self.elements.select(_SEEN).append_column("place", pa.array(places))

    def with_more(self, more: Sequence[pa.RecordBatch]) -> Buffer:
        """With elements that arrived after all that are here."""
        added = pa.Table.from_batches(more, LIVE)
        if not len(added):
            return self
        return replace(self, elements=ordered(pa.concat_tables([self.elements, added])))

    def keeping(self, kept: pa.Table) -> Buffer:
        """Without the elements before the first of those that are to be kept, as `placed` has them."""
        gone = kept.column("place")[0].as_py() - self.dropped - 1 if len(kept) else len(self.elements)
        return Buffer(self.elements.slice(gone), self.dropped + gone)

    @property
    def last(self) -> int:
        """The highest time; NEVER if there is no element."""
        return self.elements.column("time")[-1].as_py() if len(self.elements) else NEVER

    def up_to(self, time: int) -> int:
        """The place of the last element that is not after a time."""
        times = self.elements.column("time").to_numpy()
        return self.dropped + int(np.searchsorted(times, time, side="right"))


@dataclass(frozen=True, slots=True)
class Arrived:
    """What came of the chunks of a batch."""

    progress: Progress
    elements: list[pa.RecordBatch] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)


def arrive(
    stream: str, chunks: Sequence[Chunk], progress: Progress, lateness: int, ahead: Ahead | None = None
) -> Arrived:
    """Take in chunks: number their lines, sort out what is bad, late or too far ahead, and go on from the
    progress."""
    arrived = Arrived(progress)
    for chunk in chunks:
        arrived = _take(stream, within(chunk, ahead), arrived, lateness)
    return arrived


def within(chunk: Chunk, ahead: Ahead | None) -> Chunk:
    """A chunk without the elements that are too far ahead, which are none."""
    rows = ahead.beyond(chunk.elements) if ahead is not None else np.empty(0, np.int64)
    if ahead is None or not len(rows):
        return chunk
    refused = tuple(
        BadLine(row["line"], _triple(row), ahead.reason(row["time"]), "ahead")
        for row in chunk.elements.take(pa.array(rows)).to_pylist()
    )
    return replace(chunk, elements=without(chunk.elements, rows), bad=(*chunk.bad, *refused))


def _take(stream: str, chunk: Chunk, arrived: Arrived, lateness: int) -> Arrived:
    progress, summary = arrived.progress, Summary.of(chunk)
    partition = progress.partition(chunk.partition)
    before = partition.lines_before(summary)
    place, elements = chunk.place, chunk.elements
    letters = [
        DeadLetter(stream, bad.kind, place, before + bad.line, bad.text.rstrip("\r\n"), bad.reason)
        for bad in chunk.bad
    ]
    times: Microseconds = elements.column("time").to_numpy()
    seen = np.maximum.accumulate(np.concatenate(([partition.high], times)))[:-1]
    older = np.flatnonzero((times < seen - lateness) | (times <= progress.complete))
    if len(older):
        rows = elements.take(pa.array(older)).to_pylist()
        letters += [
            DeadLetter(
                stream,
                "late",
                place,
                before + row["line"] if row["line"] else 0,
                _triple(row),
                _late(row["time"], int(high), progress.complete, lateness),
            )
            for row, high in zip(rows, seen[older], strict=True)
        ]
        elements = without(elements, older)
    letters.sort(key=lambda letter: letter.line)
    return Arrived(
        progress.moved(summary).with_late(len(older)),
        [*arrived.elements, of_partition(elements, chunk.partition)],
        [*arrived.letters, *letters],
    )


def of_partition(elements: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """Elements as they are kept."""
    partition = pa.repeat(pa.scalar(number, pa.int64()), elements.num_rows)
    return pa.RecordBatch.from_arrays([*(elements.column(name) for name in _SEEN), partition], schema=LIVE)


def in_order(elements: pa.Table) -> bool:
    """Whether elements are in the order of a stream, given that they are in order of arrival."""
    time, partition = (elements.column(name).to_numpy() for name in ("time", "partition"))
    before, after = time[:-1], time[1:]
    return not np.any((after < before) | ((after == before) & (partition[1:] < partition[:-1])))


def ordered(elements: pa.Table) -> pa.Table:
    """Elements that are in order of arrival, in the order of their stream."""
    if in_order(elements):
        return elements
    keys = (elements.column(name).to_numpy() for name in ("partition", "time"))
    return elements.take(pa.array(np.lexsort(tuple(keys))))


def _triple(row: dict[str, Any]) -> str:
    from rheos.answers.continuous import ntriples_term

    return " ".join(ntriples_term(row[name]) for name in "spo")


def _late(time: int, high: int, complete: int, lateness: int) -> str:
    """Why an element is late: for its own partition, or for the stream, which did not wait for that."""
    from rheos.answers.continuous import time_text

    told = f"late: its time is {time_text(time)}, the stream is already "
    if time < high - lateness:
        told += f"at {time_text(high - lateness)}"
        needed = high - time
    else:
        told += f"complete to {time_text(complete)}, without this partition"
        needed = complete - time + lateness + 1
    return f"{told}; a lateness of {durations.short(needed)} would have kept it"
