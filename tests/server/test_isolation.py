"""A server whose queries, clients and requests misbehave: it goes on for all the others."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from rheos import memory
from rheos.answers.continuous import Answer
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.server.config import Config, StreamConfig
from rheos.server.limits import Limits
from tests.conftest import java_is_missing
from tests.runtime.streams import EX, NEW_YEAR, lines
from tests.server.city import City, wait
from tests.server.conftest import client, serving
from tests.server.test_restart import Child, life

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = 3.0
SECONDS = 30  # for which elements are pushed
EVERY = 1000  # elements a second
MANY = 900  # patterns: not refused, and planned for longer than any limit here
STREAM = "http://streams.test/s"
BASE = "http://streams.test/"


def windowed(where: str, head: str = "SELECT (COUNT(*) AS ?n)") -> str:
    return f"PREFIX : <{EX}> {head} FROM STREAM <s> [RANGE 2s STEP 1s] WHERE {{ {where} }}"


JOINED = "SELECT ?s (COUNT(?o) AS ?n)"
GOOD = {f"count-{n}": windowed(f"?s :p ?o FILTER(?o != :o{n})") for n in range(8)}
GOOD |= {f"join-{n}": f"{windowed(f'?s :p ?o . ?s :q :o{n}', JOINED)} GROUP BY ?s" for n in range(4)}
GOOD |= {
    f"new-{n}": f"PREFIX : <{EX}> SELECT ?s WHERE {{ STREAM <s> [NOW] {{ ?s :q :o{n} }} }}" for n in range(3)
}
BAD = {
    "fails-to-plan": windowed('?s :p ?o FILTER(REGEX(STR(?o), "((a{100}){100}){100}"))'),
    "plans-for-ever": windowed(" . ".join(f"?s :p ?o{n}" for n in range(MANY))),
    "runs-for-ever": windowed(
        " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6)) + " FILTER(STR(?a0) = STR(?b5))"
    ),
    "takes-memory": windowed(" . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(3)), "SELECT *"),
    "raises": windowed("?s :p ?o"),
}
REASONS = {
    "fails-to-plan": "DuckDB could not run the query: Invalid Input Error",
    "plans-for-ever": "it took longer than 3 s, and was stopped",
    "runs-for-ever": "it took longer than 3 s, and was stopped",
    "raises": "DuckDB could not run the query: Invalid Input Error: a bug of ours",
}


def second(number: int) -> str:
    """The elements of a second: of a few things, so that joins have something to find."""
    step = 1 / EVERY
    return lines(
        (f"s{at % 10}", "q" if at % 5 == 0 else "p", f"o{at % 7}", number + at * step) for at in range(EVERY)
    )


class Seen:
    """What the good queries answered, and how long after the element that made it possible."""

    def __init__(self) -> None:
        self.pushed: dict[int, float] = {}  # when the elements of a second were
        self.answers: dict[tuple[str, float], list[str]] = {}
        self.waits: list[float] = []

    def subscribe(self, city: City, name: str) -> None:
        city.host.queries[name].handle.subscribe(lambda answer: self.note(name, answer))  # type: ignore[union-attr]

    def note(self, name: str, answer: Answer) -> None:
        at = answer.at.timestamp() - NEW_YEAR
        if at > SECONDS - 2:
            return  # the last second may be answered or not, before the server ends
        self.answers[name, at] = sorted(map(str, answer.rows or ()))
        completed = self.pushed.get(int(at + 1 / EVERY))  # with the first element after it
        if completed is not None:
            self.waits.append(time.monotonic() - completed)


def run(city: City, bad: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Push for a while, with queries that misbehave or without them."""
    seen = Seen()
    for name, text in GOOD.items():
        assert city.put(name, text).status_code == 201, name
        seen.subscribe(city, name)
    city.push("s", second(0))
    city.push("s", second(1))
    wait(lambda: len({name for name, _ in seen.answers}) == len(GOOD), "the first answers")
    began = time.monotonic()
    for number in range(2, SECONDS):
        if number == 4:
            # Most of them would be refused: here they are not tried out before.
            with monkeypatch.context() as patch:
                patch.setattr("rheos.runtime.driver.service.rehearse", lambda *_: None)
                for name, text in bad.items():
                    assert city.put(name, text).status_code == 201, name
            if bad:
                break_statement(city, "raises")
        time.sleep(max(0.0, began + number - time.monotonic()))
        seen.pushed[number] = time.monotonic()
        city.push("s", second(number))
    wait(
        lambda: all((name, float(SECONDS - 2)) in seen.answers for name in GOOD if name[0] != "n"), "the last"
    )
    return seen


def break_statement(city: City, name: str) -> None:
    """Give a query a statement that the compiler would never make."""
    handle = city.host.queries[name].handle
    assert handle is not None
    operator = handle.registered.operator
    assert isinstance(operator, CSparqlOperator)
    statement = replace(operator.statement, sql="SELECT error('a bug of ours') AS instant, 0 AS at, '' AS n")
    handle.registered = replace(handle.registered, operator=replace(operator, statement=statement))
    city.host.engine.streaming.registry.resolve()  # plans are made anew


