"""Tables of Spark's as sinks. No release of Delta or Iceberg runs on this Spark yet, so a table of plain
Parquet stands in for them here: what is tested is what both share, that columns keep their types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import RheosError
from rheos.sinks.base import Batch, Notes
from rheos.sinks.tables import TableSink
from rheos.terms import XSD
from tests.answers.test_typed import answers, number
from tests.sinks.deliveries import QUERY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PlainTable(TableSink):
    CLASS = "java.lang.String"

    def _read(self, spark: SparkSession) -> DataFrame | None:
        return spark.read.parquet(self._table) if Path(self._table).exists() else None

    def _append(self, frame: DataFrame, table: str, number: int) -> None:
        frame.write.mode("append").parquet(table)


def opened(spark: SparkSession, tmp_path: Path, **options: str) -> PlainTable:
    sink = PlainTable(f"{tmp_path}/{{query}}", options, lambda: spark)
    sink.check(QUERY)
    sink.open("run", "high", Notes({}, lambda content: None))
    return sink


def take(sink: PlainTable, *terms: str | None) -> None:
    sink.take(Batch("run", QUERY, 0, answers(*terms)), lambda count: None)


def test_columns_keep_their_types(spark: SparkSession, tmp_path: Path) -> None:
    take(opened(spark, tmp_path), number("1", "integer"))
    sink = opened(spark, tmp_path)  # another process, which finds the table
    take(sink, None, number("2", "integer"))
    with pytest.raises(
        RheosError, match=r"the column x of .*/high is bigint, and there is a value that needs double"
    ):
        take(sink, number("2.5", "decimal"))
    assert dict(spark.read.parquet(f"{tmp_path}/high").dtypes)["x"] == "bigint"
    assert spark.read.parquet(f"{tmp_path}/high").count() == 3


def test_numbers_may_be_doubles_from_the_beginning(spark: SparkSession, tmp_path: Path) -> None:
    sink = opened(spark, tmp_path, numbers="double")
    take(sink, number("1", "integer"))
    take(sink, number("2.5", "decimal"))
    assert sorted(row["x"] for row in spark.read.parquet(f"{tmp_path}/high").collect()) == [1.0, 2.5]
    with pytest.raises(RheosError, match="numbers can only be double"):
        opened(spark, tmp_path, numbers="bigint")


def test_terms_keep_everything(spark: SparkSession, tmp_path: Path) -> None:
    sink = opened(spark, tmp_path, terms="true")
    take(sink, number("1", "integer"))
    take(sink, '"one"')
    found = {
        (row["x"]["value"], row["x"]["datatype"]) for row in spark.read.parquet(f"{tmp_path}/high").collect()
    }
    assert found == {("1", XSD + "integer"), ("one", XSD + "string")}
