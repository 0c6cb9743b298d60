"""The page on CQELS-QL does what it says: its queries, its Python, its command, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rheos import Engine, QuerySyntaxError, parse
from tests.cli.command import ROOT, called, command_line
from tests.cli.examples import blocks, check_page, check_python

PAGE = (ROOT / "docs" / "cqels.md").read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)


def test_queries(spark: SparkSession, tmp_path: Path) -> None:
    contents = dict(reversed(BLOCKS))
    stream = tmp_path / "badges.nq"
    stream.write_text(contents["nquads"], encoding="utf-8")
    with Engine(spark=spark) as engine:
        engine.load(data=contents["trig"], format="trig")
        engine.add_stream("http://ex.org/badges", stream)
        check_page(PAGE, engine)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("code", [text for kind, text in BLOCKS if kind == "python"], ids=["update", "plan"])
def test_python(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    check_python(code, capsys)


def test_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = (text for kind, text in BLOCKS if kind == "console")
    command, _, expected = shown.partition("\n")
    outcome = called(*command_line(command.removeprefix("$ ")))
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == expected


REFUSED = re.findall(r"^\| `(.*)` \| (.*) \|$", PAGE.split("## What is refused")[1], re.MULTILINE)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    query = f"SELECT * {{ {text} }}" if text.startswith(("STREAM", "GRAPH")) else text
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query, dialect="auto")
    assert caught.value.message == message


def test_there_are_some() -> None:
    assert len(REFUSED) > 5
