"""`examples/sensors` does what its README says, with real brokers, and as a few lines of Python expect."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.command import ROOT
from tests.conftest import java_is_missing
from tests.services.kafka import Kafka, kafka  # noqa: F401
from tests.services.mosquitto import Mosquitto, mosquitto  # noqa: F401
from tests.services.processes import free_port
from tests.sinks.topics import committed

FOLDER = ROOT / "examples" / "sensors"
PATIENCE = 240.0
START, SECONDS = datetime(2026, 1, 1, tzinfo=UTC), 181
ROOMS = {"s1": "Hall", "s2": "Hall", "s3": "Cellar", "s4": "Attic"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here"),
]


def measured() -> list[tuple[int, str, float]]:
    spec = importlib.util.spec_from_file_location("simulate", FOLDER / "simulate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [(second, json.loads(text)) for second, _, text in module.messages(START, SECONDS)]
    return [(second, said["sensor"], said["celsius"]) for second, said in found]


def averages(until: int) -> set[tuple[str, str, float, int]]:
    """Each room at each multiple of 30 seconds up to some second: what is in the last minute is a set."""
    found = set()
    for at in range(0, until + 1, 30):
        rooms = defaultdict(dict)
        for second, sensor, celsius in measured():
            if at - 60 < second <= at:
                rooms[ROOMS[sensor]][sensor, celsius] = celsius
        for room, values in rooms.items():
            mean = round(sum(values.values()) / len(values), 6)
            found.add(((START + timedelta(seconds=at)).strftime("%H:%M:%S"), room, mean, len(values)))
    return found


def alarms(until: int) -> set[tuple[str, str, str, str]]:
    """Pairs of values of a sensor, the later one hotter by more than eight degrees within 20 seconds."""
    told = [item for item in measured() if item[0] < until]
    return {
        (f"room={ROOMS[sensor]}", f"before={before}", f"after={after}", f"{second - first} s")
        for first, sensor, before in told
        for second, other, after in told
        if other == sensor and first < second < first + 20 and after > before + 8
    }


@contextmanager
def running(*arguments: str, cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments,
            cwd=cwd,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.mark.parametrize("program", ["serve", "spark.py"])
def test_the_example(tmp_path: Path, kafka: Kafka, mosquitto: Mosquitto, program: str) -> None:  # noqa: F811
    mosquitto.stop()
    mosquitto.more = "log_type all\n"  # it tells of subscriptions
    mosquitto.start()
    hook = free_port()
    ports = {"1883": mosquitto.port, "9092": kafka.port, "8000": hook}
    topic = f"averages-{tmp_path.name.replace('[', '-').replace(']', '-')}"
    admin = AdminClient({"bootstrap.servers": kafka.servers})
    for made in admin.create_topics([NewTopic(topic, 2, 1)]).values():
        made.result(60)
    for path in FOLDER.iterdir():
        if path.is_file():
            text = path.read_text().replace("/averages", f"/{topic}")
            text = re.sub(r"127\.0\.0\.1:(1883|9092|8000)", lambda m: f"127.0.0.1:{ports[m[1]]}", text)
            (tmp_path / path.name).write_text(("port = 0\n" if path.suffix == ".toml" else "") + text)
    command = ["-m", "rheos", "serve", "--config", "rheos.toml"] if program == "serve" else [program]
    log, heard = tmp_path / "log", tmp_path / "heard"
    with (
        running(sys.executable, "receiver.py", str(hook), cwd=tmp_path, log=heard),
        running(sys.executable, *command, cwd=tmp_path, log=log) as process,
    ):
        wait_for_subscription(mosquitto, process, log)
        publish = [
            "--port",
            str(mosquitto.port),
            "--start",
            "2026-01-01T00:00:00Z",
            "--seconds",
            str(SECONDS),
        ]
        done = subprocess.run(
            [sys.executable, "simulate.py", *publish], cwd=tmp_path, capture_output=True, timeout=PATIENCE
        )
        assert done.stdout.decode() == "148 messages\n", done.stderr.decode()
        # The last element says that all before 180 s is complete.
        expected, due = averages(150), alarms(180)
        assert len(due) > 3
        deadline = time.monotonic() + PATIENCE
        frame = re.compile(r"\|2026-01-01 00:01:00\|\s*Attic\|" if program == "spark.py" else "")
        while (
            len(committed(kafka, topic)) < len(expected)
            or len(heard.read_text().splitlines()) < len(due)
            or not frame.search(log.read_text())
        ):
            assert time.monotonic() < deadline, log.read_text()[-3000:] + heard.read_text()
            assert process.poll() is None, log.read_text()[-3000:]
            time.sleep(0.5)
    messages = committed(kafka, topic)
    assert [*map(averaged, messages)].count(averaged(messages[0])) == 1
    assert set(map(averaged, messages)) == expected
    assert all(message.key().decode() == averaged(message)[1] for message in messages)
    assert set(map(alarmed, heard.read_text().splitlines())) == due
    shown = (FOLDER / "README.md").read_text()
    assert set(re.findall(r"^2026-.* room=.*$", shown, re.MULTILINE)) <= set(heard.read_text().splitlines())
    assert set(re.findall(r"^{.*}$", shown, re.MULTILINE)) <= {m.value().decode() for m in messages}


def wait_for_subscription(mosquitto: Mosquitto, process: subprocess.Popen[bytes], log: Path) -> None:  # noqa: F811
    """The session of rheos is at the broker: what is published from now on is not lost."""
    told = mosquitto.folder / "mosquitto.log"
    deadline = time.monotonic() + PATIENCE
    while "Sending SUBACK" not in told.read_text():
        assert time.monotonic() < deadline, log.read_text()
        assert process.poll() is None, log.read_text()
        time.sleep(0.2)


def averaged(message: Any) -> tuple[str, str, float, int]:
    said = json.loads(message.value())
    row = {name: term["value"] for name, term in said["row"].items()}
    return said["at"][11:19], row["room"], round(float(row["average"]), 6), int(row["values"])


def alarmed(line: str) -> tuple[str, str, str, str]:
    start, end, *row = line.split()
    took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return (row[0], row[1], row[2], f"{took.seconds} s")


def test_the_program_of_pyspark_has_ten_lines() -> None:
    code = (FOLDER / "spark.py").read_text().partition("with Engine")[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
