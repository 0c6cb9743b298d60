"""Watched: a command runs in a process of its own; its memory and its lines of output are noted."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread

from rheos.errors import EvaluationError
from rheos_bench import processes

INTERVAL = 0.2  # seconds between two samples

Sample = tuple[float, int]  # the time, and the bytes of all processes at that time


@dataclass
class Watched:
    """What was seen of a command: samples of its memory, and when each line of its output came."""

    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    came: list[float] = field(default_factory=list)
    last: list[bytes] = field(default_factory=list)  # lines of output, the newest at the end
    peak: Counter[str] = field(default_factory=Counter)  # by program, when all together had most

    @property
    def between_answers(self) -> list[Sample]:
        """The samples between the first line of output and the last."""
        return [sample for sample in self.samples if self.came and self.came[0] <= sample[0] <= self.came[-1]]


def watched(arguments: Sequence[str], keep: int = 0) -> Watched:
    """Run a command to its end. The last `keep` lines of its output are kept."""
    seen = Watched()
    complaints: list[bytes] = []
    began = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                seen.came.append(time.perf_counter())
                seen.last.append(line)
                if len(seen.last) > 2 * keep:
                    del seen.last[: len(seen.last) - keep]

        readers = [
            Thread(target=read, daemon=True),
            Thread(target=lambda: complaints.extend(process.stderr or ()), daemon=True),
        ]
        for reader in readers:
            reader.start()
        while process.poll() is None:
            memory = processes.memory(process.pid)
            seen.samples.append((time.perf_counter(), memory.total()))
            if memory.total() > seen.peak.total():
                seen.peak = memory
            time.sleep(INTERVAL)
        for reader in readers:
            reader.join()
    seen.seconds = time.perf_counter() - began
    del seen.last[: len(seen.last) - keep]
    if process.returncode != 0:
        command = " ".join(arguments[:4])
        raise EvaluationError(b"".join(complaints).decode() or f"{command} ended with {process.returncode}")
    return seen
