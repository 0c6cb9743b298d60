"""Decides when to make the index of the default graph: once it would have saved as much as it costs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rheos import deadline
from rheos.store import tables
from rheos.store.index import TripleIndex

if TYPE_CHECKING:
    from rheos.store.graphs import StaticGraphs

# The time to make an index, on one core.
SECONDS_PER_TRIPLE = 0.7e-6
# A larger graph is for Spark.
MOST_TRIPLES = 5_000_000


class Indexed:
    """Makes the index of the default graph.

    An index costs about as much as loading the graph, so it is not worth it for one query. It is made when
    the statements that it might have spared have taken as long as it takes to make it. So whatever queries
    come, at most half of the time is lost. `patience` is a factor on that time: with 0, the index is made at
    once. It is dropped when the graph changes.
    """

    def __init__(self, graphs: StaticGraphs) -> None:
        self.patience = 1.0
        self._graphs = graphs
        self._making = threading.Lock()
        self._index: tuple[int, TripleIndex] | None = None
        self._missed: tuple[int, float] = 0, 0.0

    @property
    def is_due(self) -> bool:
        """Whether `current` would make an index now."""
        version = self._graphs.version_of(None)
        return (self._index is None or self._index[0] != version) and self._pays(version)

    def current(self) -> TripleIndex | None:
        """The index of the graph in its present version, if there is one or it is time to make it."""
        version = self._graphs.version_of(None)
        if self._index is not None and self._index[0] == version:
            return self._index[1]
        if not self._pays(version) or not self._making.acquire(blocking=False):
            return None
        try:
            self._index = None  # so that there are never two indexes in memory
            with self._graphs.snapshot() as cursor:
                index = TripleIndex(tables.arrow(cursor, "default_graph"))
            self._index = version, index
            return index
        finally:
            self._making.release()

    def missed(self, seconds: float) -> None:
        """Note that a statement took so many seconds that an index might have spared."""
        version = self._graphs.version_of(None)
        before = self._missed[1] if self._missed[0] == version else 0.0
        self._missed = version, before + seconds

    def clear(self) -> None:
        self._index = None

    def _pays(self, version: int) -> bool:
        missed = self._missed[1] if self._missed[0] == version else 0.0
        if missed == 0.0 and self.patience > 0:
            return False
        triples = self._graphs.size
        cost = triples * SECONDS_PER_TRIPLE
        left = deadline.left()
        if (
            not triples
            or triples > MOST_TRIPLES
            or self._graphs.in_spark
            or (left is not None and left < 4 * cost)
        ):
            return False
        return missed >= cost * self.patience
