"""Delivery: brings the answers of one query to one of its sinks, in a thread of its own.

    a batch is evaluated ─▶ put ─▶ the batch is done ─▶ release ─▶ the thread: take ─▶ delete

`put` writes to the sink's outbox, so the loop never waits for a sink. A sink that fails to take answers is
tried again after a pause, which grows each time. Meanwhile the answers wait in the outbox, up to its limit.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.errors import RheosError
from rheos.runtime.driver.metrics import SinkMetrics, Times
from rheos.runtime.state.outbox import Entry, Outbox
from rheos.sinks.base import Batch, Notes, Sink, SinkSpec, Unreachable

_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
_SINK = "sink"  # the key of the sink's own notes


class Delivery:
    """A sink of a query. `fail` is called with the reason if the sink fails for good."""

    def __init__(
        self,
        query: str,
        spec: SinkSpec,
        sink: Sink,
        run: str,
        outbox: Outbox,
        *,
        warn: Callable[[str], None],
        fail: Callable[[str], None],
    ) -> None:
        self.query = query
        self.spec = spec
        self._sink = sink
        self._run = run
        self._outbox = outbox
        self._warn = warn
        self._fail = fail
        self._changed = threading.Condition()
        self._put: deque[Entry] = deque()  # entries of the batch that is not done yet
        self._waiting: deque[Entry] = deque()
        self._thread: threading.Thread | None = None
        self._opened = False
        self._closing = False
        self._fault: str | None = None
        self._trouble: str | None = None
        self._dropping = 0  # answers dropped since the sink was last full
        self._counts = {"taken": 0, "dropped": 0}
        self._times = Times()

    # --- for the loop --------------------------------------------------------------------------------

    def recover(self, done: int) -> None:
        """Begin, or begin again, after batch `done`. Entries of later batches are deleted:
        these were never done."""
        with self._changed:
            for entry in list(self._outbox.entries()):
                if entry.number > done:
                    self._outbox.delete(entry)
                elif self._thread is None:
                    self._waiting.append(entry)
            self._put.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver, daemon=True, name="rheos-sink")
                self._thread.start()

    def put(self, number: int, query: QueryInfo, rows: pa.Table) -> str | None:
        """Write the answers of a batch to the outbox. The result is the reason why the query must be stopped,
        if it must."""
        with self._changed:
            waiting = sum(entry.bytes for entry in self._waiting)
            if self._waiting and waiting + rows.nbytes > self.spec.limit:
                if self.spec.full == "drop":
                    self._drop(rows.num_rows, waiting)
                    return None
                self._put.append(self._outbox.write(number, query, rows))
                return f"its sink {self._full(waiting + rows.nbytes)}"
            if self._dropping:
                self._warn(f"{self.query}: {self._dropping:,} answers were not given to {self.spec.to}")
                self._dropping = 0
            self._put.append(self._outbox.write(number, query, rows))
            return None

    def release(self) -> None:
        """The batch is done: its answers may go out."""
        with self._changed:
            self._waiting.extend(self._put)
            self._put.clear()
            self._changed.notify_all()

    def _drop(self, count: int, waiting: int) -> None:
        if not self._dropping:
            self._warn(f"{self.query}: answers are dropped, because {self._full(waiting)}")
        self._dropping += count
        self._counts["dropped"] += count

    def _full(self, waiting: int) -> str:
        why = f": {self._trouble}" if self._trouble else ""
        return f"{self.spec.to} does not keep up, and {waiting:,} bytes wait for it{why}"

    # --- for users -----------------------------------------------------------------------------------

    def metrics(self) -> SinkMetrics:
        with self._changed:
            behind = time.time() - self._waiting[0].since if self._waiting else 0.0
            taken = self._outbox.taken(self._waiting[0].number) if self._waiting else 0
            return SinkMetrics(
                self.spec.to,
                sum(entry.rows for entry in self._waiting) - taken,
                sum(entry.bytes for entry in self._waiting),
                max(0.0, behind),
                self._counts["taken"],
                self._counts["dropped"],
                self._fault or self._trouble,
                self._times,
            )

    def drain(self, deadline: float) -> bool:
        """Wait until the sink has taken all answers, or until a time on the monotonic clock. True if it has
        taken them. A sink that has failed for good is not waited for."""
        with self._changed:
            return self._changed.wait_for(self._is_drained, max(0.0, deadline - time.monotonic()))

    def _is_drained(self) -> bool:
        if self._fault is not None or self._thread is None:
            return True
        return not self._waiting and (self._opened or self._trouble is not None)

    def retry(self) -> None:
        """Try again after the sink has failed for good."""
        with self._changed:
            self._fault = None
            self._changed.notify_all()

    def close(self, patience: float) -> int:
        """Stop. The sink has `patience` seconds to finish the present batch. The result is the number of
        answers that still wait."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(patience)
        return self.metrics().waiting

    def remove(self) -> int:
        """Stop, and delete the answers that wait. The result is their number."""
        left = self.close(1.0)
        with self._changed:
            self._waiting.clear()
            self._outbox.remove()
        return left

    # --- the thread ----------------------------------------------------------------------------------

    def _deliver(self) -> None:
        pause = _PAUSE
        while self._next():
            try:
                if not self._opened:
                    self._sink.open(self._run, self.query, Notes(self._noted(), self._note))
                    self._open()
                elif self._waiting:
                    self._take(self._waiting[0])
                    pause = _PAUSE
            except (Unreachable, OSError) as error:
                self._close_sink()
                self._take_note(first_line(error))
                after = error.after if isinstance(error, Unreachable) else 0.0
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, min(max(pause, after), _LONGEST_PAUSE))
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception as error:
                self._close_sink()
                self._give_up(error)
        self._close_sink()

    def _next(self) -> bool:
        """Wait for work; False if the thread must end."""
        with self._changed:
            self._changed.wait_for(self._has_work)
            return not self._closing

    def _has_work(self) -> bool:
        return self._closing or (self._fault is None and (bool(self._waiting) or not self._opened))

    def _take(self, entry: Entry) -> None:
        query, table = self._outbox.read(entry)
        before = self._outbox.taken(entry.number)
        self._sink.take(
            Batch(self._run, query, entry.number, table, before),
            lambda count: self._outbox.take(entry.number, count),
        )
        with self._changed:
            if self._waiting and self._waiting[0] is entry:  # the sink may have been removed meanwhile
                self._outbox.delete(entry)
                self._waiting.popleft()
            self._counts["taken"] += entry.rows - before
            self._times = self._times.plus(max(0.0, time.time() - entry.since))
            self._well()

    def _open(self) -> None:
        with self._changed:
            self._opened = True
            if not self._waiting:  # otherwise the first batch shows whether the sink works
                self._well()
            self._changed.notify_all()

    def _well(self) -> None:
        if self._trouble is not None:
            self._warn(f"{self.query}: {self.spec.to} takes answers again")
        self._trouble = None
        self._changed.notify_all()

    def _take_note(self, trouble: str) -> None:
        with self._changed:
            if self._trouble is None and not self._closing:
                self._warn(f"{self.query}: {self.spec.to} takes no answers now, and they wait: {trouble}")
            self._opened, self._trouble = False, trouble
            self._changed.notify_all()

    def _give_up(self, error: Exception) -> None:
        reason = f"its sink {self.spec.to} has failed: {first_line(error)}"
        if not isinstance(error, RheosError):
            self._warn(f"{reason}\n{''.join(traceback.format_exception(error)).rstrip()}")
        with self._changed:
            self._opened, self._fault, self._trouble = False, reason, None
            self._changed.notify_all()
        self._fail(reason)

    def _close_sink(self) -> None:
        try:
            self._sink.close()
        except Exception as error:
            self._warn(f"{self.spec.to} was not closed: {first_line(error)}")

    def _noted(self) -> dict[str, Any]:
        return dict(self._outbox.notes.get(_SINK, {}))

    def _note(self, content: dict[str, Any]) -> None:
        self._outbox.note({**self._outbox.notes, _SINK: content})


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
