"""Tables of Delta Lake and of Apache Iceberg, if the Spark session has the packages of these.

Each micro-batch is one commit, which also has the run and the number of the batch. So a batch that comes
again after a crash is recognised, and not added twice.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from rheos.answers.continuous import QueryInfo
from rheos.answers.typed import TYPES, Columns
from rheos.errors import EnvironmentFault, RheosError
from rheos.execute.session import frame_of
from rheos.filesystems import uri_of
from rheos.sinks.base import Batch, Notes, Sink, Taken, filled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableSink(Sink):
    """A table of Spark with the columns of answers. Its columns keep their types. If integers and other
    numbers can come in one column, the option `numbers = "double"` must be given from the beginning."""

    OPTIONS = ("numbers", "terms")
    CLASS: ClassVar[str]
    PACKAGE: ClassVar[str]

    def __init__(self, name: str, options: Mapping[str, str], session: Callable[[], SparkSession]) -> None:
        if options.get("numbers", "double") != "double":
            raise RheosError(f"numbers can only be double, not {options['numbers']!r}")
        self._name = name
        self._session = session
        self._columns = Columns(terms=options.get("terms") == "true", doubles="numbers" in options)

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
        self._notes = notes
        self._table = filled(self._name, query)
        self._columns.types = notes.get("types") or self._known_types()
        digest = hashlib.blake2b(query.encode(), digest_size=6).hexdigest()
        self._writer = f"rheos-{run}-{digest}"

    def take(self, batch: Batch, taken: Taken) -> None:
        before = dict(self._columns.types)
        table = self._columns.table(batch.query, batch.table)
        for name in batch.query.variables if not self._columns.terms else ():
            kind = self._columns.types.setdefault(name, "string")  # for a variable that was never bound
            if before.get(name, kind) != kind:
                raise RheosError(
                    f"the column {name} of {self._table} is {before[name]}, and there is a value that needs "
                    f"{kind}; use another table, with numbers=double or terms=true"
                )
        self._notes.keep(types=dict(self._columns.types))
        self._append(frame_of(self._session(), table), self._table, batch.number)

    def _known_types(self) -> dict[str, str]:
        """The types of the table's columns; empty if there is no table yet."""
        frame = self._read(self._session())
        return {} if frame is None else {name: kind for name, kind in frame.dtypes if kind in TYPES}

    @abstractmethod
    def _read(self, spark: SparkSession) -> DataFrame | None:
        """The table; None if there is none."""

    @abstractmethod
    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        """Add the answers of a batch, unless the table has them already."""


class DeltaSink(TableSink):
    """A table of Delta Lake at a path. Delta Lake itself has idempotent writes."""

    CLASS = "org.apache.spark.sql.delta.sources.DeltaDataSource"
    PACKAGE = "io.delta:delta-spark_{spark}_2.13"

    def _read(self, spark: SparkSession) -> DataFrame | None:
        from pyspark.errors import AnalysisException

        try:
            return spark.read.format("delta").load(uri_of(self._table))
        except AnalysisException:
            return None

    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        writer = frame.write.format("delta").mode("append").option("mergeSchema", "true")
        writer = writer.option("txnAppId", self._writer).option("txnVersion", number)
        writer.save(uri_of(table))


class IcebergSink(TableSink):
    """A table of an Iceberg catalog. The summaries of its snapshots have the number of the last batch."""

    CLASS = "org.apache.iceberg.spark.SparkCatalog"
    PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13"

    def _read(self, spark: SparkSession) -> DataFrame | None:
        return spark.table(self._table) if spark.catalog.tableExists(self._table) else None

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
        """The number of the last batch of this run and query that the table has; -1 if there is none."""
        found = spark.sql(
            "SELECT max(CAST(summary['rheos-batch'] AS BIGINT)) AS last "
            f"FROM {table}.snapshots WHERE summary['rheos-writer'] = '{self._writer}'"
        ).collect()
        return -1 if not found or found[0]["last"] is None else int(found[0]["last"])
