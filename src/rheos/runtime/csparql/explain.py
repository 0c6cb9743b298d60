"""A query of C-SPARQL in words: what its windows hold, when it reports, and how it is answered."""

from __future__ import annotations

from rheos.algebra.entailment import told
from rheos.algebra.printer import show
from rheos.algebra.streams import CSparqlQuery, LogicalWindow, PhysicalWindow, SessionWindow, StreamWindow
from rheos.optimize import optimize_csparql
from rheos.optimize.links import not_kept
from rheos.runtime.csparql.instants import periods
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.words import duration, in_no_window, incremental, multiples
from rheos.sql import macros


def explain_csparql(query: CSparqlQuery) -> dict[str, str]:
    """The parts of the explanation, by their titles."""
    return explained(query, CSparqlOperator)


def explained(query: CSparqlQuery, kind: type[CSparqlOperator]) -> dict[str, str]:
    """The parts of the explanation, for an operator of this class."""
    plan = optimize_csparql(query)
    operator = kind.of(plan)
    return {
        "language": operator.language,
        **told(query.query),
        "reports": reports(query),
        "windows": "\n".join(windowed(window) for window in query.windows),
        "instants": instants(query),
        "algebra": show(query.query),
        "optimised": show(plan.query),
        "sharding": str(operator.sharding),
        **({} if operator.gives_up is None else {"gives up": operator.gives_up}),
        "incremental": incremental(not_kept(operator.keeping)),
        "SQL (DuckDB, in Spark tasks)": operator.statement.sql,
        **macros.used(operator.statement.sql),
    }


REPORTED = {
    "RSTREAM": "the whole answer at every instant",
    "ISTREAM": "at every instant, what is new in the answer since the evaluation before",
    "DSTREAM": "at every instant, what is gone from the answer since the evaluation before",
}


def reports(query: CSparqlQuery) -> str:
    if not query.makes_stream:
        return f"{query.name}: {REPORTED[query.operator]}"
    if not query.compares:
        return f"{query.name}: its triples, which are also a stream that other queries can read"
    return f"{query.name}: {REPORTED[query.operator]}; it is also a stream that other queries can read"


def windowed(window: StreamWindow) -> str:
    """A window in words: its stream, what it holds, and where its elements are visible."""
    if window.name is not None:
        return f"{window.name} on {window.stream}: {holds(window)}" + skipped(window)
    where = "the named graph only" if window.named else "the default graph and the named graph"
    return f"{window.stream}: {holds(window)}; in {where} of this name" + skipped(window)


def holds(stream: StreamWindow) -> str:
    match stream.window:
        case LogicalWindow(length, step, delay) if delay:
            end, begin = duration(delay), duration(length + delay)
            return f"the elements from {begin} to {end} before the instant, moved every {duration(step)}"
        case LogicalWindow(length, step) if length == step:
            return f"the elements of {duration(length)}, one window after the other"
        case LogicalWindow(length, step):
            return f"the elements of the last {duration(length)}, moved every {duration(step)}"
        case PhysicalWindow(triples, step) as window if triples == step:
            return f"{triples:,} {counted(window)}, one window after the other"
        case SessionWindow(gap, by_subject):
            whose = "with the same subject, " if by_subject else ""
            return f"a session: elements {whose}each at most {duration(gap)} after the one before"
        case PhysicalWindow(triples, step) as window:
            return f"the last {triples:,} {counted(window)}, moved after every {step:,}"


def counted(window: PhysicalWindow) -> str:
    return "graphs" if window.graphs else "triples"


def skipped(window: StreamWindow) -> str:
    kind = window.window
    if isinstance(kind, SessionWindow):
        return ""
    length = kind.range if isinstance(kind, LogicalWindow) else kind.triples
    if kind.step <= length:
        return ""
    between = kind.step - length
    amount = (
        f"elements of {duration(between)}"
        if isinstance(kind, LogicalWindow)
        else (f"{between:,} {counted(kind)}")
    )
    return in_no_window("step", amount)


def instants(query: CSparqlQuery) -> str:
    for session in query.windows:
        if isinstance(session.window, SessionWindow):
            gap = duration(session.window.gap)
            return f"for each session of {session.stream}, {gap} after its last element, which ends it"
    parts = [multiples(period) for period in periods(query)]
    if query.every is None:
        parts += [
            f"whenever {window.window.step:,} more {counted(window.window)} of {window.stream} have arrived"
            for window in query.windows
            if isinstance(window.window, PhysicalWindow)
        ]
    empty = "none at which all windows are empty"
    if query.operator == "DSTREAM":
        empty += ", unless something is gone then"
    return f"{', and '.join(parts)}; {empty}"
