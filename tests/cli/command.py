"""How these tests call `rheos`: in a process of its own, or, for speed, in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
CITY = ROOT / "examples" / "sparql" / "city.ttl"
ROADWORKS = ROOT / "examples" / "sparql" / "roadworks.ttl"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    def faulted(self, *words: str, lines: int = 2) -> None:
        """It ended as an error of the user's should: status 1, few lines, the words, nothing on stdout."""
        assert self.status == 1, self
        assert self.out == "", self
        assert "Traceback" not in self.err, self
        message = self.err.splitlines()
        if message and message[-1].strip() == "^":  # the line of the query and its caret
            message = message[:-2]
        assert 1 <= len(message) <= lines, self
        for word in words:
            assert word in self.err, self


def rheos(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> Outcome:
    """The command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "rheos", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        timeout=120,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def called(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
    """The same command inside this process."""
    from rheos.cli.app import app

    done = CliRunner().invoke(app, list(map(str, arguments)), input=stdin, prog_name="rheos")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Outcome(done.exit_code, done.stdout_bytes.decode(), done.stderr_bytes.decode())


def read_terminal(reader: int) -> str:
    """All that is written to a terminal, until its other end is closed."""
    seen = b""
    with suppress(OSError):  # Linux says EIO where the other end has closed
        while piece := os.read(reader, 4096):
            seen += piece
    os.close(reader)
    return seen.decode()


def city(*arguments: str | Path) -> Outcome:
    """A query about the example city, in this process and without Spark."""
    return called("query", *arguments, "--data", CITY, "--execution", "local")


def command_line(text: str) -> Sequence[str]:
    """The arguments of a `rheos …` line as a shell would pass them."""
    import shlex

    name, *arguments = shlex.split(text)
    assert name == "rheos", text
    return arguments
