"""`rheos run --output` from outside: several sinks at once, sinks that are down, kill -9, and wrong usage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from rheos.answers.continuous import time_text
from tests.cli.command import Outcome, called
from tests.conftest import java_is_missing
from tests.services.kafka import Kafka, kafka  # noqa: F401
from tests.services.mosquitto import Mosquitto, mosquitto  # noqa: F401
from tests.sinks.receiver import receiving
from tests.sinks.runs import COUNTS, SEEN, STREAM, in_file, plain, written
from tests.sinks.subscriber import subscribed
from tests.sinks.topics import committed, new_topic

PATIENCE = 300.0  # seconds; Spark starts, and tests share the machine

needs_java = pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")


def command(stream: Path, *options: str | Path, queries: tuple[str, ...] = (COUNTS,)) -> list[str]:
    texts = [part for query in queries for part in ("-q", query)]
    return [sys.executable, "-m", "rheos", "run", *texts, "-s", f"{STREAM}={stream}", *map(str, options)]


def run(arguments: list[str]) -> Outcome:
    done = subprocess.run(arguments, capture_output=True, timeout=PATIENCE)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.slow
@needs_java
def test_each_query_has_its_own_csv_beside_other_sinks(tmp_path: Path) -> None:
    stream = written(tmp_path / "tolls.nq", 60)
    options = ("-o", f"{tmp_path}/out/", "-o", f"parquet:{tmp_path}/parquet", "-f", "csv")
    with receiving(refuse=[503, 503]) as receiver:
        done = run(command(stream, *options, "-o", receiver.url, queries=(COUNTS, SEEN)))
    assert (done.status, done.out) == (0, "")
    counts = (tmp_path / "out" / "counts.csv").read_text().splitlines()
    seen = (tmp_path / "out" / "seen.csv").read_text().splitlines()
    assert (counts[0], seen[0]) == ("query,at,gate,cars", "query,at,subject,predicate,object")
    assert (len(counts), len(seen)) == (1 + 3 + 6 * 4, 1 + 180)
    table = ds.dataset(str(tmp_path / "parquet" / "query=seen")).to_table()
    assert table.num_rows == 180
    assert table.column("subject")[0].as_py().startswith("<http://ex/car")
    assert len(receiver.answers) == 27 + 180
    assert receiver.twice == 0
    assert "takes no answers now, and they wait: it answers 503" in done.err


@pytest.mark.slow
@needs_java
def test_a_file_beside_a_sink_and_one_shot_queries(tmp_path: Path) -> None:
    """The first file has all answers in one order; what has no stream is in it too."""
    stream = written(tmp_path / "tolls.nq", 20)
    static = "SELECT ?x { VALUES ?x { 1 2 } }"
    arguments = command(stream, "-o", tmp_path / "a.ndjson", "-o", f"{tmp_path}/b/", queries=(COUNTS, static))
    done = run(arguments)
    assert (done.status, done.out, done.err) == (0, "", "")
    lines = [json.loads(line) for line in (tmp_path / "a.ndjson").read_text().splitlines()]
    assert [line["query"] for line in lines].count("query") == 2
    assert in_file(tmp_path / "b" / "counts.ndjson") == plain(line for line in lines if "at" in line)


@pytest.mark.slow
@needs_java
@pytest.mark.parametrize("full", ["stop", "drop"])
def test_a_sink_that_is_down_at_the_end(tmp_path: Path, full: str) -> None:
    stream = written(tmp_path / "tolls.nq", 120)
    with receiving(down=True) as receiver:
        options = ("-o", receiver.url, "-o", f"{tmp_path}/out/", "--batch-size", "6000", "--drain", "1s")
        done = run(command(stream, *options, "--sink-limit", "1", "--sink-full", full))
    assert (done.status, done.out) == (1, "")
    last = done.err.splitlines()[-1]
    assert "after 1 s" in last
    assert "were not taken by http://127.0.0.1" in last
    assert "are lost without a checkpoint" in last
    answers = in_file(tmp_path / "out" / "counts.ndjson")
    if full == "stop":
        assert "the query counts was stopped: its sink http://127.0.0.1" in done.err
        assert len(answers) < 51
    else:
        assert "counts: answers are dropped, because http://127.0.0.1" in done.err
        assert len(answers) == 51


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["-o", "kafka://127.0.0.1:1/t", "-f", "csv"], 2, "format 'csv' is not one of: ndjson, nquads"),
        (["-o", "ftp://host/x"], 2, "there is no sink for ftp:"),
        (["-o", "mqtt://me:secret@host/x"], 2, "no user and no password"),
        (["-o", "a.csv", "-o", "a.csv"], 2, "a.csv is given twice"),
        (["-o", "a.ndjson", "-o", "b.ndjson", "-q", SEEN], 2, "a folder, with a slash at its end"),
        (["-o", "x/", "--drain", "soon"], 2, "expected a length of time"),
        (["-o", "http://host/", "--sink-options", "missing.toml"], 1, "missing.toml: cannot be read"),
        (["-o", "none/there.csv"], 1, "there is no directory none"),
    ],
)
def test_wrong_usage(tmp_path: Path, options: list[str], status: int, message: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    stream = written(tmp_path / "tolls.nq", 1)
    done = called("run", "-q", COUNTS, "-s", f"{STREAM}={stream}", *options)
    assert done.status == status
    assert message in " ".join(done.err.replace("│", " ").split())
    assert "secret" not in done.err


def test_options_of_sinks_are_in_a_file(tmp_path: Path) -> None:
    stream = written(tmp_path / "tolls.nq", 1)
    file = tmp_path / "sinks.toml"
    for text, message in [
        ('["http://other/"]\nsize = "1"', "there is no --output http://other/"),
        ('["http://host/"]\nsize = 1', "is a table of texts"),
        ('["http://host/"]\nspeed = "1"', "unknown option 'speed'"),
        ("[", "cannot be read"),
    ]:
        file.write_text(text)
        done = called(
            "run", "-q", COUNTS, "-s", f"{STREAM}={stream}", "-o", "http://host/", "--sink-options", file
        )
        assert done.status in (1, 2)
        assert message in " ".join(done.err.replace("│", " ").split())


def test_a_query_without_streams_has_no_sink() -> None:
    done = called("run", "-q", "SELECT ?x { VALUES ?x { 1 } }", "-o", "http://host/")
    assert done.status == 2
    assert "takes the answers of streams" in " ".join(done.err.replace("│", " ").split())


# --- kill -9 -------------------------------------------------------------------------------------------


def killed_again_and_again(arguments: list[str], counts: Sequence[Callable[[], int]], log: Path) -> None:
    """Kill a run when a sink has got more: for each of the sinks, once. Then have it come to its end."""
    for seen in counts:
        before = seen()
        with log.open("ab") as errors:
            process = subprocess.Popen(arguments, stdout=errors, stderr=errors, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while seen() <= before and process.poll() is None:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)
        ended = process.poll()
        if ended is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert ended in (None, 0), log.read_text()
    done = run(arguments)
    assert done.status == 0, done.err


@pytest.fixture
def expected(tmp_path: Path) -> list[tuple[str, str]]:
    """What a run that is not killed writes to a file."""
    done = run(command(written(tmp_path / "tolls.nq", 600), "-o", tmp_path / "expected.ndjson"))
    assert done.status == 0, done.err
    return in_file(tmp_path / "expected.ndjson")


def durable(tmp_path: Path, *options: str) -> list[str]:
    return command(
        tmp_path / "tolls.nq", *options, "--checkpoint", tmp_path / "state", "--batch-size", "8000", "--quiet"
    )


def solutions(table: Any) -> list[tuple[str, str]]:
    """The rows of Parquet as the lines of NDJSON that they come from."""
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    return plain(
        {
            "query": "counts",
            "at": time_text(round(row["at"].timestamp() * 1e6)),
            "row": {
                "gate": {"type": "uri", "value": row["gate"]},
                "cars": {"type": "literal", "value": str(row["cars"]), "datatype": integer},
            },
        }
        for row in table.to_pylist()
    )


@pytest.mark.slow
@needs_java
def test_files_and_a_webhook_survive_kill_9(tmp_path: Path, expected: list[tuple[str, str]]) -> None:
    folder, file = tmp_path / "answers" / "query=counts", tmp_path / "out" / "counts.ndjson"
    with receiving() as receiver:
        counts = (
            lambda: len(list(folder.rglob("*.parquet"))),
            lambda: file.stat().st_size if file.exists() else 0,
            lambda: len(receiver.requests),
        )
        sinks = ("-o", f"parquet:{tmp_path}/answers", "-o", f"{tmp_path}/out/", "-o", receiver.url)
        killed_again_and_again(durable(tmp_path, *sinks), counts, tmp_path / "log")
    assert counts[0]() > 4
    assert solutions(ds.dataset(str(folder)).to_table()) == expected
    assert in_file(file) == expected
    assert plain(receiver.answers) == expected


@pytest.mark.slow
@needs_java
def test_brokers_survive_kill_9(
    tmp_path: Path,
    expected: list[tuple[str, str]],
    kafka: Kafka,  # noqa: F811
    mosquitto: Mosquitto,  # noqa: F811
) -> None:
    topic = new_topic(kafka, 3)
    with subscribed(mosquitto.port, "answers") as messages:
        counts = (lambda: len(committed(kafka, topic)), lambda: len(messages))
        sinks = ("-o", kafka.url(topic), "-o", mosquitto.url("answers"))
        killed_again_and_again(durable(tmp_path, *sinks), (*counts, counts[0]), tmp_path / "log")
        once = {json.loads(message.payload)["id"]: json.loads(message.payload) for message in messages}
    found = committed(kafka, topic)
    assert plain(json.loads(message.value()) for message in found) == expected
    assert len({dict(message.headers())["rheos-id"] for message in found}) == len(expected)
    assert plain(once.values()) == expected
