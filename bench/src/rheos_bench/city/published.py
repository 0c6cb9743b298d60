"""CityBench's queries as they were published, with what has to be changed before an engine can answer them.

Each change is a `Change`: a text, what stands there instead, and why. A change whose text is not in the query
is an error, so that none outlives its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rheos_bench.city.material import CULTURAL, GRAPHS, LIBRARY, REPOSITORY, SERVICES, folder

NUMBERS = range(1, 13)
LANGUAGES = ("csparql", "cqels")


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
}

# By language and number.
_CHANGES: dict[tuple[str, int], tuple[Change, ...]] = {}


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
    published = (folder() / "queries" / language / f"Q{number}.txt").read_text(encoding="utf-8")
    graphs = tuple(change for change in _GRAPH_NAMES[language] if change.text in published)
    return Query(language, number, published, (*graphs, *_CHANGES.get((language, number), ())))


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
