"""Handles: the objects through which users read and control registered queries."""

from __future__ import annotations

import itertools
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rheos.algebra.nodes import Kind
from rheos.answers.continuous import Answer, QueryInfo, answers
from rheos.answers.typed import Columns
from rheos.errors import Position
from rheos.execute.session import frame_of
from rheos.runtime.driver.metrics import QueryMetrics, SinkMetrics
from rheos.runtime.plan import Registered
from rheos.sinks.base import LIMIT, Full, SinkSpec
from rheos.sinks.calls import CallSink, Function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rheos.runtime.driver.registry import Registry
    from rheos.runtime.driver.sinks import Sinks
    from rheos.runtime.worker.batch import Report

Callback = Callable[[Answer], None]


class Handle:
    """A registered query, as its user sees it: its answers, its metrics, and whether it runs."""

    def __init__(
        self,
        registry: Registry,
        registered: Registered,
        text: str,
        base: str,
        named: Sequence[tuple[str, Position]],
        keep: int | None,
        entailment: str,
    ) -> None:
        self._registry = registry
        self.registered = registered
        self.text = text
        self.base = base
        self.entailment = entailment
        self.named = named  # the streams that the text names, and where
        self.metrics = QueryMetrics()
        self._results: deque[Answer] = deque(maxlen=keep)
        self._callbacks: list[Callback] = []

    @property
    def name(self) -> str:
        return self.registered.name

    @property
    def info(self) -> QueryInfo:
        return self.registered.info

    @property
    def kind(self) -> Kind:
        return self.info.kind

    @property
    def variables(self) -> list[str]:
        return list(self.info.variables)

    @property
    def makes_stream(self) -> bool:
        return self.registered.derived is not None

    @property
    def results(self) -> list[Answer]:
        """The last answers of the query, in order: at most as many as it was registered to `keep`."""
        return list(self._results)

    @property
    def failure(self) -> str | None:
        """Why the engine has stopped the query; None if it has not."""
        return self.metrics.failure

    @property
    def running(self) -> bool:
        return self._registry.runs(self.name)

    def subscribe(self, callback: Callback) -> None:
        """Call a function with every further answer, in order, in the thread that runs the batch.

        An error that the function raises is logged and counted; the query goes on.
        """
        self._callbacks.append(callback)

    def to(self, sink: str, *, limit: int = LIMIT, full: Full = "stop", **options: str) -> Handle:
        """Send all further answers to a sink: a file, `DIR/`, `parquet:DIR`, `kafka://…`,
        `mqtt://…`, `http://…`; docs/sinks.md has all of them and their options. In names of
        options, write `__` for a dot.

        Up to `limit` bytes wait for a sink that takes nothing. Beyond that, the query is stopped; with
        `full="drop"`, further answers to this sink are dropped instead, with a warning and a count.
        """
        named = {name.replace("__", "."): value for name, value in options.items()}
        self.add_sink(SinkSpec(sink, limit, full, named))
        return self

    def add_sink(self, spec: SinkSpec) -> None:
        """Send all further answers to the sink with this description."""
        self._sinks.add(self.info, spec)

    def for_each_batch(
        self, function: Function, *, terms: bool = False, limit: int = LIMIT, full: Full = "stop"
    ) -> Handle:
        """For every batch with answers, call a function with a Spark DataFrame and the number of the batch,
        in order and in a thread of its own.

        The frame has the column `at` (and `start` and `end`), and for each variable a typed column or, with
        `terms`, a struct of type, value, datatype and lang. An error that the function raises stops the
        query. After a crash, the last batch may come again, with the same number.
        """
        taken = {spec.to for spec in self._sinks.specs(self.name)}
        names = (f"function-{number}" for number in itertools.count(1))
        spec = SinkSpec(next(name for name in names if name not in taken), limit, full)
        sink = CallSink(function, self._sinks.around.session, terms=terms)
        self._sinks.add(self.info, spec, sink)
        return self

    @property
    def sinks(self) -> list[SinkMetrics]:
        """The sinks of the query: the address of each, how much it has taken, and how much waits for it."""
        return self._sinks.metrics().get(self.name, [])

    @property
    def _sinks(self) -> Sinks:
        assert self._registry.sinks is not None
        return self._registry.sinks

    def dataframe(self, *, terms: bool = False) -> DataFrame:
        """The kept answers (see `results`) as a Spark DataFrame, with columns as in `for_each_batch`."""
        kept = [answer.batch() for answer in list(self._results) if len(answer)]
        names = list(map(str, range(self.info.times + len(self.info.columns))))
        types = [pa.int64()] * self.info.times
        types += [pa.bool_() if self.kind == "ask" else pa.large_string()] * len(self.info.columns)
        schema = pa.schema(list(zip(names, types, strict=True)))
        table = pa.concat_tables(
            [schema.empty_table(), *(found.rename_columns(names).cast(schema) for found in kept)]
        )
        typed = Columns(terms=terms).table(self.info, table)
        return frame_of(self._sinks.around.session(), typed)

    def stop(self) -> None:
        """Stop the query until `start` is called."""
        self._registry.halt(self.name)
        self.metrics = replace(self.metrics, running=False)

    def start(self) -> None:
        """Start the query again. It sees the elements that come from now on."""
        self._registry.resume(self.name)
        self._sinks.retry(self.name)
        self.metrics = replace(self.metrics, running=True, failure=None)

    def unregister(self) -> None:
        """Remove the query from the engine."""
        self._registry.remove(self.name)

    @property
    def plan(self) -> str:
        """How a query of CQELS-QL was last evaluated: the order of its joins, with the expected
        number of rows of each. Empty before the first batch, and for the other languages, where
        DuckDB orders the joins."""
        return self._registry.flow(self.name)

    def report(self, report: Report) -> None:
        """Take the report of a batch: its answers, and how the work was shared out."""
        before, skipped, reported = self.metrics, 0, report.answers
        latest = pc.max(reported.instants.column(1)).as_py()
        if self.info.skips:
            said = reported.rows.column(-1)
            skipped = len(said) - said.null_count
        self.metrics = replace(
            before,
            instants=before.instants + len(reported.instants) - skipped,
            rows=before.rows + len(reported.rows) - skipped,
            milliseconds=report.milliseconds,
            execution="task",
            sharding=report.way,
            shards=report.shards,
            executors=report.executors,
            running=self.running,
            skipped=before.skipped + skipped,
            times=before.times.plus(report.milliseconds / 1000),
            event_time=before.event_time if latest is None else latest,
        )
        instants = reported.instants
        if not self._callbacks and self._results.maxlen is not None:
            instants = instants.slice(max(0, len(instants) - self._results.maxlen))
        for answer in answers(self.info, instants, reported.rows):
            self._results.append(answer)
            for callback in list(self._callbacks):
                self._tell(callback, answer)

    def _tell(self, callback: Callback, answer: Answer) -> None:
        try:
            callback(answer)
        except Exception:
            self.metrics = replace(self.metrics, callback_errors=self.metrics.callback_errors + 1)
            self._registry.warn(
                f"a subscriber of {self.name} raised an error:\n{traceback.format_exc().rstrip()}"
            )

    def reads(self, stream: str | None) -> bool:
        """Whether the query needs a stream to exist. Streams that it reads without naming
        them may come and go."""
        if not self.registered.operator.names_streams:
            return any(named == stream for named, _ in self.named)
        return stream in self.registered.streams

    def fail(self, reason: str) -> None:
        """Stop the query, because it cannot be evaluated."""
        self.stop()
        self.metrics = replace(self.metrics, running=False, failure=reason)

    def __repr__(self) -> str:
        return f"<query {self.name}, {'running' if self.running else 'stopped'}>"
