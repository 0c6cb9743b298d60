"""Where a run keeps its state, and the refusal to start on a cluster that does not reach it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rheos.errors import EnvironmentFault
from rheos.processes import executor
from rheos.runtime.driver import location
from rheos.runtime.driver.location import Location, Probe, expected
from rheos.runtime.state.store import Store

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
