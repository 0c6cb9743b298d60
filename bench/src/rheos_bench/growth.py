"""Growth: does the memory of `rheos run` grow while it reads a long stream?

The section `memory` of the benchmarks windows and events. The command runs in a process of its own, and the
memory of all its processes is sampled: of itself, of the JVM and of the Python workers. Only the samples
between the first answer and the last count, so that the start of Spark is not in them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, streams
from rheos_bench.passages import COUNT, Window
from rheos_bench.report import heading, table, verdict
from rheos_bench.watched import Sample, watched

WINDOW = Window(60, 10)
TIMES = 5  # as many triples as in the other measurements
GROWTH = 0.15
PARTS = 5


def run(folder: Path, settings: Settings) -> None:
    """Watch a window of C-SPARQL over a long stream."""
    triples = settings.triples * TIMES
    heading(f"Memory: {triples:,} triples, count per group, {WINDOW}; all processes of rheos run")
    with progress(f"generating {triples:,} triples"):
        path = streams.write_stream(folder / "long.nq", triples)
    query = folder / "count.rq"
    query.write_text(COUNT.over(WINDOW, "count"), encoding="utf-8")
    show(query, streams.STREAM, path)


def show(query: Path, stream: str, path: Path) -> None:
    """Run a query on a stream file and compare the memory in the second fifth of the run with the last."""
    with progress("watching the memory of a long run"):
        command = [sys.executable, "-m", "rheos", "run", str(query), "--stream", f"{stream}={path}"]
        samples = watched(command).between_answers
    fifths = [median(part) for part in parts(samples)]
    growth = fifths[-1] / fifths[1] - 1
    rows = [
        [f"fifth {at} of the run", f"{size / 2**20:,.0f} MB", "", ""] for at, size in enumerate(fifths, 1)
    ]
    rows.append(["last over second", f"{growth:+.1%}", f"± {GROWTH:.0%}", verdict(abs(growth) <= GROWTH)])
    table(["resident memory", "median", "target", ""], rows)


def parts(samples: Sequence[Sample]) -> list[list[int]]:
    """The samples in parts of equal time."""
    if len(samples) < PARTS:
        raise EvaluationError("the run was too short for its memory to be watched; use more --triples")
    start, end = samples[0][0], samples[-1][0]
    sizes: list[list[int]] = [[] for _ in range(PARTS)]
    for at, size in samples:
        sizes[min(PARTS - 1, int((at - start) / (end - start) * PARTS))].append(size)
    if not all(sizes):
        raise EvaluationError("the run was too short for its memory to be watched; use more --triples")
    return sizes
