"""Overlays: named graphs beside the static graphs for a single query; no other query sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from rheos.optimize.statistics import Statistics
from rheos.store.revision import counts_of
from rheos.terms import iri

if TYPE_CHECKING:
    from rheos.store.entailed import Entailments
    from rheos.store.graphs import StaticGraphs

_QUADS = pa.schema([(name, pa.string()) for name in "gspo"])

# Temporary tables and views of a cursor hide the tables of the database, which so have full names here.
_SHOWN = (
    "CREATE TEMP TABLE beside AS SELECT g, s, p, o FROM given_quads",
    "CREATE TEMP TABLE beside_names AS SELECT g FROM given_names",
    "CREATE TEMP VIEW named_graphs AS"
    " SELECT g, s, p, o FROM memory.main.named_graphs WHERE g NOT IN (SELECT g FROM beside_names)"
    " UNION ALL SELECT g, s, p, o FROM beside",
    "CREATE TEMP VIEW graph_names AS SELECT g FROM memory.main.graph_names UNION SELECT g FROM beside_names",
)


class Overlay:
    """The static graphs and further named graphs: tables (s, p, o) by their IRIs.

    A further graph hides a static graph of the same name.
    """

    def __init__(self, graphs: StaticGraphs, beside: Mapping[str, pa.Table]) -> None:
        self._graphs = graphs
        self._names = pa.table({"g": [iri(name) for name in beside]})
        self._quads = pa.concat_tables(
            [_QUADS.empty_table(), *(_quads(iri(name), table) for name, table in beside.items())]
        )

    @property
    def size(self) -> int:
        return self._graphs.size + int(self._quads.num_rows)

    @property
    def statistics(self) -> Statistics:
        return self._graphs.statistics.plus(counts_of(self._quads))

    @property
    def entailments(self) -> Entailments:
        """The entailments of the static graphs; the further graphs have no entailed triples."""
        return self._graphs.entailments

    @property
    def indexed(self) -> None:
        """Always None: there is no index for the graphs of a single query."""

    @property
    def commits(self) -> int:
        return 0

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._graphs.cursor() as cursor:
            cursor.register("given_quads", self._quads)
            cursor.register("given_names", self._names)
            for statement in _SHOWN:
                cursor.execute(statement)
            cursor.unregister("given_quads")
            cursor.unregister("given_names")
            yield cursor


def _quads(name: str, table: pa.Table) -> pa.Table:
    """The triples as quads; a graph is a set."""
    triples = table.select(["s", "p", "o"]).group_by(["s", "p", "o"]).aggregate([])
    names = pa.array([name] * triples.num_rows, pa.string())
    return triples.add_column(0, "g", names).cast(_QUADS)
