"""`rheos bench state`: what a batch writes and takes should follow from what came, not from what is live.

A query counts per group in a window that slides by a second. A fast replay fills the window. Then the stream
goes on with one second of elements at a time, each a batch of its own. The benchmark notes what each of these
batches wrote under the checkpoint folder, and how long it took. It does so with a small window and with a
large one; both get the same elements in a batch, so a good engine shows a ratio of about 1.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean, median

from rheos import Engine
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, processes, streams
from rheos_bench.passages import COUNT, Window
from rheos_bench.report import duration, heading, machine, table, verdict

SMALL = 10  # seconds: the range of the small window
WARM_UP = 10  # live batches that do not count
BATCHES, QUICK_BATCHES = 30, 5
TIMES_SMALL = 1.5  # how many times as much a batch of the large window may write, or take
PATIENCE = 600.0  # seconds for one step
LOOK = 0.005  # seconds between two looks at how far the engine is

Files = dict[str, tuple[int, int, int]]  # of each path: inode, size, time of the last change


@dataclass(frozen=True, slots=True)
class Batch:
    """What one second of elements cost: bytes written under the checkpoint folder, bytes that all processes
    sent to the disk, the seconds until it was done, and those of them that the query was evaluated."""

    files: int
    disk: int
    seconds: float
    evaluation: float


def run(settings: Settings) -> None:
    """The table."""
    large = max(SMALL, settings.live // streams.PER_SECOND)
    number = QUICK_BATCHES if settings.quick else BATCHES
    heading(machine())
    heading(
        f"State: {streams.PER_SECOND:,} elements in a batch, count per group, windows that slide by 1 s; "
        f"means and medians of {number} batches after the window is full"
    )
    rows, found = [], list[list[Batch]]()
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        for seconds in (SMALL, large):
            place = Path(folder, str(seconds))
            batches = measured(place, Window(seconds, 1), number)
            found.append(batches)
            rows.append([f"{seconds * streams.PER_SECOND:,} live elements", *cells(batches)])
    columns = [
        "",
        "written, mean",
        "the most",
        "to disk, mean",
        "a batch, median",
        "the longest",
        "evaluation",
    ]
    table(columns, rows)
    print()
    small, big = found
    table(
        [f"{large:,} s over {SMALL} s", "ratio", "target", ""],
        [
            compared("bytes written", mean(b.files for b in small), mean(b.files for b in big)),
            compared("time of a batch", median(b.seconds for b in small), median(b.seconds for b in big)),
        ],
    )


def compared(what: str, small: float, big: float) -> list[str]:
    ratio = big / small
    return [what, f"{ratio:.2f}", f"≤ {TIMES_SMALL:g}", verdict(ratio <= TIMES_SMALL)]


def cells(batches: list[Batch]) -> list[str]:
    return [
        kilobytes(mean(batch.files for batch in batches)),
        kilobytes(max(batch.files for batch in batches)),
        kilobytes(mean(batch.disk for batch in batches)),
        duration(median(batch.seconds for batch in batches)),
        duration(max(batch.seconds for batch in batches)),
        duration(median(batch.evaluation for batch in batches)),
    ]


def kilobytes(size: float) -> str:
    return f"{size / 1024:,.0f} kB"


def measured(place: Path, window: Window, number: int) -> list[Batch]:
    """Fill a window, then go on by single seconds; what so many of these cost."""
    source, checkpoint = place / "stream", place / "checkpoint"
    source.mkdir(parents=True)
    filled = window.range * streams.PER_SECOND
    lines = streams.lines(filled + (WARM_UP + number) * streams.PER_SECOND)
    with Engine(checkpoint=checkpoint) as engine:
        # Event time may be ahead of the clock on the wall: it starts where the generator says.
        engine.add_stream(streams.STREAM, str(source), follow=True, ahead=None)
        engine.register(COUNT.over(window, "count"), name="count", keep=0)
        with progress(f"filling a window with {filled:,} elements"):
            appear(source / "000000.nq", islice(lines, filled))
            engine.start()
            wait_for(engine, filled)
        found = []
        with progress(f"{WARM_UP + number} live batches, {filled:,} elements in the window"):
            for at in range(1, WARM_UP + number + 1):
                before, disk = files_of(checkpoint), processes.written(os.getpid())
                appear(source / f"{at:06}.nq", islice(lines, streams.PER_SECOND))
                began = time.perf_counter()
                wait_for(engine, filled + at * streams.PER_SECOND)
                seconds = time.perf_counter() - began
                quiet(checkpoint)
                evaluation = engine.metrics.queries["count"].milliseconds or 0.0
                changed = bytes_changed(before, files_of(checkpoint))
                sent = max(0, processes.written(os.getpid()) - disk)
                found.append(Batch(changed, sent, seconds, evaluation / 1000))
        engine.stop()
    return found[WARM_UP:]


def appear(path: Path, lines: Iterator[str]) -> None:
    """Write a file under a name that no source reads, then give it its own: it is there as a whole."""
    hidden = path.with_name(f".{path.name}")
    with open(hidden, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(lines)
    hidden.rename(path)


def wait_for(engine: Engine, elements: int) -> None:
    """Until the engine has done with so many elements of the stream."""
    deadline = time.monotonic() + PATIENCE
    while (metrics := engine.metrics.streams.get(streams.STREAM)) is None or metrics.read < elements:
        if time.monotonic() > deadline:
            raise EvaluationError(f"the stream did not come to element {elements:,} in {PATIENCE:g} s")
        time.sleep(LOOK)


def quiet(folder: Path, seconds: float = 0.3) -> None:
    """Until nothing has changed in a folder for a moment: a batch is committed after its answers are out."""
    known, since = files_of(folder), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(seconds / 3)
        now = files_of(folder)
        if now != known:
            known, since = now, time.monotonic()


def files_of(folder: Path) -> Files:
    """The files below a folder, as they are now."""
    found: Files = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                status = os.stat(path)
            except FileNotFoundError:  # it was removed meanwhile
                continue
            found[path] = status.st_ino, status.st_size, status.st_mtime_ns
    return found


def bytes_changed(before: Files, after: Files) -> int:
    """The bytes written between two looks: of a file that is new or written anew all of it, of one that has
    grown what was added. What came and went between the looks is not seen."""
    total = 0
    for path, (inode, size, changed) in after.items():
        was_inode, was_size, was_changed = before.get(path, (-1, 0, 0))
        if inode != was_inode:
            total += size
        elif changed != was_changed:
            total += size - was_size if size > was_size else size
    return total
