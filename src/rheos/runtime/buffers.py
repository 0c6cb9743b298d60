"""The buffer of a stream: chunks come in, in order of arrival, and its live elements go out in order of time.

Everything here is a pure function of the buffer and the chunks: a task can do it again, and does after a
crash. The time up to which a stream is known is its watermark: the highest time seen, less the lateness that
is allowed. An element older than the watermark at its arrival is late. The others are put in order: by
time, and at the same time by arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rheos.sources.chunks import ELEMENTS, Chunk
from rheos.sources.times import Microseconds

# Earlier and later than any time that a stream can have.
NEVER, FOREVER = -(2**62), 2**62

LIVE = pa.schema([ELEMENTS.field(name) for name in ("s", "p", "o", "start", "time")])


@dataclass(frozen=True, slots=True)
class Summary:
    """What a chunk moves its stream by; it can be written as JSON. `high` is its highest time."""

    rows: int
    bad: int
    high: int
    without_zone: int
    place: str
    lines: int
    first: bool

    @classmethod
    def of(cls, chunk: Chunk) -> Summary:
        times: Microseconds = chunk.elements.column("time").to_numpy()
        high = int(times.max()) if len(times) else NEVER
        return cls(
            len(times), len(chunk.bad), high, chunk.without_zone, chunk.place, chunk.lines, chunk.first
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stream has been read; it can be written as JSON.

    `high` is the highest time seen, `line` the number of lines read of the `place` (a file) it is at.
    """

    high: int = NEVER
    read: int = 0
    bad: int = 0
    late: int = 0
    without_zone: int = 0
    place: str = ""
    line: int = 0
    ended: bool = False

    @property
    def dead(self) -> int:
        return self.bad + self.late

    @property
    def accepted(self) -> int:
        return self.read - self.dead

    def having_ended(self) -> Progress:
        return replace(self, ended=True)

    def with_late(self, more: int) -> Progress:
        return replace(self, late=self.late + more)

    def lines_before(self, chunk: Summary) -> int:
        """How many lines of its place come before a chunk."""
        return 0 if chunk.first or chunk.place != self.place else self.line

    def moved(self, chunk: Summary) -> Progress:
        """How far the stream is after a chunk, but for how many of its elements were late."""
        return replace(
            self,
            high=max(self.high, chunk.high),
            read=self.read + chunk.rows + chunk.bad,
            bad=self.bad + chunk.bad,
            without_zone=self.without_zone + chunk.without_zone,
            place=chunk.place,
            line=self.lines_before(chunk) + chunk.lines,
        )

    def watermark(self, lateness: int) -> int:
        return NEVER if self.high == NEVER else self.high - lateness


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What a stream could not use: where it was, what it was, and why; `kind` is `bad` or `late`."""

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
        return self.elements.append_column("place", pa.array(places))

    def with_more(self, more: Sequence[pa.RecordBatch]) -> Buffer:
        """With elements that arrived after all that are here."""
        added = pa.Table.from_batches([batch.select(LIVE.names) for batch in more], LIVE)
        if not len(added):
            return self
        elements = pa.concat_tables([self.elements, added])
        times = elements.column("time").to_numpy()
        if np.any(times[1:] < times[:-1]):
            elements = elements.take(pa.array(np.argsort(times, kind="stable")))
        return replace(self, elements=elements)

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


def arrive(stream: str, chunks: Sequence[Chunk], progress: Progress, lateness: int) -> Arrived:
    """Take in chunks: number their lines, sort out what is bad or late, and go on from the progress."""
    arrived = Arrived(progress)
    for chunk in chunks:
        arrived = _take(stream, chunk, arrived, lateness)
    return arrived


def _take(stream: str, chunk: Chunk, arrived: Arrived, lateness: int) -> Arrived:
    progress, summary = arrived.progress, Summary.of(chunk)
    before = progress.lines_before(summary)
    letters = [
        DeadLetter(stream, "bad", chunk.place, before + bad.line, bad.text.rstrip("\r\n"), bad.reason)
        for bad in chunk.bad
    ]
    elements = chunk.elements
    times: Microseconds = elements.column("time").to_numpy()
    seen = np.maximum.accumulate(np.concatenate(([progress.high], times)))
    older = np.flatnonzero(times < seen[:-1] - lateness)
    if len(older):
        watermarks = seen[:-1][older] - lateness
        rows = elements.take(pa.array(older)).to_pylist()
        letters += [
            _late(stream, chunk.place, before, row, int(mark))
            for row, mark in zip(rows, watermarks, strict=True)
        ]
        kept = np.ones(len(times), bool)
        kept[older] = False
        elements = elements.filter(pa.array(kept))
    gone = progress.moved(summary).with_late(len(older))
    letters.sort(key=lambda letter: letter.line)
    return Arrived(gone, [*arrived.elements, elements], [*arrived.letters, *letters])


def _late(stream: str, place: str, before: int, row: dict[str, Any], watermark: int) -> DeadLetter:
    from rheos.answers.continuous import ntriples_term, time_text

    text = " ".join(ntriples_term(row[name]) for name in "spo")
    reason = f"late: its time is {time_text(row['time'])}, the stream is already at {time_text(watermark)}"
    return DeadLetter(stream, "late", place, before + row["line"] if row["line"] else 0, text, reason)
