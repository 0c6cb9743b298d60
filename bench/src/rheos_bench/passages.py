"""Passages: the queries of `rheos bench windows` over the generated stream of passages."""

from __future__ import annotations

from typing import NamedTuple

from rheos_bench.data import CITY, VOCABULARY
from rheos_bench.streams import DISTRICTS, GATES, STREAM

PREFIXES = f"""\
PREFIX v: <{VOCABULARY}>
PREFIX gate: <{CITY}gate/>
PREFIX district: <{CITY}district/>
"""


class Window(NamedTuple):
    """A window: its range and its step in seconds."""

    range: int
    step: int

    def __str__(self) -> str:
        return f"{self.range} s/{self.step} s"

    @property
    def clause(self) -> str:
        return f"FROM STREAM <{STREAM}> [RANGE {self.range}s STEP {self.step}s]"


class Question(NamedTuple):
    """A SELECT query in two parts; in C-SPARQL, the window stands between them."""

    select: str
    where: str

    @property
    def plain(self) -> str:
        """The query for a store that holds the window and the static graph."""
        return f"{PREFIXES}{self.select} {self.where}"

    def over(self, window: Window, name: str) -> str:
        """The query in C-SPARQL."""
        return f"REGISTER QUERY {name} AS {PREFIXES}{self.select} {window.clause} {self.where}"


COUNT = Question("SELECT ?gate (COUNT(*) AS ?n)", "WHERE { ?passage v:through ?gate } GROUP BY ?gate")
JOIN = Question(
    "SELECT ?passage ?street",
    "WHERE { ?passage v:through ?gate . ?gate v:street ?street . ?street v:district district:7 }",
)


def different(number: int) -> list[Question]:
    """So many different queries: counts, joins with the static graph, single gates, sets of streets.

    Each is about its own part of the city, as queries of many users are. If each of a hundred reported every
    third passage, the benchmark would measure how fast a gigabyte is written.
    """
    return [_FAMILY[at % len(_FAMILY)](at) for at in range(number)]


def _counts(at: int) -> Question:
    return Question(COUNT.select, f"{COUNT.where} HAVING (COUNT(*) > {at})")


def _long_streets(at: int) -> Question:
    gate = f"gate:{at % GATES}"
    where = f"?passage v:through {gate} . {gate} v:street ?street . ?street v:length ?length"
    return Question("SELECT ?passage ?length", f"WHERE {{ {where} FILTER(?length > {100 + at}) }}")


def _one_gate(at: int) -> Question:
    return Question("SELECT (COUNT(?passage) AS ?n)", f"WHERE {{ ?passage v:through gate:{at % GATES} }}")


def _streets(at: int) -> Question:
    where = (
        f"?passage v:through ?gate . ?gate v:street ?street . ?street v:district district:{at % DISTRICTS}"
    )
    return Question(f"SELECT DISTINCT ?street ({at} AS ?number)", f"WHERE {{ {where} }}")


_FAMILY = (_counts, _long_streets, _one_gate, _streets)
