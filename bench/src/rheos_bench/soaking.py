"""Soaking: what `rheos bench soak` does to a server, and what it sees of it from outside."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from rheos import processes
from rheos.answers.continuous import time_text
from rheos.errors import EvaluationError
from rheos.terms import XSD
from rheos_bench.server import Serving

REQUESTS = 10  # a second
ALARMS = 100  # every so many elements one is an alarm
SENSORS = 97
VISITORS = 8  # queries that come and go are there at the same time
PAUSE = 1.0  # seconds between two of them
PATIENCE = 60.0
MEGABYTE = 1 << 20

_EX = "http://ex.org/"
_HEAD = f"PREFIX : <{_EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
# A query in each language; {name} is its name and {number} makes it another than the one before.
QUERIES = {
    "csparql": """REGISTER QUERY {name} AS {head} SELECT ?room (COUNT(*) AS ?n)
        FROM STREAM <readings> [RANGE 10s STEP 2s]
        WHERE {{ ?sensor :value ?value . ?sensor :in ?room FILTER (?value >= {number}) }} GROUP BY ?room""",
    "cqels": """{head} SELECT ?made WHERE {{ STREAM <readings> [NOW] {{ :sensor{number} :alarm ?made }} }}""",
    "epsparql": """REGISTER QUERY {name} AS {head} SELECT ?sensor FROM STREAM <readings>
        WHERE {{ {{ ?sensor :alarm ?one }} SEQ {{ ?sensor :alarm ?other }}
        FILTER (?one > {number} && getDURATION() < "PT5S"^^xsd:duration) }}""",
    "rspql": """{head} REGISTER RSTREAM <{name}> AS SELECT (COUNT(*) AS ?n)
        FROM NAMED WINDOW :last ON <readings> [RANGE PT10S STEP PT2S]
        WHERE {{ WINDOW :last {{ ?sensor :value {number} }} }}""",
}
CONFIG = f"""
port = 0
[limits]
kept = {4 << 20}
[data]
default = ["rooms.nt"]
[streams.readings]
push = true
[queries.delays]
text = "PREFIX : <{_EX}> SELECT ?made WHERE {{ STREAM <readings> [NOW] {{ ?sensor :alarm ?made }} }}"
"""
FILES = {
    "rooms.nt": "".join(
        f"<{_EX}sensor{number}> <{_EX}in> <{_EX}room{number % 7}> .\n" for number in range(SENSORS)
    )
}


class Load:
    """Threads that push elements, register and delete queries, and follow answers. A thread that fails ends
    them all; `check` says why."""

    def __init__(self, port: int, per_second: int, stopping: threading.Event) -> None:
        self.port = port
        self.per_second = per_second
        self.pushed = 0
        self.changes = 0
        self.delays: deque[float] = deque(maxlen=10_000)
        self._stopping = stopping
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self._visitors: deque[tuple[str, threading.Thread]] = deque()

    def start(self) -> None:
        for work in (self._push, self._visit, lambda: self._listen("delays", self._heard)):
            self._threads.append(self._thread(work))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)

    def check(self) -> None:
        if self._failure is not None:
            raise EvaluationError(f"the load broke off: {self._failure!r}") from self._failure

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                if not self._stopping.is_set():
                    self._failure = error
                    self._stopping.set()

        thread = threading.Thread(target=guarded, daemon=True, name="soak")
        thread.start()
        return thread

    # --- elements --------------------------------------------------------------------------------------

    def _push(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        size, began, before = self.per_second // REQUESTS, time.time(), 0
        for request in count():
            self._stopping.wait(max(0.0, began + request / REQUESTS - time.time()))
            if self._stopping.is_set():
                break
            made = max(time.time_ns() // 1000, before + 1)
            before = made + size
            body = "".join(element(self.pushed + at, made + at) for at in range(size))
            answer = asked(connection, "POST", "/readings", body, "application/n-quads", 202)
            if answer["accepted"] != size:
                raise EvaluationError(f"not all elements were accepted: {answer}")
            self.pushed += size
        connection.close()

    # --- queries ---------------------------------------------------------------------------------------

    def _visit(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        for number in count():
            if self._stopping.wait(PAUSE):
                break
            dialect, text = list(QUERIES.items())[number % len(QUERIES)]
            name = f"visitor-{number}"
            query = text.format(head=_HEAD, name=name, number=number // len(QUERIES) % SENSORS + 1)
            asked(connection, "PUT", f"/{name}?dialect={dialect}", query, "text/plain", 201)
            self._visitors.append((name, self._thread(partial(self._listen, name))))
            self.changes += 1
            if len(self._visitors) > VISITORS:
                gone, listener = self._visitors.popleft()
                asked(connection, "DELETE", f"/{gone}", "", "text/plain", 204)
                listener.join(PATIENCE)
                if listener.is_alive():
                    raise EvaluationError(f"{gone} was deleted, and its subscriber was not let go")
                self.changes += 1
        connection.close()

    # --- answers ---------------------------------------------------------------------------------------

    def _listen(self, name: str, heard: Callable[[bytes], None] = lambda line: None) -> None:
        """Follow the answers of a query until it is gone, or all ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"/{name}/events")
        response = connection.getresponse()
        while not self._stopping.is_set() and (line := response.readline()):
            if line.startswith(b"data: "):
                heard(line[6:])
        connection.close()

    def _heard(self, line: bytes) -> None:
        made = int(json.loads(line)["row"]["made"]["value"])
        self.delays.append(time.time() - made / 1e6)


