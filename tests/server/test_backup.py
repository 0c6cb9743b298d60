"""Copies of a server's folder, made while it runs under load: a server goes on from each as from its own."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from rheos.errors import RheosError
from rheos.runtime.state.outbox import FOLDER
from rheos.server import backup as module
from rheos.server.backup import backup
from rheos.server.config import Config, QueryConfig, StreamConfig
from rheos.server.serve import served
from tests.cli.command import called
from tests.server.city import NQUADS, City, wait
from tests.server.conftest import client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE = "http://streams.test/"
ALL = "PREFIX : <http://ex/> SELECT ?o FROM STREAM <s> [RANGE 1s STEP 1s] WHERE { ?s :p ?o }"
COUNT = "PREFIX : <http://ex/> SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10m STEP 1s] WHERE { ?s :p ?o }"


def value(event: dict[str, str]) -> str:
    row = json.loads(event["data"])["row"]
    return str(next(iter(row.values()))["value"]).removeprefix("http://ex/")


class Pusher:
    """Pushes elements without a time until it is stopped, and knows those that were accepted."""

    def __init__(self, city: City) -> None:
        self.accepted: list[str] = []
        self._city = city
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Pusher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        number = 0
        with client(f"http://127.0.0.1:{self._city.host.port}") as http:
            while not self._stopping.wait(0.02):
                names = [f"e{number + at}" for at in range(20)]
                number += len(names)
                text = "".join(f"<http://ex/a> <http://ex/p> <http://ex/{name}> .\n" for name in names)
                assert http.post("/s", content=text, headers=NQUADS).status_code == 202
                self.accepted += names


def rows(city: City, name: str) -> int:
    return int(city.query(name)["rows"])


@pytest.mark.slow
def test_a_server_goes_on_from_a_copy_made_under_load(spark: SparkSession, tmp_path: Path) -> None:
    config = Config(
        port=0,
        base=BASE,
        state=tmp_path / "state",
        streams=(StreamConfig("s"),),
        queries=(QueryConfig("all", ALL), QueryConfig("count", COUNT)),
    )
    copies: list[tuple[Path, set[str]]] = []
    with served(config, spark) as host, client(f"http://127.0.0.1:{host.port}") as http:
        city = City(host, http)
        assert city.put("registered", ALL).status_code == 201
        http.post(
            "/sparql",
            content="INSERT DATA { <http://ex/a> <http://ex/static> 1 }",
            headers={"Content-Type": "application/sparql-update"},
        )
        with Pusher(city) as pusher:
            wait(lambda: rows(city, "all") > 100, "answers")
            for number in range(3):
                before, target = set(pusher.accepted), tmp_path / f"copy-{number}"
                done = called("backup", str(config.state), str(target))
                assert done.status == 0, done.err
                assert f"{target}: up to batch " in done.err
                copies.append((target, before))
                time.sleep(0.7)
        pushed = set(pusher.accepted)
    for target, before in copies:
        again = replace(config, state=target)
        with served(again, spark) as host, client(f"http://127.0.0.1:{host.port}") as http:
            city = City(host, http)
            stopping = threading.Event()

            def end(city: City = city, stopping: threading.Event = stopping) -> None:
                while not stopping.wait(0.5):
                    city.push("s", "<http://ex/a> <http://ex/p> <http://ex/end> .\n")

            threading.Thread(target=end, daemon=True).start()
            for name in ("all", "registered"):
                found: Counter[str] = Counter()
                with city.events(name, "0") as events:
                    for event in events:
                        found[value(event)] += 1
                        if found["end"]:
                            break
                del found["end"]
                assert set(found.values()) == {1}
                assert found.keys() <= pushed
                # One that was registered later sees what came after.
                assert name == "registered" or found.keys() >= before
            counted = [
                value({"data": json.dumps(one)}) for one in http.get("/count/answers").json()["answers"]
            ]
            assert int(counted[-1]) >= len(before)
            stopping.set()
            ask = "ASK { <http://ex/a> <http://ex/static> 1 }"
            assert http.get("/sparql", params={"query": ask}).json()["boolean"] is True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a server, as far as a copy looks at it."""
    state = tmp_path / "state"
    for name in ("engine/batches", "engine/segments", "engine/spark/offsets", "engine/spark/commits"):
        (state / name).mkdir(parents=True)
    for name in (f"engine/{FOLDER}/out", "pushed/s", "answers", "static"):
        (state / name).mkdir(parents=True)
    (state / "server.json").write_text("{}")
    (state / "lock").touch()
    done(state, 7)
    for number in (5, 6, 7, 8):
        (state / "engine" / "spark" / "offsets" / str(number)).write_text("v2")
    for number in (5, 6, 7):
        (state / "engine" / "spark" / "commits" / str(number)).write_text("v2")
    (state / "engine" / "spark" / "metadata").write_text("{}")
    (state / "engine" / "segments" / "unnamed").write_text("of a later batch")
    (state / "answers" / f"{0:020}.ndjson").write_text("x" * 20)
    (state / "pushed" / "s" / f"{0:020}.nq").write_text("element\n")
    return state


