"""The page on reasoning does what it says."""

from __future__ import annotations

import pytest

from tests.cli.command import ROOT
from tests.cli.examples import blocks, check_python

PAGE = (ROOT / "docs" / "reasoning.md").read_text(encoding="utf-8")


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (text for kind, text in blocks(PAGE) if kind == "python")
    check_python(code, capsys)
