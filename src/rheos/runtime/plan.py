"""What runs: the registered queries come in, in groups that can be evaluated apart, each in an order in which
every derived stream comes before its readers.

A plan is shipped to the workers once for every change of the registry. What changes with every batch is in
its `Control`, which is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import pyarrow as pa

from rheos.algebra.entailment import Schema, schema_of
from rheos.algebra.families import Family, family
from rheos.answers.continuous import QueryInfo
from rheos.optimize.static_parts import Part
from rheos.runtime.arriving import Arrival, Prepared
from rheos.runtime.buffers import Progress
from rheos.runtime.detecting import Detection
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.kept import KeptTable
from rheos.runtime.segments import Segments
from rheos.sources.ahead import Ahead


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs: what it is called, how it is evaluated, and the stream that it makes, if any."""

    info: QueryInfo
    evaluation: Evaluation | Arrival | Detection
    derived: str | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def is_view(self) -> bool:
        """Whether it shows what is, rather than reporting all that was."""
        return isinstance(self.evaluation, Evaluation) and self.evaluation.view

    @property
    def streams(self) -> frozenset[str]:
        return self.evaluation.streams

    @property
    def states(self) -> tuple[str, ...]:
        """Under which names it keeps what cannot be seen from the elements of streams."""
        return self.evaluation.states if isinstance(self.evaluation, Detection) else ()


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
    def static_parts(self) -> Iterator[tuple[Family | None, Part]]:
        """What is kept of static data for these queries, and whose constants it depends on."""
        for relatives in self.relatives:
            yield from ((relatives.family, part) for part in relatives.prepared.parts)
        for query in self.queries:
            if isinstance(query.evaluation, Detection):
                yield from ((None, part) for part in query.evaluation.parts)
            elif isinstance(query.evaluation, Evaluation) and query.evaluation.derivations is not None:
                yield None, query.evaluation.derivations

    def needing(self, table: str, member: int | None) -> list[str]:
        """The queries that need a kept table, or of the family that does, the member of that number."""
        found: list[str] = []
        for relatives in self.relatives:
            if any(part.table == table for part in relatives.prepared.parts):
                found += relatives.members if member is None else relatives.members[member : member + 1]
        for query in self.queries:
            if isinstance(query.evaluation, Detection):
                found += [query.name for part in query.evaluation.parts if part.table == table]
            elif isinstance(query.evaluation, Evaluation) and query.evaluation.derivations is not None:
                found += [query.name] if query.evaluation.derivations.table == table else []
        return found

    @property
    def queries(self) -> tuple[Registered, ...]:
        """All of them."""
        return (*self.catalyst, *(query for group in self.groups for query in group))

    @property
    def graphs(self) -> frozenset[Schema | None]:
        """As what tasks need the static graphs, and not only what is kept of them: with what they entail by
        some schema, or as they are (None)."""
        return self.graphs_for([query for group in self.groups for query in group])

    def graphs_for(self, queries: Sequence[Registered]) -> frozenset[Schema | None]:
        """The same for some queries."""
        names = {query.name for query in queries}
        found = {
            schema_of(query.evaluation.query.query)
            for query in queries
            if isinstance(query.evaluation, Evaluation)
        }
        found |= {
            schema_of(relatives.prepared.query.query)
            for relatives in self.relatives
            if relatives.prepared.asks_graphs and not names.isdisjoint(relatives.members)
        }
        return frozenset(found)

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

    `silent` streams and `idle` partitions hold nothing up, unless they bring something now: they have been
    idle for too long. Streams that have `ended` bring nothing after this batch. `ahead` bounds the times of
    live streams. A query that was registered while streams flowed sees of each the elements after a time, in
    `since`.
    """

    batch: int
    progress: Mapping[str, Progress]
    lateness: Mapping[str, int] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    idle: frozenset[tuple[str, int]] = frozenset()
    ended: frozenset[str] = frozenset()
    ahead: Mapping[str, Ahead] = field(default_factory=dict)
    reached: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    segments: Mapping[str, Segments] = field(default_factory=dict)
    kept: Mapping[str, KeptTable] = field(default_factory=dict)
    limit: float | None = None  # how many seconds a query may take
    cautious: bool = False  # the batch before took too long: new queries wait for the next one
    apart: frozenset[str] = frozenset()  # members of families that are evaluated each by itself
    stopped: Mapping[str, str] = field(
        default_factory=dict
    )  # queries that did not listen, and why they ended


def relatives(queries: Sequence[Registered]) -> tuple[Relatives, ...]:
    """The families of the queries of CQELS-QL among these."""
    found: dict[str, list[Registered]] = {}
    for query in queries:
        if isinstance(query.evaluation, Arrival):
            found.setdefault(query.evaluation.skeleton, []).append(query)
    return tuple(map(Relatives.of, found.values()))


def sharing(queries: Sequence[Registered]) -> tuple[Registered, ...]:
    """The queries, those of a family with one and the same evaluation: what they see of streams is the same,
    and a plan with a thousand of them is small to ship. Their constants are with their relatives."""
    firsts: dict[str, Arrival] = {}
    return tuple(
        replace(query, evaluation=firsts.setdefault(query.evaluation.skeleton, query.evaluation))
        if isinstance(query.evaluation, Arrival)
        else query
        for query in queries
    )


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
    return len(skeletons) + sum(not isinstance(query.evaluation, Arrival) for query in queries)


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
    """Every query after those whose streams it reads; the rules of a circle follow one another."""
    return [query for together in components(queries) for query in together]


def components(queries: Sequence[Registered]) -> list[list[Registered]]:
    """The queries in the order of their streams: each by itself, or those that read one another's streams in
    a circle together."""
    makers = {query.derived: query.name for query in queries if query.derived is not None}
    read = {query.name: {makers[stream] for stream in query.streams & makers.keys()} for query in queries}
    left, order = {query.name: query for query in queries}, list[list[Registered]]()
    while left:
        ready = [[query] for name, query in left.items() if not read[name] & left.keys()]
        if not ready:
            behind = {name: _behind(name, read, left.keys()) for name in left}
            # One that is behind the others, and only those that are behind it are behind.
            first = next(name for name in left if all(name in behind[other] for other in behind[name]))
            ready = [[query for name, query in left.items() if name in behind[first]]]
        order += ready
        for query in (query for together in ready for query in together):
            del left[query.name]
    return order


def _behind(name: str, read: Mapping[str, set[str]], among: Set[str]) -> set[str]:
    """The queries whose streams a query depends on."""
    found, more = set[str](), {name}
    while more:
        more = {other for one in more for other in read[one] & among} - found
        found |= more
    return found


def is_circle(together: Sequence[Registered]) -> bool:
    """Whether queries that are a component read one another's streams, or one reads its own."""
    return len(together) > 1 or together[0].derived in together[0].streams


def circle_path(together: Sequence[Registered]) -> list[str]:
    """The names of some queries of a circle, in its order."""
    makers = {query.derived: query for query in together}
    path = [together[0]]
    while True:
        maker = next(makers[stream] for stream in sorted(path[-1].streams) if stream in makers)
        if maker in path:
            return [query.name for query in reversed(path[path.index(maker) :])]
        path.append(maker)
