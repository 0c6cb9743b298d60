"""`rheos bench overload`: a stream that comes faster than it can be evaluated.

The whole stream is there at once, so that nothing but evaluation holds it up. The first table has throughput
against the size of batches: when a stream comes faster, batches grow, and so does what is done in a second.
The second has the same query as it is, STRETCHED, and on a SAMPLE: what each takes, and what it gives up.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rheos import Engine
from rheos.answers.formatter import Formatter
from rheos.cli.progress import progress
from rheos_bench import Settings, streams
from rheos_bench.passages import COUNT, PREFIXES
from rheos_bench.report import duration, heading, machine, table

BATCHES = (1_000, 10_000, 100_000, 1_000_000)  # elements
BYTES = 190  # of a line of the stream, about
RANGE, STEP = "600s", "1s"
PLAIN, STRETCHED, SAMPLED = "as it is", "COMPUTED EVERY 1s STRETCHED", "SAMPLE 10%"


@dataclass
class Answers:
    """An output that keeps the counts of each instant and gate, and those that were skipped."""

    counts: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    instants: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)

    def write(self, content: bytes) -> int:
        for line in content.splitlines():
            answer = json.loads(line)
            if "skipped" in answer:
                self.skipped.add(answer["at"])
                continue
            self.instants.add(answer["at"])
            row, error = answer["row"], answer.get("error", {})
            key = answer["at"], row["gate"]["value"]
            self.counts[key] = int(row["n"]["value"]), float(error.get("n", 0.0))
        return len(content)

    def flush(self) -> None:
        pass


def text(clause: str) -> str:
    """The query with a clause that says what it may give up."""
    every = f" {clause}" if clause == STRETCHED else ""
    sample = f" {clause}" if clause == SAMPLED else ""
    window = f"FROM STREAM <{streams.STREAM}> [RANGE {RANGE} STEP {STEP}]{sample}"
    return f"REGISTER QUERY overload{every} AS {PREFIXES}{COUNT.select} {window} {COUNT.where}"


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    sizes = [size for size in BATCHES if size <= settings.triples]
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder, Engine() as spark:
        stream = streams.write_stream(Path(folder, "stream.nq"), settings.triples)
        with progress("warming up"):
            measured(spark, stream, PLAIN, sizes[-1])
        if settings.wants("curve"):
            heading(
                f"{settings.triples:,} triples at once, a count per group, range {RANGE}, step {STEP}, warm"
            )
            rows = []
            for size in sizes[1:] if settings.quick else sizes:
                # Small batches would take for ever on all of it.
                part = streams.write_stream(Path(folder, f"{size}.nq"), min(settings.triples, 100 * size))
                with progress(f"batches of {size:,}"):
                    seconds, _ = measured(spark, part, PLAIN, size)
                rows.append([f"{size:,}", f"{min(settings.triples, 100 * size) / seconds:,.0f}"])
            table(["elements of a batch", "triples/s"], rows)
        if settings.wants("clauses"):
            size = sizes[-2] if len(sizes) > 1 else sizes[-1]
            heading(f"{settings.triples:,} triples at once, in batches of {size:,}")
            table(
                ["", "time", "answered", "skipped", "most off", "within its bound"],
                clauses(spark, stream, size),
            )


def clauses(engine: Engine, stream: Path, size: int) -> list[Sequence[str]]:
    """What the query takes, and gives up, with each clause."""
    rows, truth = list[Sequence[str]](), Answers()
    for clause in (PLAIN, STRETCHED, SAMPLED):
        with progress(clause):
            seconds, found = measured(engine, stream, clause, size)
        truth = found if clause == PLAIN else truth
        off, within = compared(truth, found)
        cells = [f"{len(found.instants):,}", f"{len(found.skipped):,}", f"{off:.1%}", f"{within:.1%}"]
        rows.append([clause, duration(seconds), *cells])
    return rows


def compared(truth: Answers, found: Answers) -> tuple[float, float]:
    """How far the worst count is off, as a part of it, and how many are within the bounds that they have."""
    off = [
        (abs(count - truth.counts[key][0]) / truth.counts[key][0], abs(count - truth.counts[key][0]) <= error)
        for key, (count, error) in found.counts.items()
    ]
    return max(part for part, _ in off), sum(within for _, within in off) / len(off)


def measured(warm: Engine, stream: Path, clause: str, elements: int) -> tuple[float, Answers]:
    """The seconds after the start that a query takes on a stream in batches of so many elements."""
    output = Answers()
    with Engine(warm.session(), batch_bytes=elements * BYTES) as engine:
        engine.add_stream(streams.STREAM, str(stream))
        handle = engine.register(text(clause), keep=0)
        engine.stream_to(output, Formatter("ndjson", [handle.info]))
        engine.run()
        first = engine.streaming.location.folder / "spark" / "offsets" / "0"
        return time.time() - first.stat().st_mtime, output
