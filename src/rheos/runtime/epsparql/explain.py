"""A query of EP-SPARQL in words: what it reports, what bounds its memory, and how it is answered."""

from __future__ import annotations

from rheos.algebra.entailment import told
from rheos.algebra.nodes import Construct
from rheos.algebra.printer import show
from rheos.algebra.streams import EPSparqlQuery
from rheos.optimize import optimize_epsparql
from rheos.optimize.durations import duration_bound, lateness, memory_bound, total
from rheos.optimize.links import not_kept
from rheos.runtime.epsparql.operator import EPSparqlOperator
from rheos.runtime.words import duration, incremental

_CONSUMPTION = {
    "unrestricted": "unrestricted: every combination of events that fits",
    "recent": "recent: an event goes with the latest before it that fits",
    "chronological": "chronological: an event goes with the earliest before it that fits and is not used yet",
}


def explain_epsparql(query: EPSparqlQuery) -> dict[str, str]:
    """The parts of the explanation of a query in EP-SPARQL, by their titles."""
    pattern = query.query.form.pattern
    operator = EPSparqlOperator.of(query)
    return {
        "language": "EP-SPARQL",
        **told(query.query),
        "reports": ended(query),
        "streams": "all that there are" if query.streams is None else "\n".join(query.streams),
        "consumption": _CONSUMPTION[query.consumption],
        "durations": lasts(duration_bound(pattern)),
        "memory": remembers(total(memory_bound(pattern), lateness(pattern))),
        "algebra": show(query.query),
        "optimised": show(optimize_epsparql(query).query),
        "sharding": str(operator.sharding),
        "incremental": incremental(not_kept(operator.links())),
    }


def ended(query: EPSparqlQuery) -> str:
    if not isinstance(query.query.form, Construct):
        late = lateness(query.query.form.pattern) != 0
        when = "when no run of it can grow any more" if late else "when that has ended"
        return f"{query.name}: each solution once, with its interval, {when}"
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
            "WITHIN, or FILTER(getDURATION() < …) on a pattern, bounds it; what is optional needs a FILTER of"
            " its own, and { ... }+ a WITHIN"
        )
    return f"events that began {up_to(bound)} ago" if bound else "no event is needed after it came"


def up_to(bound: int) -> str:
    """A bound on a length of time in words. One that is a microsecond short of a
    millisecond means "less than"."""
    return f"less than {duration(bound + 1)}" if bound % 1_000 == 999 else f"at most {duration(bound)}"
