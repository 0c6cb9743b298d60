"""What runs: the registered queries come in, in groups that can be evaluated apart, each in an order in which
every derived stream comes before its readers.

A plan is shipped to the workers once for every change of the registry. What changes with every batch is in
its `Control`, which is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rheos.answers.continuous import QueryInfo
from rheos.runtime.buffers import Progress
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.segments import Segments


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs: what it is called, how it is evaluated, and the stream that it makes, if any."""

    info: QueryInfo
    evaluation: Evaluation
    derived: str | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def streams(self) -> set[str]:
        return {window.stream for window in self.evaluation.query.windows}


@dataclass(frozen=True, slots=True)
class Plan:
    """Groups of queries that tasks evaluate; those that read one another's streams are in the same. And the
    queries that are left to Catalyst, in the order of their streams. A stream that no query reads at the
    moment flows all the same: the first group counts its elements. Streams whose makers are `stopped` bring
    nothing and hold nothing up; what they brought before may still be in a window."""

    version: str
    groups: tuple[tuple[Registered, ...], ...]
    catalyst: tuple[Registered, ...] = ()
    unread: tuple[str, ...] = ()
    stopped: frozenset[str] = frozenset()

    def streams(self, group: int) -> list[str]:
        """The streams from outside that a group reads."""
        read = self.outside(self.groups[group])
        return sorted({*read, *self.unread} if group == 0 else read)

    def outside(self, queries: Sequence[Registered]) -> list[str]:
        """The streams from outside that these queries read."""
        made = {query.derived for query in queries}
        return sorted({stream for query in queries for stream in query.streams} - made - self.stopped)

    def readers(self) -> dict[str, list[int]]:
        """The groups that read each stream from outside; the first of them answers for its dead letters."""
        found: dict[str, list[int]] = {}
        for number in range(len(self.groups)):
            for stream in self.streams(number):
                found.setdefault(stream, []).append(number)
        return found


@dataclass(frozen=True, slots=True)
class Control:
    """What a batch is told: where the streams and the queries are, and what is live.

    `silent` streams hold nothing up: they have been idle for too long. A query that was registered while
    streams flowed sees of each the elements after a time, in `since`.
    """

    batch: int
    progress: Mapping[str, Progress]
    lateness: Mapping[str, int] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    reached: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    segments: Mapping[str, Segments] = field(default_factory=dict)


def grouped(queries: Sequence[Registered], most: int) -> tuple[tuple[Registered, ...], ...]:
    """The queries in at most so many groups of about the same number, each in the order of its streams."""
    families = sorted(related(queries), key=len, reverse=True)
    groups: list[list[Registered]] = [[] for _ in range(max(1, min(most, len(families))))]
    for family in families:
        min(groups, key=len).extend(ordered(family))
    return tuple(tuple(group) for group in groups if group)


def related(queries: Sequence[Registered]) -> list[list[Registered]]:
    """Queries that are connected through derived streams, together."""
    makers = {query.derived: query.name for query in queries if query.derived is not None}
    family = {query.name: query.name for query in queries}

    def root(name: str) -> str:
        while family[name] != name:
            name = family[name]
        return name

    for query in queries:
        for stream in query.streams:
            if stream in makers:
                family[root(query.name)] = root(makers[stream])
    found: dict[str, list[Registered]] = {}
    for query in queries:
        found.setdefault(root(query.name), []).append(query)
    return list(found.values())


def ordered(queries: Sequence[Registered]) -> list[Registered]:
    """Every query after those whose streams it reads; the registry has made sure that there is no cycle."""
    made = {query.derived for query in queries if query.derived is not None}
    left, done, order = list(queries), set[str](), list[Registered]()
    while left:
        ready = [query for query in left if not (query.streams & made) - done]
        order += ready
        done |= {query.derived for query in ready if query.derived is not None}
        left = [query for query in left if query not in ready]
    return order


def cycle(queries: Iterable[Registered]) -> list[str]:
    """The names of queries that read one another's streams in a circle, in its order, if there are any."""
    left = list(queries)
    while True:
        made = {query.derived for query in left if query.derived is not None}
        stuck = [query for query in left if query.streams & made]
        if len(stuck) == len(left):
            break
        left = stuck
    if not left:
        return []
    makers = {query.derived: query for query in left}
    path = [left[0]]
    while True:
        maker = next(makers[stream] for stream in sorted(path[-1].streams) if stream in makers)
        if maker in path:
            return [query.name for query in reversed(path[path.index(maker) :])]
        path.append(maker)
