"""The static data of an engine: documents come in, tables in DuckDB and views in Spark go out.

    default_graph(s, p, o)    named_graphs(g, s, p, o)    graph_names(g)

A graph is a set of triples, so a triple that is there already is not added again. Data lives in DuckDB, in
the process, except for large N-Triples and N-Quads files: Spark reads them in parallel and keeps them. The
two parts never hold the same quad, and either place can be asked for everything: `views` shows Spark what is
in DuckDB, `connection` brings to DuckDB what is in Spark.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.errors import EnvironmentFault, LoadError
from rheos.optimize.statistics import PredicateCount, Statistics
from rheos.store import parallel, views
from rheos.store.documents import Document, documents
from rheos.store.reader import SCHEMA, read
from rheos.store.tables import Tables
from rheos.terms import iri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# N-Triples and N-Quads of more text than this are read and kept by Spark: about four million triples.
PARALLEL_BYTES = 512 << 20


class StaticGraphs:
    """The default graph and the named graphs.

    `spark` gives the session when large files need one; without it everything is read into the process.
    Loads and changes may come from any thread, one at a time; readers need not wait for them.
    """

    def __init__(
        self, spark: Callable[[], SparkSession] | None = None, *, parallel_bytes: int = PARALLEL_BYTES
    ) -> None:
        self.parallel_bytes = parallel_bytes
        self._spark = spark
        self._tables = Tables()
        self._large = views.Large()
        self._views = views.Views()
        self._changing = threading.RLock()
        self._loads = itertools.count(1)
        self._version = 0
        self._statistics: tuple[int, Statistics] | None = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB database with all the data; take a `cursor()` of it for every query.

        What Spark keeps is moved here first: ask `in_spark` before.
        """
        self._bring_in()
        return self._tables.connection

    @property
    def in_spark(self) -> bool:
        """Whether a part of the data is kept by Spark, so that queries are better run there."""
        return bool(self._large)

    @property
    def version(self) -> int:
        """A number that grows whenever the data changes."""
        return self._version

    @property
    def size(self) -> int:
        """The number of triples in all graphs."""
        return self._tables.size + self._large.size

    @property
    def graph_names(self) -> list[str]:
        """The names of the named graphs, as terms, in order; a graph may be empty."""
        return sorted({*self._tables.graph_names, *self._large.graph_names()})

    @property
    def statistics(self) -> Statistics:
        """Counts for the optimiser; the numbers of different subjects and objects are approximate."""
        version = self._version
        if self._statistics is None or self._statistics[0] != version:
            counts = self._tables.counts()
            for predicate, more in self._large.counts().items():
                known = counts.get(predicate, PredicateCount(0, 0, 0))
                counts[predicate] = PredicateCount(
                    known.triples + more.triples,
                    known.subjects + more.subjects,
                    known.objects + more.objects,
                )
            total = sum(count.triples for count in counts.values())
            self._statistics = version, Statistics(total, counts)
        return self._statistics[1]

    def load(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        graph: str | None = None,
        base: str | None = None,
        data: str | bytes | None = None,
        format: str | None = None,
    ) -> int:
        """Add a file, all files of a glob, or a text, and say how many triples are new.

        What a document puts into its default graph goes into `graph`, if that is given. All documents are
        read before anything is added: with one broken file, nothing is.
        """
        name = _graph_term(graph)
        sources = documents(source, data=data, format=format, base=base)
        load = next(self._loads)
        session = self._session_for(sources)
        large, small = parallel.divide(sources) if session is not None else ([], sources)
        # Labels of blank nodes: f for a file, the load's number, the file's, then the label in the file.
        batches = [
            batch for number, document in enumerate(small) for batch in read(document, f"f{load}_{number}_")
        ]
        table = pa.Table.from_batches(batches, SCHEMA)
        if name is not None:
            table = table.set_column(0, "g", pc.fill_null(table["g"], name))
        with self._changing:
            added = 0
            if session is not None:
                added = self._large.add(*self._read_parallel(session, large, f"f{load}p", name))
            return added + self._change(insert=table, graph_names=[name] if name else [])

    def insert(self, rows: pa.Table) -> int:
        """Add quads (g, s, p, o; g NULL: the default graph) and say how many are new."""
        return self.change(insert=rows)

    def delete(self, rows: pa.Table) -> int:
        """Take quads away and say how many there were."""
        return self.change(delete=rows)

    def change(self, *, delete: pa.Table | None = None, insert: pa.Table | None = None) -> int:
        """Take quads away and then add others, as one step for readers; how many went and came."""
        with self._changing:
            return self._change(delete=delete, insert=insert)

    def create_graph(self, graph: str) -> None:
        """Make a named graph known, if it is not: an empty one is a graph, too."""
        with self._changing:
            self._change(graph_names=[iri(graph)])

    def drop_graph(self, graph: str) -> int:
        """Forget a named graph and its triples; how many those were."""
        with self._changing:
            self._bring_in()
            count = self._tables.drop_graph(iri(graph))
            self._version += 1
        return count

    def clear(self) -> None:
        """Drop all triples and all graphs."""
        with self._changing:
            self._tables.clear()
            self._large.clear()
            self._version += 1

    def views(self, spark: SparkSession) -> None:
        """Make the tables known in the session as temporary views; does nothing if they are up to date."""
        self._views.refresh(spark, self._version, self._tables, self._large)

    def close(self) -> None:
        self._views.clear()
        self._large.clear()
        self._tables.close()

    def _change(
        self,
        *,
        delete: pa.Table | None = None,
        insert: pa.Table | None = None,
        graph_names: list[str] | None = None,
    ) -> int:
        changed = 0
        if self._large and delete is not None:
            changed += self._large.remove(delete)
        if self._large and insert is not None:
            insert = self._large.unknown(insert)
        changed += self._tables.change(delete=delete, insert=insert, graph_names=graph_names or [])
        # After the change: what a reader keeps under a version is never older than the version.
        self._version += 1
        return changed

    def _bring_in(self) -> None:
        """Move what Spark keeps to DuckDB."""
        if not self._large:
            return
        with self._changing:
            for table in self._large.batches():
                self._tables.change(insert=table)
            self._large.clear()
            self._version += 1

    def _session_for(self, sources: list[Document]) -> SparkSession | None:
        """Spark, if there is much to read, and where it can be had: without Java, all is read here."""
        large, _ = parallel.divide(sources)
        if self._spark is None or sum(document.bytes_about for document in large) <= self.parallel_bytes:
            return None
        try:
            return self._spark()
        except EnvironmentFault:
            return None

    def _read_parallel(
        self, spark: SparkSession, sources: list[Document], blank_prefix: str, graph: str | None
    ) -> tuple[DataFrame, int]:
        """The quads of the files that are not known yet, and their number."""
        copies = []
        known = [self._large.frame] if self._large else []
        if self._tables.size:
            with self._tables.snapshot() as cursor:
                copies = [views.copy_to(spark, cursor, name) for name in ("default_graph", "named_graphs")]
            known.append(views.quads_of(*(copy.frame for copy in copies)))
        try:
            return parallel.read_parallel(spark, sources, blank_prefix, graph, known)
        finally:
            views.release(copies)


def _graph_term(graph: str | None) -> str | None:
    if graph is None:
        return None
    try:
        return iri(ox.NamedNode(graph).value)
    except ValueError:
        raise LoadError(f"the graph's name is not an absolute IRI: {graph}", "load") from None
