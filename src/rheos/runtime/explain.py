"""A continuous query in words: what its windows hold, when it reports, and how it is answered."""

from __future__ import annotations

from rheos import terms
from rheos.algebra.arriving import ANY_STREAM
from rheos.algebra.entailment import told
from rheos.algebra.nodes import Construct
from rheos.algebra.printer import show
from rheos.algebra.streams import (
    AllWindow,
    ArrivalClause,
    Arriving,
    Continuous,
    Detecting,
    LastWindow,
    LogicalWindow,
    PhysicalWindow,
    RangeWindow,
    StreamWindow,
)
from rheos.optimize import optimize_continuous, optimize_detecting
from rheos.optimize.durations import duration_bound, memory_bound
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
        **told(query.query),
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
    return in_no_window("step", amount)


def in_no_window(move: str, amount: str) -> str:
    why = f"the {move} is longer than the range"
    return f"\n  {why}: {amount} between two windows are in neither, and skipped"


def instants(query: Continuous) -> str:
    parts = [multiples(period) for period in periods(query)]
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


# --- CQELS-QL ---------------------------------------------------------------------------------------


def explained_arriving(query: Arriving) -> dict[str, str]:
    """The parts of the explanation of a query in CQELS-QL, each with its title."""
    return {
        "language": "CQELS-QL",
        **told(query.query),
        "reports": new(query),
        "windows": "\n".join(arrived(number, clause) for number, clause in enumerate(query.windows, 1)),
        "ticks": ticks(query),
        "algebra": show(query.query),
    }


def new(query: Arriving) -> str:
    if query.makes_stream:
        return f"{query.name}: the new triples at every tick, also as a stream that other queries can read"
    return f"{query.name}: what is new at every tick"


def arrived(number: int, clause: ArrivalClause) -> str:
    """What a window holds, under the number that it has in the algebra."""
    found = f"{number}: {clause.stream}: {holds_arrived(clause)}"
    if clause.stream == terms.iri(ANY_STREAM):
        found += "\n  in its place, each stream that there is when the query is registered"
    return found


def holds_arrived(clause: ArrivalClause) -> str:
    match clause.window:
        case RangeWindow(length, int(slide)):
            left_out = f"elements of {duration(slide - length)}"
            skips = in_no_window("slide", left_out) if slide > length else ""
            return f"{moment(length)}, moved every {duration(slide)}{skips}"
        case RangeWindow(length):
            return moment(length)
        case LastWindow(triples):
            elements = "the last element" if triples == 1 else f"the last {triples:,} elements"
            matching = "its pattern" if len(clause.patterns) == 1 else "one of its patterns"
            return f"{elements} matching {matching}"
        case AllWindow():
            return "every element so far"


def moment(length: int) -> str:
    return f"the elements of the last {duration(length)}" if length else "the elements of the moment itself"


def ticks(query: Arriving) -> str:
    arrivals = dict.fromkeys(clause.stream for clause in query.windows)
    windows = [clause.window for clause in query.windows]
    slides = dict.fromkeys(w.slide for w in windows if isinstance(w, RangeWindow) and w.slide is not None)
    return ", and ".join(
        (*(f"whenever an element of {stream} arrives" for stream in arrivals), *map(multiples, slides))
    )


# --- EP-SPARQL --------------------------------------------------------------------------------------


def explained_detecting(query: Detecting) -> dict[str, str]:
    """The parts of the explanation of a query in EP-SPARQL, each with its title."""
    pattern = query.query.form.pattern
    return {
        "language": "EP-SPARQL",
        **told(query.query),
        "reports": ended(query),
        "streams": "all that there are" if query.streams is None else "\n".join(query.streams),
        "consumption": _CONSUMPTION[query.consumption],
        "durations": lasts(duration_bound(pattern)),
        "memory": remembers(memory_bound(pattern)),
        "algebra": show(query.query),
        "optimised": show(optimize_detecting(query).query),
    }


_CONSUMPTION = {
    "unrestricted": "unrestricted: every combination of events that fits",
    "recent": "recent: an event goes with the latest before it that fits",
    "chronological": "chronological: an event goes with the earliest before it that fits and is not used yet",
}


def ended(query: Detecting) -> str:
    if not isinstance(query.query.form, Construct):
        return f"{query.name}: each solution once, with its interval, when that has ended"
    also = ", also as a stream that queries in other languages can read" if query.makes_stream else ""
    what = "a rule: its triples, with the interval of their solution, are events for all of EP-SPARQL"
    return f"{query.name}: {what}{also}"


def lasts(bound: int | None) -> str:
    if bound is None:
        return "no FILTER on getDURATION() bounds how long a solution lasts"
    return f"a solution lasts {up_to(bound)}"


def remembers(bound: int | None) -> str:
    if bound is None:
        return (
            "nothing bounds it: whatever matches is remembered for ever\n"
            "FILTER(getDURATION() < …) on a pattern bounds it; what is optional needs a FILTER of its own"
        )
    return f"events that began {up_to(bound)} ago" if bound else "no event is needed after it came"


def up_to(bound: int) -> str:
    """A bound on a length of time; one that is a microsecond short of something is not to reach it."""
    return f"less than {duration(bound + 1)}" if bound % 1_000 == 999 else f"at most {duration(bound)}"


# --- all --------------------------------------------------------------------------------------------


def multiples(period: int) -> str:
    return f"the multiples of {duration(period)} since 1970-01-01T00:00:00Z"


def duration(microseconds: int) -> str:
    """A length of time in the largest unit that it is a multiple of."""
    unit, size = next((u for u in _UNITS if microseconds % u[1] == 0), ("µs", 1))
    return f"{microseconds // size:,} {unit}"
