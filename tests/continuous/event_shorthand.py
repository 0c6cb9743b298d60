"""Events, patterns and answers of EP-SPARQL in few letters: for cases that are worked out by hand."""

from __future__ import annotations

import re

from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_query import Group, Pattern
from tests.continuous.event_algebra import Event
from tests.continuous.event_entailment import DOMAIN, RANGE, SUB_CLASS, SUB_PROPERTY, TYPE
from tests.continuous.event_query import (
    Chain,
    Element,
    Query,
    Triples,
    chain,
    duration_term,
)
from tests.continuous.event_reference import Case, answers
from tests.continuous.expressions import SECOND, integer

ONE, TWO = "<http://ex/one>", "<http://ex/two>"
VOCABULARY = {
    "a": TYPE,
    "subClassOf": SUB_CLASS,
    "subPropertyOf": SUB_PROPERTY,
    "domain": DOMAIN,
    "range": RANGE,
}


def term(name: str) -> str:
    """`x` is an IRI, `7` an integer, `?x` a variable, `_:x` a blank node; some words are those of RDFS."""
    if name[0] in "?_":
        return name
    return integer(int(name)) if name.isdigit() else f"<http://ex/{name}>"


def pattern(written: str) -> Pattern:
    s, p, o = written.split()
    return term(s), VOCABULARY.get(p) or term(p), term(o)


def stream(*events: tuple[str, float] | tuple[str, float, float]) -> list[Event]:
    """Triples, in short, with the seconds of their start and end, which may be the same."""
    return [(*pattern(event[0]), int(event[1] * SECOND), int(event[-1] * SECOND)) for event in events]


def quads(*triples: str) -> list[Quad]:
    return [(*pattern(written), "") for written in triples]


def group(*parts: str | Element) -> Group:
    """A string is a triple pattern."""
    return Group(tuple(Triples((pattern(part),)) if isinstance(part, str) else part for part in parts))


def seq(*groups: Group) -> Chain:
    return chain("SEQ", *groups)


def seconds(number: float) -> str:
    return duration_term(int(number * SECOND))


def short(found: list[tuple[int, int, str]]) -> list[str]:
    """`1-3 x=a n=1`: start and end in seconds, the local names of terms."""
    return [
        f"{start / SECOND:g}-{end / SECOND:g} "
        + re.sub(r'<http://ex/(\w+)>|"([^"]*)"\^\^<\S+>|[?]', r"\1\2", row)
        for end, start, row in found
    ]


def reported(
    where: Group | Query, events: list[Event], static: list[Quad] | None = None, *rules: Query
) -> list[str]:
    query = where if isinstance(where, Query) else Query(where)
    return short(answers(Case([*rules, query], {ONE: events}, static or [])))
