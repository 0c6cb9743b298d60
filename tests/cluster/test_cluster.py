"""A real cluster: a master, two workers that see nothing of the driver's disk, and an S3 server.

Each test compares the answers, to the byte, with those of a run on this machine.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cluster.cluster import Cluster, cluster, make_bucket, s3_server, wait_for
from tests.conftest import java_is_missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21"),
]

ELEMENTS = 30_000
ROOT = Path(__file__).parents[2]


def elements(chance: random.Random) -> tuple[list[str], list[str]]:
    """People enter rooms, and leave some of them a little later: 100 a second."""
    ins, outs = [], []
    for number in range(ELEMENTS):
        person, room = chance.randrange(400), chance.randrange(12)
        ins.append((number, person, "enters", room))
        if chance.random() < 0.5:
            outs.append((number + chance.randrange(1, 900), person, "leaves", room))
    outs.sort()

    def line(element: tuple[int, int, str, int]) -> str:
        at, person, what, room = element
        seconds = f"{at // 6000 % 60:02}:{at // 100 % 60:02}.{at % 100:02}"
        when = f'"2026-01-01T00:{seconds}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        return f"<http://ex/p{person}> <http://ex/{what}> <http://ex/r{room}> {when} .\n"

    return [line(element) for element in ins], [line(element) for element in outs]


class Place:
    """The cluster, the S3 server, and what a run on this machine gives."""

    def __init__(self, cluster: Cluster, folder: Path, environment: dict[str, str]) -> None:
        self.cluster = cluster
        self.folder = folder
        self.environment = environment
        self.expected = b""

    def start(
        self, master: str, checkpoint: str, streams: str, output: Path, *way: str
    ) -> subprocess.Popen[bytes]:
        given = [master, checkpoint, streams, str(output), *way]
        command = [sys.executable, "-m", "tests.cluster.program", *given]
        log = (output.with_suffix(".log")).open("ab")
        return subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def on_cluster(self, name: str, *way: str) -> tuple[subprocess.Popen[bytes], Path]:
        output = self.folder / f"{name}.ndjson"
        process = self.start(self.cluster.url, f"s3://bucket/{name}", "s3://bucket/streams", output, *way)
        return process, output

    def finished(self, process: subprocess.Popen[bytes], output: Path) -> bytes:
        code = process.wait(420)
        assert code == 0, output.with_suffix(".log").read_text(errors="replace")[-3000:]
        return output.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("cluster")
    driver, log = folder / "driver", folder / "log"
    driver.mkdir()
    log.mkdir()
    with s3_server(log) as address:
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": address,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "XDG_STATE_HOME": str(driver / "state"),
        }
        make_bucket(address, "bucket")
        for name, lines in zip(("in", "out"), elements(random.Random(12)), strict=True):
            (driver / f"{name}.nq").write_text("".join(lines))
            put = ["import sys", "from rheos.runtime.state.store import Store"]
            put.append("Store('s3://bucket/streams').write(sys.argv[1], sys.stdin.buffer.read())")
            with (driver / f"{name}.nq").open("rb") as file:
                command = [sys.executable, "-c", "\n".join(put), f"{name}.nq"]
                subprocess.run(command, stdin=file, env=environment, check=True)
        with cluster(log, [driver], environment=environment) as made:
            if not made.apart:
                print("mount namespaces are not permitted here: the workers share the driver's disk")
            found = Place(made, driver, environment)
            process = found.start("local[2]", str(driver / "here"), str(driver), driver / "here.ndjson")
            found.expected = found.finished(process, driver / "here.ndjson")
            yield found


def test_the_same_bytes_as_on_one_machine(place: Place) -> None:
    assert place.expected.count(b"\n") > 10_000
    for name in ("counted", "met", "busy", "busiest", "visits", "seen", "stays", "restless"):
        assert f'"query":"{name}"'.encode() in place.expected
    assert place.finished(*place.on_cluster("plain")) == place.expected


@pytest.mark.parametrize("way", ["shards", "incremental"])
def test_an_executor_that_is_killed(place: Place, way: str) -> None:
    process, output = place.on_cluster(f"executor-{way}", way)
    wait_for(lambda: output.exists() and output.stat().st_size > 10_000, "the answers", 240)
    worker = psutil.Process(place.cluster.processes[-1].pid)
    executors = [child for child in worker.children(recursive=True) if "Executor" in command(child)]
    assert executors
    executors[0].kill()
    assert place.finished(process, output) == place.expected


def command(process: psutil.Process) -> str:
    """The command line of a process; nothing if it has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


@pytest.mark.parametrize("way", ["shards", "incremental"])
def test_a_driver_that_is_killed_and_started_again(place: Place, way: str) -> None:
    process, output = place.on_cluster(f"driver-{way}", way)

    def written() -> int:
        return output.stat().st_size if output.exists() else 0

    for size in (10_000, 400_000):
        wait_for(lambda size=size: written() > size, "the answers", 240)
        process.kill()
        process.wait()
        time.sleep(1)
        process, _ = place.on_cluster(f"driver-{way}", way)
    assert place.finished(process, output) == place.expected


def test_a_store_that_executors_do_not_reach_is_refused(place: Place) -> None:
    if not place.cluster.apart:
        pytest.skip("mount namespaces are not permitted here")
    output = place.folder / "refused.ndjson"
    checkpoint = str(place.folder / "only-here")
    process = place.start(place.cluster.url, checkpoint, "s3://bucket/streams", output)
    assert process.wait(240) == 1
    said = output.with_suffix(".log").read_text()
    assert "the checkpoint file:///" in said
    assert "must be one that all machines reach" in said
