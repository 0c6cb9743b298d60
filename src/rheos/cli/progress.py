"""Progress: a line on standard error while something takes long, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 0.7  # seconds before the line is shown: quicker work needs none


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show what is being done if the block still runs after `PATIENCE` seconds."""
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
