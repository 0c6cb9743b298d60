"""`rheos bench paths`: transitive paths with a given end over large data, beside pyoxigraph.

The data are a generated city and, among it, a chain of people who know one another. `first` is a query of
which the engine has seen nothing like before: it is answered by SQL. After some of them the engine makes an
index of the graph; `later` is the median of queries from then on. Both count until all answers are terms, and
must be as many as pyoxigraph's.
"""

from __future__ import annotations

import tempfile
from itertools import chain
from pathlib import Path

import pyoxigraph as ox

from rheos import Engine
from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, data
from rheos_bench.queries import PREFIXES
from rheos_bench.report import duration, heading, machine, median_time, ratio, table, timed, verdict

CHAIN = 573  # nodes that the first one reaches
TARGET = 10.0  # times of pyoxigraph

QUERIES = {
    "along a chain": "SELECT ?to { person:c0 v:nextTo+ ?to }",
    "back along it": f"SELECT ?from {{ ?from v:nextTo+ person:c{CHAIN} }}",
    "both ends": f"SELECT ?x {{ person:c0 v:nextTo* person:c{CHAIN} . person:c{CHAIN} v:nextTo* ?x }}",
    "two steps at once": "SELECT ?to { person:c0 (v:nextTo/v:nextTo)+ ?to }",
    "up a tree": "SELECT ?above { person:7000 v:mentor+ ?above }",
    "down a tree": "SELECT ?below { ?below v:mentor+ person:5 }",
    "from some": "SELECT ?person ?above { ?person v:livesIn district:7 ; v:age 30 ; v:mentor+ ?above }",
    "all that is known": "SELECT ?known { person:17 v:knows+ ?known }",
}


def run(settings: Settings) -> None:
    """Print the table."""
    heading(machine())
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder, Engine(execution="local") as engine:
        file = Path(folder, "city.nt")
        with progress(f"generating {settings.triples:,} triples"):
            write(file, settings.triples)
        store = ox.Store()
        with progress("loading"):
            engine.load(str(file))
            store.bulk_load(path=str(file))
        heading(f"Paths over {settings.triples:,} triples; later queries: median of {settings.runs}")
        firsts = {name: first(name, text, engine, store) for name, text in QUERIES.items()}
        with progress("making the index"):
            engine.graphs.indexed.patience = 0
            made = timed(engine.graphs.indexed.current)
        rows = [
            measured(name, text, firsts[name], engine, store, settings.runs) for name, text in QUERIES.items()
        ]
    table(["path", "nodes", "first", "later", "pyoxigraph", "ratio", f"at most {TARGET:g}"], rows)
    print(f"\nThe index was made in {duration(made)}.")


def write(path: Path, triples: int) -> None:
    """A city, with a chain of people."""

    def link(at: int) -> str:
        ends = (f"<{data.CITY}person/c{number}>" for number in (at, at + 1))
        return f" <{data.VOCABULARY}nextTo> ".join(ends) + " .\n"

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(chain(map(link, range(CHAIN)), data.lines(triples - CHAIN)))


def asked(engine: Engine, text: str) -> int:
    return len(engine.query(PREFIXES + text).rows)


def answered(store: ox.Store, text: str) -> int:
    solutions = store.query(PREFIXES + text)
    assert isinstance(solutions, ox.QuerySolutions)
    return len([list(solution) for solution in solutions])


def first(name: str, text: str, engine: Engine, store: ox.Store) -> float:
    """The time of a query without an index; the answers are compared."""
    engine.graphs.indexed.patience = float("inf")
    with progress(f"first: {name}"):
        took = timed(lambda: asked(engine, text))
        ours, theirs = asked(engine, text), answered(store, text)
    if ours != theirs:
        raise EvaluationError(f"{name}: {ours} rows, but pyoxigraph has {theirs}")
    return took


def measured(name: str, text: str, first: float, engine: Engine, store: ox.Store, runs: int) -> list[str]:
    with progress(f"later: {name}"):
        found = asked(engine, text)
        later = median_time(lambda: asked(engine, text), runs)
        theirs = median_time(lambda: answered(store, text), runs)
    times = [duration(first), duration(later), duration(theirs), ratio(later, theirs)]
    return [name, f"{found:,}", *times, verdict(later <= TARGET * theirs)]
