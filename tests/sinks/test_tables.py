"""Tables of Spark's as sinks. No release of Delta or Iceberg runs on this Spark yet. So a table of plain
Parquet stands in for them where the types of columns are tested, which both share; and a session that only
notes what it is told, where the marks are tested by which a batch that comes again is recognised."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from rheos import RheosError
from rheos.sinks.base import Batch, Notes
from rheos.sinks.tables import DeltaSink, IcebergSink, TableSink
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


# --- the marks of batches ----------------------------------------------------------------------------------


class Written:
    """What a writer of Spark's was told: each call with its arguments, until the one that writes."""

    def __init__(self, done: list[list[tuple[Any, ...]]], *first: Any) -> None:
        self._done, self._told = done, [first]

    def __getattr__(self, name: str) -> Any:
        def told(*arguments: Any) -> Any:
            self._told.append((name, *arguments))
            if name in ("save", "append", "create"):
                self._done.append(self._told)
            return self

        return told


class Frame:
    """A DataFrame that notes how it is written."""

    def __init__(self) -> None:
        self.done: list[list[tuple[Any, ...]]] = []

    @property
    def write(self) -> Written:
        return Written(self.done)

    def writeTo(self, table: str) -> Written:
        return Written(self.done, "to", table)

    def limit(self, count: int) -> Frame:
        assert count == 0  # a new table is made without rows, so that every row comes with a mark
        return self


def taking(sink: TableSink, frame: Frame, *numbers: int, run: str = "run", query: str = "high") -> None:
    sink.open(run, query, Notes({"types": {"x": "bigint"}}, lambda content: None))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("rheos.sinks.tables.frame_of", lambda spark, table: frame)
        for batch in numbers:
            sink.take(Batch(run, QUERY, batch, answers(number("1", "integer"))), lambda count: None)


def test_delta_gets_the_run_and_the_number_of_each_batch(tmp_path: Path) -> None:
    """With these, Delta itself ignores a batch that it has."""
    frame = Frame()
    session: Any = SimpleNamespace()
    sink = DeltaSink(f"{tmp_path}/{{query}}", {}, lambda: session)
    taking(sink, frame, 7, 8)
    taking(sink, frame, 7, run="other")
    taking(sink, frame, 7, query="low")
    options = [{call[1]: call[2] for call in told if call and call[0] == "option"} for told in frame.done]
    assert [found["txnVersion"] for found in options] == [7, 8, 7, 7]
    writers = [found["txnAppId"] for found in options]
    assert writers[0] == writers[1]
    assert len(set(writers)) == 3
    assert all(found["mergeSchema"] == "true" for found in options)
    assert ("mode", "append") in frame.done[0]
    assert frame.done[0][-1] == ("save", f"file://{tmp_path}/high")


class Iceberg:
    """A session with a catalog of one table. It answers what is asked of the table's snapshots, by DuckDB."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.connection = duckdb.connect()
        self.connection.execute("ATTACH ':memory:' AS local; CREATE SCHEMA local.high")
        self.catalog = SimpleNamespace(
            tableExists=lambda name: any(told[-1] == ("create",) for told in frame.done)
        )

    def sql(self, text: str) -> Any:
        columns = "(summary MAP(VARCHAR, VARCHAR))"
        self.connection.execute(f"CREATE OR REPLACE TABLE local.high.snapshots {columns}")
        # Maintenance makes snapshots without our marks.
        for marks in ({"operation": "replace"}, *appended(self.frame)):
            self.connection.execute("INSERT INTO local.high.snapshots VALUES (?)", [marks])
        found = self.connection.execute(text).to_arrow_table().to_pylist()
        return SimpleNamespace(collect=lambda: found)


def appended(frame: Frame) -> list[dict[str, str]]:
    """The summaries of the snapshots that appending has made."""
    prefix = "snapshot-property."
    return [
        {call[1].removeprefix(prefix): call[2] for call in told if call[:1] == ("option",)}
        for told in frame.done
        if told[-1] == ("append",)
    ]


def test_iceberg_is_asked_which_batch_it_has() -> None:
    frame = Frame()
    session: Any = Iceberg(frame)
    sink = IcebergSink("local.{query}", {}, lambda: session)
    taking(sink, frame, 0, 1)
    taking(sink, frame, 1, 10, 9)  # again after a crash: what is not later than the last batch is there
    taking(sink, frame, 3, run="other")
    assert [marks["rheos-batch"] for marks in appended(frame)] == ["0", "1", "10", "3"]
    writers = [marks["rheos-writer"] for marks in appended(frame)]
    assert writers[0] == writers[1] == writers[2] != writers[3]
    [created] = [told for told in frame.done if told[-1] == ("create",)]
    assert created[0] == ("to", "local.high")
    assert ("tableProperty", "write.spark.accept-any-schema", "true") in created
