"""The keys of `[log]`: which lines are written, and in which form."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from rheos.server import logs


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """The loggers of this process are as before after a test."""
    kept = [(one, one.level, one.handlers[:]) for one in (logging.getLogger(), logs._LOGGER)]
    yield
    for one, level, handlers in kept:
        one.setLevel(level)
        one.handlers[:] = handlers


@pytest.mark.parametrize(
    ("level", "events"),
    [
        ("debug", ["request", "write", "slow", "broken"]),
        ("info", ["write", "slow", "broken"]),
        ("warning", ["slow", "broken"]),
        ("error", ["broken"]),
    ],
)
def test_lines_below_the_level_are_left_out(
    level: str, events: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    logs.begin(level)
    for event, own in (("request", "debug"), ("write", "info"), ("slow", "warning"), ("broken", "error")):
        logs.log(event, level=own)
    logging.getLogger("others").info("not of the server")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == events


def test_text_has_the_fields_after_the_event(capsys: pytest.CaptureFixture[str]) -> None:
    logs.begin("info", "text")
    logs.log("write", method="PUT", path="/a b", status=201, milliseconds=1.5)
    [line] = capsys.readouterr().err.splitlines()
    time, rest = line.split(" ", 1)
    assert time.endswith("Z")
    assert rest == 'info write method="PUT" path="/a b" status=201 milliseconds=1.5'


def test_text_has_a_traceback_on_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    logs.begin("info", "text")
    try:
        raise ValueError("no")
    except ValueError as error:
        logs.log("broken", level="error", exception=error, query="q")
    first, second, *_, last = capsys.readouterr().err.splitlines()
    assert first.endswith(' error broken query="q"')
    assert second == "Traceback (most recent call last):"
    assert last == "ValueError: no"


def test_text_of_other_loggers_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    logs.begin("info", "text")
    logging.getLogger("uvicorn").warning("odd")
    assert capsys.readouterr().err.rstrip().endswith(' warning odd logger="uvicorn"')
