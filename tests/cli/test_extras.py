"""Without an extra, all that does not need it goes on, and what does says in one sentence how to get it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rheos.server import PACKAGES
from tests.cli.command import ROOT
from tests.conftest import java_is_missing

EXAMPLE = "examples/csparql/cars-entering-per-tollgate"
STREAM = "http://streams.org/milantollgates.trdf"
# Every process of Python runs this before anything else: Spark's workers, too.
BLOCKED = f"import sys\nfor name in {PACKAGES}:\n    sys.modules[name] = None\n"


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """An environment in which the packages of the extra `server` cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    path = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def rheos(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rheos", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve"],
        ["demo", "--for", "1s"],
        [
            "run",
            "-q",
            "SELECT * { STREAM <http://ex/s> [NOW] { ?a ?b ?c } }",
            "-s",
            "http://ex/s=ws://localhost/",
        ],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_needs_the_extra_says_so(without: dict[str, str], arguments: list[str]) -> None:
    done = rheos(without, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    # rheos is on no index: whoever has a checkout installs that, others have a wheel.
    assert "pip install '.[server]' in a checkout, or 'WHEEL[server]' elsewhere" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "-q", "ASK {}"],
        ["explain", f"{EXAMPLE}.rq"],
        ["translate", f"{EXAMPLE}.rq", "--to", "rspql"],
        ["--help"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_does_not_need_it_goes_on(without: dict[str, str], arguments: list[str]) -> None:
    done = rheos(without, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_continuous_queries_do_not_need_it(without: dict[str, str]) -> None:
    done = rheos(without, "run", f"{EXAMPLE}.rq", "--stream", f"{STREAM}={EXAMPLE}.nq", "--format", "ndjson")
    assert done.returncode == 0, done.stderr
    expected = (ROOT / f"{EXAMPLE}.expected.ndjson").read_text()
    assert sorted(done.stdout.splitlines()) == sorted(expected.splitlines())


def test_the_extra_has_these_packages_and_the_core_has_none() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {name.split(">=")[0].replace("-", "_") for name in extras["server"]}
    assert named == set(PACKAGES)
    core = {name.split(">=")[0].split("<")[0].replace("-", "_") for name in project["dependencies"]}
    assert not core & named
    assert {"kafka", "mqtt", "server", "bench"} <= extras.keys()
