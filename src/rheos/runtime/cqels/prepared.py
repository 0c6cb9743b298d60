"""Queries of CQELS-QL made ready, and statements for them whose joins are in the order that suits a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.expressions import Variable
from rheos.algebra.families import CONSTANTS
from rheos.algebra.nodes import Node, OrderBy, Project, Query, Reduced, Select
from rheos.algebra.streams import CqelsQuery
from rheos.optimize.compare_resources import compare_resources
from rheos.optimize.flows import Flow, Size
from rheos.optimize.kept_groups import kept_groups, links, new_in, whole_of, with_new
from rheos.optimize.links import Links, NotKept
from rheos.optimize.novelty import is_monotone, looked_for, spreads, stream_patterns
from rheos.optimize.push_filters import push_filters
from rheos.optimize.sharding import of_shard, shard_variable
from rheos.optimize.static_parts import (
    Derivations,
    StaticPart,
    derivations_for,
    has_static,
    keep_static,
    kept_in,
)
from rheos.optimize.static_parts import Part as AnyPart
from rheos.optimize.statistics import Statistics
from rheos.runtime.cqels.ticks import Held, slide_of
from rheos.runtime.worker.database import Database
from rheos.sql.cqels import CqelsStatement, compile_difference, compile_kept_groups, compile_new
from rheos.sql.dialect import Dialect
from rheos.sql.grouped import KeptGroups

# The different values of a column are counted in so many rows of it.
SAMPLE = 1_000

Part = Literal["all", "old", "new"]
PARTS: tuple[Part, ...] = ("all", "old", "new")


def streams_of(query: CqelsQuery) -> tuple[str, ...]:
    """In the order in which the query names them."""
    return tuple(dict.fromkeys(clause.stream for clause in query.windows))


def slides_of(query: CqelsQuery) -> tuple[int, ...]:
    found = (slide_of(clause.window) for clause in query.windows)
    return tuple(sorted({slide for slide in found if slide is not None}))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query, or one for a family, ready to be evaluated: with tables in the place of its static `parts`."""

    query: CqelsQuery
    parts: tuple[AnyPart, ...]
    monotone: bool

    @classmethod
    def of(cls, query: CqelsQuery) -> Prepared:
        nothing = Statistics(0, {})
        pushed = push_filters(compare_resources(query.query, nothing), nothing)
        kept, parts = keep_static(pushed, repr((query.query, query.windows)))
        patterns = [pattern for clause in query.windows for pattern in clause.patterns]
        derivations = derivations_for(query.query, patterns)
        every: tuple[AnyPart, ...] = parts if derivations is None else (*parts, derivations)
        return cls(replace(query, query=kept), every, is_monotone(query.query))

    @property
    def derivations(self) -> Derivations | None:
        """What the elements of its streams entail."""
        return next((part for part in self.parts if isinstance(part, Derivations)), None)

    @property
    def pattern(self) -> Node:
        return self.query.query.form.pattern

    @property
    def variable(self) -> str | None:
        """By which its answers can be told apart. Others than rows, and what elements entail, cannot be."""
        form = self.query.query.form
        if not isinstance(form, Select) or self.spreads or self.derivations is not None:
            return None
        # The differences of bags are taken of the whole rows; else each combination is in one shard.
        return shard_variable(self.pattern, Project | Reduced if self.monotone else None)

    def of_shard(self) -> Prepared:
        """For the answers of the shard at hand."""
        assert self.variable is not None
        form = replace(self.query.query.form, pattern=of_shard(self.pattern, self.variable))
        return replace(self, query=replace(self.query, query=replace(self.query.query, form=form)))

    @property
    def links(self) -> Links | NotKept:
        """How the elements of something new are linked to a new one, or why all live ones are looked at."""
        if self.derivations is not None:
            return NotKept("what elements entail is looked up for all of them")
        return links(self.query, monotone=self.monotone)

    @property
    def spreads(self) -> bool:
        """Whether rows must be looked at tick by tick."""
        return not self.monotone and spreads(self.pattern)

    @property
    def asks_graphs(self) -> bool:
        """Whether anything but its static parts looks at static data."""
        return has_static(self.pattern)


