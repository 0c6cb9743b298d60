"""The plan: which queries run, in groups that can be evaluated apart; and the control data of a micro-batch.

A plan is shipped to the workers once for every change of the registry. What changes with every batch is in
the `Control` of the batch, which is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from rheos.algebra.entailment import Schema, asked_of
from rheos.algebra.families import Family as Constants
from rheos.algebra.nodes import TriplePattern
from rheos.answers.continuous import QueryInfo
from rheos.optimize.flows import Size
from rheos.optimize.static_parts import Part
from rheos.runtime.operator import Count, Family, Operator
from rheos.runtime.sharding import Way
from rheos.runtime.state.progress import Progress
from rheos.runtime.state.segments import Segments
from rheos.runtime.state.store import Store

# The names of the tables that operators keep beside streams begin like this.
STATE = "urn:rheos:state/"


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs: its description, its operator, and the stream that it makes, if any."""

    info: QueryInfo
    operator: Operator
    derived: str | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def streams(self) -> frozenset[str]:
        return self.operator.streams

    @property
    def states(self) -> tuple[str, ...]:
        return self.operator.states


@dataclass(frozen=True, slots=True)
class StaticTable:
    """A table of static data in the state store: the name of its file, how many rows it has, and
    how many different values in each column. Its columns are c1, c2, … (tables of derivations
    have their own names)."""

    file: str
    size: Size


@dataclass(frozen=True, slots=True)
class Plan:
    """Groups of queries that tasks evaluate. Queries that read one another's streams are in the same group.

    A stream that no query reads (`unread`) flows all the same: the first group counts its elements. `stopped`
    are the streams whose makers are stopped: they bring no elements, and no query waits for them. Elements
    that they brought before may still be in a window.
    """

    version: str
    groups: tuple[tuple[Registered, ...], ...]
    unread: tuple[str, ...] = ()
    stopped: frozenset[str] = frozenset()
    families: tuple[Family, ...] = ()

    @property
    def queries(self) -> tuple[Registered, ...]:
        return tuple(query for group in self.groups for query in group)

    def streams(self, group: int) -> list[str]:
        """The streams from outside that a group reads."""
        queries = self.groups[group]
        made = {query.derived for query in queries}
        read = {stream for query in queries for stream in query.streams} - made - self.stopped
        return sorted({*read, *self.unread} if group == 0 else read)

    def readers(self) -> dict[str, list[int]]:
        """The groups that read each stream from outside; the first of them reports its dead letters."""
        found: dict[str, list[int]] = {}
        for number in range(len(self.groups)):
            for stream in self.streams(number):
                found.setdefault(stream, []).append(number)
        return found

    @property
    def static_parts(self) -> Iterator[tuple[Constants | None, Part]]:
        """The tables of static data that these queries need, and the constants that each depends on."""
        for family in self.families:
            yield from family.static_parts
        for query in self.queries:
            if query.operator.family is None:
                yield from ((None, part) for part in query.operator.static_parts)

    def needing(self, table: str, member: int | None) -> list[str]:
        """The names of the queries that need a table of static data. If the table is needed by a family and
        `member` is a number, only the member with this number."""
        found: list[str] = []
        for family in self.families:
            if any(part.table == table for _, part in family.static_parts):
                found += family.members if member is None else family.members[member : member + 1]
        for query in self.queries:
            if query.operator.family is None:
                found += [query.name for part in query.operator.static_parts if part.table == table]
        return found

    @property
    def graphs(self) -> frozenset[Schema | None]:
        """The static graphs that tasks need as a whole: see `Operator.graphs`."""
        alone = (query.operator.graphs for query in self.queries if query.operator.family is None)
        return frozenset[Schema | None]().union(*alone, *(family.graphs for family in self.families))

    @property
    def asked(self) -> frozenset[TriplePattern]:
        """The triple patterns of queries that need static graphs as a whole."""
        asking = (query.operator for query in self.queries)
        return frozenset(pattern for operator in asking for pattern in asked_of(operator.algebra))


@dataclass(frozen=True, slots=True)
class Control:
    """The control data of a micro-batch: how far the streams and the queries are, and
    which segments are live.

    `silent` streams and `idle` partitions have brought nothing for too long: no query waits for them, unless
    they bring something in this batch. Streams that have `ended` bring nothing after this batch. A query that
    was registered while streams flowed sees, of each stream, the elements after a time: `seen_after`. For
    queries that count elements, `counts` has how many there were until then. `shards` says how many shards
    each group has.
    """

    batch: int
    progress: Mapping[str, Progress]
    store: Store
    run: str = ""
    lateness: Mapping[str, int] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    idle: frozenset[tuple[str, int]] = frozenset()
    ended: frozenset[str] = frozenset()
    reached: Mapping[str, int] = field(default_factory=dict)
    seen_after: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    counts: Mapping[str, Mapping[int, Count]] = field(default_factory=dict)
    segments: Mapping[str, Segments] = field(default_factory=dict)
    static: Mapping[str, StaticTable] = field(default_factory=dict)
    shards: tuple[int, ...] = ()
    sharded: bool = False  # share out work even where that saves no time
    shard_by: Way | None = None  # share out work only in this way
    incremental: bool | None = None  # whether workers use what they kept; without a value, where it pays
    unmerged: frozenset[str] = frozenset()  # not sharded by a variable: their answers could not be merged
    limit: float | None = None  # how many seconds a query may take
    cautious: bool = False  # the batch before took too long: new queries wait for the next one
    apart: frozenset[str] = frozenset()  # members of families that are evaluated each by itself
    uncached: bool = False  # evaluate without the worker's cache, which took too much memory
    stopped: Mapping[str, str] = field(
        default_factory=dict
    )  # queries whose process was ended while it evaluated them, and why

    def tasks(self, groups: int) -> list[tuple[int, int]]:
        """The tasks of a batch with so many groups: the group and the shard of each."""
        shards = self.shards or (1,) * groups
        return [(group, shard) for group in range(groups) for shard in range(shards[group])]


