"""Where a pattern is evaluated: the active graph, and the keys that its relations carry along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rheos.algebra.nodes import Dataset
from rheos.sql.relation import Key


@dataclass(frozen=True, slots=True)
class KeySource:
    """The rows of keys that a context stands for: SQL whose columns are the keys."""

    keys: tuple[Key, ...]
    sql: str


# All the windows of a query that are part of its default graph, as one table: as the others and, if the
# query is timed, the time in each window (`time_1`, …).
DEFAULT_WINDOW = "window_default"
# The triples of that which are in the static part of the default graph as well.
STATIC_TOO = "window_static"


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A window of a continuous query as a table (s, p, o, time, valid_from, valid_until).

    It is the named graph of its stream and, unless it is only `named`, also a part of the default graph.
    """

    table: str
    stream: str
    named: bool


@dataclass(frozen=True)
class Context:
    """The active graph of a pattern and the keys around it.

    The active graph is the default graph (`graph` None), one named graph (a term), or every named graph
    at once, the name in a key column (`graph_key`). `environment` maps the variables of a row outside,
    which a pattern inside EXISTS sees, to their key columns. `windows` are those of a continuous query, which
    is `timed` if it asks for the time of its triples. One on arrivals is `ticking`: it has stream patterns.
    """

    dataset: Dataset | None
    windows: tuple[WindowTable, ...] = ()
    graph: str | None = None
    graph_key: str | None = None
    sources: tuple[KeySource, ...] = ()
    environment: Mapping[str, Key] = field(default_factory=dict)
    timed: bool = False
    ticking: bool = False

    @property
    def by_instant(self) -> bool:
        """Whether what holds differs from instant to instant."""
        return bool(self.windows) or self.ticking

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(key for source in self.sources for key in source.keys)

    def in_graph(self, name: str) -> Context:
        return replace(self, graph=name, graph_key=None)

    def in_each_graph(self, key: str, names_sql: str) -> Context:
        source = KeySource((Key(key),), names_sql)
        return replace(self, graph=None, graph_key=key, sources=(*self.sources, source))

    def inside(self, source: KeySource, environment: Mapping[str, Key]) -> Context:
        """The context of a pattern that sees the variables of an outer row."""
        merged = {**self.environment, **environment}
        return replace(self, sources=(*self.sources, source), environment=merged)
