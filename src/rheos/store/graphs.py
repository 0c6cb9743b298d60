"""The static data of an engine: tables in DuckDB, and views in Spark.

    default_graph(s, p, o)    named_graphs(g, s, p, o)    graph_names(g)

A graph is a set of triples, so a triple that is stored already is not added again. Data is in DuckDB, in the
process, except for large N-Triples and N-Quads files, which Spark reads in parallel and keeps. DuckDB and
Spark never have the same quad, and both can be asked for all data: `views` makes views in Spark that include
the tables of DuckDB, and `connection` moves to DuckDB what Spark keeps.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from rheos.algebra.entailment import schema_of
from rheos.algebra.nodes import Query
from rheos.errors import EnvironmentFault, LoadError
from rheos.optimize.statistics import Statistics
from rheos.store import parallel, tables, views
from rheos.store.changes import Changes
from rheos.store.documents import Document, documents, shown
from rheos.store.entailed import Entailments
from rheos.store.indexed import Indexed
from rheos.store.reader import SCHEMA, read
from rheos.store.revision import Reading, Revision
from rheos.terms import iri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Files of N-Triples and N-Quads with more text than this are read and kept by Spark: about four million
# triples.
PARALLEL_BYTES = 512 << 20


class StaticGraphs:
    """The default graph and the named graphs.

    `spark` returns a session when large files need one; without it, everything is read into the process. Any
    thread may load or change data; changes wait for one another, and readers wait for none.
    """

    def __init__(
        self, spark: Callable[[], SparkSession] | None = None, *, parallel_bytes: int = PARALLEL_BYTES
    ) -> None:
        self.parallel_bytes = parallel_bytes
        self._spark = spark
        self._tables = tables.Tables()
        self._large = views.Large()
        self._views = views.Views()
        self._changing = threading.RLock()
        self._numbers = itertools.count(1)
        self._changes: Changes | None = None
        self._version = 0
        self._versions: dict[str | None, int] = {}
        self._named_version = 0
        self._statistics: tuple[int, Statistics] | None = None
        self._commits = 0
        self._size: tuple[int, int] | None = None
        self.entailments = Entailments(self)
        self.indexed = Indexed(self)

    # --- what queries read -------------------------------------------------------------------------

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB database with all data; take a `cursor()` of it for every query.

        Quads that Spark keeps are moved to DuckDB first: check `in_spark` before.
        """
        if self._large:
            with self.revise() as revision:
                revision.bring_in()
        return self._tables.connection

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of `connection` for one query."""
        with self.connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def snapshot(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that sees all tables of DuckDB as they are now."""
        with self._tables.snapshot() as cursor:
            yield cursor

    def views(self, spark: SparkSession) -> SparkSession:
        """Make the tables temporary views of the session; does nothing if these are up to date."""
        self._views.refresh(spark, self._version, self._tables, self._large)
        return spark

    @property
    def in_spark(self) -> bool:
        """Whether Spark keeps a part of the data, so that queries should run there."""
        return bool(self._large)

    @property
    def size(self) -> int:
        """The number of triples in all graphs."""
        version = self._version
        if self._size is None or self._size[0] != version:
            with self._tables.snapshot() as cursor:
                self._size = version, tables.size(cursor) + self._large.size
        return self._size[1]

    @property
    def graph_names(self) -> list[str]:
        """The names of the named graphs, as terms, sorted; a graph may be empty."""
        with self._tables.connection.cursor() as cursor:
            known = {*tables.graph_names(cursor), *self._large.graphs}
        return sorted(name for name in known if name is not None)

    @property
    def statistics(self) -> Statistics:
        """Counts for the optimiser; the numbers of distinct subjects and objects are approximate."""
        version = self._version
        if self._statistics is None or self._statistics[0] != version:
            with self._tables.connection.cursor() as cursor:
                counts = Statistics().plus(tables.predicate_counts(cursor))
                self._statistics = version, counts.plus(self._large.counts())
        return self._statistics[1]

    def statistics_for(self, query: Query) -> Statistics:
        """The counts for a query: of the graphs, or of the graphs with entailed triples."""
        schema = schema_of(query)
        return self.statistics if schema is None else self.entailments.statistics(schema)

    def session(self) -> SparkSession:
        """The session of Spark, which keeps a part of the data if there is much."""
        assert self._spark is not None
        return self._spark()

    # --- versions ----------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that grows whenever the data changes."""
        return self._version

    def version_of(self, graph: str | None) -> int:
        """A number that grows whenever the triples of a graph change, or it is created or dropped.

        The graph is given by its IRI; None is the default graph.
        """
        return self._versions.get(None if graph is None else iri(graph), 0)

    @property
    def named_version(self) -> int:
        """A number that grows whenever any named graph changes, for data that is made of all of them."""
        return self._named_version

    @property
    def commits(self) -> int:
        """A number that grows with every change of the graphs; it is odd during a commit."""
        return self._commits

    # --- changes -----------------------------------------------------------------------------------

    def load(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        graph: str | None = None,
        base: str | None = None,
        data: str | bytes | None = None,
        format: str | None = None,
    ) -> int:
        """Add a file, all files of a glob, or a text; returns how many triples are new.

        Triples in the default graph of a document go into `graph`, if that is given. All documents are read
        before anything is added: if one file is broken, nothing is added.
        """
        reading = self.read(source, graph=graph, base=base, data=data, format=format)
        with self.revise() as revision:
            return revision.add(reading)

    def read(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        graph: str | None = None,
        base: str | None = None,
        data: str | bytes | None = None,
        format: str | None = None,
    ) -> Reading:
        """Read the documents that `load` adds."""
        name = _graph_term(graph)
        sources = documents(source, data=data, format=format, base=base)
        # Labels of blank nodes: f, the number of the load, the number of the file, then the label in the
        # file. If changes are kept on disk, k instead of f: labels of loads in later processes must differ
        # from these.
        prefix = f"{'f' if self._changes is None else 'k'}{next(self._numbers)}"
        session = self._session_for(sources)
        large, small = parallel.divide(sources) if session is not None else ([], sources)
        batches = [
            batch for number, document in enumerate(small) for batch in read(document, f"{prefix}_{number}_")
        ]
        rows = pa.Table.from_batches(batches, SCHEMA)
        if name is not None:
            rows = rows.set_column(0, "g", pc.fill_null(rows["g"], name))
        return Reading(rows, name, large, session, f"{prefix}p")

    def insert(self, rows: pa.Table) -> int:
        """Add quads (g, s, p, o; g NULL: the default graph); returns how many are new."""
        return self.change(insert=rows)

    def delete(self, rows: pa.Table) -> int:
        """Remove quads; returns how many there were."""
        return self.change(delete=rows)

    def change(self, *, delete: pa.Table | None = None, insert: pa.Table | None = None) -> int:
        """Remove quads, then add others, as one step for readers; returns the number of both together."""
        with self.revise() as revision:
            return revision.change(delete=delete, insert=insert)

    def create_graph(self, graph: str) -> None:
        """Create an empty named graph, if it does not exist."""
        with self.revise() as revision:
            revision.change(graph_names=[iri(graph)])

    def drop_graph(self, graph: str) -> int:
        """Drop a named graph; returns how many triples it had."""
        with self.revise() as revision:
            return revision.drop(iri(graph))

    def clear(self) -> None:
        """Drop all triples and all graphs."""
        with self.revise() as revision:
            revision.drop_all()

    def keep(self, folder: Path) -> None:
        """Repeat the changes that are recorded in a folder, and record all further changes there.

        They are repeated on top of the data that is loaded. From now on, large files are read into the
        process, not into Spark.
        """
        changes = Changes(folder)
        with self.revise() as revision:
            for change in changes.read():
                revision.again(change)
        self._numbers = itertools.count(max(next(self._numbers), changes.number + 1))
        self._changes = changes

    @contextmanager
    def revise(self) -> Iterator[Revision]:
        """Change the graphs in several steps, which readers see as one; an error undoes all of them.

        Other changes wait for this one. The block itself must read through the revision.
        """
        with self._changing:
            before = self._large
            try:
                with self._tables.transaction() as cursor:
                    revision = Revision(self, cursor, before, self._numbers)
                    try:
                        yield revision
                        if self._changes is not None:
                            self._changes.write(revision.changes, next(self._numbers))
                    except BaseException:
                        revision.large.release(before)
                        raise
                    finally:
                        revision.close()
                    self._commits |= 1
                self._large = revision.large
                # Versions grow after the change, so that what a reader keeps under a version is never older.
                if revision.touched:
                    self._version += 1
                for graph in revision.changed:
                    self._versions[graph] = self._version
                if revision.changed - {None}:
                    self._named_version = self._version
            finally:
                self._commits += self._commits % 2
            before.release(self._large)

    def close(self) -> None:
        self.entailments.close()
        self.indexed.clear()
        self._views.clear()
        self._large.release()
        self._large = views.Large()
        self._tables.close()

    def _session_for(self, sources: list[Document]) -> SparkSession | None:
        """The session of Spark if there is much to read; None if not, or if there is no Java."""
        large, _ = parallel.divide(sources)
        if (
            self._spark is None
            or self._changes is not None
            or sum(document.bytes_about for document in large) <= self.parallel_bytes
        ):
            return None
        try:
            return self._spark()
        except EnvironmentFault:
            return None


def _graph_term(graph: str | None) -> str | None:
    if graph is None:
        return None
    try:
        return iri(ox.NamedNode(graph).value)
    except ValueError:
        raise LoadError(f"the graph's name is not an absolute IRI: {shown(graph)}", "load") from None
