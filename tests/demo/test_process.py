"""`rheos demo` as a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from rheos.demo.catalogue import queries
from tests.conftest import java_is_missing


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21")
def test_the_demo_says_what_it_does_answers_and_ends_by_itself() -> None:
    command = [sys.executable, "-m", "rheos", "demo", "--port", "0", "--for", "25s"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"open http://127\.0\.0\.1:\d+/", ended.stderr)
    assert re.search(r"first answers after \d+ s", ended.stderr)
    for name in (query.name for query in queries() if query.language != "epsparql"):  # these may take longer
        assert re.search(rf"^\d\d:\d\d:\d\d  {name} +\S", ended.stdout, re.MULTILINE), ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_length_that_is_none() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "rheos", "demo", "--for", "soon"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "--for" in ended.stderr
