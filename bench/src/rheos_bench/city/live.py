"""Live: records are pushed to `rheos serve` at their times, and all queries are followed.

The time of an element is that of the clock on the wall, so that the delay of an answer can be told. Records
are moved to the present and made faster; the windows of the queries are those of CityBench.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from rheos.errors import EvaluationError
from rheos_bench import processes
from rheos_bench.city import mappings, material, replay
from rheos_bench.city.clock import NEVER, SECOND, Sent, complete
from rheos_bench.city.published import Query

IDLE = 2.0  # seconds without a record after which a stream is not waited for
PUSHERS = 4  # connections that push
PATIENCE = 120.0
_AT = re.compile(rb'"at":"([^"]+)"')


@dataclass
class Followed:
    """What was seen of a run: what was sent, when the last line of each answer came, and the memory of all
    processes of the server when it was highest, in bytes."""

    queries: Sequence[Query]
    sent: dict[str, Sent] = field(default_factory=dict)
    came: dict[tuple[str, int], float] = field(default_factory=dict)
    memory: int = 0
    accepted: int = 0  # elements

    def delays(self, query: Query, since: int, until: int) -> list[float]:
        """The delays of the answers of a query at the instants of a span, from when each was complete."""
        streams = [self.sent[name] for name in query.streams]
        found = (
            came - complete(streams, at, IDLE)
            for (name, at), came in self.came.items()
            if name == query.name and since <= at < until
        )
        return [delay for delay in found if delay > -NEVER]

    def ages(self, query: Query, since: int, until: int) -> list[float]:
        """How old the instants of a span were when their answers came."""
        return [
            came - at / SECOND
            for (name, at), came in self.came.items()
            if name == query.name and since <= at < until
        ]


def configuration(folder: Path, queries: Sequence[Query]) -> str:
    """The rheos.toml of a server for these queries; mappings and queries become files of a folder."""
    lines = ["port = 0", "[data]", f"default = [{_text(material.default_graph())}]", "[data.graphs]"]
    lines += [f"{_text(iri)} = {_text(path)}" for iri, path in material.static_graphs().items()]
    for name in sorted({name for query in queries for name in query.streams}):
        path = folder / f"{name}.rq"
        path.write_text(mappings.mapping_of(name).text, encoding="utf-8")
        lines += [f"[streams.{name}]", "push = true", f'idle = "{IDLE:.0f}s"', f"mapping = {_text(path)}"]
        lines += [f'time = "field:{mappings.time_field(name)}"', f"iri = {_text(material.SERVICES + name)}"]
    for query in queries:
        path = folder / f"{query.name}.rq"
        path.write_text(query.text, encoding="utf-8")
        lines += [f"[queries.{query.name}]", f"file = {_text(path)}", f'dialect = "{query.language}"']
    return "\n".join(lines)


def _text(value: object) -> str:
    return json.dumps(str(value))


def push(port: int, followed: Followed, pace: replay.Pace, until: int) -> None:
    """Send the records of all streams, each when its time has come."""
    names = {name for query in followed.queries for name in query.streams}
    moved = [pace.moved(stream, until) for name, stream in replay.recorded().items() if name in names]
    due = sorted(
        ((record.time, stream, record) for stream in moved for record in stream.records),
        key=lambda entry: (entry[0], entry[1].name),
    )
    lock = threading.Lock()

    def post(stream: replay.Recorded, record: replay.Record) -> None:
        # A new connection each time: the server ends those that are silent for some seconds.
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        when = time.time()
        body = replay.table(stream.header, [record]).encode()
        connection.request("POST", f"/{stream.name}", body, {"Content-Type": "text/csv"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        if response.status != 202 or answer["bad"]:
            raise EvaluationError(f"{stream.name}: {response.status} {answer}")
        with lock:
            followed.sent.setdefault(stream.name, Sent()).add(record.time, when)
            followed.accepted += answer["accepted"]

    with ThreadPoolExecutor(PUSHERS) as pool:
        for moment, entries in groupby(due, key=lambda entry: entry[0]):
            time.sleep(max(0.0, moment / SECOND - time.time()))
            # The next moment is sent only when this one is: records of a stream stay in order.
            list(pool.map(lambda entry: post(entry[1], entry[2]), list(entries)))
    time.sleep(max(0.0, until / SECOND - time.time()))


def settle(port: int, followed: Followed, quiet: float) -> None:
    """Wait until all elements were read, and then until no answer has come for so many seconds."""
    began = time.time()
    while sum(stream.get("elements", 0) for stream in streams(port)) < followed.accepted:
        if time.time() > began + PATIENCE:
            raise EvaluationError("the server does not read what was pushed to it")
        time.sleep(0.5)
    read = time.time()
    while time.time() < max(followed.came.values(), default=read) + quiet or time.time() < read + quiet:
        time.sleep(0.2)


def late(port: int) -> int:
    """How many elements came too late to be evaluated."""
    return sum(stream.get("late", 0) for stream in streams(port))


def streams(port: int) -> list[dict[str, Any]]:
    """What the server says of its streams."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/streams")
    found: list[dict[str, Any]] = json.loads(connection.getresponse().read())["streams"]
    connection.close()
    return found


@contextmanager
def following(port: int, followed: Followed) -> Iterator[None]:
    """Follow the answers of all queries, in a thread, while a block runs."""
    loop = asyncio.new_event_loop()
    ready = threading.Barrier(2)

    async def run() -> None:
        opened = asyncio.Semaphore(0)
        names = [query.name for query in followed.queries]
        tasks = [loop.create_task(subscribe(port, name, followed, opened)) for name in names]
        for _ in tasks:
            await opened.acquire()
        await loop.run_in_executor(None, ready.wait)
        await asyncio.gather(*tasks)

    task = loop.create_task(run())
    thread = threading.Thread(target=_until_done, args=(loop, task), daemon=True)
    thread.start()
    ready.wait(PATIENCE)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(PATIENCE)


def _until_done(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(task)


async def subscribe(port: int, name: str, followed: Followed, opened: asyncio.Semaphore) -> None:
    """Note when the last line of each answer of a query came, until cancelled."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(f"GET /{name}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await reader.readuntil(b"retry: ")
    opened.release()
    try:
        while line := await reader.readline():
            found = _AT.search(line) if line.startswith(b"data: ") else None
            if found is not None:
                followed.came[name, replay.moment(found[1].decode().removesuffix("Z"))] = time.time()
    finally:
        writer.close()


@contextmanager
def remembering(process: int, followed: Followed) -> Iterator[None]:
    """Look at the memory of a process and of all below it every second, while a block runs."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(1.0):
            followed.memory = max(followed.memory, processes.memory(process).total())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
