"""The interface of sinks, between the engine and the systems to which answers go.

A sink takes the answers of one query, one micro-batch at a time and in order, in a thread of its own. The
answers of a batch are on the disk before a sink sees them, and stay there until it has taken all of them. So
after a crash a sink may get a batch again. The numbers of the batch and of its answers are then the same, so
that the sink can recognise the repetition.

To add a kind of sink, write a module with a class, and add its scheme to `sinks.opening.SCHEMES`.
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
# So many bytes may wait for a sink by default.
LIMIT = 256 << 20

# Called by a sink when it has taken so many answers of the batch, counted from the first answer.
Taken = Callable[[int], None]


class Unreachable(RheosError):
    """A sink takes nothing at the moment. It is tried again, after at least `after` seconds."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A sink as a user describes it: `to` is its address. If more than `limit` bytes wait for it, its query
    is stopped, or further answers are dropped, as `full` says. `options` depend on the kind of sink."""

    to: str
    limit: int = LIMIT
    full: Full = "stop"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be secrets among them


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers of a query to one micro-batch of a run; the sink has `taken` some of them before. Together,
    `run`, `query`, `number` and the position of an answer in the table identify the answer for ever."""

    run: str
    query: QueryInfo
    number: int
    table: pa.Table = field(repr=False)
    taken: int = 0

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def name(self, place: int) -> str:
        """The name of an answer, which no other answer of the query has."""
        return f"{self.run}-{self.number}-{place}"

    def pieces(self, size: int) -> Iterator[tuple[int, pa.Table]]:
        """The answers that were not taken, in pieces of `size` answers, each with the position of
        its first answer. The cuts depend only on the batch, so the first piece may begin with
        answers that were taken."""
        for start in range(self.taken - self.taken % size, len(self), size):
            yield start, self.table.slice(start, size)


class Notes:
    """What a sink must remember beyond its process: a small JSON object. When `keep`
    returns, it is on the disk."""

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
    """A sink. If it cannot take answers for a while, it raises Unreachable, or any OSError. Any other error
    is final."""

    # The options that it knows. A name that ends with a dot stands for all names that begin with it.
    OPTIONS: ClassVar[tuple[str, ...]] = ()

    def check(self, query: QueryInfo) -> None:  # noqa: B027  most sinks take the answers of any query
        """Refuse a query whose answers it cannot take."""

    def open(self, run: str, query: str, notes: Notes) -> None:  # noqa: B027  not every sink has a connection
        """Get ready, before the first batch and after every failure."""

    @abstractmethod
    def take(self, batch: Batch, taken: Taken) -> None:
        """Take all answers of a batch that were not taken before. When this returns, they
        are safe in the sink."""

    def close(self) -> None:  # noqa: B027  not every sink has a connection
        """Close connections and files. A sink may be opened again."""


LINES: Mapping[str, Callable[[Alike], pa.Array]] = {"ndjson": ndjson_lines, "nquads": nquads_lines}


@dataclass(frozen=True, slots=True)
class Lines:
    """Formats each answer as a text of its own: a JSON object or, with `nquads`, an element of a stream."""

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
    """An address with the name of the query in the place of `{query}`."""
    return text.replace("{query}", quote(query, safe=safe))
