"""The page about updates does what it says: its Python is run, and prints what its comments promise."""

from __future__ import annotations

import re

import pytest

from tests.cli.command import ROOT

PAGE = (ROOT / "docs" / "update.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_page(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, "update.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints: (.*)$", code, re.MULTILINE)
