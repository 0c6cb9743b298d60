"""Prepared queries of CQELS-QL, and their statements, with joins in the order that suits a batch."""

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

# The different values of a column are counted in its last so many rows.
SAMPLE = 1_000

Part = Literal["all", "old", "new"]
PARTS: tuple[Part, ...] = ("all", "old", "new")


def streams_of(query: CqelsQuery) -> tuple[str, ...]:
    """The streams that a query reads, in the order in which it names them."""
    return tuple(dict.fromkeys(clause.stream for clause in query.windows))


def slides_of(query: CqelsQuery) -> tuple[int, ...]:
    found = (slide_of(clause.window) for clause in query.windows)
    return tuple(sorted({slide for slide in found if slide is not None}))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query, or the query of a family, ready to be evaluated: with tables in the place
    of its static parts."""

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
        """The variable by which its work can be shared out, if there is one. Only the rows of SELECT can be
        shared out, and not where elements entail triples."""
        form = self.query.query.form
        if not isinstance(form, Select) or self.spreads or self.derivations is not None:
            return None
        # The differences of bags are taken of the whole rows; else each combination is in one shard.
        return shard_variable(self.pattern, Project | Reduced if self.monotone else None)

    def of_shard(self) -> Prepared:
        """The query that finds only the answers of the present shard."""
        assert self.variable is not None
        form = replace(self.query.query.form, pattern=of_shard(self.pattern, self.variable))
        return replace(self, query=replace(self.query, query=replace(self.query.query, form=form)))

    @property
    def links(self) -> Links | NotKept:
        """How the old elements of a new solution are linked to its new element, or why all live elements must
        be looked at."""
        if self.derivations is not None:
            return NotKept("what elements entail is looked up for all of them")
        return links(self.query, monotone=self.monotone)

    @property
    def spreads(self) -> bool:
        """Whether rows must be looked at tick by tick."""
        return not self.monotone and spreads(self.pattern)

    @property
    def asks_graphs(self) -> bool:
        """Whether it reads static graphs also outside of its static parts."""
        return has_static(self.pattern)


@dataclass(frozen=True, slots=True)
class WindowSize:
    """How many elements a window holds in a batch, how many of them are old, and about how many different
    subjects, predicates and objects they have."""

    rows: int
    old: int
    different: Mapping[str, float]

    def of(self, part: Part) -> int:
        return {"all": self.rows, "old": self.old, "new": self.rows - self.old}[part]


def different_values(window: Held) -> dict[str, float]:
    """About how many different subjects, predicates and objects the elements of a window have, estimated from
    the last ones."""
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
    """The sizes of all that the query joins, given the sizes of its windows and of the tables of static
    parts. The constants are put into the database."""
    sizes: dict[Node, Size] = {}
    for leaf in stream_patterns(prepared.pattern):
        window = windows[leaf.window - 1]
        terms = zip("spo", leaf.pattern.terms, strict=True)
        different = {t.name: window.different[name] for name, t in terms if isinstance(t, Variable)}
        for part in PARTS:
            # A flow begins with all new rows. From other windows, only rows of the same bucket join them.
            rows = window.of(part) / (1 if part == "new" else buckets)
            sizes[replace(leaf, part=part)] = Size(rows, different)
    for table in kept_in(prepared.pattern):
        sizes[table] = static.get(table.table, Size(1.0))
        if table.table == CONSTANTS and constants is not None:
            database.put(CONSTANTS, constants)
            sizes[table] = Size(len(constants), dict.fromkeys(table.variables, float(len(constants))))
    return sizes


def planned(prepared: Prepared, sizes: Mapping[Node, Size], dialect: Dialect) -> tuple[CqelsStatement, str]:
    """The statement of a query, with its joins in the order that suits the sizes; and that order in words."""
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
    """For a query that keeps groups: the SQL for the parts to add, the columns of the kept parts, the
    statement that answers, and the order of the joins in words."""
    parts = {part.table: part.query for part in prepared.parts if isinstance(part, StaticPart)}
    query, flow = prepared.query.query, Flow(sizes, parts)
    marked = kept_groups(query.form.pattern)
    assert not isinstance(marked, NotKept)
    new = [flow.ordered(change) for change in new_in(whole_of(marked))]
    return *compiled(with_new(query, new), dialect, prepared.query.name), str(flow)


# Each process compiles a statement once for each order of its joins.


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
