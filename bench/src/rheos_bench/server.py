"""`rheos bench server`: elements are pushed to `rheos serve` in real time, and subscribers follow the answers
of two queries as Server-Sent Events.

Every element carries the time at which it was sent. A few elements are alarms. A CQELS-QL query reports each
alarm by itself; its delay is the time from the making of the alarm until a subscriber has it. A C-SPARQL
query counts the elements of every second; the delay of a count starts when the first element after that
second was made. Nothing is lost if each subscriber got every alarm once, and counts that add up to all the
elements that the server accepted with 202. The first seconds count for that, but not for the delays, as Spark
starts and warms up in them.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rheos.answers.continuous import time_text
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos.terms import XSD
from rheos_bench import Settings
from rheos_bench.report import Measured, duration, heading, machine, percentile, table, verdict

PER_SECOND = 10_000
BATCHES = 10  # requests a second
ALARMS = 20  # elements a second that are alarms
SUBSCRIBERS = 200
SECONDS, QUICK_SECONDS = 60, 15
WARM_UP = 15
TARGET = 3.0
PATIENCE = 60.0  # seconds to wait for the last answers

MICROSECONDS = 1_000_000
_EX = "http://ex.org/"
CONFIG = f"""
port = 0
[limits]
subscribers = {SUBSCRIBERS + 10}
[streams.readings]
push = true
[queries.alarms]
text = "SELECT ?number WHERE {{ STREAM <readings> [NOW] {{ ?number <{_EX}alarm> ?value }} }}"
[queries.counts]
text = "SELECT (COUNT(*) AS ?n) FROM STREAM <readings> [RANGE 1s STEP 1s] WHERE {{ ?number ?p ?value }}"
"""


@dataclass
class Pushed:
    """What was sent. `alarms` and `completed` say when each alarm, and the first element after each second,
    was made, in seconds since 1970."""

    accepted: int = 0
    requests: list[float] = field(default_factory=list)  # how long each took
    alarms: dict[str, float] = field(default_factory=dict)
    completed: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Heard:
    """What one subscriber got of a query: when each answer came, and how many came twice."""

    query: str
    times: dict[tuple[str, str], float] = field(default_factory=dict)
    twice: int = 0

    def take(self, answer: Mapping[str, Any], now: float) -> None:
        key = answer["at"], next(iter(answer["row"].values()))["value"]
        self.twice += key in self.times
        self.times[key] = now

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(int(value) for _, value in self.times)


def run(settings: Settings) -> None:
    seconds = QUICK_SECONDS if settings.quick else SECONDS
    print(machine())
    heading(
        f"{PER_SECOND:,} elements a second in {BATCHES} requests, {SUBSCRIBERS} subscribers, for {seconds} s "
        f"after {WARM_UP} s of warming up"
    )
    with progress(f"server, for {WARM_UP + seconds} s"), serving(CONFIG) as server:
        pushed, heard = asyncio.run(measured(server.port, WARM_UP + seconds))
    report(pushed, heard, WARM_UP)


def report(pushed: Pushed, heard: Sequence[Heard], warm_up: float) -> None:
    """Print the tables: what was lost, and how long the answers took."""
    alarms = [some for some in heard if some.query == "alarms"]
    counts = [some for some in heard if some.query == "counts"]
    missed = sum(len(pushed.alarms) - len(some.times) for some in alarms)
    uncounted = sum(abs(pushed.accepted - some.total) for some in counts)
    twice = sum(some.twice for some in heard)
    rate = pushed.accepted / pushed.seconds
    kept_up = verdict(rate > 0.99 * PER_SECOND)
    table(
        ["", "", "target", ""],
        [
            ["elements accepted a second", f"{rate:,.0f}", f"{PER_SECOND:,}", kept_up],
            ["elements accepted", f"{pushed.accepted:,}", "", ""],
            ["a request, 95th percentile", duration(percentile(pushed.requests, 0.95)), "", ""],
            ["answers received", f"{sum(len(some.times) for some in heard):,}", "", ""],
            ["alarms that a subscriber did not get", f"{missed:,}", "0", verdict(not missed)],
            ["elements that a count has not", f"{uncounted:,}", "0", verdict(not uncounted)],
            ["answers that came twice", f"{twice:,}", "0", verdict(not twice)],
        ],
    )
    first = min(pushed.alarms.values()) + warm_up
    sent = {"alarms": pushed.alarms, "counts": pushed.completed}
    rows: list[list[str]] = []
    for query, subscribers in (("alarms", alarms), ("counts", counts)):
        key = 1 if query == "alarms" else 0
        delays = [
            now - sent[query][answer[key]]
            for some in subscribers
            for answer, now in some.times.items()
            if sent[query].get(answer[key], 0.0) >= first
        ]
        rows.append([f"{query}: 50th percentile", duration(percentile(delays, 0.5)), "", ""])
        rows.append(Measured(f"{query}: 95th percentile", percentile(delays, 0.95), TARGET).cells)
        rows.append([f"{query}: the longest", duration(max(delays)), "", ""])
    print()
    table(["event to subscriber", "time", "target", ""], rows)


class Serving(NamedTuple):
    """A server: the port on which it listens, the number of its process, and the folder it was started in."""

    port: int
    process: int
    folder: Path


@contextmanager
def serving(config: str, files: Mapping[str, str] | None = None) -> Iterator[Serving]:
    """Run `rheos serve` in a process of its own, in a folder with these files."""
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as name:
        folder = Path(name)
        for file, content in {"rheos.toml": config, **(files or {})}.items():
            (folder / file).write_text(content)
        log = folder / "log"
        with log.open("wb") as errors:
            command = [sys.executable, "-m", "rheos", "serve"]
            process = subprocess.Popen(command, cwd=folder, stderr=errors, start_new_session=True)
        try:
            yield Serving(listening(process, log), process.pid, folder)
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def listening(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + 2 * PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if '"event": "listening"' in line:
                return int(json.loads(line)["port"])
        time.sleep(0.1)
    raise EvaluationError(f"rheos serve did not start: {log.read_text()[-2000:]}")


async def measured(port: int, seconds: int) -> tuple[Pushed, list[Heard]]:
    """Push for so many seconds, then wait for the last answers. Return what was pushed and what was heard."""
    heard = [Heard("alarms" if at % 2 else "counts") for at in range(SUBSCRIBERS)]
    ready = asyncio.Semaphore(0)
    subscribers = [asyncio.create_task(subscribe(port, some, ready)) for some in heard]
    for _ in subscribers:
        await ready.acquire()
    pushed, failures = Pushed(), list[BaseException]()

    def work() -> None:
        try:
            push(port, seconds, pushed)
        except BaseException as error:
            failures.append(error)

    pusher = threading.Thread(target=work, daemon=True)
    pusher.start()
    while pusher.is_alive():
        await asyncio.sleep(0.1)
    if failures:
        raise EvaluationError(f"pushing failed: {failures[0]}")
    deadline = time.monotonic() + PATIENCE
    while not all(complete(some, pushed) for some in heard) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    for task in subscribers:
        task.cancel()
    return pushed, heard


def complete(some: Heard, pushed: Pushed) -> bool:
    return len(some.times) >= len(pushed.alarms) if some.query == "alarms" else some.total >= pushed.accepted


async def subscribe(port: int, heard: Heard, ready: asyncio.Semaphore) -> None:
    """Follow the answers of a query, until cancelled."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(f"GET /{heard.query}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await reader.readuntil(b"retry: ")
    ready.release()
    try:
        while line := await reader.readline():
            if line.startswith(b"data: "):
                heard.take(parsed(line[6:]), time.time())
    finally:
        writer.close()


