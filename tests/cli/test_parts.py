"""The parts of the command line that need no engine: messages and exit statuses."""

from __future__ import annotations

import pytest
import typer

from rheos.cli import failures
from rheos.errors import EnvironmentFault, Position, QuerySyntaxError


def ended(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as caught, failures.reported("query.rq"):
        raise error
    return caught.value.exit_code, capsys.readouterr().err


def test_a_place_in_the_query(capsys: pytest.CaptureFixture[str]) -> None:
    error = QuerySyntaxError("unknown prefix ex:", "ASK {\n\t?s ex:p ?o }", Position(2, 5))
    assert ended(error, capsys) == (
        1,
        "query.rq: line 2, column 5: unknown prefix ex:\n   ?s ex:p ?o }\n      ^\n",
    )


def test_a_place_after_the_end_has_no_line_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    error = QuerySyntaxError("the query ends too early", "", Position(1, 1))
    assert ended(error, capsys) == (1, "query.rq: line 1, column 1: the query ends too early\n")


def test_a_fault_of_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(EnvironmentFault("Java is missing"), capsys) == (1, "Java is missing\n")


def test_a_fault_of_ours_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    status, message = ended(RuntimeError("first line\nsecond line"), capsys)
    assert status == 1
    assert message.splitlines()[0] == "internal error: RuntimeError: first line"
    assert failures.TRACEBACK_VARIABLE in message


def test_a_fault_of_ours_can_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(failures.TRACEBACK_VARIABLE, "1")
    with pytest.raises(RuntimeError), failures.reported():
        raise RuntimeError("oops")


def test_interruption_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(KeyboardInterrupt(), capsys) == (130, "")
