"""Revisions: a revision is a change of the static graphs in progress, which readers later see in one step.

Only queries that are part of the change read through the revision and see what it has done so far. All other
readers see the change when it is committed. `StaticGraphs.revise` makes a revision and commits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from rheos.optimize.statistics import PredicateCount, Statistics
from rheos.spark import adopt
from rheos.store import parallel, tables
from rheos.store.changes import Change
from rheos.store.documents import Document
from rheos.store.views import Copy, Large, copy_to, graphs_of, quads_of, release, show
from rheos.store.writing import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rheos.store.entailed import Entailments
    from rheos.store.graphs import StaticGraphs


@dataclass(frozen=True, slots=True)
class Reading:
    """Documents to be added: quads that were read, and large files that Spark will read.

    Blank nodes of large files get the prefix. What a document has in its default graph goes into `graph`, if
    that is given; this graph is created even if it stays empty.
    """

    rows: pa.Table
    graph: str | None
    large: list[Document]
    session: SparkSession | None
    blank_prefix: str


class Revision:
    """The graphs in a transaction. A graph is named by its term, the default graph by None.

    Methods that change triples return how many were removed and added.
    """

    def __init__(
        self,
        graphs: StaticGraphs,
        cursor: duckdb.DuckDBPyConnection,
        large: Large,
        numbers: Iterator[int],
    ) -> None:
        self._graphs = graphs
        self._numbers = numbers
        self._writer = Writer(cursor)
        self._before = large
        self._moved = False
        self._sibling: SparkSession | None = None
        self._copies: list[Copy] | None = None
        self._came = Statistics()
        self.large = large
        self.changes: list[Change] = []  # all changes so far, in order

    # --- what queries read -------------------------------------------------------------------------

    @property
    def changed(self) -> set[str | None]:
        """The graphs that have changed, were created, or were dropped."""
        return self._writer.changed

    @property
    def touched(self) -> bool:
        """Whether the data changed, or moved from Spark to DuckDB."""
        return self._moved or bool(self.changed)

    @property
    def in_spark(self) -> bool:
        return bool(self.large)

    @property
    def size(self) -> int:
        return tables.size(self._writer.cursor) + self.large.size

    @property
    def statistics(self) -> Statistics:
        """Counts for the optimiser: those from before the change, plus those of added quads.

        Removed quads are still counted, because it is enough that no predicate is missing. To count 2 M
        triples again took 0.15 s of processor time for each operation.
        """
        return self._graphs.statistics.plus(self._came.predicates)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The cursor of the transaction, for one query."""
        self.bring_in()
        yield self._writer.cursor

    def views(self, spark: SparkSession) -> SparkSession:
        """A session that has the tables as views.

        Once something has changed, that is a sibling of the given session, so that other queries do not see
        the change yet.
        """
        if not self.touched:
            return self._graphs.views(spark)
        if self._sibling is None:
            self._sibling = adopt(spark)
        if self._copies is None:
            self._copies = show(self._sibling, self._writer.cursor, self.large)
        return self._sibling

    @property
    def entailments(self) -> Entailments:
        """The entailments of the graphs before the change: updates read only what is stored, not entailed."""
        return self._graphs.entailments

    @property
    def indexed(self) -> None:
        """Always None: there is no index of data that is not committed."""

    @property
    def commits(self) -> int:
        return 0

    def has(self, graph: str | None) -> bool:
        """Whether a graph exists; it may be empty."""
        return graph is None or self._writer.has(graph) or graph in self.large.graphs

    def blank_prefix(self) -> str:
        """A new prefix for the labels of blank nodes: no other call and no loaded file has the same."""
        return f"u{next(self._numbers)}_"

    # --- changes -----------------------------------------------------------------------------------

    def change(
        self,
        *,
        delete: pa.Table | None = None,
        insert: pa.Table | None = None,
        graph_names: Sequence[str] = (),
    ) -> int:
        """Remove quads, then add others, then create graphs."""
        changed = 0
        if delete is not None and insert is not None and delete.num_rows and insert.num_rows:
            # A quad that is removed and added again has not changed.
            delete = self._writer.without(delete, insert)
        if delete is not None:
            self._note("delete", delete)
            changed += self._remove_from_large(delete) + self._writer.delete(delete)
        if insert is not None:
            self._note("insert", insert)
            changed += self._writer.insert(self.large.unknown(insert))
            self._came = self._came.plus(counts_of(insert))
        self.changes.append(Change.of_graphs("create", [*graph_names]))
        self._writer.create(graph_names)
        self._forget_copies()
        return changed

    def again(self, change: Change) -> None:
        """Repeat a change that was recorded."""
        graphs = change.rows["g"].to_pylist() if change.kind not in ("delete", "insert") else []
        match change.kind:
            case "delete":
                self.change(delete=change.rows)
            case "insert":
                self.change(insert=change.rows)
            case "create":
                self.change(graph_names=graphs)
            case "clear" | "drop":
                for graph in graphs:
                    self.clear(graph) if change.kind == "clear" else self.drop(graph)
            case "clear named":
                self.clear_named()
            case "drop named":
                self.drop_named()

    def add(self, reading: Reading) -> int:
        """Add documents; returns how many triples are new."""
        added = 0
        if reading.session is not None:
            part, added = self._read_parallel(reading, reading.session)
            graphs = graphs_of(part) if added else set()
            self.changed.update(graphs)
            self._came = self._came.plus(Large((part,)).counts())
            self._keep(self.large.plus(part, added, graphs))
        graph_names = [] if reading.graph is None else [reading.graph]
        return added + self.change(insert=reading.rows, graph_names=graph_names)

    def clear(self, graph: str | None) -> int:
        """Remove all triples of a graph."""
        self.changes.append(Change.of_graphs("clear", [graph]))
        return self._whole().clear(graph)

    def clear_named(self) -> int:
        """Remove all triples of all named graphs."""
        self.changes.append(Change.of_graphs("clear named", [None]))
        return self._whole().clear_named()

    def drop(self, graph: str | None) -> int:
        """Drop a graph; the default graph is only emptied."""
        if graph is None:
            return self.clear(None)
        self.changes.append(Change.of_graphs("drop", [graph]))
        return self._whole().drop(graph)

    def drop_named(self) -> int:
        """Drop all named graphs."""
        self.changes.append(Change.of_graphs("drop named", [None]))
        return self._whole().drop_named()

    def drop_all(self) -> int:
        """Drop all graphs."""
        gone = self.large.size
        self.changed.update(self.large.graphs)
        self._keep(Large())
        self._moved = True  # dropping everything gives a new version even if there was nothing
        return gone + self.drop_named() + self.clear(None)

    def copy(self, source: str | None, target: str | None, *, replace: bool) -> int:
        """Add the triples of the source to the target, or replace the triples of the target by them."""
        writer = self._whole()
        delete = writer.triples(target, target) if replace else None
        insert = writer.triples(source, target)
        return self.change(delete=delete, insert=insert, graph_names=[] if target is None else [target])

    def bring_in(self) -> None:
        """Move the quads that Spark keeps to DuckDB."""
        if self.large:
            writer = Writer(self._writer.cursor)  # a writer of its own, because no graph changes by this
            for rows in self.large.batches():
                writer.insert(rows)
            self._keep(Large())
            self._moved = True
            self._forget_copies()

    def close(self) -> None:
        self._forget_copies()

    def _note(self, kind: Literal["delete", "insert"], rows: pa.Table) -> None:
        self.changes.append(Change(kind, rows.select(["g", "s", "p", "o"])))

    def _whole(self) -> Writer:
        """The writer for a change of whole graphs; all data is moved to DuckDB first."""
        self.bring_in()
        self._forget_copies()
        return self._writer

    def _forget_copies(self) -> None:
        release(self._copies or [])
        self._copies = None

    def _remove_from_large(self, rows: pa.Table) -> int:
        gone = self.large.known(rows)
        if gone.num_rows:
            graphs = pc.unique(gone["g"]).to_pylist()
            self._keep(self.large.minus(gone))
            self.changed.update(graphs)
            # A graph continues to exist when it has no triples left.
            self._writer.create([graph for graph in graphs if graph is not None])
        return int(gone.num_rows)

    def _keep(self, large: Large) -> None:
        old, self.large = self.large, large
        old.release(large, self._before)

    def _read_parallel(self, reading: Reading, spark: SparkSession) -> tuple[DataFrame, int]:
        """The quads of the large files that are not stored yet, and their number."""
        copies = []
        known = [self.large.frame] if self.large else []
        if tables.size(self._writer.cursor):
            copies = [copy_to(spark, self._writer.cursor, name) for name in ("default_graph", "named_graphs")]
            known.append(quads_of(*(copy.frame for copy in copies)))
        try:
            return parallel.read_parallel(spark, reading.large, reading.blank_prefix, reading.graph, known)
        finally:
            release(copies)


def counts_of(rows: pa.Table) -> dict[str, PredicateCount]:
    """The most that new quads can add to the counts of their predicates."""
    found = pc.value_counts(rows["p"]).to_pylist()
    return {row["values"]: PredicateCount(*[row["counts"]] * 3) for row in found}
