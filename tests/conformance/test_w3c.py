"""Every W3C test: evaluation on all executions, syntax once."""

from __future__ import annotations

import pytest

from .known import read_known_failures
from .runner import run
from .subjects import EXECUTIONS, Rheos
from .suite import FOLDER, Case, read_cases

CASES = read_cases()
KNOWN = read_known_failures()
LIMIT = 5

pytestmark = pytest.mark.skipif(not CASES, reason=f"the W3C tests are not in {FOLDER}")


def parameters(executions: tuple[str, ...], cases: list[Case]) -> list[object]:
    """A pytest parameter for each execution and test; the known failures must fail."""
    return [
        pytest.param(
            execution,
            case,
            id=f"{execution}-{case.id}",
            marks=[pytest.mark.xfail(strict=True, reason=KNOWN[case.id, execution])]
            if (case.id, execution) in KNOWN
            else [],
        )
        for execution in executions
        for case in cases
    ]


@pytest.mark.parametrize(
    ("execution", "case"), parameters(EXECUTIONS, [case for case in CASES if not case.is_syntax])
)
def test_evaluation(execution: str, case: Case, request: pytest.FixtureRequest) -> None:
    engine = request.getfixturevalue(f"{execution}_engine")
    outcome = run(case, Rheos(execution, engine=engine))
    assert outcome.passed, outcome.detail


@pytest.mark.parametrize(
    ("execution", "case"), parameters(("syntax",), [case for case in CASES if case.is_syntax])
)
def test_syntax(execution: str, case: Case, local_engine: object) -> None:
    outcome = run(case, Rheos("local", engine=local_engine))
    assert outcome.passed, outcome.detail


def test_known_failures_are_few_and_exist() -> None:
    ids = {case.id for case in CASES}
    assert len(KNOWN) <= LIMIT
    assert {identifier for identifier, _ in KNOWN} <= ids
    assert {execution for _, execution in KNOWN} <= {*EXECUTIONS, "syntax"}
