"""The static graphs in Spark: quads that Spark keeps, and tables of DuckDB as views of a session."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from rheos.optimize.statistics import PredicateCount
from rheos.store.reader import SCHEMA
from rheos.store.tables import NAMES, Tables, arrow, count, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Up to this number of rows, a table is one partition without a file: a join of three patterns over 1,000 or
# 10,000 triples took about half the processor time that it takes from Parquet; from 30,000 on there was no
# gain.
_SMALL_ROWS = 20_000

# The number of rows that the driver fetches at once, about.
_BATCH_ROWS = 2_000_000

_COLUMNS = {
    "default_graph": "s STRING, p STRING, o STRING",
    "named_graphs": "g STRING, s STRING, p STRING, o STRING",
    "graph_names": "g STRING",
}


@dataclass(frozen=True, slots=True)
class Large:
    """Quads (g, s, p, o) that Spark keeps, in persisted parts that have no quad in common.

    `graphs` are the graphs that have, or had, some of these quads (None: the default graph).
    """

    parts: tuple[DataFrame, ...] = ()
    size: int = 0
    graphs: frozenset[str | None] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def frame(self) -> DataFrame:
        """All parts as one DataFrame; there must be at least one part."""
        return reduce(lambda left, right: left.union(right), self.parts)

    def plus(self, part: DataFrame, count: int, graphs: Set[str | None]) -> Large:
        """These quads and a further persisted part, with `count` quads of these graphs, all new."""
        if count:
            return Large((*self.parts, part), self.size + count, self.graphs | graphs)
        part.unpersist()
        return self

    def minus(self, rows: pa.Table) -> Large:
        """These quads without some others. The result has parts of its own; this object does not change."""
        from pyspark.storagelevel import StorageLevel

        rest = Large()
        for part in self.parts:
            gone = part.sparkSession.createDataFrame(rows)
            kept = without(part, gone).persist(StorageLevel.MEMORY_AND_DISK)
            rest = rest.plus(kept, kept.count(), self.graphs)
        return rest

    def known(self, rows: pa.Table) -> pa.Table:
        """The rows that are among these quads, without duplicates."""
        return self._compared(rows, "left_semi")

    def unknown(self, rows: pa.Table) -> pa.Table:
        """The rows that are not among these quads, without duplicates."""
        return self._compared(rows, "left_anti")

    def _compared(self, rows: pa.Table, how: str) -> pa.Table:
        if not self.parts or not rows.num_rows:
            return rows if how == "left_anti" else rows.slice(0, 0)
        frame = self.frame
        given = frame.sparkSession.createDataFrame(rows).distinct()
        return compared(given, frame, how).toArrow().cast(SCHEMA)

    def batches(self) -> Iterator[pa.Table]:
        """All quads, in tables of a size that the driver can hold."""
        from pyspark.sql import functions as f

        groups = self.size // _BATCH_ROWS + 1
        for part in self.parts:
            numbered = part.withColumn("n", f.spark_partition_id() % groups)
            for group in range(groups):
                yield numbered.where(f.col("n") == group).drop("n").toArrow().cast(SCHEMA)

    def counts(self) -> dict[str, PredicateCount]:
        if not self.parts:
            return {}
        from pyspark.sql import functions as f

        counted = self.frame.groupBy("p").agg(
            f.count("*"), f.approx_count_distinct("s"), f.approx_count_distinct("o")
        )
        return {row[0]: PredicateCount(*row[1:]) for row in counted.collect()}

    def release(self, *others: Large) -> None:
        """Unpersist the parts that none of the others has."""
        kept = {id(part) for other in others for part in other.parts}
        release([Copy(part, part.unpersist) for part in self.parts if id(part) not in kept])


class Views:
    """The views of each session on the tables of DuckDB, and the version that they show."""

    def __init__(self) -> None:
        self._shown: dict[int, tuple[SparkSession, int, list[Copy]]] = {}
        self._retired: list[Copy] = []
        self._refreshing = threading.Lock()

    def refresh(self, spark: SparkSession, version: int, tables: Tables, large: Large) -> None:
        """Make the views of a session; does nothing if they show this version already."""
        with self._refreshing:
            self._refresh(spark, version, tables, large)

    def _refresh(self, spark: SparkSession, version: int, tables: Tables, large: Large) -> None:
        known = self._shown.get(id(spark))
        if known is not None and known[:2] == (spark, version):
            return
        with tables.snapshot() as cursor:
            copies = show(spark, cursor, large)
        self._shown[id(spark)] = spark, version, copies
        # A query may still read the version before this one, but hardly the one before that.
        release(self._retired)
        self._retired = known[2] if known is not None else []

    def clear(self) -> None:
        release(self._retired)
        for _, _, copies in self._shown.values():
            release(copies)
        self._retired = []
        self._shown.clear()


@dataclass(frozen=True, slots=True)
class Copy:
    """A table of DuckDB as a DataFrame, and a function to call when it is no longer needed."""

    frame: DataFrame
    release: Callable[[], object] = lambda: None


def show(spark: SparkSession, cursor: duckdb.DuckDBPyConnection, large: Large) -> list[Copy]:
    """Make views in a session of the tables that a cursor sees together with the quads that Spark keeps."""
    copies = [copy_to(spark, cursor, name) for name in NAMES]
    for name, copy in zip(NAMES, copies, strict=True):
        frame = _together(copy.frame, large.frame, name) if large else copy.frame
        frame.createOrReplaceTempView(name)
    return copies


def copy_to(spark: SparkSession, cursor: duckdb.DuckDBPyConnection, name: str) -> Copy:
    """A copy of a table of DuckDB in Spark.

    If Spark runs on this machine, a large table is copied through a Parquet file, which is sorted for
    patterns with a known predicate. With 200,000 triples, the copy and a first join of three patterns took
    1.5 s of processor time, and every further join 0.8 s. Through Arrow and Spark's cache it was 4.2 s and
    2.6 s (busy machine, both in turn, medians of four).
    """
    rows = count(cursor, name)
    if not rows:
        return Copy(spark.createDataFrame([], _COLUMNS[name]))
    if rows <= _SMALL_ROWS or name == "graph_names":
        return Copy(spark.createDataFrame(arrow(cursor, name)).coalesce(1))
    if (spark.sparkContext.master or "").startswith("local"):
        folder = tempfile.TemporaryDirectory(prefix="rheos-")
        path = Path(folder.name, f"{name}.parquet")
        write_parquet(cursor, name, path)
        return Copy(spark.read.parquet(f"file:{path}"), folder.cleanup)
    # Partitions are by subject, so that joins around one subject need no exchange.
    partitions = spark.sparkContext.defaultParallelism
    kept = spark.createDataFrame(arrow(cursor, name)).repartition(partitions, "s").persist()
    return Copy(kept, kept.unpersist)


def release(copies: Sequence[Copy]) -> None:
    for copy in copies:
        # If Spark was stopped before, there is nothing left to do.
        with suppress(Exception):
            copy.release()


def quads_of(default: DataFrame, named: DataFrame) -> DataFrame:
    """The tables of the default graph and of the named graphs as one table of quads."""
    return default.selectExpr("CAST(NULL AS STRING) AS g", "s", "p", "o").union(named)


def without(quads: DataFrame, others: DataFrame) -> DataFrame:
    """The quads that are not among the others."""
    return compared(quads, others, "left_anti")


def compared(quads: DataFrame, others: DataFrame, how: str) -> DataFrame:
    """The quads that are among the others (`left_semi`), or those that are not (`left_anti`)."""
    from pyspark.sql.functions import expr

    same = "q.s = r.s AND q.p = r.p AND q.o = r.o AND q.g <=> r.g"
    return quads.alias("q").join(others.alias("r"), expr(same), how)


def graphs_of(quads: DataFrame) -> set[str | None]:
    """The graphs that quads are in; None is the default graph."""
    return {row.g for row in quads.select("g").distinct().collect()}


def _together(local: DataFrame, quads: DataFrame, name: str) -> DataFrame:
    """The rows of a view: those of the table of DuckDB and those of the quads that Spark keeps."""
    match name:
        case "default_graph":
            return local.union(quads.where("g IS NULL").select("s", "p", "o"))
        case "named_graphs":
            return local.union(quads.where("g IS NOT NULL"))
    return local.union(quads.where("g IS NOT NULL").select("g")).distinct()
