"""Ctrl-C is noted: code in C may lose the KeyboardInterrupt, or raise another error in its place.

DuckDB raises a RuntimeError, a module that is being imported an ImportError, and some code goes on as if
nothing had happened. The command must end with the status of an interrupted one all the same.
"""

from __future__ import annotations

import signal
from types import FrameType

_noted = False


def note() -> None:
    """From now on note it when this process is interrupted, unless it was told to ignore that."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt)


def noted() -> bool:
    """Whether the process was interrupted."""
    return _noted


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    global _noted
    _noted = True
    signal.default_int_handler(number, frame)
