"""The page about mappings does what it says: its files, its command, and each kind of mapping."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import ROOT, called, command_line

PAGE = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([^`]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
CONSOLE = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands(folder: Path) -> None:
    [(command, shown)] = CONSOLE
    done = called(*command_line(command))
    assert done.status == 1
    told = done.err.replace(f"{folder}/", "")
    assert (done.out + told).splitlines() == shown.splitlines()


@pytest.mark.parametrize(("mapping", "elements"), [("sensors.rml.ttl", 4), ("sensors.jsonld", 13)])
def test_other_mappings(folder: Path, mapping: str, elements: int) -> None:
    time = ["--time", "field:ts"] if mapping.endswith(".ttl") else []
    done = called("map", mapping, "--data", "sensors.ndjson", *time)
    assert len(done.out.splitlines()) == elements, done
