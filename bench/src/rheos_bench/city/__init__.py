"""`rheos bench city`: the queries of CityBench, all at once, at 1, 10 and 100 times the speed of the city.

The streams, the static data and the queries are read from `../shared/citybench`; where they are missing, one
sentence says so. Published figures of other engines stand below the measured ones, as quotations.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rheos.cli.progress import progress
from rheos_bench import Settings
from rheos_bench.city import live, material, quoted, replay
from rheos_bench.city.clock import SECOND
from rheos_bench.city.live import Followed
from rheos_bench.city.published import LANGUAGES, NUMBERS, queries
from rheos_bench.memory import megabytes
from rheos_bench.report import duration, heading, machine, percentile, table
from rheos_bench.server import Serving, serving

# How many seconds each speed is measured. At the speed of the city most sensors speak once in five minutes:
# all do so at the beginning.
SPEEDS = {1: 30, 10: 45, 100: 60}
QUICK_SECONDS = 15
WARM_UP = 15  # seconds at the highest speed, which are not measured
ROUNDS = 8  # of warming up, at most: until one is answered
BETWEEN = 10.0  # seconds without an answer, after which no more is waited for
NAMES = {"csparql": "C-SPARQL", "cqels": "CQELS-QL", "rspql": "RSP-QL"}


def run(settings: Settings) -> None:
    missing = material.missing()
    if missing is not None:
        print(f"city: {missing}; it is left out")
        return
    print(machine())
    asked = queries()
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as name:
        config = live.configuration(Path(name), asked)
        with serving(config) as server:
            followed = Followed(asked)
            with live.following(server.port, followed):
                warm_up(server, followed)
                for speed, seconds in SPEEDS.items():
                    if settings.wants(f"{speed}x"):
                        length = QUICK_SECONDS if settings.quick else seconds
                        span = replayed(server, followed, speed, length)
                        report(followed, speed, span)
            late = live.late(server.port)
    print(f"\nelements that came too late: {late:,}")
    quotations()


def warm_up(server: Serving, followed: Followed) -> None:
    """Replay until the server answers: Spark has to start, and statements have to be planned."""
    for _ in range(ROUNDS):
        since, until = replayed(server, followed, max(SPEEDS), WARM_UP)
        if any(since <= at < until for _, at in followed.came):
            return


def replayed(server: Serving, followed: Followed, speed: int, seconds: int) -> tuple[int, int]:
    """Replay the city for so many seconds. Returns from when until when, in microseconds."""
    start = (time.time_ns() // 1_000_000_000 + 2) * SECOND
    until = start + seconds * SECOND
    followed.memory = 0
    doing = f"the city at {speed} times its speed, for {seconds} s"
    with progress(doing), live.remembering(server.process, followed):
        live.push(server.port, followed, replay.Pace(start, speed, replay.origins()), until)
        live.settle(server.port, followed, BETWEEN)
    return start, until


def report(followed: Followed, speed: int, span: tuple[int, int]) -> None:
    """Print the delays at one speed."""
    seconds = (span[1] - span[0]) // SECOND
    heading(
        f"{speed} times the speed of the city, {seconds} s, {len(followed.queries)} queries at once: from "
        f"when an instant is complete until its answer is there; median, 95th percentile"
    )
    rows: list[list[str]] = [[f"Q{number}"] for number in NUMBERS]
    totals = [["all"], [f"all, with the {live.IDLE:.0f} s for silent sensors"], ["answers"]]
    for language in LANGUAGES:
        own = [query for query in followed.queries if query.language == language]
        delays = {query.number: followed.delays(query, *span) for query in own}
        every = [delay for some in delays.values() for delay in some]
        ages = [age for query in own for age in followed.ages(query, *span)]
        for row, number in zip(rows, NUMBERS, strict=True):
            row.append(told(delays[number]))
        for row, cell in zip(totals, (told(every), told(ages), f"{len(every):,}"), strict=True):
            row.append(cell)
    table(["", *(NAMES[language] for language in LANGUAGES)], [*rows, *totals])
    print(f"\nmemory of all processes, at the most: {megabytes(followed.memory)}", flush=True)


def told(delays: Sequence[float]) -> str:
    """Two percentiles as text; none where there are no answers."""
    if not delays:
        return "none"
    return f"{duration(percentile(delays, 0.5))}, {duration(percentile(delays, 0.95))}"


def quotations() -> None:
    """Print what others have published."""
    heading(
        f"As a quotation, from {quoted.SOURCE}: one query at a time, an observation a second from each, "
        f"from the observation until its result; of the means of 15 minutes the median, the highest; memory"
    )
    rows = []
    for number in NUMBERS:
        found = [engine.get(number) for engine in (quoted.CSPARQL_ENGINE, quoted.CQELS)]
        rows.append([f"Q{number}", *("not published" if one is None else cited(one) for one in found)])
    table(["", "C-SPARQL engine", "CQELS"], rows)


def cited(one: quoted.Quoted) -> str:
    return f"{duration(one.median / 1000)}, {duration(one.highest / 1000)}; {one.memory:,.0f} MB"