@dataclass(frozen=True, slots=True)
class Look:
    """What a server used at a time (seconds since the beginning): memory by role, open files, files in its
    folder and their bytes, the times of the batches since the look before, and how late its answers are."""

    at: float
    memory: dict[str, int]
    open: int
    files: int
    bytes: int
    batches: int
    median: float
    p95: float
    lag: float
    pushed: int
    changes: int

    @property
    def cells(self) -> list[str]:
        memory = [f"{self.memory.get(role, 0) / MEGABYTE:,.0f}" for role in ("driver", "jvm", "workers")]
        seconds = [f"{value:.2f}" for value in (self.median, self.p95, self.lag)]
        size = f"{self.bytes / MEGABYTE:,.1f}"
        numbers = [f"{self.open:,}", f"{self.files:,}", size, f"{self.batches:,}"]
        return [clock(self.at), *memory, *numbers, *seconds, f"{self.pushed:,}", f"{self.changes:,}"]


class Watch:
    """Looks at a server from outside."""

    def __init__(self, server: Serving, load: Load) -> None:
        self._server = server
        self._load = load
        self._batches: list[tuple[float, float]] = []

    def look(self, at: float) -> Look:
        used = processes.by_role(self._server.process)
        before, self._batches = self._batches, batches(self._server.port)
        since = difference(before, self._batches)
        delays = [self._load.delays.popleft() for _ in range(len(self._load.delays))]
        files, size = size_of(self._server.folder / "rheos-state")
        return Look(
            at,
            {role: use.memory for role, use in used.items()},
            sum(use.files for use in used.values()),
            files,
            size,
            round(since[-1][1]) if since else 0,
            quantile(since, 0.5),
            quantile(since, 0.95),
            max(delays, default=0.0),
            self._load.pushed,
            self._load.changes,
        )


def element(number: int, made: int) -> str:
    """An element: a reading of a sensor or, now and then, an alarm that says when it was made."""
    subject, time = f"{_EX}sensor{number % SENSORS}", f'"{time_text(made)}"^^<{XSD}dateTime>'
    if number % ALARMS == 0:
        return f'<{subject}> <{_EX}alarm> "{made}"^^<{XSD}integer> {time} .\n'
    return f'<{subject}> <{_EX}value> "{number % 101}"^^<{XSD}integer> {time} .\n'


def asked(
    connection: http.client.HTTPConnection, method: str, path: str, body: str, kind: str, expected: int
) -> dict[str, int]:
    """What a server answers to a request, which must have the expected status."""
    connection.request(method, path, body.encode(), {"Content-Type": kind})
    response = connection.getresponse()
    content = response.read()
    if response.status != expected:
        raise EvaluationError(f"{method} {path}: {response.status} {content.decode()[:500]}")
    with suppress(ValueError):
        found: dict[str, int] = json.loads(content)
        return found
    return {}


def batches(port: int) -> list[tuple[float, float]]:
    """How many batches took at most so many seconds, by these seconds, as a server counts them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = re.findall(r'^rheos_batch_seconds_bucket\{le="([^"]+)"\} (\S+)$', text, re.MULTILINE)
    return [(float(bound), float(number)) for bound, number in found]


def difference(
    before: Sequence[tuple[float, float]], after: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    known = dict(before)
    return [(bound, number - known.get(bound, 0.0)) for bound, number in after]


def quantile(buckets: Sequence[tuple[float, float]], part: float) -> float:
    """About the time that a part of the batches did not exceed: between two bounds, as if they lay evenly."""
    total = buckets[-1][1] if buckets else 0.0
    if not total:
        return 0.0
    at = bisect_left([number for _, number in buckets], part * total)
    low, below = buckets[at - 1] if at else (0.0, 0.0)
    high, number = buckets[at]
    if high == float("inf"):
        return low
    return low + (high - low) * (part * total - below) / (number - below)


def clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def size_of(folder: Path) -> tuple[int, int]:
    """The files below a folder and their bytes; those that go meanwhile do not count."""
    count = size = 0
    for path in folder.rglob("*"):
        try:
            found = path.stat()
        except OSError:
            continue
        if path.is_file():
            count, size = count + 1, size + found.st_size
    return count, size
