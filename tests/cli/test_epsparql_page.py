"""The page on EP-SPARQL does what it says: its Python prints what it promises, its rule is refused."""

from __future__ import annotations

import re

import pytest

from rheos import Engine, parse
from rheos.errors import RheosError
from tests.cli.command import ROOT
from tests.cli.examples import blocks, check_python

PAGE = (ROOT / "docs" / "epsparql.md").read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "code", [text for kind, text in BLOCKS if kind == "python"], ids=["rules", "consumption"]
)
def test_python(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_python(code, capsys)


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "sparql"])
def test_queries(text: str) -> None:
    assert parse(text).dialect == ("rspql" if "WINDOW" in text else "epsparql")


def test_a_rule_that_would_hold_if_it_did_not() -> None:
    (rule,) = re.findall(r"```\n(CONSTRUCT .*)\n```", PAGE)
    with Engine(execution="local") as engine, pytest.raises(RheosError, match="own looks for the absence"):
        engine.register(f"PREFIX : <http://ex.org/> {rule}", name="own", dialect="epsparql")
