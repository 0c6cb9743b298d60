"""Entailments of the static graphs: their closures, tables in DuckDB, and views in Spark.

Everything is made when it is first needed, and made again when a graph that it depends on has changed. The
closure of a schema is not made again if only other triples of its graphs have changed.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.entailment import Schema
from rheos.algebra.nodes import Dataset
from rheos.optimize.statistics import PredicateCount, Statistics
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.entailed import derived_sql, entailed_names, entailed_sql
from rheos.sql.relation import select
from rheos.sql.scans import among, static_default
from rheos.sql.spark import SPARK
from rheos.store.schema import TYPE, Closure, closure_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rheos.store.graphs import StaticGraphs

Versions = tuple[int, ...]
Asked = dict[tuple[str, ...], pa.Table]


@dataclass(frozen=True, slots=True)
class Known:
    """A closure with the versions of the graphs for which it was last checked.

    `asked` has the triples that it was made of, by the predicates that were asked for. `number` identifies
    it.
    """

    versions: Versions
    asked: Asked
    closure: Closure
    number: int


class Entailments:
    """What the static graphs entail, for every schema that is asked for. Any thread may ask."""

    def __init__(self, graphs: StaticGraphs) -> None:
        self._graphs = graphs
        self._lock = threading.RLock()
        self._known: dict[Schema, Known] = {}
        self._tables: dict[str, Versions] = {}
        self._views: dict[tuple[int, str], tuple[SparkSession, int, DataFrame]] = {}
        self._statistics: dict[Schema, tuple[int, Statistics]] = {}
        self._numbers = itertools.count(1)

    def known(self, schema: Schema) -> Known:
        """The closure of a schema, for the present versions of its graphs."""
        with self._lock:
            versions = self._versions(schema)
            known = self._known.get(schema)
            if known is not None and known.versions == versions:
                return known
            with reading(self._graphs) as (read, dialect):
                asked: Asked = {}

                def ask(predicates: tuple[str, ...]) -> pa.Table:
                    if predicates not in asked:
                        asked[predicates] = read(triples_sql(schema, predicates, dialect))
                    return asked[predicates]

                if known is not None and all(ask(some).equals(then) for some, then in known.asked.items()):
                    known = Known(versions, known.asked, known.closure, known.number)
                else:
                    known = Known(versions, asked, closure_of(ask), next(self._numbers))
            self._known[schema] = known
            return known

    def closure(self, schema: Schema) -> Closure:
        return self.known(schema).closure

    def statistics(self, schema: Schema) -> Statistics:
        """Counts of the graphs with entailed triples. No predicate is missing; counts may be too high."""
        with self._lock:
            version, known = self._graphs.version, self._statistics.get(schema)
            if known is None or known[0] != version:
                known = version, with_entailed(self._graphs.statistics, self.closure(schema))
                self._statistics[schema] = known
            return known[1]

    # --- tables and views --------------------------------------------------------------------------

    def make(self, cursor: duckdb.DuckDBPyConnection, schema: Schema, text: str | None = None) -> None:
        """Make the tables of entailed graphs in the database of the cursor.

        If the SQL `text` of a statement is given, only the tables that it names are made.
        """
        with self._lock:
            for name, versions, sql in self._wanted(schema, text, DUCKDB):
                if self._tables.get(name) == versions:
                    continue
                closure = self.closure(schema)
                cursor.register("schema_triples", closure.triples)
                cursor.register("derivations", closure.derivations)
                cursor.execute(f"CREATE OR REPLACE TABLE {name} AS {sql}")
                cursor.unregister("schema_triples")
                cursor.unregister("derivations")
                self._tables[name] = versions

    def show(self, spark: SparkSession, schema: Schema, text: str | None = None) -> None:
        """As `make`, for views of a session, beside the views of the graphs."""
        with self._lock:
            # These views are made from the views of the graphs, which are replaced with every version. The
            # version is read first, so that the views of the graphs are never older than it.
            version = self._graphs.version
            self._graphs.views(spark)
            for name, _, sql in self._wanted(schema, text, SPARK):
                known = self._views.get((id(spark), name))
                if known is not None and known[:2] == (spark, version):
                    continue
                closure = self.closure(schema)
                spark.createDataFrame(closure.triples).createOrReplaceTempView("schema_triples")
                spark.createDataFrame(closure.derivations).createOrReplaceTempView("derivations")
                frame = spark.sql(sql).persist()
                frame.createOrReplaceTempView(name)
                self._views[id(spark), name] = spark, version, frame
                if known is not None:
                    _release(known[2])

    def close(self) -> None:
        with self._lock:
            for _, _, frame in self._views.values():
                _release(frame)
            self._views.clear()
            self._tables.clear()
            self._known.clear()
            self._statistics.clear()

    def _wanted(
        self, schema: Schema, text: str | None, dialect: Dialect
    ) -> Iterator[tuple[str, Versions, str]]:
        """Name, versions and SQL of the tables that a text names (of all tables, without a text)."""
        default, named = entailed_names(schema)
        versions = self._versions(schema)
        if text is None or default in text:
            yield default, versions, default_sql(schema, dialect)
        if text is None or named in text:
            yield named, (*versions, self._graphs.named_version), named_sql()

    def _versions(self, schema: Schema) -> Versions:
        graphs: Iterable[str | None] = [name[1:-1] for name in schema] or [None]
        return tuple(self._graphs.version_of(graph) for graph in graphs)


@contextmanager
def reading(graphs: StaticGraphs) -> Iterator[tuple[Callable[[str], pa.Table], Dialect]]:
    """A function that runs a statement where the graphs are stored, in Spark or DuckDB, and its dialect."""
    if graphs.in_spark:
        spark = graphs.views(graphs.session())
        yield lambda sql: spark.sql(sql).toArrow(), SPARK
        return
    with graphs.connection.cursor() as cursor:
        yield lambda sql: cursor.execute(sql).to_arrow_table(), DUCKDB


def triples_sql(schema: Schema, predicates: tuple[str, ...], dialect: Dialect) -> str:
    """The triples of the graphs of a schema that have one of these predicates, sorted."""
    triples = static_default(Dataset(schema, None), dialect)
    return select(
        ["s", "p", "o"], f"({triples}) AS t", [among("p", predicates, dialect)], tail="ORDER BY s, p, o"
    )


def default_sql(schema: Schema, dialect: Dialect) -> str:
    """The graphs of a schema, with the triples that they entail."""
    parts = [f"({static_default(Dataset(schema, None), dialect)})", "schema_triples"]
    found = [select(["s", "p", "o"], f"{part} AS t") for part in parts]
    found += [derived_sql(part, "derivations", distinct=True) for part in parts]
    return "\nUNION\n".join(found)


def named_sql() -> str:
    """The named graphs, each with the triples that it entails."""
    return entailed_sql("named_graphs", "derivations", ("g",))


def with_entailed(statistics: Statistics, closure: Closure) -> Statistics:
    """Counts that include entailed triples: about as many as derivations can be applied."""
    derivations = closure.derivations
    if not len(derivations):
        return statistics
    schema = pc.value_counts(closure.triples["p"]).to_pylist()
    more = statistics.plus({row["values"]: _count(row["counts"]) for row in schema})
    found: dict[str, int] = {}
    by_predicate = derivations.filter(pc.equal(derivations["o"], ""))
    for row in by_predicate.group_by(["p", "p2"]).aggregate([([], "count_all")]).to_pylist():
        if row["p"] in more.predicates:
            made = more.predicates[row["p"]].triples * row["count_all"]
            found[row["p2"]] = found.get(row["p2"], 0) + made
    types = found.get(TYPE, 0) + (more.predicates[TYPE].triples if TYPE in more.predicates else 0)
    by_class = derivations.filter(pc.not_equal(derivations["o"], ""))
    if types and len(by_class):
        above = -(-len(by_class) // pc.count_distinct(by_class["o"]).as_py())
        for predicate in pc.unique(by_class["p2"]).to_pylist():
            found[predicate] = found.get(predicate, 0) + types * above
    return more.plus({predicate: _count(triples) for predicate, triples in found.items()})


def _count(triples: int) -> PredicateCount:
    return PredicateCount(triples, triples, triples)


def _release(frame: DataFrame) -> None:
    # If Spark was stopped before, there is nothing left to do.
    with suppress(Exception):
        frame.unpersist()
