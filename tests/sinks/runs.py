"""Runs with sinks: a stream of some minutes and queries over it, whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.runtime.streams import line

STREAM = "http://ex/tolls"
COUNTS = """\
REGISTER QUERY counts AS PREFIX : <http://ex/>
SELECT ?gate (COUNT(*) AS ?cars) FROM STREAM <http://ex/tolls> [RANGE 10s STEP 10s]
WHERE { ?gate :registers ?car } GROUP BY ?gate"""
SEEN = """\
REGISTER QUERY seen AS PREFIX : <http://ex/>
CONSTRUCT { ?car :seenAt ?gate } FROM STREAM <http://ex/tolls> [RANGE 10s STEP 10s]
WHERE { ?gate :registers ?car }"""


def tolls(seconds: int, start: int = 0) -> str:
    """Three cars a second at one of four gates, as lines of a stream file."""
    return "".join(
        line(f"gate{(at + car) % 4}", "registers", f"car{at}-{car}", at)
        for at in range(start, start + seconds)
        for car in range(3)
    )


def written(path: Path, seconds: int) -> Path:
    path.write_text(tolls(seconds))
    return path


def plain(answers: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Answers in an order that does not change: query and time, and all that they say."""
    kept = ("query", "at", "row", "triple", "boolean")
    return sorted(
        (item["at"], json.dumps({key: item[key] for key in kept if key in item}, sort_keys=True))
        for item in answers
    )


def in_file(path: Path) -> list[tuple[str, str]]:
    return plain(map(json.loads, path.read_text().splitlines()))
