"""`rheos bench events`: sequences, sliding averages and reasoning in EP-SPARQL, beside targets and beside
Python that a user would write for just one of these queries.

The whole engine is measured: a file is read and parsed, queries are evaluated, and answers are written as
NDJSON and thrown away. The paper (section 6) shows its rates in figures only. In words it says that its
system was faster than Esper, and in the test of classes more than 20 times as fast as earlier systems.
Everything is warm: before it is measured, each query has run on the beginning of its stream. There it must
report as many rows as the loop.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import median

from rheos import Engine
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, growth
from rheos_bench.applications import loops, plants, stocks
from rheos_bench.applications.elements import HOUR
from rheos_bench.applications.queries import (
    AVERAGE,
    AVERAGES,
    COUNTS_BEGIN,
    COUNTS_GO_ON,
    PEAKS,
    VASCULAR_PLANTS,
)
from rheos_bench.naive import Looped
from rheos_bench.report import heading, machine, table, verdict
from rheos_bench.runs import Run, measured

EVENTS_A_SECOND = 100_000
BY_RULES = 3_000
CHECKED = 2_000  # events of the short run, where rheos and the loop must report as many rows
RULED = 40_000  # events for the rules, which are slower
EVERY = 21 * HOUR  # seconds between two prices: ten days then reach back to the eleventh price
SMALL_TREE = 40
SLOWER = 2.0  # with the large tree, an event may take so many times as long as with the small one
LONG = 5  # times the events of the other measurements, for the memory


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        if any(map(settings.wants, ("sequence", "average", "classes"))):
            with Engine() as engine:
                bench = Events(engine, Path(folder), CHECKED if settings.quick else settings.triples)
                for name, section in (("sequence", sequence), ("average", average), ("classes", classes)):
                    if settings.wants(name):
                        section(bench)
                print(f"\nNot in the rates: to start a streaming query took {median(bench.starts):.1f} s.")
        if settings.wants("memory"):
            memory_of_events(Path(folder), settings)


@dataclass
class Events:
    """An engine, a folder for the streams, and the number of events in each stream."""

    engine: Engine
    folder: Path
    events: int
    starts: list[float] = field(default_factory=list)

    def run(
        self, stream: str, path: Path, events: int, texts: Sequence[str], entailment: str | None = None
    ) -> Run:
        found = measured(self.engine, stream, path, events, texts, entailment=entailment)
        self.starts.append(found.start)
        return found


def row(what: str, found: Run, loop: Looped | None, target: float) -> list[str]:
    """A line of a table: events a second, beside the loop and a target."""
    beside = [f"{loop.rate:,.0f}", f"{found.rate / loop.rate:.2f}"] if loop else ["", ""]
    rate = found.rate
    answers = f"{found.answers / found.elements:.2f}"
    return [
        what,
        f"{found.elements:,}",
        answers,
        f"{rate:,.0f}",
        *beside,
        f"≥ {target:,.0f}",
        verdict(rate >= target),
    ]


COLUMNS = ("", "events", "answers/event", "events/s", "by hand", "ratio", "target", "")


def same(what: str, found: Run, loop: Looped) -> None:
    if found.answers != loop.rows:
        raise EvaluationError(f"{what}: rheos reports {found.answers} rows and the loop {loop.rows}")


def sequence(bench: Events) -> None:
    """A sequence of three prices of the same company."""
    heading("SEQ of three prices of one of 100 companies, with filters and a bound of 4 s; events/s")
    with progress(f"generating {bench.events:,} prices"):
        path = stocks.write_trades(bench.folder / "trades.nq", bench.events)
        short = stocks.write_trades(bench.folder / "few-trades.nq", CHECKED)
    with progress("warming up"):
        same("SEQ", bench.run(stocks.STREAM, short, CHECKED, [PEAKS]), loops.loop(short, loops.peaks()))
    with progress("measuring"):
        found = bench.run(stocks.STREAM, path, bench.events, [PEAKS])
    with progress("the loop, for as long"):
        loop = loops.loop(path, loops.peaks(), found.seconds)
    table(COLUMNS, [row("three prices in a row", found, loop, EVENTS_A_SECOND)])


def average(bench: Events) -> None:
    """The average of ten days: by the rules of the paper, and with WITHIN."""
    heading("The average of the last prices, after every price; events/s")
    number = min(RULED, bench.events)
    rules = [COUNTS_BEGIN, COUNTS_GO_ON, AVERAGE]
    with progress(f"generating {bench.events:,} prices"):
        path = stocks.write_trades(bench.folder / "prices.nq", bench.events)
        short = stocks.write_trades(bench.folder / "few-prices.nq", CHECKED)
        ruled = stocks.write_prices(bench.folder / "ruled.nq", number, every=EVERY)
        few = stocks.write_prices(bench.folder / "few-ruled.nq", min(200, number), every=EVERY)
    sliding = AVERAGES.replace('"P10D"', '"PT10S"')
    ten = timedelta(seconds=10)
    with progress("warming up: WITHIN"):
        same(
            "WITHIN",
            bench.run(stocks.STREAM, short, CHECKED, [sliding]),
            loops.loop(short, loops.averages(ten)),
        )
    with progress("measuring: WITHIN"):
        found = bench.run(stocks.STREAM, path, bench.events, [sliding])
    with progress("the loop, for as long"):
        loop = loops.loop(path, loops.averages(ten), found.seconds)
    rows = [row("WITHIN, 100 companies, 10 s", found, loop, EVENTS_A_SECOND)]
    with progress("warming up: rules"):
        bench.run(stocks.STREAM, few, min(200, number), rules)
    with progress(f"measuring: rules, {number:,} events"):
        by_rules = bench.run(stocks.STREAM, ruled, number, rules)
        loop = loops.loop(ruled, loops.averages(timedelta(days=10)))
    rows.append(row("queries (5) and (6) of the paper, 10 days", by_rules, loop, BY_RULES))
    table(COLUMNS, rows)


def classes(bench: Events) -> None:
    """Is what was seen an instance of a class? Once with a small tree of classes, once with a large one."""
    heading(
        f"Whether what is seen is an instance of a class, with RDFS entailment: {bench.events:,} sightings; "
        "static parts are computed in the run"
    )
    rows, times = [], list[float]()
    for number in (SMALL_TREE, plants.CLASSES):
        with progress(f"generating a tree of {number:,} classes"):
            tree = plants.write_classes(bench.folder / f"classes-{number}.nt", number)
            path = plants.write_sightings(bench.folder / "seen.nq", bench.events, per_second=1000)
            short = plants.write_sightings(bench.folder / "few-seen.nq", CHECKED, per_second=1000)
        members = loops.members_of(tree, plants.ROOT)
        bench.engine.clear()
        bench.engine.load(str(tree))
        with progress(f"warming up: {number:,} classes"):
            first = bench.run(plants.STREAM, short, CHECKED, [VASCULAR_PLANTS], "rdfs")
            same("classes", first, loops.loop(short, loops.instances(members)))
        with progress(f"measuring: {number:,} classes"):
            runs = [bench.run(plants.STREAM, path, bench.events, [VASCULAR_PLANTS], "rdfs") for _ in range(3)]
        found = sorted(runs, key=lambda one: one.seconds)[1]
        loop = loops.loop(path, loops.instances(members), found.seconds)
        times.append(found.per_element)
        slower = times[-1] / times[0]
        rows.append(
            [
                f"{number:,} sub-classes",
                f"{found.answers / found.elements:.2f}",
                f"{found.per_element * 1000:.2f}",
                f"{found.static * 1000:.0f} ms",
                f"{found.rate / loop.rate:.2f}",
                f"{slower:.2f}",
                *([f"≤ {SLOWER:g}", verdict(slower <= SLOWER)] if len(times) > 1 else ["", ""]),
            ]
        )
    bench.engine.clear()
    table(["", "answers/event", "µs/event", "static", "rate over loop", "times small", "target", ""], rows)


def memory_of_events(folder: Path, settings: Settings) -> None:
    """A sequence with a bound over a long stream."""
    events = settings.triples * LONG
    heading(f"Memory: {events:,} prices, SEQ of three within 4 s; all processes of rheos run")
    with progress(f"generating {events:,} prices"):
        path = stocks.write_trades(folder / "long.nq", events)
    query = folder / "peaks.rq"
    query.write_text(PEAKS, encoding="utf-8")
    growth.show(query, stocks.STREAM, path)
