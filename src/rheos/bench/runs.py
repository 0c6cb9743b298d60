"""Runs of the whole engine: a stream and queries come in, what a run took goes out.

Answers are written as NDJSON, counted and thrown away. A run counts from when Spark has decided what the
first batch reads: to start a streaming query takes about as long for one element as for a million, and is
measured apart.
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
    """An output that counts the lines written to it, and keeps the different ones if told so."""

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
    """What a run took, in seconds: all of it after the start, and what of that queries and their static parts
    report as theirs; and to register the queries, and to start."""

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
        """Milliseconds."""
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
    """One run of an engine that has its static data already, on a stream of so many elements in a file."""
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
    first = (engine.streaming.folder / "spark" / "offsets" / "0").stat().st_mtime
    # A query reports its share of what its family took, and only if it has an answer.
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
