"""Sinks without a loop: answers are put and released as a loop does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from rheos.addresses import Allowed
from rheos.answers.continuous import QueryInfo
from rheos.runtime.driver.metrics import SinkMetrics
from rheos.runtime.driver.sinks import Sinks
from rheos.runtime.state.store import Store
from rheos.sinks.base import SinkSpec
from rheos.sinks.opening import Surroundings

PATIENCE = 60.0
QUERY = QueryInfo("high", "select", ("x",))
GRAPH = QueryInfo("seen", "construct")


def answers(first: int, count: int) -> pa.Table:
    """Rows with numbers from `first` on."""
    numbers = range(first, first + count)
    terms = [f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in numbers]
    times = pa.array([number * 1_000_000 for number in numbers], pa.int64())
    return pa.table([times, times, pa.array(terms)], names=["instant", "at", "x"])


def triples(first: int, count: int) -> pa.Table:
    times = pa.array([number * 1_000_000 for number in range(first, first + count)], pa.int64())
    terms = [
        pa.array([f"<http://ex/{part}{number}>" for number in range(first, first + count)]) for part in "spo"
    ]
    return pa.table([times, times, *terms], names=["instant", "at", "s", "p", "o"])


@dataclass
class Bench:
    """The sinks of one process on a folder."""

    folder: Path
    warnings: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    number: int = -1

    def __post_init__(self) -> None:
        around = Surroundings(no_session, no_stream, Allowed())
        self.sinks = Sinks(
            lambda: Store(self.folder.as_uri()),
            around,
            warn=self.warnings.append,
            fail=self.failures.__setitem__,
        )

    def add(self, to: str, query: QueryInfo = QUERY, **spec: Any) -> Bench:
        self.sinks.add(query, SinkSpec(to, **spec))
        return self

    def recover(self, done: int = -1) -> Bench:
        self.number = done
        self.sinks.recover(done)
        return self

    def say(self, rows: pa.Table, query: QueryInfo = QUERY) -> dict[str, str]:
        """A whole batch."""
        self.number += 1
        found = self.sinks.put(self.number, [(query, rows)])
        self.sinks.release(self.number)
        return found

    def metrics(self, query: QueryInfo = QUERY) -> SinkMetrics:
        [found] = self.sinks.metrics()[query.name]
        return found

    def drain(self) -> None:
        self.sinks.drain(PATIENCE)

    def close(self) -> None:
        self.sinks.close()


def no_session() -> Any:
    raise AssertionError("no Spark here")


def no_stream(iri: str, elements: pa.Table) -> None:
    raise AssertionError("no streams here")


def wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.02)
