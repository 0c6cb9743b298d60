"""The slow, obvious evaluator of C-SPARQL: for each instant, put the windows into a store and ask it.

It knows nothing of the engine but the windows of a query, and takes its semantics from the definitions alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from rheos.algebra.streams import Continuous, LogicalWindow
from rheos.terms import encode

Triple = tuple[str, str, str]
Element = tuple[str, str, str, int]
Answers = Counter[tuple[object, ...]]


@dataclass(frozen=True)
class Case:
    """A query, its SPARQL part alone, static triples, and the elements of each stream in their order."""

    query: Continuous
    sparql: str
    static: Sequence[Triple]
    streams: Mapping[str, Sequence[Element]]


def instants(query: Continuous, until: int) -> list[int]:
    """Every multiple of COMPUTED EVERY, or of the step of any window."""
    steps = {w.window.step for w in query.windows if isinstance(w.window, LogicalWindow)}
    periods = {query.every} if query.every is not None else steps
    return sorted({instant for period in periods for instant in range(0, until + 1, period)})


def window(case: Case, number: int, instant: int) -> Iterator[Triple]:
    """The triples in a window of the query at an instant."""
    stream = case.query.windows[number]
    assert isinstance(stream.window, LogicalWindow)
    end = instant // stream.window.step * stream.window.step
    for *triple, time in case.streams[stream.stream]:
        if end - stream.window.range < time <= end:
            yield triple[0], triple[1], triple[2]


def quad(triple: Triple, graph: str | None = None) -> ox.Quad:
    s, p, o = (ox.NamedNode(term[1:-1]) for term in triple)
    return ox.Quad(s, p, o, ox.NamedNode(graph[1:-1]) if graph else ox.DefaultGraph())


def answers(case: Case, columns: Sequence[str], until: int) -> Answers:
    """All answers up to a time, each with its instant."""
    found: Answers = Counter()
    for instant in instants(case.query, until):
        store = ox.Store()
        store.extend(quad(triple) for triple in case.static)
        empty = True
        for number, stream in enumerate(case.query.windows):
            for triple in window(case, number, instant):
                empty = False
                store.add(quad(triple, stream.stream))
                if not stream.named:
                    store.add(quad(triple))
        if empty:
            continue
        result = store.query(case.sparql)
        if isinstance(result, ox.QueryBoolean):
            found[(instant, bool(result))] += 1
        elif isinstance(result, ox.QueryTriples):
            found.update({(instant, *map(encode, triple)) for triple in result})
        else:
            for solution in result:
                terms = (solution[name] for name in columns)
                found[(instant, *(None if term is None else encode(term) for term in terms))] += 1
    return found
