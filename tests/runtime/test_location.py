"""Where a run and Spark keep their state, and the refusal of a cluster that does not reach it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rheos.errors import EnvironmentFault
from rheos.processes import executor
from rheos.runtime.driver import location
from rheos.runtime.driver.location import Location, Probe, expected
from rheos.runtime.state.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW = pa.RecordBatch.from_pydict({"id": [0]})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, str]]]:
    """A cluster of two executors, and what its tasks answer, round by round."""
    told: list[list[dict[str, str]]] = []
    monkeypatch.setattr(location, "is_local", lambda session: False)
    monkeypatch.setattr(location, "_executors", lambda session: 2)
    monkeypatch.setattr(location, "_probed", lambda session, probe, executors: told.pop(0))
    return told


def test_on_a_cluster_a_run_without_a_checkpoint_is_refused(cluster: Any) -> None:
    place = Location.of(None)
    with pytest.raises(EnvironmentFault, match=r"^on a cluster, streams need a checkpoint that all machines"):
        place.probe(None)  # type: ignore[arg-type]
    place.remove()


def test_a_store_that_an_executor_cannot_use_is_refused_in_one_sentence(cluster: Any, tmp_path: Path) -> None:
    cluster.append([{"executor": "a", "fault": ""}])
    cluster.append([{"executor": "b", "fault": "an executor on b cannot use the state store (no)"}])
    with pytest.raises(
        EnvironmentFault, match=r"an executor on b .* \(no\): the checkpoint file:.* must be one"
    ):
        Location.of(tmp_path).probe(None)  # type: ignore[arg-type]
    assert not Store(tmp_path.as_uri()).names("probe")


def test_the_probe_is_sent_until_every_executor_has_answered(cluster: Any, tmp_path: Path) -> None:
    cluster += [[{"executor": name, "fault": ""}] for name in "aab"] + [[]]
    Location.of(tmp_path).probe(None)  # type: ignore[arg-type]
    assert cluster == [[]]


def probed(store: Store, name: str) -> str:
    (found,) = [row for batch in Probe(store, name)(iter([ROW])) for row in batch.to_pylist()]
    assert found["executor"] == executor()
    return str(found["fault"])


def test_a_task_of_the_probe_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path.as_uri())
    assert "it does not see what the driver wrote" in probed(store, "probe/a")
    store.write("probe/a", b"rheos")
    assert probed(store, "probe/a") == ""
    assert list(store.names("probe")) == ["probe/a"]

    def refused(store: Store, name: str, data: bytes) -> None:
        raise PermissionError("no writing here\nand more")

    monkeypatch.setattr(Store, "write", refused)
    assert probed(store, "probe/a").endswith("cannot use the state store (no writing here)")


@pytest.mark.parametrize(
    ("settings", "executors"),
    [
        ({}, 1),
        ({"spark.executor.instances": "3"}, 3),
        ({"spark.executor.instances": "3", "spark.dynamicAllocation.enabled": "true"}, 1),
        ({"spark.cores.max": "8", "spark.executor.cores": "2"}, 4),
        ({"spark.cores.max": "8"}, 1),
    ],
)
def test_how_many_executors_are_promised(settings: dict[str, str], executors: int) -> None:
    assert expected(settings) == executors


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
