"""Live: a stream is written to `rheos run` in real time, and the delay of each answer is measured.

An instant is complete when an element with a later time has been written. Its answer is out when its last
line has been read. The delay is the time between the two. The first seconds do not count, as Spark starts and
warms up in them.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import IO

from rheos.answers.continuous import EPOCH, time_text
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, streams
from rheos_bench.passages import Window, different
from rheos_bench.report import Measured, duration, heading, table

WINDOW = Window(10, 1)
QUERIES = 10
TARGET = 1.0
WARM_UP = 30  # seconds of the stream that are not counted
SECONDS = 60
TICK = 0.01  # how often elements are written


def run(folder: Path, settings: Settings) -> None:
    """Print the percentiles of the delay."""
    counted = 10 if settings.quick else SECONDS
    heading(
        f"Live: {streams.PER_SECOND:,} triples a second in real time through standard input, {WINDOW}, "
        f"{QUERIES} queries; {counted} s after {WARM_UP} s of warming up"
    )
    with progress(f"live, for {WARM_UP + counted} s"):
        delays = measured(command(folder), WARM_UP, counted)
    middle, high = percentile(delays, 0.5), percentile(delays, 0.95)
    table(
        [f"delay of {len(delays):,} answers", "time", "target", ""],
        [["50th percentile", duration(middle), "", ""], Measured("95th percentile", high, TARGET).cells],
    )


def command(folder: Path) -> list[str]:
    """`rheos run` with the queries and the static graph. It reads the stream from standard input."""
    files = []
    for at, question in enumerate(different(QUERIES)):
        files.append(folder / f"live{at}.rq")
        files[-1].write_text(question.over(WINDOW, f"live{at}"), encoding="utf-8")
    static = streams.write_static(folder / "live.nt")
    options = ["--stream", f"{streams.STREAM}=-", "--data", str(static), "--format", "ndjson"]
    return [sys.executable, "-m", "rheos", "run", *map(str, files), *options]


def measured(arguments: Sequence[str], warm_up: int, seconds: int) -> list[float]:
    """The delays of all answers of all queries, for so many seconds after the warm-up."""
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    read: dict[tuple[str, str], float] = {}
    complaints: list[bytes] = []
    readers = [
        Thread(target=_read, args=(process.stdout, read), daemon=True),
        Thread(target=complaints.extend, args=(process.stderr,), daemon=True),
    ]
    for reader in readers:
        reader.start()
    complete: dict[str, float] = {}
    try:
        complete = _write(process.stdin, warm_up + seconds)
        process.stdin.close()
        process.wait(timeout=120)
    except BrokenPipeError:
        process.wait(timeout=120)
    finally:
        process.kill()
        for reader in readers:
            reader.join()
    if process.returncode != 0:
        raise EvaluationError(b"".join(complaints).decode() or f"rheos run ended with {process.returncode}")
    first = time_text((streams.START - EPOCH) // timedelta(microseconds=1) + warm_up * 1_000_000)
    return [out - complete[at] for (_, at), out in read.items() if at > first and at in complete]


def _write(stream: IO[bytes], seconds: int) -> dict[str, float]:
    """Write each element at its time. Return when each instant was complete, by the text of the instant."""
    lines = [line.encode() for line in streams.lines(seconds * streams.PER_SECOND)]
    complete: dict[str, float] = {}
    start = (streams.START - EPOCH) // timedelta(microseconds=1)
    began = time.perf_counter()
    written = 0
    while written < len(lines):
        due = min(len(lines), int((time.perf_counter() - began) * streams.PER_SECOND))
        stream.write(b"".join(lines[written:due]))
        stream.flush()
        now = time.perf_counter()
        # After `second * PER_SECOND` elements, the next one is the first that is later than that second.
        for second in range(-(-written // streams.PER_SECOND), -(-due // streams.PER_SECOND)):
            complete[time_text(start + second * 1_000_000)] = now
        written = due
        time.sleep(TICK)
    return complete


def _read(lines: Iterable[bytes], read: dict[tuple[str, str], float]) -> None:
    """Note when the last line of each answer came."""
    for line in lines:
        now = time.perf_counter()
        answer = json.loads(line)
        read[answer["query"], answer["at"]] = now


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that is not below the given part of the values."""
    if not values:
        raise EvaluationError("no answer came in time to be measured")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]
