"""Shares: which part of a query's work in a micro-batch one of several tasks does.

All tasks of a group see the same chunks and segments, so they all come to the same division without asking
the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from rheos.execute.limits import limited_cursor
from rheos.runtime.operator import Operator, Span
from rheos.runtime.sharding import Shard, Way
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.worker.cache import worth_keeping
from rheos.runtime.worker.workbench import Workbench

# With fewer new elements than this, sharing out by time saves nothing.
LEAST_NEW = 20_000
# With fewer live elements than this, sharing out by a variable saves nothing.
LEAST_LIVE = 100_000


@dataclass(frozen=True, slots=True)
class Share:
    """The task with a `number` (from 0) out of `of` tasks. With `always`, even little work is shared out. If
    `by` is a way, work is shared out only in that way. `incremental` is as in the cache of a worker."""

    number: int = 0
    of: int = 1
    always: bool = False
    by: Way | None = None
    incremental: bool | None = None

    @property
    def shard(self) -> Shard:
        return Shard(self.number, self.of)

    def way(self, operator: Operator, span: Span, buffers: Mapping[str, Buffer]) -> Way:
        """How the work of an operator is shared out: by time where there are many instants to catch up with,
        by a variable where much is live."""
        if operator.incremental and not self.always and worth_keeping(buffers, span, self.incremental):
            return "one"  # few elements are new, and one worker has the rest in its cache
        sharding = operator.sharding
        new = sum(buffer.between(span.after, span.until) for buffer in buffers.values())
        live = sum(len(buffer.elements) for buffer in buffers.values())
        many = new >= self.of if self.always else new >= LEAST_NEW
        if self.by != "variable" and sharding.by_time and many and self._spans(operator, span, buffers):
            return "time"
        if sharding.variable is not None and self.pays(live):
            return "variable"
        return "one"

    def pays(self, live: int) -> bool:
        """Whether sharing out by a variable saves time with so many live elements."""
        return self.of > 1 and self.by != "time" and (self.always or live >= LEAST_LIVE)

    def _spans(self, operator: Operator, span: Span, buffers: Mapping[str, Buffer]) -> bool:
        """Whether each task may have something to report for its part of the span."""
        if self.always:
            return True
        return all(operator.due(part.after, part.until) for part in self.spans(span, buffers))

    def spans(self, span: Span, buffers: Mapping[str, Buffer]) -> list[Span]:
        """A span cut into as many parts as there are tasks, each with about the same
        number of new elements."""
        new = np.sort(
            np.concatenate([buffer.times_between(span.after, span.until) for buffer in buffers.values()])
        )
        cuts = [int(new[len(new) * number // self.of]) for number in range(1, self.of)] if len(new) else []
        ends = [*cuts, *[span.until] * (self.of - len(cuts))]
        starts = [span.after, *ends[:-1]]
        return [
            span._replace(after=start, until=max(start, end)) for start, end in zip(starts, ends, strict=True)
        ]

    def span(self, span: Span, buffers: Mapping[str, Buffer]) -> Span:
        """The part of a span that is this task's."""
        return self.spans(span, buffers)[self.number]

    @contextmanager
    def workbench(self, bench: Workbench, operator: Operator, span: Span) -> Iterator[Workbench]:
        """A workbench of its own, with only the elements that a span needs."""
        buffers = dict(bench.buffers)
        placed = {stream: bench.elements[stream] for stream in operator.streams}
        for stream in operator.streams:
            marks = operator.live(stream, placed, span.after, bench, dict(span.before))
            first = int(np.argmax(marks)) if marks.any() else len(marks)
            buffers[stream] = bench.buffers[stream].part(first, span.until)
        own = replace(bench, buffers=buffers, cache=None)
        try:
            with limited_cursor(own.database):
                yield own
        finally:
            own.close()


ALONE = Share()
