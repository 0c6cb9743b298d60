"""`rheos bench windows`: C-SPARQL over a generated stream, beside a loop over pyoxigraph stores.

Both read and parse the same file, answer the same windows and write the answers, which are counted and thrown
away. rheos reads the whole stream. The loop reads as much of it as it can in the same time; if the windows
are long, the loop may end before they are full, which is to its advantage. Everything is warm: the whole
stream was read once before the first measurement. Each query has run on a small part of the stream, where
rheos and the loop must give the same number of rows.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rheos import Engine
from rheos.answers.formatter import Formatter
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, growth, naive, streams
from rheos_bench.passages import COUNT, JOIN, Question, Window, different
from rheos_bench.report import heading, machine, table, verdict
from rheos_bench.runs import Lines

WINDOWS = (Window(10, 10), Window(60, 10), Window(600, 10))
TIMES_NAIVE = {WINDOWS[0]: 1.5, WINDOWS[1]: 5.0}  # how many times as fast as the loop rheos should be
FALL = 0.5  # from the first window to the last, a count should keep at least this part of its rate
NUMBERS = (1, 10, 100)
TIMES_ONE = 8  # all the different queries together may take so many times as long as one
WARM_UP = 30_000  # triples: three instants


@dataclass(frozen=True, slots=True)
class Bench:
    """The files of the benchmark, and a warm engine."""

    engine: Engine
    stream: Path
    short: Path
    static: Path
    triples: int
    starts: list[float] = field(default_factory=list)

    def rheos(self, path: Path, questions: Sequence[Question], window: Window) -> tuple[float, int]:
        """The seconds that all the queries take on a stream, and the number of rows that they report.

        The clock starts when Spark has decided what the first batch reads. The start of a streaming query is
        measured apart: it takes about as long for a thousand elements as for a million.
        """
        engine = self.engine
        engine.clear()
        engine.load(str(self.static))
        engine.add_stream(streams.STREAM, str(path))
        handles = [
            engine.register(question.over(window, f"q{at}"), keep=0) for at, question in enumerate(questions)
        ]
        output = Lines()
        engine.stream_to(output, Formatter("ndjson", [handle.info for handle in handles]))
        began = time.time()
        engine.run()
        first = engine.streaming.location.folder / "spark" / "offsets" / "0"
        self.starts.append(first.stat().st_mtime - began)
        return time.time() - first.stat().st_mtime, output.count

    def compared(self, what: str, questions: Sequence[Question], window: Window) -> tuple[float, float]:
        """Triples a second: of rheos, and of the loop."""
        plain = [question.plain for question in questions]
        with progress(f"warming up: {what}"):
            _, rows = self.rheos(self.short, questions, window)
            loops = {
                fresh: naive.loop(self.short, self.static, plain, window, fresh=fresh)
                for fresh in (False, True)
            }
            if any(loop.rows != rows for loop in loops.values()):
                raise EvaluationError(f"{what}: rheos reports {rows} rows and the loop {loops[True].rows}")
            fresh = loops[True].rate > loops[False].rate
        with progress(f"measuring: {what}"):
            seconds, _ = self.rheos(self.stream, questions, window)
        with progress(f"the loop, for as long: {what}"):
            loop = naive.loop(self.stream, self.static, plain, window, seconds, fresh=fresh)
        return self.triples / seconds, loop.rate


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        if settings.wants("windows") or settings.wants("queries"):
            with prepared(Path(folder), settings) as bench:
                if settings.wants("windows"):
                    windows(bench)
                if settings.wants("queries"):
                    queries(bench, NUMBERS[:2] if settings.quick else NUMBERS)
                start = statistics.median(bench.starts)
                print(f"\nNot in the rates: to start a streaming query took {start:.1f} s.")
        if settings.wants("memory"):
            growth.run(Path(folder), settings)


@contextmanager
def prepared(folder: Path, settings: Settings) -> Iterator[Bench]:
    """Make the files, and an engine whose Spark has started."""
    with progress(f"generating {settings.triples:,} triples"):
        stream = streams.write_stream(folder / "stream.nq", settings.triples)
        short = streams.write_stream(folder / "short.nq", min(settings.triples, WARM_UP))
        static = streams.write_static(folder / "static.nt")
    with Engine() as engine:
        bench = Bench(engine, stream, short, static, settings.triples)
        with progress("warming up: Spark and its workers"):
            bench.rheos(stream, [COUNT], WINDOWS[0])
        yield bench


def windows(bench: Bench) -> None:
    """A count per group and a join with the static graph, with windows that overlap more and more."""
    heading(
        f"Windows: {bench.triples:,} triples, {streams.PER_SECOND:,} a second, {streams.GATES} groups; "
        f"{streams.STATIC_TRIPLES:,} static triples; warm; parsing and writing included"
    )
    rows, rates = [], []
    for what, question in (("count per group", COUNT), ("join with the static graph", JOIN)):
        for window in WINDOWS:
            ours, theirs = bench.compared(f"{what}, {window}", [question], window)
            target = TIMES_NAIVE.get(window)
            rows.append([f"{what}, {window}", *compared_cells(ours, theirs, target)])
            if question is COUNT:
                rates.append(ours)
    table(["triples/s", "rheos", "naive loop", "ratio", "target", ""], rows)
    kept = rates[-1] / rates[0]
    print()
    table(
        ["", "kept", "target", ""],
        [
            [
                f"rate of the count, {WINDOWS[0]} to {WINDOWS[-1]}",
                f"{kept:.2f}",
                f"> {FALL}",
                verdict(kept > FALL),
            ]
        ],
    )


def queries(bench: Bench, numbers: Sequence[int]) -> None:
    """More and more different queries on the same stream."""
    window = WINDOWS[1]
    heading(f"Different queries on one stream: {bench.triples:,} triples, {window}, warm")
    rows, first = [], 0.0
    for number in numbers:
        ours, theirs = bench.compared(f"{number} queries", different(number), window)
        first = first or ours
        times = first / ours
        is_last = number == NUMBERS[-1]
        cells = [f"{number:,}", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}", f"{times:.1f}"]
        target = [f"≤ {TIMES_ONE}", verdict(times <= TIMES_ONE)] if is_last else ["", ""]
        rows.append([*cells, *target])
    table(["queries", "rheos triples/s", "naive loop", "ratio", "times the cost of one", "target", ""], rows)


def compared_cells(ours: float, theirs: float, target: float | None) -> list[str]:
    ratio = ours / theirs
    aim = ["", ""] if target is None else [f"≥ {target}", verdict(ratio >= target)]
    return [f"{ours:,.0f}", f"{theirs:,.0f}", f"{ratio:.1f}", *aim]
