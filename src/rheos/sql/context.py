"""Where a pattern is evaluated: the active graph, and the keys that its relations carry along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rheos.algebra.nodes import Dataset
from rheos.sql.relation import Key


@dataclass(frozen=True, slots=True)
class KeySource:
    """The rows of keys that a context stands for: SQL whose columns are the keys. If these are there only for
    a time, it is `valid` for intervals, which are columns, too."""

    keys: tuple[Key, ...]
    sql: str
    valid: bool = False


# All the windows of a query that are part of its default graph, as one table: as the others and, if the
# query is timed, the time in each window (`time_1`, …).
DEFAULT_WINDOW = "window_default"
# The triples of that which are in the static part of the default graph as well.
STATIC_TOO = "window_static"


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A window of a continuous query as a table (s, p, o, time, valid_from, valid_until).

    It is the named graph of its stream and, unless it is only `named`, also a part of the default graph.
    One with a `name`, of RSP-QL, is neither: WINDOW looks into it. Its named graphs are the table `graphs`,
    which also has a column g, and `names` has when each of these is there: g, valid_from, valid_until.
    """

    table: str
    stream: str
    named: bool
    name: str | None = None

    @property
    def graphs(self) -> str:
        return f"{self.table}_graphs"

    @property
    def names(self) -> str:
        return f"{self.table}_names"

    @property
    def events(self) -> str:
        """The table of all its elements with their intervals: as the window itself, and start."""
        return f"{self.table}_events"


@dataclass(frozen=True)
class Context:
    """The active graph of a pattern and the keys around it.

    The active graph is the default graph (`graph` None), one named graph (a term), or every named graph
    at once, the name in a key column (`graph_key`). Inside WINDOW all of these are graphs of one window
    (`window`, a term) or of every window at once (`window_key`). `environment` maps the variables of a row
    outside, which a pattern inside EXISTS sees, to their key columns. `windows` are those of a continuous
    query, which is `timed` if it asks for the time of its triples. One on arrivals is `ticking`: it has
    stream patterns. Inside WINDOW, solutions may have intervals, those of `events`.
    """

    dataset: Dataset | None
    windows: tuple[WindowTable, ...] = ()
    graph: str | None = None
    graph_key: str | None = None
    window: str | None = None
    window_key: str | None = None
    sources: tuple[KeySource, ...] = ()
    environment: Mapping[str, Key] = field(default_factory=dict)
    timed: bool = False
    ticking: bool = False
    events: bool = False

    @property
    def by_instant(self) -> bool:
        """Whether what holds differs from instant to instant."""
        return bool(self.windows) or self.ticking

    @property
    def in_windows(self) -> bool:
        """Whether the active graph is one of a window with a name."""
        return self.window is not None or self.window_key is not None

    @property
    def stream_graphs(self) -> tuple[WindowTable, ...]:
        """The windows that are graphs of the data set."""
        return tuple(window for window in self.windows if window.name is None)

    @property
    def active_windows(self) -> tuple[WindowTable, ...]:
        """The windows that WINDOW looks into."""
        named = (window for window in self.windows if window.name is not None)
        return tuple(window for window in named if self.window in (None, window.name))

    @property
    def scanned(self) -> dict[str, str]:
        """The keys that a scan of the active graph has: the column of each by that of the scan."""
        found = {"w": self.window_key, "g": self.graph_key}
        return {column: key for column, key in found.items() if key is not None}

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(key for source in self.sources for key in source.keys)

    def in_graph(self, name: str) -> Context:
        return replace(self, graph=name, graph_key=None)

    def in_each_graph(self, key: str, names_sql: str) -> Context:
        source = KeySource((Key(key),), names_sql)
        return replace(self, graph=None, graph_key=key, sources=(*self.sources, source))

    def in_window(self, name: str) -> Context:
        return replace(self, window=name, graph=None, graph_key=None)

    def in_each_window(self, key: str, names_sql: str) -> Context:
        source = KeySource((Key(key),), names_sql)
        return replace(self, window_key=key, graph=None, graph_key=None, sources=(*self.sources, source))

    def in_each_graph_of_windows(self, key: str, names_sql: str) -> Context:
        """The same for the named graphs of the active windows; `names_sql` also has the key of the window."""
        keys = tuple(Key(column) for column in (self.window_key, key) if column is not None)
        others = tuple(source for source in self.sources if not set(source.keys) & set(keys))
        sources = (*others, KeySource(keys, names_sql, valid=True))
        return replace(self, graph=None, graph_key=key, sources=sources)

    def inside(self, source: KeySource, environment: Mapping[str, Key]) -> Context:
        """The context of a pattern that sees the variables of an outer row."""
        merged = {**self.environment, **environment}
        return replace(self, sources=(*self.sources, source), environment=merged)
