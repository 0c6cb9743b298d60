"""Operators: what the runtime knows of a continuous query, whatever its language.

A language is a folder beside this module (`csparql`, `cqels`, `epsparql`, `rspql`) with a class that is an
`Operator`. Only `languages.py` knows all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.entailment import Schema
from rheos.algebra.families import Family as Constants
from rheos.algebra.nodes import Query, TriplePattern
from rheos.errors import RheosError
from rheos.optimize.static_parts import Part
from rheos.runtime.sharding import ONE, Shard, Sharding

if TYPE_CHECKING:
    from rheos.runtime.plan import Registered
    from rheos.runtime.worker.workbench import Workbench

Times = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


class Answers(NamedTuple):
    """What a query reports: its instants (instant, at), also those without rows, and the rows (instant, at,
    columns). Both tables are in order."""

    instants: pa.Table
    rows: pa.Table


class Count(NamedTuple):
    """How many triples of a stream there were up to a moment, and how many graphs."""

    triples: int
    graphs: int


class Span(NamedTuple):
    """The span of time that a query is evaluated for: after one time and up to another. `before`
    says how much of each stream came before the query was registered. If `over` is True, all its
    streams have ended."""

    after: int
    until: int
    before: tuple[tuple[str, Count], ...] = ()
    over: bool = False

    @property
    def unseen(self) -> dict[str, int]:
        """How many elements of each stream came before the query."""
        return {stream: count.triples for stream, count in self.before}


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended: the time of its last element, how many triples came before that time, and how many
    in all. `graphs` has the same two numbers for a stream of graphs."""

    time: int
    before: int
    count: int
    graphs: tuple[int, int] | None = None


class Derived(NamedTuple):
    """The answers of queries that read one another's streams in a circle, by name. If their evaluation had to
    be cut off, `failure` says why."""

    answers: Mapping[str, Answers]
    failure: str | None = None


class Family(ABC):
    """Queries that differ only in constants, and are therefore evaluated by one statement."""

    members: tuple[str, ...]

    @property
    @abstractmethod
    def static_parts(self) -> Sequence[tuple[Constants | None, Part]]:
        """The tables of static data that it needs, and the constants that these depend on."""

    @property
    @abstractmethod
    def graphs(self) -> frozenset[Schema | None]:
        """See `Operator.graphs`."""


