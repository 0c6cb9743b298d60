"""The process that evaluates: whatever it does, its parent goes on, and knows whose work it was at."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from rheos.errors import EvaluationError
from rheos.memory import used_by
from rheos.runtime.plan import Control
from rheos.runtime.worker import watched
from rheos.runtime.worker.task import StaticData
from rheos.runtime.worker.watched import AtWork, received
from rheos.store.tables import filled
from tests.runtime.arrivals import NO_STORE

ROW = pa.RecordBatch.from_pydict({"query": ["?"]})


def answer() -> None:
    pass


def sleep() -> None:
    time.sleep(60)


def fall_over() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory() -> None:
    taken = []
    while True:
        taken.append(b"x" * (10 << 20))


def fail() -> None:
    raise ValueError("no luck")


@dataclass(frozen=True)
class Queries:
    """Work that does what each query does, and leaves out those that were stopped."""

    queries: dict[str, Callable[[], None]]
    control: Control = field(default_factory=lambda: Control(1, {}, NO_STORE, limit=0.5))
    # A child has all that this process has, which may have run many tests.
    memory: int = field(default_factory=lambda: used_by(os.getpid()) + (1 << 30))

    def read(self) -> Sequence[pa.RecordBatch]:
        return ()

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]:
        for name, work in self.queries.items():
            if name in control.stopped:
                yield pa.RecordBatch.from_pydict({"query": [f"{name}: {control.stopped[name]}"]})
                continue
            at_work([name])
            work()
            at_work(())
            yield pa.RecordBatch.from_pydict({"query": [name]})


@pytest.fixture(autouse=True)
def own_child() -> Iterator[None]:
    yield
    if watched._child is not None:
        watched._child.end()
        watched._child = None


def done(work: Queries) -> list[str]:
    shipped = {"plan": ("1", lambda: b"a plan")}
    return [name for row in watched.watched(work, [ROW], shipped) for name in row.column("query").to_pylist()]


def test_a_query_that_does_not_listen_is_stopped_alone() -> None:
    began = time.monotonic()
    assert done(Queries({"a": answer, "b": sleep, "c": answer})) == [
        "a",
        "b: it took longer than 0.5 s, and was stopped",
        "c",
    ]
    assert time.monotonic() - began < 10


def test_a_query_that_takes_too_much_memory_is_stopped_alone() -> None:
    work = Queries(
        {"a": take_memory, "b": answer}, replace(Control(1, {}, NO_STORE), limit=60.0), memory=300 << 20
    )
    assert done(work) == ["a: it needed more than 300 MB of memory, and was stopped", "b"]


def test_a_query_that_makes_its_process_fall_over_is_stopped_alone() -> None:
    assert done(Queries({"a": answer, "b": fall_over, "c": sleep, "d": answer})) == [
        "a",
        "b: the process that evaluated it fell over",
        "c: it took longer than 0.5 s, and was stopped",
        "d",
    ]


def test_an_error_that_nothing_has_caught_says_what_it_was() -> None:
    assert done(Queries({"a": fail})) == ["a: ValueError: no luck"]


@dataclass(frozen=True)
class Broken(Queries):
    def run(self, *_: object) -> Iterator[pa.RecordBatch]:
        fall_over()
        yield ROW


def test_work_that_fails_while_it_is_nobodys_is_tried_once_more() -> None:
    with pytest.raises(EvaluationError, match=r"a batch could not be evaluated: the process .* fell over"):
        watched.watched(Broken({}), [ROW], {})


@dataclass(frozen=True)
class Keeping(Queries):
    """Work that takes much memory while nobody is at work, as long as there is a cache."""

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]:
        if not control.uncached:
            take_memory()
        yield pa.RecordBatch.from_pydict({"query": [f"uncached: {control.uncached}"]})


def test_memory_that_no_query_has_taken_is_given_back_by_doing_without_the_cache() -> None:
    assert done(Keeping({}, memory=300 << 20)) == ["uncached: True"]


@dataclass(frozen=True)
class Taking(Queries):
    def run(self, *_: object) -> Iterator[pa.RecordBatch]:
        take_memory()
        yield ROW


def test_a_batch_that_needs_too_much_memory_says_what_to_raise() -> None:
    with pytest.raises(EvaluationError) as found:
        done(Taking({}, memory=300 << 20))
    told = r"needed (\d+) MB of memory or more, and a task may take 450 MB: raise spark\.executor\.pyspark"
    used = re.search(told, str(found.value))
    assert used is not None
    assert int(used[1]) >= 450


@dataclass(frozen=True)
class Telling(Queries):
    def run(self, *_: object) -> Iterator[pa.RecordBatch]:
        told = f"{os.getpid()} {received('plan', lambda data: data.decode().upper())}"
        yield pa.RecordBatch.from_pydict({"query": [told]})


def test_a_child_stays_and_is_sent_only_what_it_does_not_have() -> None:
    asked: list[str] = []

    def plan(version: str) -> bytes:
        asked.append(version)
        return version.encode()

    told = []
    for version in ("one", "one", "two"):
        shipped = {"plan": (version, lambda version=version: plan(version))}
        (row,) = watched.watched(Telling({}), [ROW], shipped)
        told.append(row.column("query")[0].as_py().split())
    assert [said for _, said in told] == ["ONE", "ONE", "TWO"]
    assert asked == ["one", "two"]
    assert len({process for process, _ in told}) == 1


def test_a_child_does_not_outlive_its_parent() -> None:
    ready, said = os.pipe()
    parent = os.fork()
    if parent == 0:
        child = watched.Child.start()
        os.write(said, str(child.pid).encode())
        time.sleep(60)
        os._exit(0)
    orphan = psutil.Process(int(os.read(ready, 20)))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    orphan.wait(timeout=10)


@dataclass(frozen=True)
class Reading(Queries):
    """Work that reads something itself, and says in which process."""

    def read(self) -> Sequence[pa.RecordBatch]:
        if "unread" in self.queries:
            raise FileNotFoundError(2, "No such file", "gone.nq")
        return [pa.RecordBatch.from_pydict({"query": [str(os.getpid())]})]

    def run(
        self, control: Control, batches: Sequence[pa.RecordBatch], at_work: AtWork
    ) -> Iterator[pa.RecordBatch]:
        yield from batches


def test_what_work_reads_is_read_by_the_child() -> None:
    """What a file system or DuckDB has begun in a process does not work in its children."""
    given, read = done(Reading({}))
    assert given == "?"
    assert watched._child is not None
    assert int(read) == watched._child.pid != os.getpid()


def test_what_cannot_be_read_is_an_error_of_the_batch() -> None:
    with pytest.raises(FileNotFoundError, match=r"No such file: 'gone\.nq'"):
        done(Reading({"unread": answer}))
    assert done(Queries({"a": answer})) == ["a"]


def test_a_process_that_has_spilled_goes_on(tmp_path: Path) -> None:
    static = StaticData(filled({}))
    settings = {"threads": "1", "memory_limit": "'64MiB'", "temp_directory": f"'{tmp_path / 'spill'}'"}
    static.set(settings)
    large = "SELECT max(range) FROM (SELECT range FROM range(3000000) ORDER BY hash(range) LIMIT 2500000)"
    static.connection.execute(large)
    assert (tmp_path / "spill").exists()
    static.set({**settings, "threads": "2"})
    assert static.connection.execute("SELECT current_setting('threads')").fetchone() == (2,)
