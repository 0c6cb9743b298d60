"""The live display of `rheos run`: figures of a running engine, renewed on standard error while it runs.

There is a line for each stream, each query and each sink. The display is shown only on a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rheos.answers.continuous import time_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rheos.runtime.driver.metrics import Metrics

PER_SECOND = 4

Write = Callable[[bytes], None]


@contextmanager
def shown(metrics: Callable[[], Metrics], *, quiet: bool) -> Iterator[Write | None]:
    """Show the figures until the block ends.

    Yields a function that writes results above the figures, if both are on the same terminal. Yields None if
    results go elsewhere: then they can be written directly.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    display = Live(
        get_renderable=lambda: figures(metrics()),
        console=console,
        refresh_per_second=PER_SECOND,
        redirect_stdout=False,
    )
    with display:
        yield _above(console) if _same_terminal() else None


def figures(metrics: Metrics) -> Table:
    """The streams, then the queries, then the sinks, in columns."""
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid(padding=(0, 2))
    for _ in range(6):
        lines.add_column(no_wrap=True, overflow="ellipsis")
    for iri, stream in metrics.streams.items():
        time = "no time yet" if stream.event_time is None else time_text(stream.event_time)
        lag = "" if stream.lag is None else f"{stream.lag:,.1f} s behind"
        dead = counted(stream.dead, "dead letter") if stream.dead else ""
        lines.add_row(
            Text(iri, style="cyan"),
            counted(stream.read, "element"),
            f"{stream.rate:,.0f}/s",
            time,
            lag,
            Text(dead, style="red"),
        )
    for name, query in metrics.queries.items():
        took = "" if query.milliseconds is None else f"{query.milliseconds:,.0f} ms"
        lines.add_row(
            Text(name, style="green"),
            counted(query.instants, "instant") + (f", {query.skipped:,} skipped" if query.skipped else ""),
            counted(query.rows, "row"),
            took,
            query.execution or "",
            "",
        )
    for name, sinks in metrics.sinks.items():
        for sink in sinks:
            behind = f"{sink.behind:,.1f} s behind" if sink.waiting else ""
            lines.add_row(
                Text(f"{name} → {sink.to}", style="magenta"),
                f"{sink.taken:,} taken",
                f"{sink.waiting:,} waiting",
                behind,
                f"{sink.dropped:,} dropped" if sink.dropped else "",
                Text(sink.trouble or "", style="red"),
            )
    return lines


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _same_terminal() -> bool:
    """True if standard output and standard error are the same terminal."""
    return sys.stdout.isatty() and os.ttyname(sys.stdout.fileno()) == os.ttyname(sys.stderr.fileno())


def _above(console: Console) -> Write:
    from rich.text import Text

    def write(content: bytes) -> None:
        console.print(Text.from_ansi(content.decode()), soft_wrap=True)

    return write
