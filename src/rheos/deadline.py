"""Deadlines: the time by which the work of a thread must be done.

A time limit covers parsing, compiling, planning and running. Our own code asks now and then whether time is
up (`check`). Statements that run in DuckDB or Spark are interrupted when time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rheos.errors import TimeLimitError


class Deadline:
    """The moment at which time is up, on the monotonic clock. Any thread may `cancel` the work earlier."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self.ends = time.monotonic()

    @property
    def left(self) -> float:
        """The seconds that are left; 0 when time is up."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def error(self) -> TimeLimitError:
        if self._cancelled:
            return TimeLimitError("nobody waits for it any more, so it was stopped")
        return TimeLimitError(f"it took longer than {self.seconds:g} s, and was stopped")


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """A block of this thread to which a deadline applies."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """A block that may take some seconds; None means no limit. If an earlier deadline applies, it stays."""
    known = _current.get()
    if seconds is None or (known is not None and known.left <= seconds):
        yield
        return
    with under(Deadline(seconds)):
        yield


def current() -> Deadline | None:
    """The deadline that applies here, if there is one."""
    return _current.get()


def left() -> float | None:
    """The seconds that are left; None without a deadline, TimeLimitError when time is up."""
    check()
    deadline = _current.get()
    return None if deadline is None else deadline.left


def check() -> None:
    """Raise a TimeLimitError when time is up."""
    deadline = _current.get()
    if deadline is not None and time.monotonic() >= deadline.ends:
        raise deadline.error
