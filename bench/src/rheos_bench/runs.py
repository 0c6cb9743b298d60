"""Runs: how long the whole engine takes for some queries on a stream file.

Answers are written as NDJSON, counted and thrown away. The clock starts when Spark has decided what the first
batch reads. The start of a streaming query is measured apart: it takes about as long for one element as for a
million.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from rheos import Engine
from rheos.answers.formatter import Formatter


@dataclass
class Lines:
    """An output that counts the lines written to it. With `keep` it also keeps each different line once."""

    keep: bool = False
    count: int = 0
    different: set[bytes] = field(default_factory=set)

    def write(self, content: bytes) -> int:
        self.count += content.count(b"\n")
        if self.keep:
            self.different.update(content.splitlines())
        return len(content)

    def flush(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Run:
    """What a run took, in seconds. `seconds` is all of it after the start. `evaluation` and `static` are the
    parts of it that went to queries and to their static parts. `registering` and `start` come before it."""

    elements: int
    seconds: float
    evaluation: float
    static: float
    registering: float
    start: float
    answers: int
    answering: int  # queries that had an answer
    batches: int
    different: int = 0

    @property
    def per_element(self) -> float:
        """Milliseconds for each element."""
        return self.seconds * 1000 / self.elements

    @property
    def rate(self) -> float:
        return self.elements / self.seconds


def measured(
    engine: Engine,
    stream: str,
    path: Path,
    elements: int,
    texts: Sequence[str],
    *,
    keep: bool = False,
    entailment: str | None = None,
) -> Run:
    """Run queries on a stream file of so many elements. The engine has its static data already."""
    engine.streaming.clear()
    engine.add_stream(stream, str(path))
    began = time.perf_counter()
    handles = [
        engine.register(text, name=f"q{at}", keep=0, entailment=entailment) for at, text in enumerate(texts)
    ]
    registering = time.perf_counter() - began
    output = Lines(keep)
    engine.stream_to(output, Formatter("ndjson", [handle.info for handle in handles]))
    asked = time.time()
    engine.run()
    ended = time.time()
    first = (engine.streaming.location.folder / "spark" / "offsets" / "0").stat().st_mtime
    # A query that had an answer reports its share of what its family took; the others report nothing.
    took = [m for handle in handles if (m := handle.metrics.milliseconds) is not None]
    return Run(
        elements,
        ended - first,
        mean(took) * len(handles) / 1000 if took else 0.0,
        engine.metrics.static_milliseconds / 1000,
        registering,
        first - asked,
        output.count,
        sum(handle.metrics.rows > 0 for handle in handles),
        engine.metrics.batches,
        len(output.different),
    )
