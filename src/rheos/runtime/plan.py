"""What runs: the registered queries come in, in groups that can be evaluated apart, each in an order in which
every derived stream comes before its readers.

A plan is shipped to the workers once for every change of the registry. What changes with every batch is in
its `Control`, which is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rheos.algebra.families import Family, family
from rheos.answers.continuous import QueryInfo
from rheos.runtime.arriving import Arrival, Prepared
from rheos.runtime.buffers import Progress
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.kept import KeptTable
from rheos.runtime.segments import Segments


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs: what it is called, how it is evaluated, and the stream that it makes, if any."""

    info: QueryInfo
    evaluation: Evaluation | Arrival
    derived: str | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def is_view(self) -> bool:
        """Whether it shows what is, rather than reporting all that was."""
        return isinstance(self.evaluation, Evaluation) and self.evaluation.view

    @property
    def streams(self) -> set[str]:
        return {window.stream for window in self.evaluation.query.windows}


@dataclass(frozen=True, slots=True)
class Relatives:
    """Queries of CQELS-QL that differ only in constants, by name, in the order of the family's constants, and
    how they are evaluated together."""

    members: tuple[str, ...]
    family: Family
    prepared: Prepared

    @classmethod
    def of(cls, members: Sequence[Registered]) -> Relatives:
        arrivals = [query.evaluation for query in members if isinstance(query.evaluation, Arrival)]
        names = tuple(query.name for query in members)
        found = family(arrivals[0].query, [arrival.constants for arrival in arrivals], names)
        return cls(names, found, Prepared.of(found.query))

    def constants(self, members: Sequence[str]) -> pa.Table | None:
        """The table of the constants of some of the members, by their numbers."""
        if not self.family.rows:
            return None
        places = {name: number for number, name in enumerate(self.members)}
        numbers = [places[name] for name in members]
        columns = [pa.array(numbers, pa.int64())]
        columns += [
            pa.array([self.family.rows[number][at] for number in numbers], pa.string())
            for at in range(len(self.family.variables))
        ]
        return pa.table(columns, names=[f"c{at}" for at in range(1, len(columns) + 1)])


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
    relatives: tuple[Relatives, ...] = ()

    def streams(self, group: int) -> list[str]:
        """The streams from outside that a group reads."""
        read = self.outside(self.groups[group])
        return sorted({*read, *self.unread} if group == 0 else read)

    def outside(self, queries: Sequence[Registered]) -> list[str]:
        """The streams from outside that these queries read."""
        made = {query.derived for query in queries}
        return sorted({stream for query in queries for stream in query.streams} - made - self.stopped)

    @property
    def asks_graphs(self) -> bool:
        """Whether tasks need the static graphs, and not only what is kept of them."""
        queries = (query for group in self.groups for query in group)
        if any(isinstance(query.evaluation, Evaluation) for query in queries):
            return True
        return any(relatives.prepared.asks_graphs for relatives in self.relatives)

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
    kept: Mapping[str, KeptTable] = field(default_factory=dict)
    limit: float | None = None  # how many seconds a query may take


def relatives(queries: Sequence[Registered]) -> tuple[Relatives, ...]:
    """The families of the queries of CQELS-QL among these."""
    found: dict[str, list[Registered]] = {}
    for query in queries:
        if isinstance(query.evaluation, Arrival):
            found.setdefault(query.evaluation.skeleton, []).append(query)
    return tuple(map(Relatives.of, found.values()))


def grouped(queries: Sequence[Registered], most: int) -> tuple[tuple[Registered, ...], ...]:
    """The queries in at most so many groups of about the same number, each in the order of its streams."""
    together = sorted(related(queries), key=work, reverse=True)
    groups: list[list[Registered]] = [[] for _ in range(max(1, min(most, len(together))))]
    for part in together:
        min(groups, key=work).extend(ordered(part))
    return tuple(tuple(group) for group in groups if group)


def work(queries: Sequence[Registered]) -> int:
    """How much there is to do for these queries: a family is evaluated at once."""
    skeletons = {query.evaluation.skeleton for query in queries if isinstance(query.evaluation, Arrival)}
    return len(skeletons) + sum(isinstance(query.evaluation, Evaluation) for query in queries)


def related(queries: Sequence[Registered]) -> list[list[Registered]]:
    """Queries that are connected through derived streams, or are of the same family, together."""
    makers = {query.derived: query.name for query in queries if query.derived is not None}
    family = {query.name: query.name for query in queries}
    firsts: dict[str, str] = {}  # of each family of CQELS-QL

    def root(name: str) -> str:
        while family[name] != name:
            name = family[name]
        return name

    for query in queries:
        if isinstance(query.evaluation, Arrival):
            first = firsts.setdefault(query.evaluation.skeleton, query.name)
            family[root(query.name)] = root(first)
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
        names = {query.name for query in ready}
        left = [query for query in left if query.name not in names]
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
