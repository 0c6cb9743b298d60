"""`rheos run` from a real Mosquitto, as a process that is killed: nothing is lost meanwhile."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.command import rheos
from tests.cli.test_run_kafka import PATIENCE, Run, by_instant, expected
from tests.runtime.streams import line
from tests.services.mosquitto import Mosquitto
from tests.sources.receiving import publishing
from tests.sources.test_kafka import STREAM, readings


def test_options_are_read_from_a_file_and_never_repeated(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(f"SELECT * {{ STREAM <{STREAM}> [NOW] {{ ?s ?p ?o }} }}")
    (tmp_path / "o.toml").write_text('pasword = "secret"')
    given = ("--stream", f"{STREAM}=mqtt://127.0.0.1/a", "--options", f"{STREAM}={tmp_path / 'o.toml'}")
    found = rheos("run", tmp_path / "q.rq", *given)
    found.faulted("unknown option 'pasword'", "username")
    assert "secret" not in found.err
    (tmp_path / "o.toml").write_text("password = 7")
    rheos("run", tmp_path / "q.rq", *given).faulted("the option password is a text")
    (tmp_path / "o.toml").write_text("password")
    rheos("run", tmp_path / "q.rq", *given).faulted("this is not TOML")


@pytest.mark.slow
def test_a_driver_that_is_killed_loses_nothing_and_takes_nothing_twice(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    found = readings(1500)
    run = Run(tmp_path, mosquitto.url("city/+"))
    run.start()
    deadline = time.monotonic() + PATIENCE
    with publishing(mosquitto) as publisher:
        # The broker has the session when it has a message for it: retained, and so given to who comes later.
        publisher.send("city/0", found[0][2].encode(), retain=True)
        received = tmp_path / "checkpoint" / "received"
        while not any(b"/s0>" in file.read_bytes() for file in received.glob("*/*.nq")):
            assert time.monotonic() < deadline, run.errors()
            time.sleep(0.1)
        publisher.send("city/a", *(text.encode() for _, _, text in found[1:500]))
        run.wait(10)
        publisher.send("city/a", *(text.encode() for _, _, text in found[500:700]))
        run.kill()
        publisher.send("city/b", *(text.encode() for _, _, text in found[700:]))
        run.start()
        publisher.send("city/c", line("last", "p", "o", 9999).encode())
        wanted = by_instant(expected(tmp_path, found))
        run.wait(len(wanted))
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGINT)
    run.process.wait(60)
    assert by_instant(run.lines()) == wanted