@lru_cache(10_000)
def parsed(line: bytes) -> Mapping[str, Any]:
    """An answer. All subscribers get the same ones; parsing each only once leaves the processor to the
    server."""
    found: Mapping[str, Any] = json.loads(line)
    return found


def push(port: int, seconds: int, pushed: Pushed) -> None:
    """Push elements at their time, and at the end one more that completes the last second."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Content-Type": "application/n-quads"}

    def send(body: bytes, count: int) -> None:
        began = time.perf_counter()
        connection.request("POST", "/readings", body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 202 or answer["accepted"] != count or answer["bad"]:
            raise EvaluationError(f"{response.status} {answer}")
        pushed.requests.append(time.perf_counter() - began)
        pushed.accepted += count

    size, began, before, number = PER_SECOND // BATCHES, time.time(), 0, 0
    for request in range(seconds * BATCHES):
        time.sleep(max(0.0, began + request / BATCHES - time.time()))
        # All elements of a request are made when it is sent, a microsecond after one another.
        made = max(time.time_ns() // 1000, before + 1)
        body = "".join(element(number + at, made + at, pushed) for at in range(size))
        note_completed(before, made, pushed)
        number, before = number + size, made + size
        send(body.encode(), size)
    pushed.seconds = time.time() - began
    last = before + 2 * MICROSECONDS
    note_completed(before, last, pushed)
    # This last element is in a second that never completes, so nobody counts it.
    send(element(number, last, pushed).encode(), 1)
    pushed.accepted -= 1


def element(number: int, time: int, pushed: Pushed) -> str:
    alarm = number % (PER_SECOND // ALARMS) == 1
    subject = f"{_EX}{number}"
    if alarm:
        pushed.alarms[subject] = time / MICROSECONDS
    kind = "alarm" if alarm else "reading"
    return f'<{subject}> <{_EX}{kind}> "{number % 97}" "{time_text(time)}"^^<{XSD}dateTime> .\n'


def note_completed(before: int, time: int, pushed: Pushed) -> None:
    """Note the seconds that end between two times: they are complete with the element at the second time."""
    if before:
        for second in range(before // MICROSECONDS + 1, (time - 1) // MICROSECONDS + 1):
            pushed.completed[time_text(second * MICROSECONDS)] = time / MICROSECONDS
