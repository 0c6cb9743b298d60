"""Delays: a stream is written to a process in real time, and the delay of each of its answers is measured.

An instant is complete when an element with a later time has been written. Its answer is out when its last
line has been read. The delay is the time between the two. Elements that only fill a long window are written
before, as fast as they are taken. The first seconds after that do not count, as Spark starts and warms up in
them.
"""

from __future__ import annotations

import json
import subprocess
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from threading import Thread
from typing import IO

from rheos.errors import EvaluationError
from rheos_bench import streams

TICK = 0.01  # how often elements are written
PATIENCE = 300.0  # seconds until the process has ended
FILLING = 1800.0  # seconds until a window is filled: CQELS-QL answers at each of millions of elements
_PIECE = 10_000  # lines that are written at once to fill a window


@dataclass
class Written:
    """How many elements were written so far, each time that some were, and when that was."""

    counts: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)

    def note(self, count: int) -> None:
        self.counts.append(count)
        self.moments.append(time.perf_counter())

    def complete(self, at: int) -> float | None:
        """When a time was complete, in microseconds after the start of the stream; None if it never was."""
        later = at * streams.PER_SECOND // 1_000_000 + 1  # the number of the first element that is later
        found = bisect_left(self.counts, later)
        return self.moments[found] if found < len(self.counts) else None


@dataclass
class Read:
    """When the last line of each answer was read, by query and time, and the highest time of all."""

    moments: dict[tuple[str, int], float] = field(default_factory=dict)
    high: int = -1

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            now = time.perf_counter()
            answer = json.loads(line)
            at = after_start(answer["at"])
            self.moments[answer["query"], at] = now
            self.high = max(self.high, at)


@dataclass(frozen=True, slots=True)
class Live:
    """A measurement: so many seconds of the stream fill windows, so many more are not counted, and then so
    many are."""

    fill: int
    warm_up: int
    counted: int
    lines: Callable[[int], Iterator[str]] = streams.lines

    def delays(self, command: Sequence[str]) -> list[float]:
        """The delays of all the answers that a process gives while the counted seconds are written to it."""
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        written, read, complaints = Written(), Read(), list[bytes]()
        readers = [
            Thread(target=read.take, args=(process.stdout,), daemon=True),
            Thread(target=complaints.extend, args=(process.stderr,), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            self._write(process.stdin, written, read, process)
            process.stdin.close()
            process.wait(PATIENCE)
        except BrokenPipeError:
            process.wait(PATIENCE)
        finally:
            process.kill()
            for reader in readers:
                reader.join()
        if process.returncode != 0:
            raise EvaluationError(b"".join(complaints).decode() or f"it ended with {process.returncode}")
        first = (self.fill + self.warm_up) * 1_000_000
        done = ((out, written.complete(at)) for (_, at), out in read.moments.items() if at > first)
        return [out - complete for out, complete in done if complete is not None]

    def _write(
        self, stream: IO[bytes], written: Written, read: Read, process: subprocess.Popen[bytes]
    ) -> None:
        """Write each element at its time, once the windows are full."""
        total = (self.fill + self.warm_up + self.counted) * streams.PER_SECOND
        lines = (line.encode() for line in self.lines(total))
        count = self._fill(stream, lines, read, process)
        began, first = time.perf_counter(), count
        while count < total:
            due = min(total, first + int((time.perf_counter() - began) * streams.PER_SECOND))
            stream.write(b"".join(islice(lines, due - count)))
            stream.flush()
            count = due
            written.note(count)
            time.sleep(TICK)

    def _fill(
        self, stream: IO[bytes], lines: Iterator[bytes], read: Read, process: subprocess.Popen[bytes]
    ) -> int:
        """Fill the windows, and wait until their answers are out."""
        count = 0
        while count < self.fill * streams.PER_SECOND:
            stream.write(b"".join(islice(lines, _PIECE)))
            count += _PIECE
        stream.flush()
        until = time.monotonic() + FILLING
        while count and read.high < (self.fill - 1) * 1_000_000 and process.poll() is None:
            if time.monotonic() > until:
                raise EvaluationError(f"the window was not filled within {FILLING:.0f} s")
            time.sleep(TICK)
        return count


@lru_cache(maxsize=1000)
def after_start(at: str) -> int:
    """A time as microseconds after the start of the stream."""
    return (datetime.fromisoformat(at) - streams.START) // timedelta(microseconds=1)
