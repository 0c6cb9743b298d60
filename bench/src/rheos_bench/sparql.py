"""`rheos bench sparql`: how soon a small query is answered, and how fast large data is queried, beside
pyoxigraph.

The first table is about waiting: cold starts of the command, each in a process of its own with its files in
the system's cache, then further queries in one process. The second is about volume: the same file and the
same queries in both executions and in a pyoxigraph store. All queries run some times without measurement,
which is when an engine makes its index, then some times with it. Every answer is turned into terms, and all
three must have the same number of rows. The third is about many rows: how fast they become text.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox

from rheos import Engine
from rheos.answers.result import Result
from rheos.cli.progress import progress
from rheos.engine import Execution
from rheos.errors import EvaluationError
from rheos_bench import Settings, data
from rheos_bench.queries import SMALL, TWENTY_LINES, VARIED
from rheos_bench.report import (
    Measured,
    duration,
    heading,
    machine,
    median_time,
    ratio,
    table,
    timed,
    verdict,
)

SMALL_TRIPLES = 1000
WARM_UPS = 20
# How many times as long as pyoxigraph the local execution may take, if not 1.5 times.
MOST = {"selective lookup": 5.0}
Ask = Callable[[str], int]


def run(settings: Settings) -> None:
    """Print the tables that the user asked for."""
    heading(machine())
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        if settings.wants("waiting"):
            waiting(Path(folder), settings)
        if settings.wants("volume"):
            volume(Path(folder), settings)
        if settings.wants("rows"):
            many_rows(settings)


def waiting(folder: Path, settings: Settings) -> None:
    """How long a user waits with little data, beside the targets."""
    small = data.write(folder / "small.nt", SMALL_TRIPLES)
    heading(f"Waiting: {SMALL_TRIPLES:,} triples, median of {settings.runs}")
    measured = [
        cold_start(folder, small, "local", target=1.5, runs=settings.runs),
        cold_start(folder, small, "catalyst", target=15, runs=min(settings.runs, 3)),
        *one_process(small, settings.runs),
    ]
    table(["", "time", "target", ""], [item.cells for item in measured])


def cold_start(folder: Path, small: Path, execution: str, *, target: float, runs: int) -> Measured:
    """The whole command in a process of its own, from its start to its end."""
    query = folder / "small.rq"
    query.write_text(SMALL, encoding="utf-8")
    command = [sys.executable, "-m", "rheos", "query", str(query), "--data", str(small)]
    command += ["--execution", execution, "--format", "json"]

    def once() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    with progress(f"cold starts, {execution}"):
        if runs > 1:
            once()  # so that bytecode is compiled and the files are in the system's cache
        return Measured(f"rheos query, {execution}, cold start", median_time(once, runs), target)


def one_process(small: Path, runs: int) -> list[Measured]:
    """Further queries in a process that has answered some already."""
    several = runs * 4
    with progress("queries in one process"), Engine() as engine:
        engine.load(str(small))
        local, catalyst = _asking(engine, "local"), _asking(engine, "catalyst")
        for warm_up in [local, catalyst] * min(runs, 3):
            warm_up(SMALL)
        return [
            Measured("further query, local, warm", median_time(lambda: local(SMALL), several), 0.03),
            Measured("further query, Spark, warm", median_time(lambda: catalyst(SMALL), several), 0.6),
            Measured(
                "parse and compile 20 lines, warm",
                median_time(lambda: engine.explain(TWENTY_LINES), several),
                0.06,
            ),
        ]


def volume(folder: Path, settings: Settings) -> None:
    """Loading and many kinds of queries, beside pyoxigraph."""
    large = folder / "large.nt"
    with progress(f"generating {settings.triples:,} triples"):
        data.write(large, settings.triples)
    heading(f"Volume: {settings.triples:,} generated triples; queries warm, median of {settings.runs}")

    store = ox.Store()
    with progress("loading"), Engine() as engine:
        loads = {
            "local": timed(lambda: engine.load(str(large))),
            "pyoxigraph": timed(lambda: store.bulk_load(path=str(large))),
        }
        table(
            ["load", "time", "triples/s"],
            [[who, duration(took), f"{settings.triples / took:,.0f}"] for who, took in loads.items()],
        )
        heading("A ratio below 1: rheos is quicker than pyoxigraph.")
        contestants: dict[str, Ask] = {
            "local": _asking(engine, "local"),
            "catalyst": _asking(engine, "catalyst"),
            "pyoxigraph": lambda text: _consumed(store, text),
        }
        with progress("warming up"):
            made = timed(engine.graphs.indexed.current) if _warm(contestants["local"], engine) else 0.0
        compared = [_compared(name, text, contestants, settings.runs) for name, text in VARIED.items()]
    rows = [one.cells for one in compared]
    whole = [sum(one.seconds[who] for one in compared) for who in ("local", "catalyst", "pyoxigraph")]
    rows.append(["all", "", *map(duration, whole), ratio(whole[0], whole[2]), ratio(whole[1], whole[2])])
    rows[-1] += ["1", verdict(whole[0] <= whole[2])]
    columns = ["query", "rows", "local", "catalyst", "pyoxigraph", "local ratio", "catalyst ratio"]
    table([*columns, "local at most", ""], rows)
    print(f"\nThe index was made in {duration(made)}.")


def many_rows(settings: Settings) -> None:
    """A result of as many rows as there are triples, as text; one core does it."""
    number, runs = settings.triples, settings.runs
    decimal = f"^^<{data.XSD}decimal>"
    result = Result.select(
        ["person", "income", "district"],
        pa.table(
            {
                "person": [f"<{data.CITY}person/{at}>" for at in range(number)],
                "income": [f'"{12_000 + at * 0.37:.2f}"{decimal}' for at in range(number)],
                "district": [f"<{data.CITY}district/{at % data.DISTRICTS}>" for at in range(number)],
            }
        ),
    )
    heading(f"Many rows: {number:,} of three columns; median of {runs}")
    rows = []
    for format in ("csv", "tsv", "json", "xml"):
        with progress(f"writing {format}"):
            took = median_time(lambda format=format: result.serialize(format), runs)  # type: ignore[misc]
        target = ["1,000,000", verdict(number / took >= 1e6)] if format == "csv" else ["", ""]
        rows.append([format, duration(took), f"{number / took:,.0f}", *target])
    table(["format", "time", "rows/s", "at least", ""], rows)


def _warm(ask: Ask, engine: Engine) -> bool:
    """Ask all queries until they would have paid for an index: whether there is none yet, but will be."""
    for _ in range(WARM_UPS):
        for text in VARIED.values():
            if engine.graphs.indexed.is_due:
                return True
            ask(text)
    return engine.graphs.indexed.is_due


def _asking(engine: Engine, execution: Execution) -> Ask:
    return lambda text: len(engine.query(text, execution=execution).rows)


def _consumed(store: ox.Store, text: str) -> int:
    solutions = store.query(text)
    assert isinstance(solutions, ox.QuerySolutions)
    names = [variable.value for variable in solutions.variables]
    return len([{name: solution[name] for name in names} for solution in solutions])


@dataclass(frozen=True, slots=True)
class Compared:
    """A query, and how long each contestant takes."""

    name: str
    count: int
    seconds: dict[str, float]

    @property
    def cells(self) -> list[str]:
        """A line of the table."""
        local, catalyst, other = (self.seconds[who] for who in ("local", "catalyst", "pyoxigraph"))
        most = MOST.get(self.name, 1.5)
        times = map(duration, (local, catalyst, other))
        ratios = ratio(local, other), ratio(catalyst, other)
        return [self.name, f"{self.count:,}", *times, *ratios, f"{most:g}", verdict(local <= most * other)]


def _compared(name: str, text: str, contestants: dict[str, Ask], runs: int) -> Compared:
    """The first run of each is not measured; it gives the number of rows."""
    with progress(f"measuring: {name}"):
        counts = {who: ask(text) for who, ask in contestants.items()}
        if len(set(counts.values())) != 1:
            raise EvaluationError(f"{name}: the numbers of rows differ: {counts}")
        times = {who: median_time(lambda ask=ask: ask(text), runs) for who, ask in contestants.items()}  # type: ignore[misc]
    return Compared(name, counts["local"], times)
