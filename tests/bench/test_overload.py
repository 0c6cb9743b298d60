"""`rheos bench overload`: its queries, how answers are compared, and its tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rheos
from rheos_bench import overload
from tests.conftest import java_is_missing


@pytest.mark.parametrize("clause", [overload.PLAIN, overload.STRETCHED, overload.SAMPLED])
def test_the_queries_are_understood(clause: str) -> None:
    query = rheos.parse(overload.text(clause), dialect="csparql")
    assert (query.registration is not None and query.registration.stretched is not None) is (
        clause == overload.STRETCHED
    )
    assert (query.streams[0].sample is not None) is (clause == overload.SAMPLED)


def test_estimates_are_compared_with_the_truth() -> None:
    truth, found = overload.Answers(), overload.Answers()
    line = '{"query":"q","at":"%s","row":{"gate":{"value":"g"},"n":{"value":"%d"}}%s}\n'
    truth.write((line % ("1", 100, "") + line % ("2", 100, "")).encode())
    found.write((line % ("1", 90, ',"error":{"n":15}') + line % ("2", 120, ',"error":{"n":15}')).encode())
    found.write(b'{"query":"q","at":"3","skipped":true}\n')
    assert overload.compared(truth, found) == (pytest.approx(0.2), 0.5)
    assert (found.instants, found.skipped) == ({"1", "2"}, {"3"})


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_quick_run_prints_its_tables() -> None:
    command = [sys.executable, "-m", "rheos", "bench", "overload", "--triples", "20000", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    for label in ("elements of a batch", overload.STRETCHED, overload.SAMPLED, "within its bound"):
        assert label in done.stdout
