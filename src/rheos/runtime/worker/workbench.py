"""The workbench of a micro-batch: the database, the live elements and the static tables
that operators use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from rheos.optimize.flows import Size
from rheos.runtime.operator import Family
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.cache import Cache
from rheos.runtime.worker.database import Database
from rheos.runtime.worker.plans import Plans

T = TypeVar("T")

# From so many queries on, it saves time to copy the elements of a stream into a table of DuckDB's own.
TABLE_QUERIES = 4


@dataclass
class Workbench:
    """What operators work with in a micro-batch.

    `buffers` has the live elements of each stream, and what operators keep between batches, by name.
    `static` has the sizes of the tables of static data, which the database has beside the static graphs.
    `readers` says how many queries read each stream, and `work` how many evaluations there are: a family of
    queries counts as one.
    """

    connection: duckdb.DuckDBPyConnection
    buffers: dict[str, Buffer]
    static: Mapping[str, Size] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)
    readers: Mapping[str, int] = field(default_factory=dict)
    work: int = 1
    told: Callable[[str, str], None] = lambda query, flow: None  # called with how a family was evaluated
    states: dict[str, pa.Table] = field(default_factory=dict)  # what operators keep for the next batch
    cache: Cache | None = None  # None if the workbench has only a part of the elements
    plans: Plans | None = None  # statements that need not be planned again

    def __post_init__(self) -> None:
        self.database = Database(self.connection.cursor(), plans=self.plans)
        self.elements: Mapping[str, pa.Table] = Placed(self.buffers)
        self._rooms: dict[type[Any], Any] = {}

    @property
    def filled(self) -> frozenset[str]:
        """The tables of static data that have rows."""
        return frozenset(name for name, size in self.static.items() if size.rows)

    @property
    def crowded(self) -> bool:
        """Whether so many queries are evaluated that it saves time to copy tables into DuckDB."""
        return self.work >= TABLE_QUERIES

    def room(self, kind: Callable[[Workbench], T]) -> T:
        """The object that the operators of a language share in this batch. It is made when the first operator
        asks for it."""
        if kind not in self._rooms:
            self._rooms[kind] = kind(self)  # type: ignore[index]
        found: T = self._rooms[kind]  # type: ignore[index]
        return found

    def forget(self) -> None:
        """Discard all that was made so far, because an operator was stopped half-way."""
        # The temporary tables go with the cursor. After an internal error of DuckDB, a new cursor does not
        # work: `SELECT 1` finds that out here.
        self.database.cursor.close()
        if self.plans is not None:
            self.plans.clear()
        self.database = Database(self.connection.cursor(), plans=self.plans)
        self.database.run("SELECT 1")
        self._rooms.clear()

    def close(self) -> None:
        self.database.cursor.close()


class Placed(Mapping[str, pa.Table]):
    """The live elements of each stream with their places (their numbers in the stream). They are computed
    once, and again when the buffer of a stream has changed."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self._buffers = buffers
        self._placed: dict[str, tuple[Buffer, pa.Table]] = {}

    def __getitem__(self, stream: str) -> pa.Table:
        buffer = self._buffers[stream]
        known = self._placed.get(stream)
        if known is None or known[0] is not buffer:
            known = self._placed[stream] = buffer, buffer.placed
        return known[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)