class Operator(ABC):
    """A continuous query, compiled when it is registered and evaluated in every micro-batch.

    It is pickled on its way to the workers. Two operators that do the same compare equal.
    """

    language: str
    occurs = False  # its answers have intervals: a start and an end
    late = False  # some of its answers become known only after they have ended
    view = False  # it shows the present content of its windows, and does not report every instant
    names_streams = True  # it names its streams, which must exist; otherwise it reads those that exist
    makes_graphs = False  # the triples that it derives at an instant are one graph of its stream
    unbounded = False  # nothing bounds how long it has to remember elements
    steps = False  # it is evaluated each time so many elements have arrived
    compares = False  # it compares an evaluation with the one before

    # --- what it is ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def algebra(self) -> Query:
        """The algebra of the query."""

    @property
    @abstractmethod
    def streams(self) -> frozenset[str]:
        """The streams that it reads, as terms."""

    @property
    @abstractmethod
    def sees(self) -> Hashable:
        """A key for the elements that it looks at: operators with the same key need the same elements."""

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the tables that it keeps between batches beside the elements of streams."""
        return ()

    @property
    def static_parts(self) -> tuple[Part, ...]:
        """The tables of static data that it needs if it is evaluated by itself, not in a family."""
        return ()

    @property
    def graphs(self) -> frozenset[Schema | None]:
        """The static graphs that it needs as a whole: None stands for the graphs as they are, a schema for
        the graphs with what they entail by this schema."""
        return frozenset()

    @property
    def sharding(self) -> Sharding:
        """How its work can be shared out."""
        return ONE

    # In words, what it gives up under load; the variables that are estimates; whether it skips
    # instants.
    gives_up: str | None = None
    errors: tuple[str, ...] = ()
    skips: bool = False

    @property
    def incremental(self) -> bool:
        """Whether it can keep its solutions between batches, so that a batch only looks for new ones."""
        return False

    def keeps(self, bench: Workbench, span: Span) -> bool:
        """Whether a span is evaluated with the solutions in the cache."""
        if bench.cache is None or not self.incremental:
            return False
        return bench.cache.pays({stream: bench.buffers[stream] for stream in self.streams}, span)

    # --- queries that go together --------------------------------------------------------------------

    @property
    def family(self) -> str | None:
        """The key of its family: operators with the same key are evaluated together. None if it has none."""
        return None

    def together(self, members: Sequence[Registered]) -> Family:
        """The family of these queries, which all have the same `family`."""
        raise AssertionError(f"{self.language} has no families")

    @property
    def rule(self) -> Sequence[TriplePattern]:
        """The triples that it makes, if it is a rule. Operators that do not name their streams read them."""
        return ()

    def reading(
        self,
        sources: Set[str],
        rules: Mapping[str, Sequence[TriplePattern]],
        derivations: Callable[[Schema], pa.Table] | None,
    ) -> Self:
        """The operator for these streams from outside and these rules, by the streams that they make.
        `derivations` gives what a schema entails of any triple."""
        return self

    def check_circle(self, names: str, together: Sequence[Registered]) -> None:
        """Refuse queries that read one another's streams in a circle, if such a circle has no meaning."""
        raise RheosError(f"these queries read one another's streams in a circle: {names}")

    # --- when it is evaluated ------------------------------------------------------------------------

    @abstractmethod
    def end(self, ends: Mapping[str, End]) -> int | None:
        """The time at which its clock stops when all its streams have ended. `ends` has the streams that had
        elements. None if no stream had any."""

    def due(self, after: int, until: int) -> bool:
        """Whether it may have something to report between two times."""
        return after < until

    @abstractmethod
    def live(
        self,
        stream: str,
        elements: Mapping[str, pa.Table],
        until: int,
        bench: Workbench | None = None,
        before: Mapping[str, Count] | None = None,
    ) -> Marks:
        """Which elements of a stream an evaluation after the time `until` can still see. `elements` are those
        of all its streams, with their places. The workbench computes what elements entail, if that matters.
        `before` is as in a span, and matters only if the operator `compares`."""

    # --- what it answers -----------------------------------------------------------------------------

    @abstractmethod
    def answers(
        self, bench: Workbench, together: Sequence[Registered], span: Span, shard: Shard | None = None
    ) -> Mapping[str, Answers]:
        """What queries report for a span, by name: this query alone, or members of its family. In
        a shard of the variable of its `sharding`, the answers are partial: `merged` puts those of
        all shards together."""

    def merged(self, parts: Sequence[Answers]) -> Answers:
        """The answers of all shards of a variable, put together. UnmergedError if that is not possible."""
        raise AssertionError(f"{self.language} is not sharded by a variable")

    def can_shard_circle(self, together: Sequence[Registered]) -> bool:
        """Whether queries that read one another's streams in a circle can be sharded by a term."""
        return False

    def fixpoint(
        self,
        bench: Workbench,
        together: Sequence[Registered],
        spans: Mapping[str, Span],
        until: int,
        shard: Shard | None = None,
    ) -> Derived:
        """The answers, up to a time, of queries that read one another's streams in a circle. In a shard, the
        answers are partial: `merged` puts those of all shards together."""
        raise AssertionError(f"{self.language} has no circles: see check_circle")

    @abstractmethod
    def rehearse(self, bench: Workbench) -> None:
        """Evaluate the query once on made-up elements; errors are raised. The workbench has the static
        graphs, which are empty."""

    def is_large(self, text: str) -> bool:
        """Whether a rehearsal may take so long that it needs a process of its own."""
        return False


def next_multiple(time: int, step: int) -> int:
    """The first multiple of the step that is not before the time."""
    return -(-time // step) * step


def one_after_another(parts: Sequence[Answers]) -> Answers:
    """The answers of spans that follow one another, as one. Instants that are numbers continue the count of
    the span before."""
    found: list[Answers] = []
    last: int | None = None
    for instants, rows in parts:
        if len(instants):
            first = instants.column(0)[0].as_py()
            more = last if last is not None and first <= last else 0
            last = instants.column(0)[-1].as_py() + more
            instants, rows = _later(instants, more), _later(rows, more)
        found.append(Answers(instants, rows))
    return Answers(*(pa.concat_tables(tables) for tables in zip(*found, strict=True)))


def _later(table: pa.Table, more: int) -> pa.Table:
    if not more:
        return table
    numbers = pc.add(table.column(0), pa.scalar(more, pa.int64()))
    return table.set_column(0, table.schema.field(0), numbers)
