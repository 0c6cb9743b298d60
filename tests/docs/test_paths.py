"""What the documentation names of the repository is there: files, folders and modules."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.docs.pages import DOCS

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
# Paths are written from the checkout, from the package, or from the folder of a benchmark.
FOLDERS = (ROOT, ROOT / "src" / "rheos", ROOT / "bench" / "src" / "rheos_bench", ROOT / "deploy")
NOT_OURS = {"build", "dist", "node_modules"}  # what commands make
OF_A_RUN = {"sinks/run"}  # in the state store


def files() -> set[str]:
    """The paths of all files, but not of environments, caches and what commands make."""
    found = set[str]()
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [one for one in inside if not one.startswith((".", "__")) and one not in NOT_OURS]
        found |= {(Path(folder, name)).relative_to(ROOT).as_posix() for name in names}
    return found


def named(text: str) -> list[str]:
    """The paths in backticks that begin with a folder of ours, and the modules."""
    texts = re.findall(r"`([\w./*{}-]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    own = {one.name for folder in FOLDERS for one in folder.iterdir() if one.is_dir()} - NOT_OURS
    return [one for one in texts if (one.partition("/")[0] in own and "/" in one) or one.endswith(".py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_exist(page: Path) -> None:
    known = files()
    missing = []
    for path in named(page.read_text(encoding="utf-8")):
        found = any(list(folder.glob(path.rstrip("/"))) for folder in FOLDERS)
        if not found and path not in OF_A_RUN and not any(f"/{one}".endswith(f"/{path}") for one in known):
            missing.append(path)
    assert missing == []
