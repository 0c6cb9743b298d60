"""Memory over a long stream: `rheos run` in a process of its own, its resident memory sampled as it goes.

All its processes count: the command, the JVM and the Python workers. The run is from its first answer to its
last, so that the time that Spark needs to start is not in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from threading import Thread

from rheos.bench import Settings, streams
from rheos.bench.passages import COUNT, Window
from rheos.bench.report import heading, table, verdict
from rheos.cli.progress import progress
from rheos.errors import EvaluationError

WINDOW = Window(60, 10)
TIMES = 5  # as long as the stream of the other measurements
GROWTH = 0.15
PARTS = 5
INTERVAL = 0.2  # seconds between two samples

Sample = tuple[float, int]  # the time in the run, bytes


def run(folder: Path, settings: Settings) -> None:
    """A window of C-SPARQL over a long stream."""
    triples = settings.triples * TIMES
    heading(f"Memory: {triples:,} triples, count per group, {WINDOW}; all processes of rheos run")
    with progress(f"generating {triples:,} triples"):
        path = streams.write_stream(folder / "long.nq", triples)
    query = folder / "count.rq"
    query.write_text(COUNT.over(WINDOW, "count"), encoding="utf-8")
    show(query, streams.STREAM, path)


def show(query: Path, stream: str, path: Path) -> None:
    """The second fifth of a run beside its last."""
    with progress("watching the memory of a long run"):
        samples = watched([sys.executable, "-m", "rheos", "run", str(query), "--stream", f"{stream}={path}"])
    fifths = [median(part) for part in parts(samples)]
    growth = fifths[-1] / fifths[1] - 1
    rows = [
        [f"fifth {at} of the run", f"{size / 2**20:,.0f} MB", "", ""] for at, size in enumerate(fifths, 1)
    ]
    rows.append(["last over second", f"{growth:+.1%}", f"± {GROWTH:.0%}", verdict(abs(growth) <= GROWTH)])
    table(["resident memory", "median", "target", ""], rows)


def watched(arguments: Sequence[str]) -> list[Sample]:
    """Samples between the first answer and the last."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    came: list[float] = []
    complaints: list[bytes] = []
    readers = [
        Thread(target=lambda: came.extend(time.perf_counter() for _ in process.stdout), daemon=True),  # type: ignore[union-attr]
        Thread(target=lambda: complaints.extend(process.stderr), daemon=True),  # type: ignore[arg-type]
    ]
    for reader in readers:
        reader.start()
    samples: list[Sample] = []
    while process.poll() is None:
        samples.append((time.perf_counter(), resident(process.pid)))
        time.sleep(INTERVAL)
    for reader in readers:
        reader.join()
    if process.returncode != 0:
        raise EvaluationError(b"".join(complaints).decode() or f"rheos run ended with {process.returncode}")
    return [(at, size) for at, size in samples if came and came[0] <= at <= came[-1]]


def parts(samples: Sequence[Sample]) -> list[list[int]]:
    """The sizes in equal parts of the time."""
    if len(samples) < PARTS:
        raise EvaluationError("the run was too short for its memory to be watched; use more --triples")
    start, end = samples[0][0], samples[-1][0]
    sizes: list[list[int]] = [[] for _ in range(PARTS)]
    for at, size in samples:
        sizes[min(PARTS - 1, int((at - start) / (end - start) * PARTS))].append(size)
    if not all(sizes):
        raise EvaluationError("the run was too short for its memory to be watched; use more --triples")
    return sizes


def resident(root: int) -> int:
    """The bytes in memory of a process and of all that it has started."""
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            status = Path("/proc", entry, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has just ended
            continue
        # The name of a process, in parentheses, may hold anything.
        fields = status[status.rindex(")") + 2 :].split()
        children.setdefault(int(fields[1]), []).append(int(entry))
        sizes[int(entry)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += sizes.get(process, 0)
        waiting += children.get(process, [])
    return total
