"""Where a run keeps its state: the state store, which all machines reach, and a folder
on the driver's disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.errors import EnvironmentFault
from rheos.execute.session import is_local
from rheos.filesystems import uri_of
from rheos.processes import executor
from rheos.runtime.state.store import Store
from rheos.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_PROBE = b"rheos"
_ROUNDS = 3  # how often the probe is sent out, until every executor has answered
_PAUSE = 0.2  # seconds
_WAIT, _LOOK = 15.0, 0.2  # seconds to wait for executors that are promised, and between two looks


@dataclass(frozen=True, slots=True)
class Location:
    """Where a run keeps its state. `folder` is on the driver's disk; if the store is there too, it is the
    same folder. A `temporary` location is removed when the engine is closed."""

    store: Store
    folder: Path
    temporary: bool = False

    @classmethod
    def of(cls, checkpoint: str | os.PathLike[str] | None) -> Location:
        """The location of a checkpoint, which is a folder or a URI; without one, a temporary location."""
        if checkpoint is None:
            folder = Path(tempfile.mkdtemp(prefix="rheos-run-"))
            return cls(Store(folder.as_uri(), durable=False), folder, temporary=True)
        store = Store(uri_of(checkpoint))
        return cls(store, store.local or _beside_driver(store.uri))

    def remove(self) -> None:
        """Delete the folder, if the location is temporary."""
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def spark_checkpoint(self, session: SparkSession, warn: Callable[[str], None]) -> str:
        """Where Structured Streaming writes its logs: in the store, if this Spark can, or else on the
        driver's disk, since only the driver reads and writes them. The latter is a warning: a driver on
        another machine cannot go on from there."""
        folder = self.folder / "spark"
        if self.store.local is None:
            uri = self.store.uri.replace("s3://", "s3a://", 1)
            fault = _unreachable(session, uri)
            if fault is None:
                return f"{uri}/spark"
            warn(
                f"Spark does not reach {uri} ({fault}), so its own checkpoint is in {folder}: "
                "a driver on another machine cannot go on from it; docs/cluster.md"
            )
        return folder.absolute().as_uri()

    def probe(self, session: SparkSession) -> None:
        """Refuse to start on a cluster whose executors do not reach the store."""
        if is_local(session):
            return
        if self.temporary:
            raise EnvironmentFault(
                "on a cluster, streams need a checkpoint that all machines reach, such as s3://bucket/folder"
            )
        name = f"probe/{uuid.uuid4().hex}"
        self.store.write(name, _PROBE)
        try:
            executors, seen = _executors(session), set[str]()
            for _ in range(_ROUNDS):
                told = _probed(session, Probe(self.store, name, _PAUSE), executors)
                faults = sorted({row["fault"] for row in told if row["fault"]})
                if faults:
                    raise EnvironmentFault(
                        f"{faults[0]}: the checkpoint {self.store.uri} must be one that all machines reach"
                    )
                seen |= {row["executor"] for row in told}
                if len(seen) >= executors:
                    return
        finally:
            self.store.delete([name])


@dataclass(frozen=True, slots=True)
class Probe:
    """The work of a task of the probe: it reads the file that the driver wrote, writes and deletes one of its
    own, and reports what is wrong. It takes at least as long as the `pause`, so that tasks go to all
    executors."""

    store: Store
    name: str
    pause: float = 0.0

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            fault = self.fault()
            told = (
                f"an executor on {socket.gethostname()} cannot use the state store ({fault})" if fault else ""
            )
            time.sleep(self.pause)
            yield pa.RecordBatch.from_pylist([{"executor": executor(), "fault": told}])

    def fault(self) -> str:
        own = f"{self.name}-{uuid.uuid4().hex}"
        try:
            if self.store.read(self.name) != _PROBE:
                return "it does not see what the driver wrote"
            self.store.write(own, _PROBE)
            self.store.delete([own])
        except Exception as error:
            return (str(error).splitlines() or [type(error).__name__])[0]
        return ""


def _probed(session: SparkSession, probe: Probe, executors: int) -> list[Row]:
    """What the tasks of a probe report."""
    tasks = max(executors * 2, session.sparkContext.defaultParallelism)
    frame = session.range(0, tasks, 1, tasks)
    return map_in_arrow(frame, probe, "executor STRING, fault STRING").collect()


def _executors(session: SparkSession) -> int:
    """How many executors there are. Those that the settings promise may need some seconds to start."""
    context = session.sparkContext
    promised = expected(dict(context.getConf().getAll()))
    ends = time.monotonic() + _WAIT
    while True:
        assert context._jsc is not None
        found: int = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # without the driver
        if found >= promised or time.monotonic() >= ends:
            return max(1, found)
        time.sleep(_LOOK)


def expected(settings: Mapping[str, str]) -> int:
    """How many executors Spark's settings promise, at least."""
    if settings.get("spark.dynamicAllocation.enabled") == "true":
        return 1
    if "spark.executor.instances" in settings:
        return int(settings["spark.executor.instances"])
    cores, each = settings.get("spark.cores.max"), settings.get("spark.executor.cores")
    return 1 if cores is None or each is None else max(1, int(cores) // int(each))


def _beside_driver(uri: str) -> Path:
    """The folder of a remote store on the driver's disk."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home, "rheos", hashlib.blake2b(uri.encode(), digest_size=8).hexdigest())


def _unreachable(session: SparkSession, uri: str) -> str | None:
    """Why this Spark has no file system for a URI; None if it has one."""
    jvm, jsc = session.sparkContext._jvm, session.sparkContext._jsc
    assert jvm is not None
    assert jsc is not None
    try:
        jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(jsc.hadoopConfiguration())
    except Exception as error:
        # Py4J's own first line only says that a call failed; the exception of Java has the reason.
        text = str(getattr(error, "java_exception", None) or error)
        return (text.splitlines() or [type(error).__name__])[0]
    return None
