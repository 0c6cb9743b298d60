"""Elements: how the generators of the applications write lines of streams and of N-Triples."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from rheos_bench.data import XSD
from rheos_bench.streams import START

DAY, HOUR, MINUTE = 86_400, 3_600, 60


def element(triple: str, seconds: int, start: datetime = START) -> str:
    """A line of a stream: a triple, and its time in seconds after the start."""
    time = (start + timedelta(seconds=seconds)).isoformat()[:19]
    return f'{triple} "{time}Z"^^<{XSD}dateTime> .\n'


def decimal(value: float, digits: int) -> str:
    return f'"{value:.{digits}f}"^^<{XSD}decimal>'


def integer(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def write(path: Path, lines: Iterable[str]) -> Path:
    with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(lines)
    return path
