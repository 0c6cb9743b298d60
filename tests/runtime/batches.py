"""Batches without Spark: registered queries and elements of streams come in, what the queries report goes
out, however the elements are cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import duckdb

from rheos.answers.continuous import time_text
from rheos.runtime.driver.service import Streaming
from rheos.runtime.plan import Control, Plan
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.batch import Arrivals, Outcome, evaluate
from rheos.runtime.worker.cache import Cache
from rheos.sources.files import FileSource
from rheos.sources.lines import read_lines
from rheos.store.graphs import StaticGraphs
from rheos.store.tables import filled
from rheos.syntax import parse
from tests.runtime.arrivals import NO_STORE, arrivals
from tests.runtime.streams import Element, lines

Line = tuple[str, str, tuple[str | None, ...]]  # a query, when it reported, and a row


@dataclass
class Batches:
    """The loop in a nutshell: it keeps what a batch leaves for the next one. `streams` are IRIs."""

    streams: Sequence[str]
    texts: Iterable[str]
    limit: float | None = None
    control: Control = field(default_factory=lambda: Control(0, {}, NO_STORE))
    buffers: Mapping[str, Buffer] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    at_work: Callable[[Sequence[str]], None] = lambda names: None

    def __post_init__(self) -> None:
        graphs = StaticGraphs()
        self.streaming = Streaming(no_spark, graphs)
        for name in self.streams:
            self.streaming.add_stream(name, Nowhere("nowhere"), lateness=None, idle=None, follow=False)
        for text in self.texts:
            tree = parse(text, "auto")
            self.streaming.register(tree, name=None, base="http://ex/", keep=0)
        self.streaming.registry.resolve()
        self.database: duckdb.DuckDBPyConnection = filled({})
        self.cache = Cache(self.database)
        self.cache.plans.at_once = True

    @property
    def plan(self) -> Plan:
        return self.streaming.registry.plan([f"<{name}>" for name in self.streams], 1)

    def batch(self, arrived: Mapping[str, Sequence[Element]], ended: Collection[str] = ()) -> Outcome:
        """Evaluate a batch with these elements of each stream; some streams end with it."""
        given = {
            f"<{name}>": Arrivals(
                arrivals([read_lines(lines(found).encode(), "")] if found else [], 0), name in ended
            )
            for name, found in arrived.items()
        }
        return self.given(given)

    def given(self, given: Mapping[str, Arrivals]) -> Outcome:
        """Evaluate a batch with what arrived of each stream."""
        plan = self.plan
        queries = plan.groups[0]
        outcome = evaluate(
            queries,
            plan.streams(0),
            self.control,
            self.buffers,
            given,
            self.database,
            plan.families,
            at_work=self.at_work,
            cache=self.cache,
        )
        states = {name: Buffer(elements) for name, elements in outcome.states.items()}
        self.buffers = {
            **{name: outcome.buffers[name].since(time) for name, time in outcome.needed.items()},
            **{name: found for name, found in self.buffers.items() if name not in outcome.needed},
            **states,
        }
        self.control = Control(
            self.control.batch + 1,
            {**self.control.progress, **outcome.progress},
            NO_STORE,
            reached={**self.control.reached, **outcome.reached},
            seen_after=dict(self.streaming.registry.seen_after),
            counts=outcome.counts,
            limit=self.limit,
            cautious=bool(outcome.deferred) and not self.control.cautious,
            apart=frozenset((self.control.apart & outcome.deferred) | outcome.apart),
        )
        for name, reason in outcome.failures.items():
            self.streaming.registry.handles[name].fail(reason)
            self.failures[name] = reason
        return outcome

    def run(self, cuts: Sequence[Mapping[str, Sequence[Element]]]) -> list[Line]:
        """All that is reported when these elements come batch by batch. A stream ends with the last batch
        that has a place for it."""
        found: list[Line] = []
        for number, arrived in enumerate(cuts, start=1):
            later = {name for rest in cuts[number:] for name in rest}
            outcome = self.batch(arrived, arrived.keys() - later)
            found += reported(outcome)
        while outcome.deferred or outcome.failures:
            outcome = self.batch({})
            found += reported(outcome)
        return found


class Nowhere(FileSource):
    """A source that nobody reads: elements are given to batches by hand."""

    def files(self) -> list[str]:
        return []


def no_spark() -> NoReturn:
    raise AssertionError("this is done without Spark")


def reported(outcome: Outcome) -> list[Line]:
    return [
        (report.query, time_text(row[1]), tuple(row[2:]))
        for report in outcome.reports
        for row in zip(*(column.to_pylist() for column in report.answers.rows.columns), strict=True)
    ]
