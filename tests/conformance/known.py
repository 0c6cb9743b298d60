"""The checked-in list of W3C tests that are known to fail, by test and execution."""

from __future__ import annotations

from pathlib import Path

LIST = Path(__file__).with_name("known_failures.txt")


def read_known_failures() -> dict[tuple[str, str], str]:
    """The reason for each pair of test id and execution."""
    known: dict[tuple[str, str], str] = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            identifier, execution, reason = line.split(maxsplit=2)
            known[identifier, execution] = reason
    return known
