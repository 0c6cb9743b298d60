"""A change of the static graphs under way, which all readers see in one step.

What it has done so far is seen through the revision itself, by the queries that are a part of the change, and
by nobody else before it is done. `StaticGraphs.revise` makes it and brings it to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from rheos.execute.session import adopt
from rheos.optimize.statistics import PredicateCount, Statistics
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
    """What is to be added: quads that were read, and large files for Spark to read, whose blank nodes get the
    prefix and whose default graph is `graph`. That graph is known afterwards, also if nothing is in it."""

    rows: pa.Table
    graph: str | None
    large: list[Document]
    session: SparkSession | None
    blank_prefix: str


class Revision:
    """The graphs in a transaction. Methods that change something say how many triples went and came; a
    graph is named by its term, the default graph by None."""

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
        self.changes: list[Change] = []  # all that was done, in order

    # --- what queries read -------------------------------------------------------------------------

    @property
    def changed(self) -> set[str | None]:
        """The graphs that are not what they were."""
        return self._writer.changed

    @property
    def touched(self) -> bool:
        """Whether anything is stored otherwise than before."""
        return self._moved or bool(self.changed)

    @property
    def in_spark(self) -> bool:
        return bool(self.large)

    @property
    def size(self) -> int:
        return tables.size(self._writer.cursor) + self.large.size

    @property
    def statistics(self) -> Statistics:
        """Counts for the optimiser: those from before the change, and what came since then.

        What went is still in them: it is enough that no predicate is missing. To count 2 M triples again took
        each operation 0.15 s of processor time.
        """
        return self._graphs.statistics.plus(self._came.predicates)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The cursor of the transaction, for one query."""
        self.bring_in()
        yield self._writer.cursor

    def views(self, spark: SparkSession) -> SparkSession:
        """A session that has the tables as views: a sibling of the given one when something has changed, so
        that queries from elsewhere do not see it yet."""
        if not self.touched:
            return self._graphs.views(spark)
        if self._sibling is None:
            self._sibling = adopt(spark)
        if self._copies is None:
            self._copies = show(self._sibling, self._writer.cursor, self.large)
        return self._sibling

    @property
    def entailments(self) -> Entailments:
        """Those of the graphs before the change: updates look at what is there, not at what is entailed."""
        return self._graphs.entailments

    @property
    def indexed(self) -> None:
        """There is no index of what is not committed."""

    @property
    def commits(self) -> int:
        return 0

    def has(self, graph: str | None) -> bool:
        """Whether there is such a graph; it may be empty."""
        return graph is None or self._writer.has(graph) or graph in self.large.graphs

    def blank_prefix(self) -> str:
        """What the labels of new blank nodes begin with: never the same twice, and no loaded node's."""
        return f"u{next(self._numbers)}_"

    # --- changes -----------------------------------------------------------------------------------

    def change(
        self,
        *,
        delete: pa.Table | None = None,
        insert: pa.Table | None = None,
        graph_names: Sequence[str] = (),
    ) -> int:
        """Take quads away, then add others, then make graphs known."""
        changed = 0
        if delete is not None and insert is not None and delete.num_rows and insert.num_rows:
            # What goes and comes again has not changed.
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
        """Do what was done before."""
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
        """Add what was read of documents."""
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
        """Take away all triples of a graph."""
        self.changes.append(Change.of_graphs("clear", [graph]))
        return self._whole().clear(graph)

    def clear_named(self) -> int:
        """Take away all triples of all named graphs."""
        self.changes.append(Change.of_graphs("clear named", [None]))
        return self._whole().clear_named()

    def drop(self, graph: str | None) -> int:
        """Forget a graph and its triples; the default graph is only emptied."""
        if graph is None:
            return self.clear(None)
        self.changes.append(Change.of_graphs("drop", [graph]))
        return self._whole().drop(graph)

    def drop_named(self) -> int:
        """Forget all named graphs and their triples."""
        self.changes.append(Change.of_graphs("drop named", [None]))
        return self._whole().drop_named()

    def drop_all(self) -> int:
        """Forget everything."""
        gone = self.large.size
        self.changed.update(self.large.graphs)
        self._keep(Large())
        self._moved = True  # a new version in any case: who clears wants to begin anew
        return gone + self.drop_named() + self.clear(None)

    def copy(self, source: str | None, target: str | None, *, replace: bool) -> int:
        """Add the triples of a graph to another one, or replace the other's by them."""
        writer = self._whole()
        delete = writer.triples(target, target) if replace else None
        insert = writer.triples(source, target)
        return self.change(delete=delete, insert=insert, graph_names=[] if target is None else [target])

    def bring_in(self) -> None:
        """Move what Spark keeps to DuckDB."""
        if self.large:
            writer = Writer(self._writer.cursor)  # another one: no graph has changed by this
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
        """The writer, for a change of graphs as wholes, once all the data is in DuckDB."""
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
            # A graph stays known when nothing is left of it.
            self._writer.create([graph for graph in graphs if graph is not None])
        return int(gone.num_rows)

    def _keep(self, large: Large) -> None:
        old, self.large = self.large, large
        old.release(large, self._before)

    def _read_parallel(self, reading: Reading, spark: SparkSession) -> tuple[DataFrame, int]:
        """The quads of the large files that are not known yet, and their number."""
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
    """The most that quads can add to the counts of their predicates."""
    found = pc.value_counts(rows["p"]).to_pylist()
    return {row["values"]: PredicateCount(*[row["counts"]] * 3) for row in found}
