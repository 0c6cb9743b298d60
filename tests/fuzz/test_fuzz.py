"""The short form of `make fuzz`: some hundred mutated inputs of each kind, the same in every run."""

from __future__ import annotations

import time

import pytest

from tests.fuzz.subjects import SUBJECTS

COUNTS = {
    "parse": 400,
    "query": 60,
    "explain": 120,
    "register": 120,
    "update": 80,
    "load": 200,
    "lines": 200,
    "documents": 200,
    "push": 60,
    "records": 200,
}
SECONDS = 6.0  # for one kind: a slow machine tries fewer
SLOW = 20.0  # for one input, on a machine that is busy


@pytest.mark.parametrize("name", SUBJECTS)
def test_only_errors_of_our_own(name: str) -> None:
    subject = SUBJECTS[name]()
    started = time.monotonic()
    for seed in range(COUNTS[name]):
        case = subject.case(seed)
        before = time.monotonic()
        error = subject.attempt(case)
        again = f"python -m tests.fuzz --subject {name} --seed {seed}"
        assert error is None, f"{again}\n{case[1]!r}"
        assert time.monotonic() - before < SLOW, again
        if time.monotonic() - started > SECONDS:
            break
