"""`rheos bench kafka` measures what it says: every way sees all messages, and the connector is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.command import ROOT
from tests.services import artifacts


@pytest.mark.slow
def test_a_small_run() -> None:
    try:
        artifacts.broker()
        note = artifacts.connector().note
    except artifacts.Missing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [sys.executable, "-m", "rheos", "bench", "kafka", "--messages", "20000", "--quick"],
        capture_output=True,
        text=True,
        timeout=500,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for words in (note, "rheos, from the topic", "PySpark, windowed count", "PySpark, bare count"):
        assert words in done.stdout
