"""The parts of the command line that need no engine: messages, cells of a table, choice of a format."""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox
import pytest
import typer

from rheos.cli import failures
from rheos.cli.table import LONG, table_text
from rheos.errors import EnvironmentFault, Position, QuerySyntaxError
from rheos.terms import XSD

PREFIXES = {"": "http://e/", "sub": "http://e/sub/"}


@dataclass
class Solutions:
    variables: list[str]
    rows: list[dict[str, object]]


def shown(*terms: object) -> list[str]:
    text = table_text(Solutions(["x"], [{"x": term} for term in terms]), PREFIXES)  # type: ignore[arg-type]
    return text.decode().splitlines()[2:]


@pytest.mark.parametrize(
    ("term", "cell"),
    [
        (ox.NamedNode("http://e/a"), ":a"),
        (ox.NamedNode("http://e/sub/a.b-c"), "sub:a.b-c"),
        (ox.NamedNode("http://e/sub/"), "<http://e/sub/>"),
        (ox.NamedNode("http://e/a/b"), "<http://e/a/b>"),
        (ox.NamedNode("http://other/a"), "<http://other/a>"),
        (ox.Literal("plain [red]text[/red]"), "plain [red]text[/red]"),
        (ox.Literal("two\nlines\x1b[0m"), "two\\nlines\\x1b[0m"),
        (ox.Literal("Hafen", language="de"), "Hafen @de"),
        (ox.Literal("P1D", datatype=ox.NamedNode("http://e/span")), "P1D ^^:span"),
        (ox.Literal("2026-01-01", datatype=ox.NamedNode(XSD + "date")), "2026-01-01"),
        (ox.Literal("05", datatype=ox.NamedNode(XSD + "integer")), "05"),
        (ox.BlankNode("b"), "_:b"),
        (None, ""),
    ],
)
def test_cells(term: object, cell: str) -> None:
    assert shown(term) == [cell]


def test_numbers_stand_to_the_right() -> None:
    number = ox.NamedNode(XSD + "integer")
    assert shown(ox.Literal("5", datatype=number), ox.Literal("10", datatype=number)) == [" 5", "10"]


def test_long_tables_keep_their_columns() -> None:
    lines = shown(*(ox.Literal(str(number)) for number in range(LONG + 1)))
    assert lines == [str(number) for number in range(LONG + 1)]


def test_no_variables() -> None:
    assert table_text(Solutions([], [{}, {}]), {}) == b"2 solutions, no variables\n"  # type: ignore[arg-type]


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