@pytest.mark.slow
@pytest.mark.alone
def test_of_twenty_queries_five_misbehave(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "of_task", lambda *_: 400 << 20)

    def config(name: str) -> Config:
        limits = Limits(evaluation=LIMIT)
        return Config(port=0, base=BASE, state=tmp_path / name, streams=(StreamConfig("s"),), limits=limits)

    with life(config("well"), spark) as city:
        well = run(city, {}, monkeypatch)
    with life(config("ill"), spark) as city:
        ill = run(city, BAD, monkeypatch)
        wait(lambda: all(city.query(name)["error"] for name in BAD), "every reason")
        errors = {name: city.query(name)["error"] for name in BAD}
        health = city.http.get("/health").json()
        with city.events("raises", "0") as events:
            last = next(events)
        page = city.http.get("/page/raises").status_code
    assert ill.answers == well.answers
    print(f"waits at the most {max(well.waits):.1f} s without them, {max(ill.waits):.1f} s with them")
    # Two seconds after the limit, beside what an answer takes anyway; on a slow machine longer in proportion.
    usual = max(0.5, max(well.waits))
    assert max(ill.waits) < (LIMIT + 2) * max(1.0, usual) + 2 * usual
    for name, reason in REASONS.items():
        assert errors[name].startswith(reason), errors[name]
    assert "memory" in errors["takes-memory"].lower() or "it took longer" in errors["takes-memory"]
    assert health["status"] == "degraded"
    assert all(name in json.dumps(health) for name in BAD)
    assert last["event"] == "failed"
    assert json.loads(last["data"])["failure"] == errors["raises"]
    assert page == 200

    # They stay stopped, with their reasons.
    with life(config("ill"), spark) as city:
        found = {name: city.query(name) for name in (*BAD, "count-0")}
        assert {name: query["error"] for name, query in found.items() if name in BAD} == errors
        assert not any(found[name]["running"] for name in BAD)
        assert found["count-0"]["running"]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server with some static data, no streams, and little patience."""
    folder = tmp_path_factory.mktemp("busy")
    data = "".join(f"<{EX}{n % 50}> <{EX}p{n % 7}> <{EX}{n * 7 % 50}> .\n" for n in range(1000))
    (folder / "data.nt").write_text(data)
    limits = Limits(evaluation=8.0, at_once=2)
    yield from serving(Config(port=0, state=folder / "state", data=(str(folder / "data.nt"),), limits=limits))


PRODUCT = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6)) + " FILTER(STR(?a0) = STR(?b5))"
ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {PRODUCT} }}"


def star(count: int) -> str:
    return f"SELECT * {{ {' . '.join(f'?s <{EX}p{n % 7}> ?o{n}' for n in range(count))} }}"


@contextmanager
def asked(http: httpx.Client, text: str) -> Iterator[socket.socket]:
    """A request that is sent, and whose client goes when the block ends."""
    with socket.create_connection((http.base_url.host, http.base_url.port or 80)) as connection:
        body = text.encode()
        head = f"POST /sparql HTTP/1.1\r\nHost: {http.base_url.host}:{http.base_url.port}\r\n"
        head += f"Content-Type: application/sparql-query\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        yield connection


def test_more_requests_than_can_be_answered_are_told_to_come_back(busy: httpx.Client) -> None:
    def ask() -> httpx.Response:
        return busy.get("/sparql", params={"query": "ASK {}"})

    with ExitStack() as clients:
        for _ in range(2):
            clients.enter_context(asked(busy, ENDLESS))
        wait(lambda: ask().status_code == 503, "all places are taken")
        response = ask()
        assert response.headers["Retry-After"] == "1"
        assert response.json()["title"] == "The server is busy"
    # They have gone: nobody waits for what they wanted.
    began = time.monotonic()
    wait(lambda: ask().status_code == 200, "a place is free")
    assert time.monotonic() - began < 10


@pytest.mark.slow
def test_what_takes_too_long_says_so(busy: httpx.Client) -> None:
    began = time.monotonic()
    for text, detail in [(ENDLESS, "it took longer than 8 s"), (star(MANY), "it took longer than 8 s")]:
        response = busy.post("/sparql", content=text, headers={"Content-Type": "application/sparql-query"})
        assert response.status_code == 503
        assert detail in response.json()["detail"]
    assert time.monotonic() - began < 30


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_signal_ends_a_server_that_is_busy(tmp_path: Path) -> None:
    data = "".join(f"<{EX}{n % 50}> <{EX}p{n % 7}> <{EX}{n * 7 % 50}> .\n" for n in range(1000))
    (tmp_path / "data.nt").write_text(data)
    query = windowed(" . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6)) + " FILTER(STR(?a0) = STR(?b5))")
    settings = f"""port = 0
base = "{BASE}"
[data]
default = ["data.nt"]
[limits]
evaluation = 600
[streams.s]
push = true
[queries.endless]
text = '''{query}'''
"""
    child = Child(tmp_path, settings)
    try:
        url = child.url()
        with client(url) as http, ExitStack() as clients:
            response = http.post("/s", content=second(0), headers={"Content-Type": "application/n-quads"})
            assert response.status_code == 202
            http.post("/s", content=second(1), headers={"Content-Type": "application/n-quads"})
            for _ in range(8):
                clients.enter_context(asked(http, ENDLESS))
            time.sleep(3)
            began = time.monotonic()
            child.process.send_signal(signal.SIGTERM)
            assert child.process.wait(60) == 0
            assert time.monotonic() - began < 10
    finally:
        child.kill()