@dataclass(frozen=True, slots=True)
class WindowSize:
    """How many elements a window holds in a batch, how many of them are old, and about how many different
    values they have as subject, predicate and object."""

    rows: int
    old: int
    different: Mapping[str, float]

    def of(self, part: Part) -> int:
        return {"all": self.rows, "old": self.old, "new": self.rows - self.old}[part]


def different_values(window: Held) -> dict[str, float]:
    """About how many different terms the elements of a window have in each place, from the last of them."""
    sample = window.elements.slice(max(0, len(window.start) - SAMPLE))
    return {name: float(max(1, pc.count_distinct(sample.column(name)).as_py())) for name in "spo"}


def observed_sizes(
    prepared: Prepared,
    windows: Sequence[WindowSize],
    buckets: int,
    constants: pa.Table | None,
    static: Mapping[str, Size],
    database: Database,
) -> dict[Node, Size]:
    """How much there is to join, for windows of these sizes. The database has the tables of static parts; the
    constants are put there."""
    sizes: dict[Node, Size] = {}
    for leaf in stream_patterns(prepared.pattern):
        window = windows[leaf.window - 1]
        terms = zip("spo", leaf.pattern.terms, strict=True)
        different = {t.name: window.different[name] for name, t in terms if isinstance(t, Variable)}
        for part in PARTS:
            # A flow starts with all that is new, and meets of the others what is in the same bucket.
            rows = window.of(part) / (1 if part == "new" else buckets)
            sizes[replace(leaf, part=part)] = Size(rows, different)
    for table in kept_in(prepared.pattern):
        sizes[table] = static.get(table.table, Size(1.0))
        if table.table == CONSTANTS and constants is not None:
            database.put(CONSTANTS, constants)
            sizes[table] = Size(len(constants), dict.fromkeys(table.variables, float(len(constants))))
    return sizes


def planned(prepared: Prepared, sizes: Mapping[Node, Size], dialect: Dialect) -> tuple[CqelsStatement, str]:
    """The statement whose joins are in the order that suits the sizes, and that order in words."""
    parts = {part.table: part.query for part in prepared.parts if isinstance(part, StaticPart)}
    query, flow = prepared.query.query, Flow(sizes, parts)
    if not prepared.monotone:
        pattern = flow.ordered(prepared.pattern)
        whole = Query(replace(query.form, pattern=pattern), query.dataset)
        return _difference(whole, dialect, prepared.query.name), str(flow)
    orders, pattern = looked_for(prepared.pattern)
    patterns = tuple(flow.ordered(change) for change in new_in(pattern))
    return _new(query, patterns, orders, dialect, prepared.query.name), str(flow)


def planned_groups(
    prepared: Prepared, sizes: Mapping[Node, Size], dialect: Dialect
) -> tuple[str, KeptGroups, CqelsStatement, str]:
    """What is added to the groups that are kept, their columns, the statement, and the order in words."""
    parts = {part.table: part.query for part in prepared.parts if isinstance(part, StaticPart)}
    query, flow = prepared.query.query, Flow(sizes, parts)
    marked = kept_groups(query.form.pattern)
    assert not isinstance(marked, NotKept)
    new = [flow.ordered(change) for change in new_in(whole_of(marked))]
    return *compiled(with_new(query, new), dialect, prepared.query.name), str(flow)


# A statement is compiled once for an order of its joins, in each process that runs it.


@lru_cache(maxsize=4096)
def _difference(query: Query, dialect: Dialect, name: str) -> CqelsStatement:
    return compile_difference(query, dialect, name)


@lru_cache(maxsize=4096)
def _new(
    query: Query, patterns: tuple[Node, ...], orders: OrderBy | None, dialect: Dialect, name: str
) -> CqelsStatement:
    return compile_new(query, patterns, orders, dialect, name)


@lru_cache(maxsize=4096)
def compiled(query: Query, dialect: Dialect, name: str) -> tuple[str, KeptGroups, CqelsStatement]:
    return compile_kept_groups(query, dialect, name)
