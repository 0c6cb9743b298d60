"""Report: the tables that benchmarks print, with targets and verdicts."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rheos.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured time in seconds, and the most that it should be."""

    what: str
    seconds: float
    target: float

    @property
    def verdict(self) -> str:
        return verdict(self.seconds <= self.target)

    @property
    def cells(self) -> list[str]:
        return [self.what, duration(self.seconds), duration(self.target), self.verdict]


def verdict(reached: bool) -> str:
    return "ok" if reached else "missed"


def timed(action: Callable[[], object]) -> float:
    """How many seconds an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def median_time(action: Callable[[], object], runs: int) -> float:
    """The median time of some runs of an action."""
    return median(timed(action) for _ in range(runs))


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that is not below the given part of the values."""
    if not values:
        raise EvaluationError("no answer came in time to be measured")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def duration(seconds: float) -> str:
    """A time as text, with about three digits, in a unit that suits it."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.0995:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.2f} s"


def ratio(ours: float, theirs: float) -> str:
    """How many times as long rheos takes; below 1, rheos is faster."""
    times = ours / theirs
    return f"{times:.2f}" if times < 10 else f"{times:,.0f}"


def machine() -> str:
    """The number of cores and the load. On a busy machine all measured times are too long."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = "; busy with other work, so the times are too long" if load > cores / 2 else ""
    return f"{cores} cores, load average {load:.1f} at the start{busy}"


def heading(text: str) -> None:
    print(f"\n{text}\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column on the left, all others on the right; coloured on a terminal only."""
    if sys.stdout.isatty():
        _rich_table(columns, rows)
        return
    widths = [max(len(row[at]) for row in [columns, *rows]) for at in range(len(columns))]
    for row in [columns, ["-" * width for width in widths], *rows]:
        first, *others = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())
    sys.stdout.flush()


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {"ok": "green", "missed": "bold red"}
    printed = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for at, column in enumerate(columns):
        printed.add_column(column, justify="left" if at == 0 else "right")
    for row in rows:
        printed.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in row))
    Console().print(printed)
