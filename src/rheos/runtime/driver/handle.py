"""Handles: a registered query as its user has it."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rheos.algebra.nodes import Kind
from rheos.answers.continuous import Answer, QueryInfo, answers
from rheos.errors import Position
from rheos.runtime.driver.metrics import QueryMetrics
from rheos.runtime.operator import Answers
from rheos.runtime.plan import Registered

if TYPE_CHECKING:
    from rheos.runtime.driver.registry import Registry

Callback = Callable[[Answer], None]


class Handle:
    """A registered query as its user has it: what it answers, and whether it runs."""

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
        """What the query has reported last, in order: as many answers as it was registered to `keep`."""
        return list(self._results)

    @property
    def failure(self) -> str | None:
        """Why the engine has stopped the query; None if it has not."""
        return self.metrics.failure

    @property
    def running(self) -> bool:
        return self._registry.runs(self.name)

    def subscribe(self, callback: Callback) -> None:
        """Have every further answer given to a function, in order, by the thread that made it.

        What the function raises is logged and counted, and ends nothing.
        """
        self._callbacks.append(callback)

    def stop(self) -> None:
        """Report nothing more, until `start`."""
        self._registry.halt(self.name)
        self.metrics = replace(self.metrics, running=False)

    def start(self) -> None:
        """Go on with the elements that come from now on."""
        self._registry.resume(self.name)
        self.metrics = replace(self.metrics, running=True, failure=None)

    def unregister(self) -> None:
        """Forget the query."""
        self._registry.remove(self.name)

    @property
    def plan(self) -> str:
        """How the query was last evaluated: for one of CQELS-QL the order of its joins, with what was
        expected of each. Empty before the first batch, and for C-SPARQL: DuckDB or Spark orders its joins."""
        return self._registry.flow(self.name)

    def report(self, reported: Answers, milliseconds: float, way: str) -> None:
        """Take in the answers of a batch, and how its work was shared out."""
        before = self.metrics
        self.metrics = replace(
            before,
            instants=before.instants + len(reported.instants),
            rows=before.rows + len(reported.rows),
            milliseconds=milliseconds,
            execution="task",
            sharding=way,
            running=self.running,
            evaluations=before.evaluations + 1,
            total_milliseconds=before.total_milliseconds + milliseconds,
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
        """Whether it needs a stream to be there; what it reads without naming it may come and go."""
        if not self.registered.operator.names_streams:
            return any(named == stream for named, _ in self.named)
        return stream in self.registered.streams

    def fail(self, reason: str) -> None:
        """Report nothing more, because the query cannot be evaluated."""
        self.stop()
        self.metrics = replace(self.metrics, running=False, failure=reason)

    def __repr__(self) -> str:
        return f"<query {self.name}, {'running' if self.running else 'stopped'}>"
