"""Questions: the count of `rheos bench live` in each language, other shapes of queries, and many different
queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rheos_bench import streams
from rheos_bench.passages import COUNT, PREFIXES, Question, Window, different
from rheos_bench.streams import STREAM


def csparql(window: Window) -> str:
    return COUNT.over(window, "count")


def rspql(window: Window) -> str:
    return f"""REGISTER RSTREAM count AS {PREFIXES}
    SELECT ?gate (COUNT(*) AS ?n)
    FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT{window.range}S STEP PT{window.step}S]
    WHERE {{ WINDOW <w> {{ ?passage v:through ?gate }} }} GROUP BY ?gate"""


def cqels(window: Window) -> str:
    return f"""REGISTER QUERY count AS {PREFIXES}
    SELECT ?gate (COUNT(*) AS ?n)
    WHERE {{ STREAM <{STREAM}> [RANGE {window.range}s SLIDE {window.step}s] {{ ?passage v:through ?gate }} }}
    GROUP BY ?gate"""


def epsparql(window: Window) -> str:
    """EP-SPARQL has no windows that move; a sequence within the step has about as many answers."""
    return f"""REGISTER QUERY sequence AS {PREFIXES}PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    SELECT ?before ?after FROM STREAM <{STREAM}>
    WHERE {{ {{ ?before v:through gate:1 }} SEQ {{ ?after v:through gate:2 }}
             FILTER (getDURATION() < "PT{window.step}S"^^xsd:duration) }}"""


LANGUAGES = {"C-SPARQL": csparql, "RSP-QL": rspql, "CQELS-QL": cqels, "EP-SPARQL": epsparql}


class Shape(NamedTuple):
    """A shape of query, and the elements that it reads."""

    text: Callable[[Window], str]
    lines: Callable[[int], Iterator[str]]


def with_static(window: Window) -> str:
    where = "?passage v:through ?gate . ?gate v:street ?street . ?street v:district ?district"
    count = "SELECT ?district (COUNT(*) AS ?n)"
    return Question(count, f"WHERE {{ {where} }} GROUP BY ?district").over(window, "districts")


def pairs(window: Window) -> str:
    where = "?car v:enters ?in . ?car v:leaves ?out"
    return Question("SELECT ?in (COUNT(*) AS ?n)", f"WHERE {{ {where} }} GROUP BY ?in").over(window, "pairs")


def ticking(window: Window) -> str:
    """A count that is reported whenever it changes."""
    return f"""REGISTER QUERY ticking AS {PREFIXES}
    SELECT ?gate (COUNT(*) AS ?n)
    WHERE {{ STREAM <{STREAM}> [RANGE {window.range}s] {{ ?passage v:through ?gate }} }} GROUP BY ?gate"""


def stays(window: Window) -> str:
    return f"""REGISTER QUERY stays AS {PREFIXES}PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    SELECT ?car FROM STREAM <{STREAM}>
    WHERE {{ {{ ?car v:enters ?in }} SEQ {{ ?car v:leaves gate:7 }}
             FILTER (getDURATION() < "PT{window.range}S"^^xsd:duration) }}"""


SHAPES = {
    "count per group": Shape(csparql, streams.lines),
    "count with static data": Shape(with_static, streams.lines),
    "join of two patterns": Shape(pairs, streams.cars),
    "CQELS-QL, count per group": Shape(ticking, streams.lines),
    "SEQ within the window": Shape(stays, streams.cars),
}


def many(number: int, window: Window) -> list[str]:
    """So many different queries of C-SPARQL."""
    return [question.over(window, f"q{at}") for at, question in enumerate(different(number))]
