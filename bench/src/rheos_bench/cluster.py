"""`rheos bench cluster`: how much faster are two workers than one?

Four cases read generated streams from files: a sliding count per group, a join of two streams, a sequence of
three events, and 32 different queries. Each runs on a standalone Spark cluster on this machine, once with one
worker of one core and once with two such workers. The two alternate over some rounds, and medians count.
Every case first runs on the beginning of its streams: that warms it up. Further such runs say how long a run
takes that has nearly nothing to do. This time is taken off, so the rates are without the start.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlparse
from urllib.request import url2pathname
from uuid import uuid4

from rheos import Engine
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, streams
from rheos_bench.applications import stocks
from rheos_bench.applications.elements import write
from rheos_bench.applications.queries import PEAKS
from rheos_bench.data import CITY, VOCABULARY
from rheos_bench.passages import COUNT, PREFIXES, Window, different
from rheos_bench.report import duration, heading, machine, table, timed, verdict
from rheos_bench.standalone import cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKERS = (1, 2)
TARGET = 1.6  # how many times as fast two workers should be
WINDOW = Window(60, 10)
QUERIES = 32
SHORT = 20_000  # elements of the short runs
STARTS = 2  # short runs that are measured, in each round
TRIP = 10  # seconds from entering the city to leaving it
ENTRIES, EXITS = "http://example.org/stream/entries", "http://example.org/stream/exits"

PAIRS = f"""\
REGISTER QUERY pairs AS {PREFIXES}
SELECT ?in (COUNT(*) AS ?cars)
FROM STREAM <{ENTRIES}> [RANGE {WINDOW.range}s STEP {WINDOW.step}s]
FROM STREAM <{EXITS}> [RANGE {WINDOW.range}s STEP {WINDOW.step}s]
WHERE {{ ?car v:enters ?in . ?car v:leaves ?out }}
GROUP BY ?in
"""

Lines = Callable[[int], Iterable[str]]  # so many elements of a stream


@dataclass(frozen=True, slots=True)
class Case:
    """Queries, and the streams that they read. The elements are shared out among the streams."""

    section: str
    what: str
    streams: Mapping[str, Lines]
    texts: Sequence[str]


def cars(does: str, later: int = 0) -> Lines:
    """Cars that enter or leave, one after the other, all in the same order."""

    def lines(number: int) -> Iterable[str]:
        start = streams.START + timedelta(seconds=later)
        for car, time in enumerate(streams.times(number, streams.PER_SECOND // 2, start)):
            gate = f"<{CITY}gate/{car * 7 % streams.GATES}>"
            yield f"<{CITY}car/{car}> <{VOCABULARY}{does}> {gate} {time} .\n"

    return lines


CASES = (
    Case(
        "count",
        f"count per group, {WINDOW}",
        {streams.STREAM: streams.lines},
        [COUNT.over(WINDOW, "count")],
    ),
    Case(
        "join",
        f"join of two streams, {WINDOW}",
        {ENTRIES: cars("enters"), EXITS: cars("leaves", TRIP)},
        [PAIRS],
    ),
    Case("sequence", "SEQ of three within 4 s", {stocks.STREAM: stocks.trades}, [PEAKS]),
    Case(
        "queries",
        f"{QUERIES} different queries, {WINDOW}",
        {streams.STREAM: streams.lines},
        [question.over(WINDOW, f"q{at}") for at, question in enumerate(different(QUERIES))],
    ),
)

Start = Callable[[int, Path], AbstractContextManager["SparkSession"]]


@dataclass
class Bench:
    """The files of the benchmark, and what was measured.

    `seconds` are those of whole runs and `starts` those of short ones, by case and number of workers. `rows`
    are what a case reports, by the number of elements.
    """

    folder: Path
    store: str
    elements: int
    seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    starts: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    rows: dict[tuple[str, int], int] = field(default_factory=dict)

    def measure(self, spark: SparkSession, case: Case, workers: int) -> None:
        """One run of a case, after short ones. The first of these only warms up."""
        self.run(spark, case, SHORT)
        starts = [self.run(spark, case, SHORT) for _ in range(STARTS)]
        whole = self.run(spark, case, self.elements)
        self.starts.setdefault((case.section, workers), []).extend(starts)
        self.seconds.setdefault((case.section, workers), []).append(whole)

    def rate(self, case: Case, workers: int) -> float:
        """Elements a second, without the start. NaN if a whole run took no longer than a short one."""
        key = case.section, workers
        seconds = median(self.seconds[key]) - median(self.starts[key])
        return (self.elements - SHORT) / seconds if seconds > 0 else math.nan

    def run(self, spark: SparkSession, case: Case, elements: int) -> float:
        """The seconds that a case takes on so many elements. It must report as many rows as ever."""
        checkpoint = f"{self.store.rstrip('/')}/{uuid4().hex}"
        with Engine(spark=spark, checkpoint=checkpoint) as engine:
            engine.load(str(self.static))
            for iri in case.streams:
                engine.add_stream(iri, str(self.stream(case, iri, elements)))
            handles = [engine.register(text, name=f"q{at}", keep=0) for at, text in enumerate(case.texts)]
            seconds = timed(engine.run)
            rows = sum(handle.metrics.rows for handle in handles)
        rmtree(checkpoint, ignore_errors=True)
        known = self.rows.setdefault((case.section, elements), rows)
        if rows != known or not rows:
            raise EvaluationError(f"{case.what}: {rows:,} rows are reported, and {known:,} before")
        return seconds

    def stream(self, case: Case, iri: str, elements: int) -> Path:
        """The file of a stream, made when it is first needed."""
        number = elements // len(case.streams)
        path = self.folder / f"{iri.rpartition('/')[2]}-{number}.nq"
        if not path.exists():
            with progress(f"generating {number:,} elements"):
                write(path, islice(case.streams[iri](number), number))
        return path

    @property
    def static(self) -> Path:
        path = self.folder / "static.nt"
        return path if path.exists() else streams.write_static(path)


def run(settings: Settings, start: Start = cluster) -> None:
    """The table."""
    if settings.triples <= SHORT:
        raise EvaluationError(f"the benchmark cluster needs more than {SHORT:,} --triples")
    heading(machine())
    heading(
        f"Cluster: {settings.triples:,} elements; one worker of one core beside two; "
        f"medians of {settings.rounds} rounds; parsing included"
    )
    cases = [case for case in CASES if settings.wants(case.section)]
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as name:
        folder = Path(name)
        bench = Bench(folder, path_of(settings.store or str(folder / "store")), settings.triples)
        for round in range(settings.rounds):
            for workers in WORKERS:
                doing = f"round {round + 1} of {settings.rounds}, {workers} workers"
                with ExitStack() as stack:
                    with progress(f"starting a cluster: {doing}"):
                        spark = stack.enter_context(start(workers, folder / f"cluster-{round}-{workers}"))
                    for case in cases:
                        with progress(f"measuring: {case.what}, {doing}"):
                            bench.measure(spark, case, workers)
    columns = ["elements/s", "one worker", "two workers", "ratio", "target", "", "whole runs"]
    table(columns, report(bench, cases))
    start_took = median(chain.from_iterable(bench.starts.values()))
    print(f"\nNot in the rates: a run of {SHORT:,} elements, mostly its start, took {start_took:.1f} s.")


def report(bench: Bench, cases: Sequence[Case]) -> list[list[str]]:
    """The lines of the table. Whole runs stand at the end: where they are short, the rates mean little."""
    rows = []
    for case in cases:
        one, two = (bench.rate(case, workers) for workers in WORKERS)
        whole = " / ".join(duration(median(bench.seconds[case.section, workers])) for workers in WORKERS)
        if math.isnan(ratio := two / one):
            rows.append([case.what, "too short", "too short", "", f"≥ {TARGET:g}", "missed", whole])
            continue
        reached = verdict(ratio >= TARGET)
        rows.append(
            [case.what, f"{one:,.0f}", f"{two:,.0f}", f"{ratio:.2f}", f"≥ {TARGET:g}", reached, whole]
        )
    return rows


def path_of(store: str) -> str:
    """A `file:` URI as a path; any other store as it is."""
    address = urlparse(store)
    return url2pathname(address.path) if address.scheme == "file" else store
