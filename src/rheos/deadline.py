"""Deadlines: by when the work of a thread must be done.

A time limit counts parsing, compiling, planning and running. Code of ours asks now and then whether time is
up (`check`). What runs in DuckDB or Spark is stopped then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rheos.errors import TimeLimitError


class Deadline:
    """When time is up, on the monotonic clock. Any thread may `cancel` the work earlier."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self.ends = time.monotonic()

    @property
    def left(self) -> float:
        """How many seconds there are."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def error(self) -> TimeLimitError:
        if self._cancelled:
            return TimeLimitError("nobody waits for it any more, so it was stopped")
        return TimeLimitError(f"it took longer than {self.seconds:g} s, and was stopped")


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """A block to which a deadline applies."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """A block that may take so many seconds; None is no limit. An earlier deadline stays."""
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
    """How many seconds are left; None without a deadline, TimeLimitError when there are none."""
    check()
    deadline = _current.get()
    return None if deadline is None else deadline.left


def check() -> None:
    """Raise a TimeLimitError when time is up."""
    deadline = _current.get()
    if deadline is not None and time.monotonic() >= deadline.ends:
        raise deadline.error
