"""Contexts: a `Context` says where a pattern is evaluated, on which active graph and with which keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rheos.algebra.nodes import Dataset
from rheos.sql.relation import Key


@dataclass(frozen=True, slots=True)
class KeySource:
    """All values of some keys: SQL whose columns are the keys.

    With `valid`, each value holds for an interval of instants, and the SQL also has the columns INTERVAL.
    """

    keys: tuple[Key, ...]
    sql: str
    valid: bool = False


# The table of all windows that are part of the default graph of a query. It has the columns of a WindowTable
# and, if the query is timed, the time of the triple in each window (`time_1`, …).
DEFAULT_WINDOW = "window_default"
# The triples of DEFAULT_WINDOW that are also in the static part of the default graph.
STATIC_TOO = "window_static"


@dataclass(frozen=True, slots=True)
class WindowTable:
    """A window of a continuous query as a table (s, p, o, time, valid_from, valid_until).

    The window is the named graph of its stream and, unless it is only `named`, also a part of the default
    graph. A window with a `name`, of RSP-QL, is neither: only WINDOW looks into it. The table `graphs` has
    the triples of the named graphs in the window, with a further column g. The table `names` says when each
    of these graphs is in the window: g, valid_from, valid_until.
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
        """The table of the elements of the window as events: the columns of the window, and `start`."""
        return f"{self.table}_events"


@dataclass(frozen=True)
class Context:
    """The active graph of a pattern and the keys around it.

    The active graph is the default graph (`graph` is None), one named graph (`graph` is a term), or every
    named graph at once, with its name in a key column (`graph_key`). Inside WINDOW these are graphs of one
    window (`window`, a term) or of every window at once (`window_key`). `environment` maps each variable of
    the outer row that a pattern inside EXISTS sees to its key. `windows` are the windows of a continuous
    query; the query is `timed` if it asks for the time of its triples. `ticking` marks a query of CQELS-QL,
    which has stream patterns. `events` marks a pattern inside WINDOW whose solutions have a start and an end.
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
        """Whether solutions can differ from instant to instant."""
        return bool(self.windows) or self.ticking

    @property
    def in_windows(self) -> bool:
        """Whether the active graph belongs to a window of RSP-QL."""
        return self.window is not None or self.window_key is not None

    @property
    def stream_graphs(self) -> tuple[WindowTable, ...]:
        """The windows that are graphs of the dataset."""
        return tuple(window for window in self.windows if window.name is None)

    @property
    def active_windows(self) -> tuple[WindowTable, ...]:
        """The windows that WINDOW looks into."""
        named = (window for window in self.windows if window.name is not None)
        return tuple(window for window in named if self.window in (None, window.name))

    @property
    def scanned(self) -> dict[str, str]:
        """The keys that a scan of the active graph provides: from the scan's column to the key's column."""
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
        """As `in_each_graph`, for the named graphs of the active windows.

        `names_sql` also has the key of the window, if there is one, and the interval of each name.
        """
        keys = tuple(Key(column) for column in (self.window_key, key) if column is not None)
        others = tuple(source for source in self.sources if not set(source.keys) & set(keys))
        sources = (*others, KeySource(keys, names_sql, valid=True))
        return replace(self, graph=None, graph_key=key, sources=sources)

    def inside(self, source: KeySource, environment: Mapping[str, Key]) -> Context:
        """The context of a pattern inside EXISTS, which sees the variables of an outer row."""
        merged = {**self.environment, **environment}
        return replace(self, sources=(*self.sources, source), environment=merged)
