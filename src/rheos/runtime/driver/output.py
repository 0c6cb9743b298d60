"""Output: where a run writes answers and dead letters, beside the handles of queries and their sinks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.runtime.state.journal import Target
from rheos.runtime.state.progress import DeadLetter


class Writer(Protocol):
    """Formats the answers of a batch for output."""

    def header(self) -> bytes: ...

    def batch(self, answers: list[tuple[QueryInfo, pa.Table]]) -> bytes: ...


@dataclass
class Output:
    """Where answers and dead letters are written; dead letters as lines of JSON."""

    target: Target | None = None
    writer: Writer | None = None
    letters: Target | None = None


def line(letter: DeadLetter) -> bytes:
    """A dead letter as a line of JSON."""
    content = {**letter.json(), "stream": letter.stream[1:-1]}
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
