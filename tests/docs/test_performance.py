"""The page on performance names every benchmark, and every benchmark that it names is there."""

from __future__ import annotations

import re

from rheos_bench import BENCHMARKS
from tests.docs.pages import DOCS


def test_the_page_lists_the_benchmarks() -> None:
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `rheos bench (\w+)` \|", page, re.MULTILINE)
    assert listed == list(BENCHMARKS)
    named = {
        name for path in DOCS.rglob("*.md") for name in re.findall(r"`rheos bench ([a-z]+)", path.read_text())
    }
    assert named <= BENCHMARKS.keys()
