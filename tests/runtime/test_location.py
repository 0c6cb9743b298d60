"""Where a run keeps Spark's own checkpoint, and that it says so where that is the driver's disk."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rheos.runtime.driver.location import Location
from rheos.runtime.state.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def remote(folder: Path) -> Location:
    store: Any = SimpleNamespace(local=None, uri="s3://bucket/run")
    return Location(store, folder)


def test_a_spark_without_the_connector_is_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    warnings = list[str]()
    where = remote(tmp_path).spark_checkpoint(spark, warnings.append)
    assert where == (tmp_path / "spark").as_uri()
    [warning] = warnings
    assert len(warning.splitlines()) == 1
    assert warning.startswith("Spark does not reach s3a://bucket/run (")
    assert "s3a" in warning.partition("(")[2].lower()  # the class or the scheme that is missing
    assert f"so its own checkpoint is in {tmp_path / 'spark'}: " in warning


def test_a_spark_with_the_connector_has_it_in_the_store(tmp_path: Path) -> None:
    asked = list[str]()

    def path(uri: str) -> object:
        asked.append(uri)
        return SimpleNamespace(getFileSystem=lambda configuration: None)

    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace())))
    jvm.org.apache.hadoop.fs = SimpleNamespace(Path=path)
    context = SimpleNamespace(_jvm=jvm, _jsc=SimpleNamespace(hadoopConfiguration=lambda: None))
    session: Any = SimpleNamespace(sparkContext=context)
    assert remote(tmp_path).spark_checkpoint(session, unexpected) == "s3a://bucket/run/spark"
    assert asked == ["s3a://bucket/run"]


def test_a_folder_is_no_warning(tmp_path: Path) -> None:
    session: Any = None  # it is not asked
    location = Location(Store(tmp_path.as_uri()), tmp_path)
    assert location.spark_checkpoint(session, unexpected) == (tmp_path / "spark").as_uri()


def unexpected(warning: str) -> None:
    raise AssertionError(warning)
