"""The examples and the README do what they say: their commands are run and their output compared."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ROOT, called, command_line, rheos
from tests.conftest import java_is_missing
from tests.server.city import wait
from tests.services.processes import free_port

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


def blocks(language: str, *pages: str) -> list[str]:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in pages]
    found = (re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for text in texts)
    return [block for page in found for block in page]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/commands.md"])
def test_consoles(page: str) -> None:
    """Each `$ rheos …` of a console block prints what stands below it; `…` stands for further lines."""
    shown = re.findall(r"^\$ (rheos .*)\n((?:(?!\$ ).*\n)*)", "".join(blocks("console", page)), re.MULTILINE)
    assert shown
    for command, expected in shown:
        outcome = rheos(*command_line(command), cwd=ROOT)
        assert (outcome.status, outcome.err) == (0, ""), command
        found, lines = outcome.out.rstrip().splitlines(), expected.rstrip().splitlines()
        if "…" in lines:
            cut = lines.index("…")
            assert len(found) >= len(lines), command
            found[cut : len(found) - (len(lines) - cut - 1)] = ["…"]
        assert found == lines, command


def test_the_queries_of_the_readme_are_those_of_the_commands_below_them() -> None:
    shown = re.findall(
        r"^```sparql\n(.*?)^```\n\n```console\n\$ rheos run (\S+) ", README, re.MULTILINE | re.DOTALL
    )
    assert len(shown) == 4
    for text, path in shown:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        assert text.strip() == "\n".join(line for line in lines if not line.startswith("#")).strip()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("code", blocks("python", "docs/python.md"), ids=["stream", "query"])
def test_python(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python of the page runs, and prints what its comments promise."""
    monkeypatch.chdir(ROOT)
    exec(compile(code, "python.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints: (.*)$", code, re.MULTILINE)


def test_readme_mentions_every_make_command_it_relies_on() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z]+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_the_requests_of_the_readme(tmp_path: Path) -> None:
    """The block is run as it stands, by a shell with curl; only the port is a free one."""
    [block] = [block for block in blocks("sh", "README.md") if "curl" in block]
    port = free_port()
    script = block.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    assert script != block
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RHEOS_PORT": str(port),
    }
    out = tmp_path / "out"
    with out.open("wb") as written:
        shell = subprocess.Popen(
            ["bash", "-e", "-c", f"{script}\nwait"],
            cwd=tmp_path,
            env=environment,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait(
            lambda: '"cars":' in out.read_text() and "sld:windowType" in out.read_text(),
            "an answer and the window",
        )
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(60)
    answers = [json.loads(found) for found in re.findall(r"^data: (.*)$", out.read_text(), re.MULTILINE)]
    assert answers[0]["query"] == "gates"
    assert answers[0]["row"]["cars"]["value"] == "1"
    assert answers[0]["row"]["gate"]["value"] == "http://ex.org/gate1"
