"""The cache of a worker: what operators keep between micro-batches, so that they need not find it again.

Answers do not depend on it. Where the cache has nothing, because the worker is new or static data have
changed, operators compute it again from the live elements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import duckdb

from rheos.runtime.operator import Span
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.links import Index
from rheos.runtime.worker.plans import Plans

# With fewer live elements than this, an evaluation without the cache is as quick.
LEAST_LIVE = 20_000
# If more than this part of the live elements is new, the cache saves little.
MOST_NEW = 0.25


class Tabled(Protocol):
    """What is kept for a query, in tables of the worker's database."""

    @property
    def tables(self) -> tuple[str, ...]: ...


@dataclass
class Cache:
    """What is kept for queries and for streams, by their names. `incremental` says whether queries use it:
    always, never or, without a value, where it saves time."""

    connection: duckdb.DuckDBPyConnection
    incremental: bool | None = None
    queries: dict[str, Tabled] = field(default_factory=dict)
    streams: dict[str, Any] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    run: str = ""
    plans: Plans = field(init=False)

    def __post_init__(self) -> None:
        self.plans = Plans(self.connection, at_once=self.incremental is True)

    def begin(self, run: str, queries: Collection[str]) -> None:
        """Begin a batch of a run with these queries, and forget all other queries and runs. In a run, no
        place of a stream is given to two elements."""
        if run != self.run:
            self.streams.clear()
            self.indexes.clear()
        for name in [name for name in self.queries if run != self.run or name not in queries]:
            self.forget(name)
        self.run = run

    def forget(self, query: str) -> None:
        """Forget what was kept for a query."""
        found = self.queries.pop(query, None)
        for table in () if found is None else found.tables:
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
            self.plans.clear()

    def clear(self) -> None:
        """Forget what was kept for all queries."""
        for name in list(self.queries):
            self.forget(name)

    def index(self, stream: str) -> Index:
        """The indexes of the terms of a stream's elements."""
        return self.indexes.setdefault(stream, Index())

    def pays(self, buffers: Mapping[str, Buffer], span: Span) -> bool:
        """Whether a query should keep what it finds in a span of these streams."""
        return worth_keeping(buffers, span, self.incremental)


def worth_keeping(buffers: Mapping[str, Buffer], span: Span, told: bool | None = None) -> bool:
    """Whether so many elements are live, and so few of them new, that the cache saves time; or what the
    engine was told."""
    if told is not None:
        return told
    live = sum(len(buffer.elements) for buffer in buffers.values())
    new = sum(buffer.between(span.after, span.until) for buffer in buffers.values())
    return live >= LEAST_LIVE and new <= live * MOST_NEW
