"""A continuous query in words: what its windows hold, when it reports, and how it is answered."""

from __future__ import annotations

from rheos.algebra.printer import show
from rheos.algebra.streams import Continuous, LogicalWindow, PhysicalWindow, StreamWindow
from rheos.optimize import optimize_continuous
from rheos.runtime.evaluation import Evaluation
from rheos.runtime.instants import periods
from rheos.sql.dialect import Dialect
from rheos.sql.duckdb import DUCKDB
from rheos.sql.spark import SPARK

_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000))


def explained(query: Continuous, execution: str) -> dict[str, str]:
    """The parts of the explanation, each with its title."""
    plan = optimize_continuous(query)
    dialect: Dialect = SPARK if execution == "catalyst" else DUCKDB
    statement = Evaluation.of(plan, dialect).statement
    return {
        "language": "C-SPARQL",
        "reports": reports(query),
        "windows": "\n".join(windowed(window) for window in query.windows),
        "instants": instants(query),
        "algebra": show(query.query),
        "optimised": show(plan.query),
        "runs": place(execution),
        f"SQL ({dialect.name})": statement.sql,
    }


def reports(query: Continuous) -> str:
    if query.makes_stream:
        return f"{query.name}: its triples, which are also a stream that other queries can read"
    return f"{query.name}: the whole answer at every instant"


def windowed(window: StreamWindow) -> str:
    """What a window holds."""
    where = "the named graph only" if window.named else "the default graph and the named graph"
    return f"{window.stream}: {holds(window)}; in {where} of this name" + skipped(window)


def holds(window: StreamWindow) -> str:
    match window.window:
        case LogicalWindow(length, step) if length == step:
            return f"the elements of {duration(length)}, one window after the other"
        case LogicalWindow(length, step):
            return f"the elements of the last {duration(length)}, moved every {duration(step)}"
        case PhysicalWindow(triples, step) if triples == step:
            return f"{triples:,} triples, one window after the other"
        case PhysicalWindow(triples, step):
            return f"the last {triples:,} triples, moved after every {step:,}"


def skipped(window: StreamWindow) -> str:
    kind = window.window
    length = kind.range if isinstance(kind, LogicalWindow) else kind.triples
    if kind.step <= length:
        return ""
    between = kind.step - length
    amount = f"elements of {duration(between)}" if isinstance(kind, LogicalWindow) else f"{between:,} triples"
    return f"\n  the step is longer than the range: {amount} between two windows are in neither, and skipped"


def instants(query: Continuous) -> str:
    parts = [f"the multiples of {duration(period)} since 1970-01-01T00:00:00Z" for period in periods(query)]
    if query.every is None:
        parts += [
            f"whenever {window.window.step:,} more triples of {window.stream} have arrived"
            for window in query.windows
            if isinstance(window.window, PhysicalWindow)
        ]
    return f"{', and '.join(parts)}; none at which all windows are empty"


def place(execution: str) -> str:
    match execution:
        case "catalyst":
            return "catalyst (Spark SQL, one job for every batch)"
        case "auto":
            return "task (DuckDB inside a Spark task), or catalyst (Spark SQL) when much is live"
        case _:
            return "task (DuckDB inside a Spark task, with all the other queries of its group)"


def duration(microseconds: int) -> str:
    """A length of time in the largest unit that it is a multiple of."""
    unit, size = next((u for u in _UNITS if microseconds % u[1] == 0), ("µs", 1))
    return f"{microseconds // size:,} {unit}"
