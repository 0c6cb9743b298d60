"""A line of progress on standard error for what takes long, and only for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 0.7  # seconds without a word; what is quicker needs no progress


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Say what is being done if it is still being done after a moment."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Status] = []

    def show() -> None:
        from rich.console import Console
        from rich.markup import escape

        status = Console(stderr=True).status(f"{escape(doing)} …")
        status.start()
        shown.append(status)

    timer = Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
