"""Deadlines: by when the work of a thread must be done.

A time limit counts parsing, compiling, planning and running. Code of ours asks now and then whether time is up
(`check`). What runs in DuckDB or Spark is stopped after what is `left`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from rheos.errors import TimeLimitError


class Deadline(NamedTuple):
    """When time is up, on the monotonic clock, and how many seconds there were."""

    ends: float
    seconds: float

    @property
    def error(self) -> TimeLimitError:
        return TimeLimitError(f"it took longer than {self.seconds:g} s, and was stopped")


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """A block that may take so many seconds; None is no limit. The tightest limit holds."""
    known = _current.get()
    deadline = None if seconds is None else Deadline(time.monotonic() + seconds, seconds)
    if deadline is None or (known is not None and known.ends <= deadline.ends):
        yield
        return
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Deadline | None:
    """The deadline that holds here, if there is one."""
    return _current.get()


def left() -> float | None:
    """How many seconds are left; None without a limit, TimeLimitError when there are none."""
    check()
    deadline = _current.get()
    return None if deadline is None else deadline.ends - time.monotonic()


def check() -> None:
    """Raise a TimeLimitError when time is up."""
    deadline = _current.get()
    if deadline is not None and time.monotonic() >= deadline.ends:
        raise deadline.error
