"""`rheos bench memory`: the peak memory of `rheos run` with many live elements in one window.

The stream is replayed from a file until the window is full and has slid by one step. The memory of all
processes counts: of the command, of the JVM and of the Python workers. The last answer must be right.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, streams
from rheos_bench.data import CITY
from rheos_bench.passages import COUNT, Window
from rheos_bench.report import duration, heading, machine, table
from rheos_bench.watched import watched

STEPS = 10  # of the window, in its range


def run(settings: Settings) -> None:
    """The table."""
    window = sliding(settings.live)
    elements = enough(window)
    live = window.range * streams.PER_SECOND
    heading(machine())
    heading(f"Memory: {live:,} live elements, count per group, {window}; all processes of rheos run")
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as name:
        folder = Path(name)
        with progress(f"generating {elements:,} triples"):
            path = streams.write_stream(folder / "stream.nq", elements)
        query = folder / "count.rq"
        query.write_text(COUNT.over(window, "count"), encoding="utf-8")
        command = [sys.executable, "-m", "rheos", "run", str(query), "--stream", f"{streams.STREAM}={path}"]
        with progress("watching the memory of the run"):
            seen = watched([*command, "--format", "ndjson"], keep=streams.GATES)
    check(seen.last, counts(elements, live))
    peak = seen.peak.total()
    rows = [["all processes", megabytes(peak)]]
    rows += [[f"of that, {name}", megabytes(size)] for name, size in seen.peak.most_common()]
    rows.append(["all, for each live element", f"{peak / live:,.0f} bytes"])
    rows.append(["the run", duration(seen.seconds)])
    rows.append(["elements a second", f"{elements / seen.seconds:,.0f}"])
    table(["at the peak", ""], rows)


def sliding(live: int) -> Window:
    """A window that holds so many elements when it is full, and slides by a tenth of its range."""
    step = max(1, live // streams.PER_SECOND // STEPS)
    return Window(step * STEPS, step)


def enough(window: Window) -> int:
    """So many elements that the window is full at the last of its instants, which are multiples of its step
    since 1970, and has slid before."""
    seconds = window.range + window.step
    return (seconds + -(int(streams.START.timestamp()) + seconds) % window.step) * streams.PER_SECOND


def counts(elements: int, live: int) -> Counter[str]:
    """The passages of each gate among the last `live` elements of a stream of so many."""
    pick = random.Random(42).random
    gates = [int(pick() * streams.GATES) for _ in range(elements)]
    return Counter(f"{CITY}gate/{gate}" for gate in gates[-live:])


def check(lines: Sequence[bytes], expected: Counter[str]) -> None:
    """Fail if the last answer is not the expected counts."""
    answers = [json.loads(line) for line in lines]
    last = max((answer["at"] for answer in answers), default=None)
    rows = [answer["row"] for answer in answers if answer["at"] == last]
    found = Counter({row["gate"]["value"]: int(row["n"]["value"]) for row in rows})
    if found != expected:
        raise EvaluationError(
            f"the answer at {last} is wrong: it counts {found.total():,} elements in {len(found)} groups, "
            f"and there are {expected.total():,} in {len(expected)}"
        )


def megabytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MB"
