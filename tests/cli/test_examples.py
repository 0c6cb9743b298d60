"""The examples and the README do what they say: their commands are run and their output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import ROOT, called, command_line, rheos

EXAMPLES = ROOT / "examples" / "sparql"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def the_command_of(query: Path) -> str:
    found = re.search(r"^# (rheos query .*)$", query.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{query.name} does not say how to run it"
    return found[1]


@pytest.mark.parametrize("query", sorted(EXAMPLES.glob("*.rq")), ids=lambda path: path.stem)
def test_example(query: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = called(*command_line(the_command_of(query)))
    assert (outcome.status, outcome.err) == (0, "")
    expected = (EXAMPLES / "expected" / f"{query.stem}.txt").read_text(encoding="utf-8").splitlines()
    lines = outcome.out.splitlines()
    if "CONSTRUCT" in query.read_text(encoding="utf-8"):  # a graph has no order
        lines.sort()
    assert lines == expected


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_readme_consoles() -> None:
    """Each `$ rheos …` of a console block prints what the block shows below it."""
    shown = re.findall(r"^\$ (rheos .*)\n((?:(?!\$ ).*\n)*)", "".join(blocks("console")), re.MULTILINE)
    assert shown
    for command, expected in shown:
        outcome = rheos(*command_line(command), cwd=ROOT)
        assert (outcome.status, outcome.err) == (0, ""), command
        assert outcome.out.rstrip().splitlines() == expected.rstrip().splitlines(), command


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("code", blocks("python"), ids=["stream", "query"])
def test_readme_python(
    code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python of the README runs, and prints what its comments promise."""
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints: (.*)$", code, re.MULTILINE)


def test_readme_mentions_every_make_command_it_relies_on() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z]+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