def families(queries: Sequence[Registered]) -> tuple[Family, ...]:
    """The families among these queries."""
    found: dict[str, list[Registered]] = {}
    for query in queries:
        if query.operator.family is not None:
            found.setdefault(query.operator.family, []).append(query)
    return tuple(members[0].operator.together(members) for members in found.values())


def sharing(queries: Sequence[Registered]) -> tuple[Registered, ...]:
    """The queries, where all members of a family share one operator object: they see the same elements, and a
    plan with a thousand of them is small when it is pickled."""
    firsts: dict[str, Operator] = {}

    def shared(query: Registered) -> Registered:
        family = query.operator.family
        return query if family is None else replace(query, operator=firsts.setdefault(family, query.operator))

    return tuple(map(shared, queries))


def grouped(queries: Sequence[Registered], most: int) -> tuple[tuple[Registered, ...], ...]:
    """The queries in at most so many groups of about the same number, each in the order of its streams."""
    together = sorted(related(queries), key=work, reverse=True)
    groups: list[list[Registered]] = [[] for _ in range(max(1, min(most, len(together))))]
    for part in together:
        min(groups, key=work).extend(ordered(part))
    return tuple(tuple(group) for group in groups if group)


def work(queries: Sequence[Registered]) -> int:
    """How many evaluations these queries need: a family needs only one."""
    families = {query.operator.family for query in queries} - {None}
    return len(families) + sum(query.operator.family is None for query in queries)


def related(queries: Sequence[Registered]) -> list[list[Registered]]:
    """Queries that are connected through derived streams, or are of the same family, together."""
    makers = {query.derived: query.name for query in queries if query.derived is not None}
    above = {query.name: query.name for query in queries}
    firsts: dict[str, str] = {}  # of each family

    def root(name: str) -> str:
        while above[name] != name:
            name = above[name]
        return name

    for query in queries:
        if query.operator.family is not None:
            first = firsts.setdefault(query.operator.family, query.name)
            above[root(query.name)] = root(first)
        for stream in query.streams:
            if stream in makers:
                above[root(query.name)] = root(makers[stream])
    found: dict[str, list[Registered]] = {}
    for query in queries:
        found.setdefault(root(query.name), []).append(query)
    return list(found.values())


def ordered(queries: Sequence[Registered]) -> list[Registered]:
    """The queries, each after those whose streams it reads; the rules of a circle stand together."""
    return [query for together in components(queries) for query in together]


def components(queries: Sequence[Registered]) -> list[list[Registered]]:
    """The queries, each after those whose streams it reads, as lists: a query by itself, or all queries that
    read one another's streams in a circle."""
    makers = {query.derived: query.name for query in queries if query.derived is not None}
    read = {query.name: {makers[stream] for stream in query.streams & makers.keys()} for query in queries}
    left, order = {query.name: query for query in queries}, list[list[Registered]]()
    while left:
        ready = [[query] for name, query in left.items() if not read[name] & left.keys()]
        if not ready:
            # All queries that are left depend on a circle. A circle that depends on no other query comes
            # first.
            needs = {name: _needed(name, read, left.keys()) for name in left}
            first = next(name for name in left if all(name in needs[other] for other in needs[name]))
            ready = [[query for name, query in left.items() if name in needs[first]]]
        order += ready
        for query in (query for together in ready for query in together):
            del left[query.name]
    return order


def _needed(name: str, read: Mapping[str, set[str]], among: Set[str]) -> set[str]:
    """The queries whose streams a query depends on, directly or through others."""
    found, more = set[str](), {name}
    while more:
        more = {other for one in more for other in read[one] & among} - found
        found |= more
    return found


def is_circle(together: Sequence[Registered]) -> bool:
    """Whether queries that are a component read one another's streams, or one reads its own."""
    return len(together) > 1 or together[0].derived in together[0].streams


def circle_path(together: Sequence[Registered]) -> list[str]:
    """The names of some queries that form a circle, each before the reader of its stream."""
    makers = {query.derived: query for query in together}
    path = [together[0]]
    while True:
        maker = next(makers[stream] for stream in sorted(path[-1].streams) if stream in makers)
        if maker in path:
            return [query.name for query in reversed(path[path.index(maker) :])]
        path.append(maker)
