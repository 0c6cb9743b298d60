"""`rheos bench live`: how long after an instant is complete its answers are out, with long windows, other
shapes of queries, many queries, and in all languages; beside PySpark's own windowed count.

The stream goes to `rheos run` through standard input, and answers come through standard output.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rheos.cli.progress import progress
from rheos_bench import Settings, streams
from rheos_bench.live import questions
from rheos_bench.live.delays import Live
from rheos_bench.passages import Window
from rheos_bench.report import duration, heading, machine, percentile, ratio, table, verdict

SHORT = Window(10, 1)
LONG = Window(3600, 1)
WINDOWS = (SHORT, Window(600, 1), LONG)
NUMBERS = (1, 12, 100)
HALF, MOST = 0.2, 0.4  # seconds: what one query should take, at the 50th and the 95th percentile
MOST_OF_MANY = {1: MOST, 12: 0.8, 100: 1.0}
TIMES_SHORT = 1.5  # a long window may take so many times as long as a short one
WARM_UP, SECONDS, QUICK_SECONDS = 30, 60, 10


Lines = Callable[[int], Iterator[str]]  # so many elements of a stream


class Delays(NamedTuple):
    """The 50th and the 95th percentile of so many answers."""

    answers: int
    half: float
    most: float

    def row(self, what: str, target: float | None = None, told: str = "") -> list[str]:
        cells = [what, f"{self.answers:,}", duration(self.half), duration(self.most)]
        if target is None:
            return [*cells, told, ""]
        return [*cells, f"≤ {duration(target)}", verdict(self.most <= target)]


class Bench(NamedTuple):
    """Where the files are, and how long is measured."""

    folder: Path
    quick: bool

    def delays(self, what: str, texts: Sequence[str], fill: int = 0, lines: Lines = streams.lines) -> Delays:
        """Those of `rheos run` with some queries."""
        files = []
        for at, text in enumerate(texts):
            files.append(self.folder / f"live{at}.rq")
            files[-1].write_text(text, encoding="utf-8")
        static = streams.write_static(self.folder / "live.nt")
        options = ["--stream", f"{streams.STREAM}=-", "--data", str(static), "--format", "ndjson", "--quiet"]
        return self.measured(what, ["rheos", "run", *map(str, files), *options], fill, lines)

    def measured(
        self, what: str, module: Sequence[str], fill: int = 0, lines: Lines = streams.lines
    ) -> Delays:
        live = Live(fill, WARM_UP, QUICK_SECONDS if self.quick else SECONDS, lines)
        with progress(f"{what}, for {live.warm_up + live.counted} s"):
            found = live.delays([sys.executable, "-m", *module])
        return Delays(len(found), percentile(found, 0.5), percentile(found, 0.95))


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    print(f"{streams.PER_SECOND:,} elements a second in real time; a count per group, unless said")
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        bench = Bench(Path(folder), settings.quick)
        for name, section in SECTIONS.items():
            if settings.wants(name):
                section(bench)


def windows(bench: Bench) -> None:
    """A count over longer and longer windows, which are full when measuring begins."""
    heading("Windows")
    rows, first = [], 0.0
    for window in WINDOWS[:1] if bench.quick else WINDOWS:
        fill = 0 if window is SHORT else window.range
        found = bench.delays(f"a window of {window}", [questions.csparql(window)], fill)
        target = first * TIMES_SHORT if first else MOST
        first = first or found.most
        rows.append(found.row(str(window), target))
        if window is SHORT:
            print(f"50th percentile: {duration(found.half)}, target {duration(HALF)}")
    told(rows)


def shapes(bench: Bench) -> None:
    """Different shapes of queries, each over a short window, and over a long one that is full."""
    heading(f"Shapes, {SHORT} and {LONG}")
    rows = []
    for what, (text, lines) in questions.SHAPES.items():
        short = bench.delays(f"{what}, {SHORT}", [text(SHORT)], lines=lines)
        rows.append(short.row(f"{what}, {SHORT}"))
        if not bench.quick:
            found = bench.delays(f"{what}, {LONG}", [text(LONG)], LONG.range, lines)
            rows.append(found.row(f"{what}, {LONG}", short.most * TIMES_SHORT))
    told(rows)


def queries(bench: Bench) -> None:
    """More and more different queries."""
    heading(f"Different queries, {SHORT}")
    numbers = NUMBERS[:2] if bench.quick else NUMBERS
    told(
        bench.delays(f"{number} queries", questions.many(number, SHORT)).row(
            f"{number} queries", MOST_OF_MANY[number]
        )
        for number in numbers
    )


def languages(bench: Bench) -> None:
    """The count in each language."""
    heading(f"Languages, {SHORT}")
    told(bench.delays(name, [text(SHORT)]).row(name, MOST) for name, text in questions.LANGUAGES.items())


def rival(bench: Bench) -> None:
    """The same count by PySpark alone."""
    heading(f"Beside PySpark's own windowed count, {SHORT}")
    ours = bench.delays("rheos", [questions.csparql(SHORT)])
    theirs = bench.measured("PySpark", ["rheos_bench.live.rival", str(SHORT.range), str(SHORT.step)])
    told([ours.row("rheos", told=ratio(ours.most, theirs.most)), theirs.row("PySpark")], "ratio")


def told(rows: Iterable[Sequence[str]], last: str = "target") -> None:
    table(["delay", "answers", "50 %", "95 %", last, ""], list(rows))


SECTIONS = {
    "windows": windows,
    "shapes": shapes,
    "queries": queries,
    "languages": languages,
    "rival": rival,
}
