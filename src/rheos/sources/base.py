"""The interface of a source: what the engine asks of a place that a stream comes from.

A source knows how far it can be read (`latest`, asked in the driver before every batch), cuts the elements
between two offsets into parts (`parts`, in the driver), and reads a part (`read`, in a task, perhaps on
another machine). Offsets are small values that JSON can hold. The same two offsets always give the same
elements in the same order, so that a batch can be read again after a crash. A source is pickled on its way to
Spark.

To add a source, write a class with these methods and enter its URL scheme in `sources.opening.SCHEMES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence, Set
from typing import Any

from rheos.sources.chunks import Chunk

Offset = dict[str, Any]
Part = dict[str, Any]

# About 1,200,000 elements: so many that the fixed cost of a batch does not matter, and few enough for the
# memory of a task.
BATCH_BYTES = 192 << 20

# A part is a task. The start of a task takes so long that smaller parts would not pay.
PART_BYTES = 32 << 20


class Source(ABC):
    """Where the elements of a stream come from. A `live` source may fall silent without having ended: then
    the idle timeout counts. `ahead` is how far ahead of the clock elements may be unless the user says
    otherwise (microseconds; None: no bound).

    A source has one partition, number 0, or several. Each partition has its own order, and `Chunk.partition`
    says which partition the elements of a chunk belong to. Every partition should appear in the first batch,
    if only with an empty chunk: an instant that is complete without a later partition stays complete.
    """

    live: bool = False
    ahead: int | None = None

    @abstractmethod
    def begin(self) -> Offset:
        """The offset before the first element."""

    @abstractmethod
    def latest(self, offset: Offset, most: int = BATCH_BYTES) -> Offset:
        """The offset at which a batch ends that begins at this offset and reads about `most` bytes at most;
        the same offset if there is nothing new."""

    @abstractmethod
    def ended(self, offset: Offset) -> bool:
        """True if no element will ever come after the offset."""

    def ended_partitions(self, offset: Offset) -> Set[int]:
        """The partitions of which no element will ever come after the offset, while others go on."""
        return frozenset()

    @abstractmethod
    def parts(self, start: Offset, end: Offset, size: int = PART_BYTES) -> Sequence[Part]:
        """The elements between two offsets, in order, as parts of about `size` bytes. Tasks read the parts in
        parallel."""

    @abstractmethod
    def read(self, part: Part) -> Iterator[Chunk]:
        """The elements of a part."""

    def waiting(self, most: int) -> int:
        """About how many bytes the first batch will read if it reads `most` bytes at most; 0 if unknown."""
        return 0

    def shipped(self, part: Part) -> Part:
        """The part for a task that does not see the driver's disk: it carries what is only on that disk."""
        return part

    def committed(self, offset: Offset) -> None:  # noqa: B027  most sources have nothing to delete
        """Called when elements before the offset will not be read again."""

    def skip(self) -> None:  # noqa: B027  most sources have no elements of their own that wait
        """Skip all elements that have come so far, because the clock of the stream starts anew."""
