"""Tables of Delta Lake and of Apache Iceberg, where the packages of these are in the Spark session.

Each micro-batch is one commit, which has the run and the number of the batch in it. A batch that comes again
after a crash is found there, and is not added twice.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rheos.answers.continuous import QueryInfo
from rheos.answers.typed import Columns
from rheos.errors import EnvironmentFault
from rheos.execute.session import frame_of
from rheos.filesystems import uri_of
from rheos.sinks.base import Batch, Notes, Sink, Taken, filled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableSink(Sink):
    """A table of Spark's that grows by typed columns `query`, `at` and one for each variable."""

    CLASS: ClassVar[str]
    PACKAGE: ClassVar[str]

    def __init__(self, name: str, session: Callable[[], SparkSession]) -> None:
        self._name = name
        self._session = session
        self._columns = Columns()

    def check(self, query: QueryInfo) -> None:
        spark = self._session()
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        try:
            loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
            jvm.java.lang.Class.forName(self.CLASS, False, loader)
        except Exception:
            coordinates = self.PACKAGE.format(spark=".".join(spark.version.split(".")[:2]))
            raise EnvironmentFault(
                f"{self._name}: this Spark session has not the package {coordinates}; give the engine a "
                f"session that was made with it in spark.jars.packages, and with its extensions"
            ) from None

    def open(self, run: str, query: str, notes: Notes) -> None:
        self._columns.types = notes.get("types") or {}
        self._notes = notes
        digest = hashlib.blake2b(query.encode(), digest_size=6).hexdigest()
        self._writer = f"rheos-{run}-{digest}"

    def take(self, batch: Batch, taken: Taken) -> None:
        table = self._columns.table(batch.query, batch.table)
        self._notes.keep(types=dict(self._columns.types))
        self._append(frame_of(self._session(), table), filled(self._name, batch.query.name), batch.number)

    @abstractmethod
    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        """Add the answers of a batch, unless they are there already."""


class DeltaSink(TableSink):
    """A table of Delta Lake at a path, which has idempotent writes of its own."""

    CLASS = "org.apache.spark.sql.delta.sources.DeltaDataSource"
    PACKAGE = "io.delta:delta-spark_{spark}_2.13"

    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        writer = frame.write.format("delta").mode("append").option("mergeSchema", "true")
        writer = writer.option("txnAppId", self._writer).option("txnVersion", number)
        writer.save(uri_of(table))


class IcebergSink(TableSink):
    """A table of an Iceberg catalog; the last batch is in the summary of its snapshots."""

    CLASS = "org.apache.iceberg.spark.SparkCatalog"
    PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13"

    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        spark = self._session()
        if not spark.catalog.tableExists(table):
            frame.limit(0).writeTo(table).using("iceberg").tableProperty(
                "write.spark.accept-any-schema", "true"
            ).create()
        elif number <= self._last(spark, table):
            return
        marks = {"rheos-writer": self._writer, "rheos-batch": str(number)}
        writer = frame.writeTo(table).option("mergeSchema", "true")
        for name, value in marks.items():
            writer = writer.option(f"snapshot-property.{name}", value)
        writer.append()

    def _last(self, spark: SparkSession, table: str) -> int:
        """The last batch of this run that the table has."""
        found = spark.sql(
            "SELECT max(CAST(summary['rheos-batch'] AS BIGINT)) AS last "
            f"FROM {table}.snapshots WHERE summary['rheos-writer'] = '{self._writer}'"
        ).collect()
        return -1 if not found or found[0]["last"] is None else int(found[0]["last"])
