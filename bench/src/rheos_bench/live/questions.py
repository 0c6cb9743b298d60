"""Questions: the count of `rheos bench live` in each language, and many different queries."""

from __future__ import annotations

from rheos_bench.passages import COUNT, PREFIXES, Window, different
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


def many(number: int, window: Window) -> list[str]:
    """So many different queries of C-SPARQL."""
    return [question.over(window, f"q{at}") for at, question in enumerate(different(number))]
