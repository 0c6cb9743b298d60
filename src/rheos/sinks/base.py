"""What a sink is: the one interface between the engine and the places that answers go to.

A sink takes the answers of one query, a micro-batch at a time, in their order, in a thread of its own. The
answers of a batch are on the disk before a sink sees them, and stay there until it has taken all of them. A
process that is killed may so give a batch to its sink again: the numbers of a batch and of its answers are
the same then, which is what a sink tells a repetition by.

To add one: a module with a class, and its scheme in `sinks.opening.SCHEMES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import quote

import pyarrow as pa

from rheos.answers.continuous import Alike, QueryInfo, ndjson_lines, nquads_lines
from rheos.errors import RheosError

Full = Literal["stop", "drop"]
FULL: tuple[Full, ...] = ("stop", "drop")
# So many bytes may wait for a sink, if nobody says how many.
LIMIT = 256 << 20

# Says that a sink has so many answers of the batch, counted from its first.
Taken = Callable[[int], None]


class Unreachable(RheosError):
    """A sink takes nothing now. It is tried again, not before `after` seconds."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A sink as a user names it: `to` is its address. Where more than `limit` bytes wait for it, its query is
    stopped, or further answers are dropped. `options` are those of its kind."""

    to: str
    limit: int = LIMIT
    full: Full = "stop"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be secrets among them


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers of a query to one micro-batch of a run; the sink has `taken` some of them before. Together
    `run`, `query`, `number` and the place of an answer in the table name that answer for ever."""

    run: str
    query: QueryInfo
    number: int
    table: pa.Table = field(repr=False)
    taken: int = 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def name(self, place: int) -> str:
        """The name of an answer; of a query it is like no other."""
        return f"{self.run}-{self.number}-{place}"

    def pieces(self, size: int) -> Iterator[tuple[int, pa.Table]]:
        """What has not been taken, in pieces of so many answers, each with the place of its first. Where the
        pieces are cut depends on the batch alone."""
        for start in range(self.taken - self.taken % size, len(self), size):
            yield start, self.table.slice(start, size)


class Notes:
    """What a sink has to remember beyond its process: a small object of JSON, on the disk when it is kept."""

    def __init__(self, content: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> None:
        self._content = content
        self._write = write

    def get(self, name: str) -> Any:
        return self._content.get(name)

    def keep(self, **items: Any) -> None:
        if any(self._content.get(name) != value for name, value in items.items()):
            self._content |= items
            self._write(self._content)


class Sink(ABC):
    """A way out. What it does not take for a while it refuses with Unreachable, or any OSError; any other
    error is final."""

    # The options that it knows; a name that ends with a dot stands for all names that begin with it.
    OPTIONS: ClassVar[tuple[str, ...]] = ()

    def check(self, query: QueryInfo) -> None:  # noqa: B027  most sinks take the answers of any query
        """Refuse a query whose answers it cannot hold."""

    def open(self, run: str, query: str, notes: Notes) -> None:  # noqa: B027  not every sink has a connection
        """Get ready, before the first batch and after every failure."""

    @abstractmethod
    def take(self, batch: Batch, taken: Taken) -> None:
        """Take all of a batch that was not taken before. When it returns, the answers are safe there."""

    def close(self) -> None:  # noqa: B027  not every sink has a connection
        """Let go of what is open. A sink may be opened again."""


LINES: Mapping[str, Callable[[Alike], pa.Array]] = {"ndjson": ndjson_lines, "nquads": nquads_lines}


@dataclass(frozen=True, slots=True)
class Lines:
    """Answers as texts, each on its own: an object of JSON, or with `nquads` an element of a stream."""

    format: str = "ndjson"

    def __post_init__(self) -> None:
        if self.format not in LINES:
            raise RheosError(f"format {self.format!r} is not one of: {', '.join(LINES)}")

    def check(self, query: QueryInfo) -> None:
        if self.format == "nquads" and not query.is_graph:
            raise RheosError(
                f"{query.name} is of the form {query.kind.upper()}, and nquads needs triples, as CONSTRUCT "
                "and DESCRIBE make them; use ndjson"
            )

    def of(self, query: QueryInfo, table: pa.Table) -> list[str]:
        written: list[str] = LINES[self.format](Alike((query,), table)).to_pylist()
        return [line[:-1] for line in written]


def filled(text: str, query: str, safe: str = " ") -> str:
    """An address in which `{query}` stands for the name of the query."""
    return text.replace("{query}", quote(query, safe=safe))
