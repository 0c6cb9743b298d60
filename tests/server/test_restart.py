"""Servers that end, in peace or not, and are started again: what they were told is still there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from msgspec.structs import replace

from rheos import RheosError
from rheos.server.config import Config, QueryConfig, StreamConfig, read
from rheos.server.serve import served
from tests.conftest import java_is_missing
from tests.runtime.streams import lines
from tests.server.city import NQUADS, City, healthy, values, wait
from tests.server.conftest import PATIENCE, client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE = "http://streams.test/"
SELECT = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"


@contextmanager
def life(config: Config, spark: SparkSession) -> Iterator[City]:
    with served(config, spark) as host, client(f"http://127.0.0.1:{host.port}") as http:
        yield City(host, http)


def test_what_survives_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "city.ttl"
    data.write_text("<http://ex/a> <http://ex/static> 1 .")
    config = Config(
        port=0,
        base=BASE,
        state=tmp_path / "state",
        data=(str(data),),
        streams=(StreamConfig("s"), StreamConfig("dropped")),
        queries=(QueryConfig("own", SELECT), QueryConfig("changed", SELECT), QueryConfig("left", SELECT)),
    )
    with life(config, spark) as city:
        assert city.http.put("/made", json={"lateness": "1s"}).status_code == 201
        for name, text in [
            ("made-reader", SELECT.replace("<s>", "<made>")),
            ("orphan", SELECT.replace("<s>", "<dropped>")),
            ("halted", SELECT),
            ("gone", SELECT),
            ("follow", SELECT),
        ]:
            assert city.put(name, text).status_code == 201, name
        city.http.post("/halted", content="stop")
        city.http.delete("/gone")
        with city.events("follow") as events:
            city.push("s", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
            first = next(events)
        with pytest.raises(RheosError, match="another server is using the folder"), life(config, spark):
            pass
        # Accepted, and perhaps not evaluated yet: it must not be lost.
        city.push("s", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
        city.push("made", lines([("m", "p", "n", 5)]))

    assert values(first, "o") == ("00:10", "b")
    other = SELECT.replace("10s STEP 10s", "20s STEP 20s")
    again = replace(
        config,
        streams=(StreamConfig("s"),),
        queries=(QueryConfig("own", SELECT), QueryConfig("changed", other)),
    )
    with life(again, spark) as city:
        queries = {query["name"]: query for query in city.http.get("/queries").json()["queries"]}
        assert set(queries) == {"own", "changed", "made-reader", "orphan", "halted", "follow"}
        assert {name for name, query in queries.items() if not query["running"]} == {"halted", "orphan"}
        assert "nobody supplies the stream" in queries["orphan"]["error"]
        assert queries["changed"]["text"] == other
        assert city.http.post("/orphan", content="start").status_code == 409
        assert city.http.delete("/orphan").status_code == 204
        with city.events("follow", first["id"]) as events:
            assert sorted(values(next(events), "o") for _ in range(2)) == [("00:20", "c"), ("00:20", "d")]
        with city.events("made-reader", "0") as events:
            city.push("made", lines([("m", "p", "o", 12)]))
            assert values(next(events), "o") == ("00:10", "n")
        assert city.stream("s")["elements"] == 4
        with city.events("follow", "0") as events:
            assert values(next(events), "o") == ("00:10", "b")
        held = city.http.get("/trdf/s").text
        assert "seeAlso" in held

    with life(again, spark) as city:
        wait(lambda: city.http.get("/trdf/s").text == held, "what windows held, though nothing has come")

    with (
        pytest.raises(RheosError, match=r'say base = "http://streams\.test/"'),
        life(replace(again, base=None), spark),
    ):
        pass
    turned = replace(again, streams=(StreamConfig("s", source=str(data)),))
    with pytest.raises(RheosError, match="the stream s was of another kind before"), life(turned, spark):
        pass


# --- as a process --------------------------------------------------------------------------------------


class Child:
    """`rheos serve` in a process of its own."""

    def __init__(self, folder: Path, config: str) -> None:
        (folder / "rheos.toml").write_text(config)
        self.errors = folder / "err"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rheos", "serve"], cwd=folder, stderr=errors, start_new_session=True
            )

    def log(self) -> list[dict[str, object]]:
        """What it has logged. The last line may not be whole yet."""
        lines = self.errors.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def url(self) -> str:
        """Where it listens, when it does."""
        wait(
            lambda: (
                re.search(rb'"listening".*\n', self.errors.read_bytes()) or self.process.poll() is not None
            ),
            "it listens",
        )
        assert self.process.poll() is None, self.errors.read_text()
        port = next(entry["port"] for entry in self.log() if entry["event"] == "listening")
        return f"http://127.0.0.1:{port}"

    def kill(self) -> None:
        """With Spark and all, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def test_a_process_ends_in_peace_on_sigterm(tmp_path: Path) -> None:
    child = Child(tmp_path, "port = 0")
    try:
        with client(child.url()) as http:
            assert healthy(http)
        child.process.send_signal(signal.SIGTERM)
        assert child.process.wait(PATIENCE) == 0
    finally:
        if child.process.poll() is None:
            child.kill()
    events = [entry["event"] for entry in child.log()]
    assert sorted(events) == ["listening", "stopped", "stopping"]
    assert (events[0], events[-1]) == ("listening", "stopped")
    assert all({"time", "level", "event"} <= entry.keys() for entry in child.log())


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    for config, message in [
        ("prot = 1", "rheos.toml: unknown key 'prot': did you mean port?\n"),
        ("host = '0.0.0.0'", "so a token is needed"),
        ("[data]\ndefault = ['none.ttl']", "none.ttl"),
    ]:
        child = Child(tmp_path, config)
        assert child.process.wait(PATIENCE) == 1
        assert message in child.errors.read_text()


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
@pytest.mark.parametrize("killed", [True, False], ids=["kill -9", "SIGTERM"])
def test_ended_while_elements_are_pushed(spark: SparkSession, tmp_path: Path, killed: bool) -> None:
    """All that was answered with 202 is there afterwards, once."""
    settings = (
        f'port = 0\nbase = "{BASE}"\n[streams.s]\npush = true\n[queries.all]\ntext = """\n{SELECT}\n"""\n'
    )
    child = Child(tmp_path, settings.replace("10s", "1s"))
    accepted: set[str] = set()
    refused = threading.Event()

    def push(url: str, writer: int) -> None:
        with client(url) as http:
            for number in range(100_000):
                names = [f"w{writer}-{number}-{part}" for part in range(3)]
                # Without a time: that of its arrival.
                text = "".join(f"<http://ex/a> <http://ex/p> <http://ex/{name}> .\n" for name in names)
                try:
                    if http.post("/s", content=text, headers=NQUADS).status_code == 202:
                        accepted.update(names)
                except httpx.HTTPError:
                    refused.set()
                    return

    try:
        url = child.url()
        writers = [threading.Thread(target=push, args=(url, writer), daemon=True) for writer in range(4)]
        for writer in writers:
            writer.start()
        with client(url) as http:
            wait(lambda: http.get("/queries").json()["queries"][0]["rows"] > 0, "answers")
        before = len(accepted)
        wait(lambda: len(accepted) > before + 100, "more that may not be evaluated yet")
        if not killed:
            child.process.send_signal(signal.SIGTERM)
            assert child.process.wait(PATIENCE) == 0
    finally:
        child.kill()
    for writer in writers:
        writer.join()
    assert refused.is_set()

    with life(read(tmp_path / "rheos.toml"), spark) as city:
        time.sleep(1.1)  # an element of another second completes the windows before
        city.push("s", "<http://ex/a> <http://ex/p> <http://ex/end> .\n")
        time.sleep(1.1)
        city.push("s", "<http://ex/a> <http://ex/p> <http://ex/after> .\n")
        found: Counter[str] = Counter()
        with city.events("all", "0") as events:
            for event in events:
                _, name = values(event, "o")
                if name == "end":
                    break
                found[name] += 1
    assert accepted <= found.keys()
    assert set(found.values()) == {1}
    # What was in flight when it was killed may be there or not, but of one request all or nothing.
    assert all(count == 3 for count in Counter(name.rsplit("-", 1)[0] for name in found).values())