def done(state: Path, number: int) -> None:
    """Batch `number` is done, and the one before it taken away."""
    engine = state / "engine"
    segment = engine / "segments" / f"seg{number}"
    segment.write_text("rows")
    (engine / "batches" / f"{number}.answers").write_text("said")
    record = {"segments": {"s": {"files": [{"name": f"segments/seg{number}"}]}}, "lengths": {"answers": 20}}
    (engine / "batches" / f"{number}.json").write_text(json.dumps(record))
    for name in (f"batches/{number - 1}.json", f"batches/{number - 1}.answers", f"segments/seg{number - 1}"):
        (engine / name).unlink(missing_ok=True)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


SEVEN = {
    "server.json",
    "engine/batches/7.json",
    "engine/batches/7.answers",
    "engine/segments/seg7",
    *(f"engine/spark/{name}" for name in ("metadata", "offsets/6", "offsets/7", "commits/6", "commits/7")),
    f"answers/{0:020}.ndjson",
    f"pushed/s/{0:020}.nq",
}


def test_a_copy_has_what_belongs_to_one_batch(folder: Path, tmp_path: Path) -> None:
    copied = backup(folder, tmp_path / "copy")
    assert files(tmp_path / "copy") == SEVEN
    assert (copied.batch, copied.files) == (7, len(SEVEN))
    with pytest.raises(RheosError, match="is there already"):
        backup(folder, tmp_path / "copy")
    with pytest.raises(RheosError, match="is no folder of a server"):
        backup(tmp_path, tmp_path / "other")


def on_copy(monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], None]) -> None:
    """Have something happen once, just before a file of this name is copied."""
    waiting, copyfile = [work], shutil.copyfile

    def copied(source: Path, target: Path) -> None:
        if waiting and Path(source).name == name:
            waiting.pop()()
        copyfile(source, target)

    monkeypatch.setattr(module.shutil, "copyfile", copied)


def test_a_batch_that_is_done_meanwhile_is_a_later_moment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_copy(monkeypatch, "7.answers", lambda: done(folder, 8))
    assert backup(folder, tmp_path / "copy").batch == 8
    found = files(tmp_path / "copy")
    assert {"engine/batches/8.json", "engine/batches/8.answers", "engine/segments/seg8"} <= found
    assert {name for name in found if "7." in name or name.endswith("seg7")} == set()
    assert {"engine/spark/offsets/8", "engine/spark/commits/7"} <= found


def test_segments_stay_while_they_are_copied(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_copy(monkeypatch, "seg7.held", lambda: done(folder, 8))
    assert backup(folder, tmp_path / "copy").batch == 7
    assert files(tmp_path / "copy") == SEVEN


def test_a_log_whose_beginning_goes_meanwhile(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = folder / "pushed" / "s"

    def roll() -> None:
        (log / f"{8:020}.nq").write_text("more\n")
        (log / f"{0:020}.nq").unlink()
        done(folder, 8)

    on_copy(monkeypatch, "metadata", roll)
    assert backup(folder, tmp_path / "copy").batch == 8
    assert f"pushed/s/{8:020}.nq" in files(tmp_path / "copy")


def test_a_folder_that_never_stands_still_is_given_up(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    (folder / "engine" / "spark" / "offsets" / "7").unlink()
    with pytest.raises(RheosError, match="changed too fast to be copied"):
        backup(folder, tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} == {"state"}
