"""The static graphs in Spark: quads that Spark keeps, and tables of DuckDB shown to Spark as views."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.optimize.statistics import PredicateCount
from rheos.store.reader import SCHEMA
from rheos.store.tables import NAMES, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Up to so many rows, one partition and no cache: measured, a join of three patterns then takes half the time.
_SMALL_ROWS = 20_000

# What is brought to the driver at once.
_BATCH_ROWS = 2_000_000

_COLUMNS = {
    "default_graph": "s STRING, p STRING, o STRING",
    "named_graphs": "g STRING, s STRING, p STRING, o STRING",
    "graph_names": "g STRING",
}


class Large:
    """Quads (g, s, p, o) that Spark keeps, in parts that have no quad in common."""

    def __init__(self) -> None:
        self._parts: tuple[DataFrame, ...] = ()
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def frame(self) -> DataFrame:
        """All parts as one; there must be some."""
        return reduce(lambda left, right: left.union(right), self._parts)

    def add(self, part: DataFrame) -> int:
        """Keep persisted quads that are in no other part; how many they are."""
        count = part.count()
        if count:
            self._parts = (*self._parts, part)
            self.size += count
        else:
            part.unpersist()
        return count

    def remove(self, rows: pa.Table) -> int:
        """Take quads away; how many there were."""
        from pyspark.storagelevel import StorageLevel

        before, old = self.size, self._parts
        self._parts, self.size = (), 0
        for part in old:
            gone = part.sparkSession.createDataFrame(rows)
            self.add(without(part, gone).persist(StorageLevel.MEMORY_AND_DISK))
            part.unpersist()
        return before - self.size

    def unknown(self, rows: pa.Table) -> pa.Table:
        """Those of the rows that are not kept here."""
        if not rows.num_rows:
            return rows
        frame = self.frame
        return without(frame.sparkSession.createDataFrame(rows), frame).toArrow().cast(SCHEMA)

    def batches(self) -> Iterator[pa.Table]:
        """All quads, so many at a time as the driver can hold."""
        from pyspark.sql import functions as f

        groups = self.size // _BATCH_ROWS + 1
        for part in self._parts:
            numbered = part.withColumn("n", f.spark_partition_id() % groups)
            for group in range(groups):
                yield numbered.where(f.col("n") == group).drop("n").toArrow().cast(SCHEMA)

    def graph_names(self) -> list[str]:
        if not self._parts:
            return []
        return [row.g for row in self.frame.select("g").where("g IS NOT NULL").distinct().collect()]

    def counts(self) -> dict[str, PredicateCount]:
        if not self._parts:
            return {}
        from pyspark.sql import functions as f

        counted = self.frame.groupBy("p").agg(
            f.count("*"), f.approx_count_distinct("s"), f.approx_count_distinct("o")
        )
        return {row[0]: PredicateCount(*row[1:]) for row in counted.collect()}

    def clear(self) -> None:
        old, self._parts, self.size = self._parts, (), 0
        for part in old:
            part.unpersist()


class Views:
    """Which version of the data each session has been shown."""

    def __init__(self) -> None:
        self._shown: dict[int, tuple[SparkSession, int, list[DataFrame]]] = {}

    def refresh(self, spark: SparkSession, version: int, tables: Tables, large: Large) -> None:
        known = self._shown.get(id(spark))
        if known is not None and known[:2] == (spark, version):
            return
        cached = []
        for name in NAMES:
            frame, is_cached = local_frame(spark, tables, name)
            if is_cached:
                cached.append(frame)
            if large:
                frame = _together(frame, large.frame, name)
            frame.createOrReplaceTempView(name)
        self._shown[id(spark)] = spark, version, cached
        if known is not None:
            _forget(known[2])

    def clear(self) -> None:
        for _, _, cached in self._shown.values():
            _forget(cached)
        self._shown.clear()


def local_frame(spark: SparkSession, tables: Tables, name: str) -> tuple[DataFrame, bool]:
    """A table of DuckDB in Spark, and whether it is cached there."""
    table = tables.arrow(name)
    if not table.num_rows:
        return spark.createDataFrame([], _COLUMNS[name]), False
    frame = spark.createDataFrame(table)
    if table.num_rows <= _SMALL_ROWS or name == "graph_names":
        return frame.coalesce(1), False
    # By subject, so that the joins around one subject need no exchange.
    return frame.repartition(spark.sparkContext.defaultParallelism, "s").persist(), True


def local_quads(spark: SparkSession, tables: Tables) -> DataFrame:
    """Everything that DuckDB holds, as quads in Spark."""
    default, _ = local_frame(spark, tables, "default_graph")
    named, _ = local_frame(spark, tables, "named_graphs")
    return default.selectExpr("CAST(NULL AS STRING) AS g", "s", "p", "o").union(named)


def without(quads: DataFrame, others: DataFrame) -> DataFrame:
    """The quads that are not among the others."""
    from pyspark.sql.functions import expr

    same = "q.s = r.s AND q.p = r.p AND q.o = r.o AND q.g <=> r.g"
    return quads.alias("q").join(others.alias("r"), expr(same), "left_anti")


def _together(local: DataFrame, quads: DataFrame, name: str) -> DataFrame:
    """The rows of a view from both places."""
    match name:
        case "default_graph":
            return local.union(quads.where("g IS NULL").select("s", "p", "o"))
        case "named_graphs":
            return local.union(quads.where("g IS NOT NULL"))
    return local.union(quads.where("g IS NOT NULL").select("g")).distinct()


def _forget(frames: list[DataFrame]) -> None:
    for frame in frames:
        frame.unpersist()
