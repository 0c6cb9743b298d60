"""CityBench's queries as they were published, with what has to be changed before an engine can answer them.

Those in C-SPARQL and CQELS-QL are CityBench's own, those in RSP-QL are in the tests of RSP4J. Two in RSP-QL
are written here: Q9 is not there, and Q5 looks for static data in a window of another stream.

Each change is a `Change`: a text, what stands there instead, and why. A change whose text is not in the query
is an error, so that none outlives its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rheos_bench.city.material import (
    CT,
    CULTURAL,
    GRAPHS,
    LIBRARY,
    REPOSITORY,
    RSP4J,
    SAO,
    SERVICES,
    SSN,
    folder,
)

NUMBERS = range(1, 13)
LANGUAGES = ("csparql", "cqels", "rspql")


class Change(NamedTuple):
    """A text of a query, what stands there instead, and why."""

    text: str
    instead: str
    why: str


_SERVER = "graphs were on the authors' own web server"
_NAMES = "graphs are named as rheos loads them"


def _served(name: str) -> Change:
    return Change(f"<http://127.0.0.1:9000/WebGlCity/RDF/{name}.rdf>", f"<{GRAPHS}{name}>", _SERVER)


# What is said of graphs is the same in all queries of a language; a query has only some of them.
_GRAPH_NAMES = {
    "csparql": tuple(map(_served, (REPOSITORY, CULTURAL, LIBRARY))),
    "cqels": (
        Change("<culturalevents>", f"<{GRAPHS}{CULTURAL}>", _NAMES),
        Change("<libraryevents>", f"<{GRAPHS}{LIBRARY}>", _NAMES),
    ),
    "rspql": tuple(
        Change(f"<http://citybench/{name}.rdf>", f"<{GRAPHS}{name}>", _NAMES)
        for name in (REPOSITORY, CULTURAL, LIBRARY)
    ),
}

_VALUE = Change("ssn:hasValue", f"<{SAO}hasValue>", "the property is one of sao:")
_SENSOR = "the stream that the pattern is about"

# By language and number.
_CHANGES: dict[tuple[str, int], tuple[Change, ...]] = {
    ("rspql", 1): (_VALUE,),
    ("rspql", 2): (_VALUE,),
    ("rspql", 3): (
        _VALUE,
        Change("?obId2", "?obId3", "SELECT calls it so"),
        Change("?v2", "?v3", "SELECT calls it so"),
    ),
    ("rspql", 4): (
        Change("<w1> ON ses:AarhusTrafficData158505", "<w1> ON ses:UserLocationService", _SENSOR),
        Change("FILTER (((", "} FILTER (((", "a filter inside the window does not see the places of events"),
        Change("< 0.1)\n\t}", "< 0.1)", "the brace is before the filter now"),
    ),
    ("rspql", 6): (
        Change(
            "ssn:observedProperty ses:observedProperty",
            "ssn:observedProperty ?p1 ; ssn:observedBy ses:AarhusParkingDataKALKVAERKSVEJ",
            "there is no such property; this is what the other languages ask",
        ),
    ),
    ("rspql", 7): (
        Change(
            "?obId1 a ?ob ;\n\t\t\t   ssn:observedProperty ?p2",
            "?obId2 a ?ob ;\n\t\t\t   ssn:observedProperty ?p2",
            "no observation is of two garages",
        ),
    ),
    ("rspql", 12): (
        Change("SELECT ?service ?p", "SELECT (COUNT(?obId1) AS ?obCnt)", "?p is not in GROUP BY"),
    ),
}

_PREFIXES = f"""\
PREFIX ses: <{SERVICES}>
PREFIX ssn: <{SSN}>
PREFIX sao: <{SAO}>
PREFIX ct: <{CT}>
PREFIX graph: <{GRAPHS}>
"""
_EVENTS = """\
  ?evtId a ?ob ; ssn:featureOfInterest ?foi ; sao:value ?title .
  ?foi ct:hasFirstNode ?node .
  ?node ct:hasLatitude ?lat1 ; ct:hasLongitude ?lon1 ."""

# Queries in RSP-QL of our own, by number.
_OWN = {
    5: f"""{_PREFIXES}REGISTER RSTREAM <q5> AS
SELECT ?evtId ?title ?obId2 ?lat2 ?lon2
FROM graph:{CULTURAL}
FROM graph:{REPOSITORY}
FROM NAMED WINDOW <w1> ON ses:AarhusTrafficData158505 [RANGE PT3S STEP PT1S]
WHERE {{
{_EVENTS}
  ?p2 a ct:CongestionLevel ; ssn:isPropertyOf ?foi2 .
  ?foi2 ct:hasStartLatitude ?lat2 ; ct:hasStartLongitude ?lon2 .
  WINDOW <w1> {{ ?obId2 a ?ob ; ssn:observedProperty ?p2 ; sao:hasValue ?v2 }}
  FILTER ((?lat2 - ?lat1) * (?lat2 - ?lat1) + (?lon2 - ?lon1) * (?lon2 - ?lon1) < 0.1)
}}""",
    9: f"""{_PREFIXES}REGISTER RSTREAM <q9> AS
SELECT ?obId1 ?obId2 ?v1 ?v2
FROM graph:{CULTURAL}
FROM graph:{REPOSITORY}
FROM NAMED WINDOW <w1> ON ses:AarhusParkingDataKALKVAERKSVEJ [RANGE PT3S STEP PT1S]
FROM NAMED WINDOW <w2> ON ses:AarhusParkingDataSKOLEBAKKEN [RANGE PT3S STEP PT1S]
WHERE {{
{_EVENTS}
  ?p1 a ct:ParkingVacancy . ?p2 a ct:ParkingVacancy .
  WINDOW <w1> {{ ?obId1 a ?ob ; ssn:observedProperty ?p1 ; sao:hasValue ?v1 }}
  WINDOW <w2> {{ ?obId2 a ?ob ; ssn:observedProperty ?p2 ; sao:hasValue ?v2 }}
}}""",
}


@dataclass(frozen=True, slots=True)
class Query:
    """A query of CityBench in one language."""

    language: str
    number: int
    published: str
    changes: tuple[Change, ...]
    variant: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.language, f"q{self.number}", self.variant)))

    @property
    def text(self) -> str:
        """The query as rheos answers it."""
        return changed(self.published, self.changes)

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams that it reads."""
        clause = rf"(?i:\bstream|\bON)\s+(?:<{re.escape(SERVICES)}|ses:)(\w+)"
        return frozenset(re.findall(clause, self.text))


def query(language: str, number: int) -> Query:
    published = _read(language, number)
    graphs = tuple(change for change in _GRAPH_NAMES[language] if change.text in published)
    named = Change(f"<q{number}>", f"rspql-q{number}", "queries of all languages run at once")
    changes = (*graphs, *([named] if language == "rspql" else []), *_CHANGES.get((language, number), ()))
    return Query(language, number, published, changes)


def _read(language: str, number: int) -> str:
    if language != "rspql":
        return (folder() / "queries" / language / f"Q{number}.txt").read_text(encoding="utf-8")
    if number in _OWN:
        return _OWN[number]
    return (RSP4J / f"csparql2-citybench-q{number}.rspql").read_text(encoding="utf-8")


def queries(languages: Iterable[str] = LANGUAGES) -> list[Query]:
    return [query(language, number) for language in languages for number in NUMBERS]


def changed(text: str, changes: Iterable[Change]) -> str:
    for change in changes:
        if change.text not in text:
            raise ValueError(
                f"the query does not have {change.text!r}, which was to be changed: {change.why}"
            )
        text = text.replace(change.text, change.instead)
    return text
