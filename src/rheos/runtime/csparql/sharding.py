"""How the work of a query of C-SPARQL is shared out by a variable, and how the shards' answers are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.nodes import Group
from rheos.algebra.rewrite import nodes
from rheos.algebra.streams import CSparqlQuery
from rheos.optimize.sharding import PARTIALS, Cut, Uncut, cut, triple_patterns, wanted
from rheos.runtime import merging
from rheos.runtime.operator import Answers
from rheos.runtime.sharding import UnmergedError
from rheos.runtime.worker.database import Database
from rheos.sql import macros
from rheos.sql.csparql import INSTANTS, CSparqlStatement, compile_csparql
from rheos.sql.dialect import Dialect
from rheos.sql.sharding import matters


@dataclass(frozen=True, slots=True)
class CSparqlShards:
    """The statement that each shard of a `variable` runs, and the one that merges their answers.

    `matters` is a condition on elements: only those that fulfil it can be part of a shard's answers. None if
    any element can. `exact` are the numbers (from 1) of the columns that must not hold doubles.
    """

    variable: str
    part: CSparqlStatement
    merge: CSparqlStatement
    matters: str | None
    exact: tuple[int, ...]
    in_groups: bool

    @classmethod
    def of(cls, query: CSparqlQuery, dialect: Dialect) -> CSparqlShards | Uncut:
        found = cut(query.query)
        if isinstance(found, Uncut):
            return found
        return cls(
            found.variable,
            compile_csparql(replace(query, query=found.part), dialect),
            compile_csparql(replace(query, query=found.merge, windows=()), dialect),
            matters(wanted(triple_patterns(query.query.form.pattern), found.variable), dialect),
            found.exact,
            _in_groups(found),
        )

    @property
    def merges(self) -> str:
        """In words, what the merge does."""
        return "; groups are then put together from those of the shards" if self.in_groups else ""

    def merged(self, parts: Sequence[Answers]) -> Answers:
        """The answers of all shards, put together. UnmergedError if they depend on the order of additions."""
        instants = parts[0].instants
        found = pa.concat_tables([part.rows for part in parts])
        for number in self.exact:
            _check_exact(found.column(number + 1))
        names = ["instant", *(f"c{number}" for number in range(1, len(self.part.columns) + 1))]
        with merging.database() as connection:
            if macros.PREFIX in self.merge.sql:
                macros.define(connection)
            database = Database(connection)
            database.put(PARTIALS, found.remove_column(1).rename_columns(names))
            database.put(INSTANTS, with_turns(instants))
            return Answers(instants, database.rows(self.merge, len(instants)))


def with_turns(instants: pa.Table) -> pa.Table:
    """Instants with a column `turn`: the number of an instant among those with the same time, from 0."""
    at = instants.column("at").to_numpy()
    turn = np.arange(len(at)) - np.searchsorted(at, at)
    return instants.append_column("turn", pa.array(turn, pa.int64()))


def _in_groups(found: Cut) -> bool:
    return any(isinstance(node, Group) for node in nodes(found.merge.form.pattern))


def _check_exact(sums: pa.ChunkedArray) -> None:
    for kind in ("double>", "float>"):
        if pc.any(pc.ends_with(sums, kind)).as_py():
            raise UnmergedError("sums of doubles depend on the order in which they are added")
