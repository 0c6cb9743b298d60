"""A query of CQELS-QL in words: what its windows hold, when it ticks, and how it is answered."""

from __future__ import annotations

from rheos import terms
from rheos.algebra.cqels import ANY_STREAM
from rheos.algebra.entailment import told
from rheos.algebra.printer import show
from rheos.algebra.streams import AllWindow, CqelsQuery, LastWindow, RangeWindow, StreamClause
from rheos.optimize.links import not_kept
from rheos.runtime.cqels.operator import CqelsOperator
from rheos.runtime.words import duration, in_no_window, incremental, multiples


def explain_cqels(query: CqelsQuery) -> dict[str, str]:
    """The parts of the explanation of a query in CQELS-QL, by their titles."""
    operator = CqelsOperator.of(query)
    return {
        "language": "CQELS-QL",
        **told(query.query),
        "reports": new(query),
        "windows": "\n".join(arrived(number, clause) for number, clause in enumerate(query.windows, 1)),
        "ticks": ticks(query),
        "algebra": show(query.query),
        "sharding": str(operator.sharding),
        "incremental": incremental(not_kept(operator.keeping)),
    }


def new(query: CqelsQuery) -> str:
    if query.makes_stream:
        return f"{query.name}: the new triples at every tick, also as a stream that other queries can read"
    return f"{query.name}: what is new at every tick"


def arrived(number: int, clause: StreamClause) -> str:
    """What a window holds, with the number that the window has in the algebra."""
    found = f"{number}: {clause.stream}: {holds_arrived(clause)}"
    if clause.stream == terms.iri(ANY_STREAM):
        found += "\n  in its place, each stream that there is when the query is registered"
    return found


def holds_arrived(clause: StreamClause) -> str:
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


def ticks(query: CqelsQuery) -> str:
    arrivals = dict.fromkeys(clause.stream for clause in query.windows)
    windows = [clause.window for clause in query.windows]
    slides = dict.fromkeys(w.slide for w in windows if isinstance(w, RangeWindow) and w.slide is not None)
    return ", and ".join(
        (*(f"whenever an element of {stream} arrives" for stream in arrivals), *map(multiples, slides))
    )
