"""`rheos bench soak`: a server runs for minutes or hours, and nothing that it uses may grow.

Two thousand elements a second are pushed to `rheos serve` in a process of its own. Queries of all four
languages come and go all the time, each with a subscriber for as long as it is there; some stay. Now and then
a line says what the server uses, and the end says of each figure how it changed in an hour: a line is fitted
to what was seen after the first third, when windows are full and the JVM has taken what it wants.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from statistics import median

from rheos.errors import EvaluationError
from rheos_bench import Settings, soaking
from rheos_bench.report import heading, machine, table, verdict
from rheos_bench.server import Serving, serving
from rheos_bench.soaking import MEGABYTE, Look, clock

PER_SECOND = 2000
MINUTES, QUICK_MINUTES = 5.0, 0.5
LINES = 30  # of the table, about
LEAST_INTERVAL = 5.0  # seconds between two lines
SETTLING = 1 / 3  # of the run, which is not judged
# In this part of the run it may grow by so much, by its size at the beginning of what is judged.
FLAT = {"driver": 0.05, "jvm": 0.10, "workers": 0.10, "open": 0.05, "files": 0.10, "bytes": 0.10}
HOUR = 3600.0


COLUMNS = ["time", "driver", "JVM", "workers", "open", "files", "MB", "batches"]
COLUMNS += ["median s", "p95 s", "lag s", "pushed", "changes"]


@dataclass
class Course:
    """A run: its looks so far, and the threads that push, register and listen."""

    server: Serving
    per_second: int
    looks: list[Look] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float, interval: float) -> list[Look]:
        """Watch for so long, and print a line at each look."""
        load = soaking.Load(self.server.port, self.per_second, self.stopping)
        load.start()
        began = time.monotonic()
        watch = soaking.Watch(self.server, load)
        try:
            print_line(COLUMNS)
            while (left := began + seconds - time.monotonic()) > 0:
                self.stopping.wait(min(interval, left))
                load.check()
                look = watch.look(time.monotonic() - began)
                self.looks.append(look)
                print_line(look.cells)
        finally:
            self.stopping.set()
            load.join()
        load.check()
        return self.looks


def run(settings: Settings) -> None:
    minutes = settings.minutes or (QUICK_MINUTES if settings.quick else MINUTES)
    seconds = minutes * 60
    interval = max(min(LEAST_INTERVAL, seconds / 6), seconds / LINES)
    print(machine())
    heading(
        f"{PER_SECOND:,} elements a second for {minutes:g} minutes; queries of four languages come and go. "
        "Memory in megabytes; `files` and `MB` are those of the server's folder"
    )
    with serving(soaking.CONFIG, soaking.FILES) as server:
        looks = Course(server, PER_SECOND).run(seconds, interval)
    report(looks)


def report(looks: list[Look]) -> None:
    """Print how each figure changed in an hour, and whether that is flat."""
    judged = [look for look in looks if look.at >= looks[-1].at * SETTLING]
    if len(judged) < 3:
        raise EvaluationError("the run was too short to be judged; give it more --minutes")
    figures: dict[str, list[float]] = {
        role: [look.memory.get(role, 0) for look in judged] for role in ("driver", "jvm", "workers")
    }
    figures |= {
        "open": [look.open for look in judged],
        "files": [look.files for look in judged],
        "bytes": [look.bytes for look in judged],
    }
    names = {"jvm": "memory of the JVM", "open": "open files", "files": "files", "bytes": "bytes in files"}
    times = [look.at for look in judged]
    rows = []
    for name, values in figures.items():
        growth, grew = slope(times, values), change(times, values)
        unit = MEGABYTE if name in ("driver", "jvm", "workers", "bytes") else 1
        kind = "MB" if unit > 1 else ""
        rows.append(
            [
                names.get(name, f"memory of the {name}"),
                f"{values[0] / unit:,.1f} {kind}".strip(),
                f"{values[-1] / unit:,.1f} {kind}".strip(),
                f"{growth * HOUR / unit:+,.1f} {kind}".strip(),
                f"{grew:+.1%}",
                f"{FLAT[name]:.0%}",
                verdict(grew <= FLAT[name]),
            ]
        )
    span = clock(times[-1] - times[0])
    print()
    table([f"in the last {span}", "first", "last", "in an hour", "grew by", "at most", ""], rows)
    worst = max(look.lag for look in judged)
    usual = median(look.median for look in judged)
    print()
    table(
        ["batches", ""],
        [
            ["median of the medians", f"{usual:.2f} s"],
            ["95th percentile, the longest", f"{max(look.p95 for look in judged):.2f} s"],
            ["the longest lag", f"{worst:.2f} s"],
            ["elements pushed", f"{looks[-1].pushed:,}"],
            ["queries registered and deleted", f"{looks[-1].changes:,}"],
        ],
    )


def slope(times: list[float], values: list[float]) -> float:
    """By how much values grow in a second: the line with the least squares."""
    middle, mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    if not spread:
        return 0.0
    return sum((at - middle) * (value - mean) for at, value in zip(times, values, strict=True)) / spread


def change(times: list[float], values: list[float]) -> float:
    """By which part of its size a figure grew along that line, from the first time to the last."""
    grown = slope(times, values) * (times[-1] - times[0])
    start = sum(values) / len(values) - grown / 2
    return grown / start if start > 0 else 0.0


def print_line(cells: list[str]) -> None:
    """A line of the table: it is printed when it is known, so its width is given."""
    print("  ".join(f"{cell:>8}" for cell in cells), flush=True)
