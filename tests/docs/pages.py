"""Pages of the documentation that can be tried: files with a title are written down, commands are run, and
what they print must stand below them.

`python -m tests.docs.pages` writes down what the commands print, to be read in the diff.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
_BLOCK = re.compile(r'^```(\w+)(?: title="([\w.-]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def tried(text: str, folder: Path, command: Callable[[str, Path], str]) -> str:
    """A page with what its commands print now. A program is run where it is written down, if what it prints
    follows in a block of text."""

    def block(found: re.Match[str]) -> str:
        kind, title, content = found.groups()
        if title is not None:
            (folder / title).write_text(content)
        if kind != "console":
            return found[0]
        [first, *_] = content.splitlines()
        return f"```console\n{first}\n{command(first.removeprefix('$ '), folder)}```"

    return _BLOCK.sub(block, text)


def run(line: str, folder: Path) -> str:
    """What a command prints, its errors after its answers."""
    binaries = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    return (done.stdout + done.stderr).replace(f"{folder}/", "")


if __name__ == "__main__":
    for page in TUTORIALS:
        with tempfile.TemporaryDirectory() as name:
            page.write_text(tried(page.read_text(), Path(name), run))
