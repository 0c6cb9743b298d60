"""What a source is: the one interface between the engine and the places that streams come from.

A source knows how far it can be read (`latest`, asked in the driver before every batch), cuts what is between
two offsets into parts (`parts`, in the driver), and reads a part (`read`, in a task, perhaps elsewhere).
Offsets are small values that JSON can hold; the same two offsets always give the same elements in the
same order, so that a batch can be read again after a crash. A source is pickled on its way to Spark.

To add one (Kafka, MQTT, …): a class with these methods, and its name for URLs in `sources.opening.SCHEMES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence, Set
from typing import Any

from rheos.sources.chunks import Chunk

Offset = dict[str, Any]
Part = dict[str, Any]

# About 1,200,000 elements: enough that the cost of a batch does not count, little enough to hold in a task.
BATCH_BYTES = 192 << 20

# A part is a task: with smaller ones than this, to start it takes a good part of its time.
PART_BYTES = 32 << 20


class Source(ABC):
    """A stream's way in. A `live` one may fall silent without having ended: then the idle timeout counts.
    `ahead` is how far ahead of the clock its elements may be if nobody says otherwise (microseconds; None: no
    bound).

    A source has one partition, number 0, or several: each has its own order, and `Chunk.partition` says whose
    elements a chunk has. All of them should show up in the first batch, if only with an empty chunk: what is
    complete without a partition that shows up later stays so.
    """

    live: bool = False
    ahead: int | None = None

    @abstractmethod
    def begin(self) -> Offset:
        """Before the first element."""

    @abstractmethod
    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        """How far one batch that begins at the offset goes: at most about so many bytes; the same offset
        when there is nothing new."""

    @abstractmethod
    def ended(self, offset: Offset) -> bool:
        """Whether nothing will ever come after the offset."""

    def ended_partitions(self, offset: Offset) -> Set[int]:
        """The partitions of which nothing will ever come after the offset, where others go on."""
        return frozenset()

    @abstractmethod
    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        """What is between two offsets, in pieces of about that size, in their order: tasks read them at the
        same time."""

    @abstractmethod
    def read(self, part: Part) -> Iterator[Chunk]:
        """The elements of a part."""

    def waiting(self, most: int) -> int:
        """About how many bytes the first batch will read, of so many at the most; 0 if nobody knows."""
        return 0

    def shipped(self, part: Part) -> Part:
        """A part for a task that does not see the driver's disk: with what is only there in it."""
        return part

    def committed(self, offset: Offset) -> None:  # noqa: B027  most sources have nothing to let go of
        """What is before the offset will not be read again."""

    def skip(self) -> None:  # noqa: B027  most sources have no elements of their own that wait
        """Read no element any more that has come so far: the stream's clock starts anew."""
