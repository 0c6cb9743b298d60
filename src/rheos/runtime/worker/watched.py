"""The process that evaluates, and the one that watches over it.

A Python worker of Spark does not evaluate queries itself. It forks a child that does, and the child
says which query it evaluates at the moment. The parent ends a child that goes on when its time is
up, that takes too much memory, or that has crashed. Another child then does the batch again, without
the query of that moment.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from rheos.errors import EvaluationError
from rheos.memory import used_by
from rheos.runtime.plan import Control

_LOOK = 0.1  # seconds between two looks at a child that is at work
_GRACE = 0.5  # seconds that DuckDB has to stop by itself when time is up
# The child may use this many times the memory of DuckDB: Python needs some for the answers.
_MEMORY_MARGIN = 1.5
_ORPHANED = 1.0  # seconds between two checks whether the parent still runs

AtWork = Callable[[Sequence[str]], None]


class Work(Protocol):
    """A batch of queries: rows come in, rows go out. An error of `read` is the fault of no query, so it is
    raised in the parent."""

    @property
    def control(self) -> Control: ...

    @property
    def memory(self) -> int: ...

    def read(self) -> Sequence[pa.RecordBatch]: ...

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]: ...


class Lost(NamedTuple):
    """The end of a child: the names of the queries that it was evaluating, and why it ended. If it had taken
    too much memory, `used` says how many bytes."""

    names: tuple[str, ...]
    reason: str
    used: int = 0


@dataclass
class Child:
    """A process that evaluates, as its parent sees it. `has` are the keys of the data that
    it was sent, by kind."""

    pid: int
    connection: Connection
    has: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls) -> Child:
        ours, its = Pipe()
        pid = os.fork()
        if pid == 0:
            _serve(its)
        its.close()
        return cls(pid, ours)

    def send(self, work: bytes, shipped: Mapping[str, tuple[str, Callable[[], bytes]]]) -> None:
        """Send work to the child, and before that the data that the work needs and the
        child does not have."""
        for kind, (key, data) in shipped.items():
            if self.has.get(kind) != key:
                self.connection.send(("keep", (kind, key, data())))
                self.has[kind] = key
        self.connection.send(("work", work))

    def watch(self, limit: float | None, memory: int) -> list[pa.RecordBatch] | Lost | Exception:
        """Wait for the rows of the child; or why the child ended, or the error that it had
        when it read its input."""
        rows: list[pa.RecordBatch] = []
        names: tuple[str, ...] = ()
        began = time.monotonic()
        while True:
            try:
                if self.connection.poll(_LOOK):
                    kind, value = self.connection.recv()
                    match kind:
                        case "at":
                            names, began = tuple(value), time.monotonic()
                        case "rows":
                            rows.append(value)
                        case "done":
                            return rows
                        case "lost":
                            return self._lost(names, value)
                        case "unread":
                            assert isinstance(value, Exception)
                            return value
                    continue
            except (EOFError, OSError):
                return self._lost(names, "the process that evaluated it fell over")
            if names and limit is not None and time.monotonic() - began > limit + _GRACE:
                return self._lost(names, f"it took longer than {limit:g} s, and was stopped")
            used = used_by(self.pid)
            if used > memory * _MEMORY_MARGIN:
                reason = f"it needed more than {memory >> 20:,} MB of memory, and was stopped"
                return self._lost(names, reason, used)

    def _lost(self, names: tuple[str, ...], reason: str, used: int = 0) -> Lost:
        self.end()
        return Lost(names, reason, used)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self.connection.close()


_child: Child | None = None  # the child of this process


def watched(
    work: Work, batches: Sequence[pa.RecordBatch], shipped: Mapping[str, tuple[str, Callable[[], bytes]]]
) -> list[pa.RecordBatch]:
    """Have a child of this process do the work, and another one if a child is lost. `shipped` is the data
    that the work needs and that a child keeps: by kind, with a key for its version."""
    global _child
    control, nobody = work.control, 0
    while True:
        child = _child = _child or Child.start()
        try:
            child.send(pickle.dumps((work, control, list(batches))), shipped)
            found = child.watch(control.limit, work.memory)
        except BrokenPipeError:
            found = Lost((), "the process that evaluates fell over")
            child.end()
        if isinstance(found, Exception):
            raise found
        if not isinstance(found, Lost):
            return found
        _child = None
        if found.names:
            stopped = {**control.stopped, **dict.fromkeys(found.names, found.reason)}
            control = replace(control, stopped=stopped)
        elif nobody:
            raise EvaluationError(f"a batch could not be evaluated: {_blame(found, work.memory)}")
        else:
            nobody += 1  # no query is to blame: try once more
            # Most of the memory that is nobody's is what earlier batches have left in the cache.
            control = replace(control, uncached=found.used > 0)


def _blame(lost: Lost, memory: int) -> str:
    """Why a batch cannot be evaluated, if no query is to blame."""
    if not lost.used:
        return lost.reason
    return (
        f"what all queries together read and keep needed {lost.used >> 20:,} MB of memory or more, and a "
        f"task may take {int(memory * _MEMORY_MARGIN) >> 20:,} MB: raise spark.executor.pyspark.memory on a "
        "cluster, elsewhere the memory of the machine; or lower batch_bytes"
    )


# --- in the child ------------------------------------------------------------------------------------

_received: dict[str, tuple[str, Any]] = {}


def received(kind: str, make: Callable[[bytes], Any]) -> Any:
    """The data of a kind that the parent sent last. `make` makes an object of it, once for each version."""
    key, value = _received[kind]
    if isinstance(value, bytes):
        value = make(value)
        _received[kind] = key, value
    return value


def _serve(connection: Connection) -> None:
    """Work until the parent is gone. The child closes the parent's open files, and ends without running the
    parent's exit handlers."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    kept = connection.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))

    def look_for_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_ORPHANED)
        os._exit(1)

    threading.Thread(target=look_for_parent, daemon=True).start()
    try:
        while True:
            kind, value = connection.recv()
            if kind == "keep":
                name, key, data = value
                _received[name] = key, data
                continue
            _work(connection, value)
    except BaseException:
        os._exit(0)


def _work(connection: Connection, given: bytes) -> None:
    work, control, batches = pickle.loads(given)
    try:
        batches = [*batches, *work.read()]
    except Exception as error:
        connection.send(("unread", _portable(error)))
        return
    try:
        for row in work.run(control, batches, lambda names: connection.send(("at", tuple(names)))):
            connection.send(("rows", row))
        connection.send(("done", None))
    except Exception as error:
        connection.send(("lost", _described(error)))


def _described(error: Exception) -> str:
    first, *_ = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {first}"


def _portable(error: Exception) -> Exception:
    """An error that can be sent to another process: the error itself, or another one with its message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EvaluationError(_described(error))
    return error
