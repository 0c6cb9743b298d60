"""The page on the server: its table has all addresses, and its requests get what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rheos.server import openapi
from tests.cli.examples import blocks
from tests.conftest import java_is_missing
from tests.docs.pages import DOCS
from tests.docs.test_references import section
from tests.server.city import wait
from tests.services.processes import free_port

BLOCKS = blocks((DOCS / "server.md").read_text(encoding="utf-8"))
# Each is the same as one without it, as RDF and as a page.
TWINS = ("/trdf/", "/page/")


def test_the_table_has_all_addresses() -> None:
    rows = re.findall(r"^\| (`/.*?) \| ([A-Z, ]+)", section("server", "All addresses"), re.MULTILINE)
    listed = {
        path: set(re.findall("[A-Z]+", methods))
        for paths, methods in rows
        for path in re.findall("`(.*?)`", paths)
    }
    described = {
        path: {method.upper() for method in item if method in ("get", "put", "post", "delete")}
        for path, item in openapi.description("http://127.0.0.1/")["paths"].items()
    }
    own = {path: methods for path, methods in described.items() if not path.startswith(TWINS)}
    others = {"/static/…": {"GET"}, "/trdf/…": {"GET"}, "/page/…": {"GET"}}
    assert listed == own | others
    windows = {path for path in own if path.startswith("/{name}/") and "{" in path[7:]} | {"/{name}"}
    assert described.keys() - own.keys() == {twin[:-1] + path for twin in TWINS for path in windows}


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_the_requests_of_the_page(tmp_path: Path) -> None:
    """The block is run as it stands, command by command, by a shell with curl; only the port is free."""
    [configuration] = [text for kind, text in BLOCKS if kind == "toml"]
    (tmp_path / "rheos.toml").write_text(configuration)
    stream = dict(reversed(blocks((DOCS / "csparql.md").read_text(encoding="utf-8"))))["nquads"]
    (tmp_path / "tolls.nq").write_text(stream)
    [script] = [text for kind, text in BLOCKS if kind == "sh" and "curl" in text]
    port = free_port()
    follow, push, window, moment, put = commands(script.replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    environment = {**os.environ, "RHEOS_PORT": str(port)}
    events = tmp_path / "events"
    with (tmp_path / "log").open("wb") as log, events.open("wb") as written:
        server = subprocess.Popen(
            [sys.executable, "-m", "rheos", "serve"], cwd=tmp_path, env=environment, stderr=log
        )
        following = None
        try:
            wait(lambda: "listening" in (tmp_path / "log").read_text(), "it listens")
            following = subprocess.Popen(
                ["bash", "-c", follow], stdout=written, stderr=log, start_new_session=True
            )
            assert '"accepted":5' in output(push, tmp_path).replace(" ", "")
            wait(lambda: "sld:windowType" in output(window, tmp_path), "the window of the stream")
            wait(lambda: "carB" in output(moment, tmp_path), "a moment of the stream")
            assert '"name":"seen"' in output(put, tmp_path).replace(" ", "")
            wait(lambda: '"query":"gates"' in events.read_text(), "an answer")
        finally:
            if following is not None:
                os.killpg(following.pid, signal.SIGTERM)
                following.wait(60)
            server.terminate()
            server.wait(60)


def commands(script: str) -> list[str]:
    """The commands of a script; one ends where the next line begins with `curl`, or with a comment."""
    lines = [line for line in script.splitlines() if not line.startswith("#")]
    return ["curl" + command for command in "\n".join(lines).split("curl")[1:]]


def output(command: str, folder: Path) -> str:
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
