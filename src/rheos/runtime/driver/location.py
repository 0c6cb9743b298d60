"""Where a run keeps its state: the state store, which all machines reach, and a folder
on the driver's disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rheos.errors import EnvironmentFault
from rheos.execute.session import is_local, map_in_arrow
from rheos.filesystems import uri_of
from rheos.runtime.state.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = b"rheos"


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
        context = session.sparkContext
        assert context._jsc is not None
        executors = max(1, context._jsc.sc().getExecutorMemoryStatus().size() - 1)
        tasks = max(executors * 2, context.defaultParallelism)
        try:
            frame = session.range(0, tasks, 1, tasks)
            rows = map_in_arrow(frame, Probe(self.store, name), "fault STRING").collect()
        finally:
            self.store.delete([name])
        faults = sorted({row["fault"] for row in rows if row["fault"]})
        if faults:
            raise EnvironmentFault(
                f"{faults[0]}: the checkpoint {self.store.uri} must be one that all machines reach"
            )


@dataclass(frozen=True, slots=True)
class Probe:
    """The work of a task of the probe: it reads the file that the driver wrote, and reports what is wrong."""

    store: Store
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import socket

        for _ in batches:
            try:
                found = self.store.read(self.name)
                fault = "" if found == _PROBE else "it does not see what the driver wrote"
            except Exception as error:
                fault = (str(error).splitlines() or [type(error).__name__])[0]
            told = (
                f"an executor on {socket.gethostname()} cannot use the state store ({fault})" if fault else ""
            )
            yield pa.RecordBatch.from_pylist([{"fault": told}])


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
