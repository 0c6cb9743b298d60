"""Streams as sinks: the triples of a query become elements of a push stream of the same engine.

An element has the time of its answer. `REGISTER STREAM` makes a stream of its own, which other
queries read in the same batch. This sink adds to a stream to which others push as well, and its
elements come in a later batch.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.errors import RheosError
from rheos.sinks.base import Batch, Sink, Taken


class StreamSink(Sink):
    """A push stream, by its IRI. A process that is killed may add the elements of its last batch twice."""

    def __init__(
        self, iri: str, push: Callable[[str, pa.Table], None], find: Callable[[str], object]
    ) -> None:
        self._iri = iri
        self._push = push
        self._find = find

    def check(self, query: QueryInfo) -> None:
        if not query.is_graph:
            raise RheosError(
                f"{query.name} is of the form {query.kind.upper()}, and a stream needs triples, as CONSTRUCT "
                "and DESCRIBE make them"
            )
        self._find(self._iri)

    def take(self, batch: Batch, taken: Taken) -> None:
        query, table = batch.query, batch.table
        ends, starts = table.column(1), table.column(2 if query.occurs else 1)
        columns = [*table.columns[query.times :], starts, ends]
        self._push(self._iri, pa.table(columns, names=["s", "p", "o", "start", "time"]))
