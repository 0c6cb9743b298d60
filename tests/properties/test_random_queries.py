"""Random queries on random data: each execution gives what pyoxigraph gives."""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, given, settings

from rheos import Engine
from tests.conformance.subjects import Oxigraph, Rheos, Subject

from .comparison import complaint
from .queries import Trial, trials

EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "400"))


def check(trial: Trial, subject: Subject) -> None:
    reference = Oxigraph()
    reference.load_quads(trial.data)
    expected = reference.query(trial.reference)
    subject.clear()
    subject.load_quads(trial.data)
    reason = complaint(trial, expected, subject.query(trial.query))
    assert reason is None, f"{reason}\n{trial}"


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(trial=trials())
def test_local(trial: Trial, local_engine: Engine) -> None:
    check(trial, Rheos("local", engine=local_engine))


@pytest.mark.slow
@settings(max_examples=max(EXAMPLES // 2, 1))
@given(trial=trials())
def test_indexed(trial: Trial, indexed_engine: Engine) -> None:
    check(trial, Rheos("indexed", engine=indexed_engine))


# A query through Spark takes a second, a deep one a minute, and shrinking runs hundreds: only for hunts.
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
PHASES = list(Phase) if DEEP else [Phase.explicit, Phase.reuse, Phase.generate]


@pytest.mark.slow
@pytest.mark.timeout(7200 if DEEP else 600)
@settings(max_examples=max(EXAMPLES // 10, 1), phases=PHASES, report_multiple_bugs=False)
@given(trial=trials(deepest=3 if DEEP else 1))
def test_catalyst(trial: Trial, catalyst_engine: Engine) -> None:
    check(trial, Rheos("catalyst", engine=catalyst_engine))
