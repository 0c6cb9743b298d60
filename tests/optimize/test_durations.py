"""How long the solutions of patterns of EP-SPARQL last, and how long their events are remembered."""

from __future__ import annotations

import re

import pytest

from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.nodes import Node
from rheos.optimize.durations import duration_bound, memory_bound
from rheos.syntax import parse
from tests.syntax.test_epsparql import AVERAGE_OF_ACME, PAPER, PREFIXES

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR

LENGTHS = {"0s": "PT0S", "1s": "PT1S", "1h": "PT1H", "1d": "P1D", "2d": "P2D"}


def pattern(where: str) -> Node:
    """The pattern of a text in which A, B and C are groups, D() is getDURATION(), and `1h` is a duration."""
    where = re.sub(r"\b[ABC]\b", lambda found: f"{{ ?{found[0].lower()} :p ?o }}", where)
    compared = r"getDURATION() \1 "
    where = re.sub(r"D\(\) (\S+) (\d\w)", lambda found: found.expand(compared) + duration(found[2]), where)
    tree = parse(f"{PREFIXES} SELECT * {{ {where.replace(' D()', ' getDURATION()')} }}", "epsparql")
    return translate_epsparql(tree, "q").query.form.pattern


def duration(length: str) -> str:
    return f'"{LENGTHS[length]}"^^xsd:duration'


# --- durations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A", None),
        ("A SEQ B", None),
        ("A SEQ B FILTER( D() < 1h )", HOUR - 1),
        ("A SEQ B FILTER( D() <= 1h )", HOUR),
        ("A SEQ B FILTER( D() > 1h )", None),
        ('A SEQ B FILTER( "PT1H"^^xsd:duration > D() )', HOUR - 1),
        ('A SEQ B FILTER( "PT1H"^^xsd:duration >= D() )', HOUR),
        ('A SEQ B FILTER( "PT1H"^^xsd:duration < D() )', None),
        ('A SEQ B FILTER( D() = "PT1H"^^xsd:dayTimeDuration )', HOUR),
        ('A SEQ B FILTER( D() != "PT1H"^^xsd:duration )', None),
        ("A SEQ B FILTER( D() < ?a )", None),
        ("A SEQ B FILTER( D() < 0s )", 0),
        ('A SEQ B FILTER( D() < "-P1D"^^xsd:duration )', 0),
        # No month has more than 31 days.
        ('A SEQ B FILTER( D() < "P2MT1S"^^xsd:duration )', 62 * DAY + SECOND - 1),
        ('A SEQ B FILTER( D() <= "P1Y"^^xsd:yearMonthDuration )', 372 * DAY),
        # Conditions together.
        ("A SEQ B FILTER( ?a > ?b && D() < 1h )", HOUR - 1),
        ("A SEQ B FILTER( D() < 1h && D() < 1s )", SECOND - 1),
        ("A SEQ B FILTER( D() < 1h ) FILTER( D() < 1s )", SECOND - 1),
        ("A SEQ B FILTER( D() < 1h || D() < 1s )", HOUR - 1),
        ("A SEQ B FILTER( D() < 1h || ?a > ?b )", None),
        ("A SEQ B FILTER( !( D() < 1h ) )", None),
        ("A SEQ B FILTER( EXISTS { ?c :p ?o FILTER( D() < 1h ) } )", None),
        # What is around a filter.
        ("{ A SEQ B FILTER( D() < 1h ) } SEQ C", None),
        ("{ A SEQ B FILTER( D() < 1h ) } C", None),
        ("{ A SEQ B FILTER( D() < 1h ) } SEQ C FILTER( D() < 1d )", DAY - 1),
        ("{ A FILTER( D() < 1h ) } EQUALS B", HOUR - 1),
        ("A EQUALS { { B FILTER( D() < 1h ) } UNION { GRAPH :g C } }", None),  # what is static takes no time
        ("A DURING { B FILTER( D() < 1h ) }", HOUR - 1),
        ("{ A FILTER( D() < 1h ) } DURING B", None),
        ("{ A FILTER( D() < 1h ) } CONTAINS B", HOUR - 1),
        ("{ A FILTER( D() <= 1h ) } MEETS { B FILTER( D() <= 1s ) }", HOUR + SECOND),
        ("{ A FILTER( D() <= 1h ) } OVERLAPS B", None),
        ("A STARTS { B FILTER( D() <= 1h ) }", HOUR),
        ("A FINISHES { B FILTER( D() <= 1h ) }", HOUR),
        ("{ A FILTER( D() < 1h ) } EQUALS { B FILTER( D() < 1s ) }", SECOND - 1),
        ("{ A FILTER( D() < 1h ) } EQUALSOPTIONAL B", HOUR - 1),
        ("A EQUALSOPTIONAL { B FILTER( D() < 1h ) }", None),
        ("{ A FILTER( D() < 1h ) } UNION { B FILTER( D() < 1d ) }", DAY - 1),
        ("{ A FILTER( D() < 1h ) } UNION B", None),
        ("{ A FILTER( D() < 1h ) } MINUS B", HOUR - 1),
        ("{ A FILTER( D() < 1h ) } GRAPH :g C", HOUR - 1),
        ("GRAPH :g C { A FILTER( D() < 1h ) } VALUES ?x { 1 }", HOUR - 1),
        ("{ A FILTER( D() < 1h ) } BIND(?a AS ?x)", HOUR - 1),
        ("{ SELECT DISTINCT ?a { A FILTER( D() < 1h ) } ORDER BY ?a }", HOUR - 1),
        ("{ A FILTER( D() < 1h ) } UNION { GRAPH :g B }", HOUR - 1),
        # With something optional a solution is longer, unless a filter there says no.
        ("{ A FILTER( D() < 1h ) } OPTIONAL B", None),
        ("{ A FILTER( D() < 1h ) } OPTIONAL { ?b :p ?o FILTER( D() < 1d ) }", DAY - 1),
        ("A OPTIONAL { ?b :p ?o FILTER( D() < 1d ) }", None),
        ("{ A FILTER( D() < 1h ) } OPTIONAL { GRAPH :g B }", HOUR - 1),
        ("A OPTIONALSEQ { B FILTER( D() < 1h ) }", None),
        ("{ ?a :p ?o FILTER( D() < 1d ) } OPTIONALSEQ { B FILTER( D() < 1h ) }", DAY - 1),
        ("{ ?a :p ?o FILTER( D() < 1d ) } OPTIONALSEQ B", None),
        # Aggregates: from the earliest start, and ends in (e - 1h, e].
        ("{ SELECT (COUNT(*) AS ?n) { A FILTER( D() <= 1s ) } WITHIN 1h }", HOUR + SECOND - 1),
        ("{ SELECT (COUNT(*) AS ?n) { A } WITHIN 1h }", None),
        ("{ SELECT (COUNT(*) AS ?n) { A } WITHIN 1h HAVING( D() < 2d ) }", 2 * DAY - 1),
    ],
)
def test_durations(where: str, expected: int | None) -> None:
    assert duration_bound(pattern(where)) == expected


# --- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A", 0),
        ("A UNION B", 0),
        ("A GRAPH :g { ?b :p ?o . ?c :p ?o }", 0),
        ("A VALUES ?x { 1 }", 0),
        ("A FILTER( D() < 1h )", 0),
        ("A EQUALS B", 0),
        ("A FINISHES B", 0),
        ("A SEQ B WITHIN PT1H", HOUR),
        ("A SEQ B WITHIN 1h", HOUR),
        ("{ A SEQ B WITHIN PT1H } SEQ C", None),
        ("A SEQ NOT B SEQ C", None),
        ("A SEQ NOT B SEQ C WITHIN PT1H", HOUR),
        ("A SEQ NOT { B OPTIONAL C } SEQ C WITHIN PT1H", None),
        ("A DURING B", None),
        ("A DURING { B FILTER( D() <= 1h ) }", HOUR),
        ("A AFTER B", None),
        ("A MEETS B FILTER( D() <= 1h )", HOUR),
        ("A EQUALSOPTIONAL B", 0),
        ("A SEQ B", None),
        ("A B", None),
        ("?a :p ?o . ?b :p ?o", None),
        ("?a :p* ?o", None),
        ("A SEQ B FILTER( D() < 1h )", HOUR - 1),
        ("A B FILTER( D() < 1h )", HOUR - 1),
        ("?a :p ?o . ?b :p ?o FILTER( D() < 1h )", HOUR - 1),
        ("?a :p* ?o FILTER( D() < 1h )", HOUR - 1),
        # A filter around bounds what is inside, one inside does not bound what is around.
        ("{ A SEQ B } SEQ C FILTER( D() < 1h )", HOUR - 1),
        ("{ A SEQ B FILTER( D() < 1h ) } SEQ C FILTER( D() < 1d )", DAY - 1),
        ("{ A SEQ B FILTER( D() < 1h ) } SEQ C", None),
        ("{ A SEQ B FILTER( D() < 1h ) } UNION C", HOUR - 1),
        ("{ A SEQ B FILTER( D() < 1h ) } UNION { B SEQ C }", None),
        ("{ A SEQ B } GRAPH :g C FILTER( D() < 1h )", HOUR - 1),
        # Both sides of EQUALS last equally long.
        ("{ A SEQ B } EQUALS { A SEQ C FILTER( D() < 1h ) }", HOUR - 1),
        ("{ A SEQ B FILTER( D() < 1h ) } EQUALSOPTIONAL { A SEQ C }", HOUR - 1),
        ("{ A SEQ B } EQUALSOPTIONAL { A SEQ C FILTER( D() < 1h ) }", None),
        ("{ A SEQ B } EQUALSOPTIONAL { A SEQ C } FILTER( D() < 1h )", HOUR - 1),
        # That something optional was there long ago is still to be known: then nothing is without it.
        ("A OPTIONAL B FILTER( D() < 1h )", None),
        ("A OPTIONAL { ?b :p ?o FILTER( D() < 1h ) }", HOUR - 1),
        ("A OPTIONAL { GRAPH :g B }", 0),
        ("A OPTIONALSEQ B FILTER( D() < 1h )", None),
        ("{ ?a :p ?o FILTER( D() < 1h ) } OPTIONALSEQ B", HOUR - 1),
        ("{ ?a :p ?o FILTER( D() < 1h ) } OPTIONALSEQ { B SEQ C }", None),
        ("{ ?a :p ?o FILTER( D() < 1h ) } OPTIONALSEQ { B SEQ C } FILTER( D() < 1d )", DAY - 1),
        # And what is removed, or asked to be there.
        ("A MINUS B FILTER( D() < 1h )", None),
        ("A MINUS { GRAPH :g B }", 0),
        ("A FILTER NOT EXISTS B FILTER( D() < 1h )", None),
        ("A FILTER NOT EXISTS { GRAPH :g B }", 0),
        ("A BIND( EXISTS B AS ?x)", None),
        ("{ SELECT * { A } ORDER BY (EXISTS B ) }", None),
        ("A OPTIONAL { GRAPH :g B FILTER EXISTS C }", None),
        # Aggregates remember what they count.
        ("{ SELECT (COUNT(*) AS ?n) { A } WITHIN 1h }", HOUR),
        ("{ SELECT (COUNT(*) AS ?n) { A SEQ B FILTER( D() < 1s ) } WITHIN 1h }", HOUR + SECOND - 1),
        ("{ SELECT (COUNT(*) AS ?n) { A SEQ B } WITHIN 1h HAVING( D() < 1s ) }", None),
        ("{ SELECT (COUNT(*) AS ?n) { A } WITHIN 1h } SEQ B", None),
        ("{ SELECT (COUNT(*) AS ?n) { A } WITHIN 1h } SEQ B FILTER( D() < 1d )", DAY - 1),
        ("A { SELECT (COUNT(*) AS ?n) { GRAPH :g B } }", 0),
    ],
)
def test_memory(where: str, expected: int | None) -> None:
    assert memory_bound(pattern(where)) == expected


@pytest.mark.parametrize(
    ("text", "duration", "memory"),
    [
        (PAPER["1"], 30 * DAY - 1, 30 * DAY - 1),
        (PAPER["2"], None, None),
        (PAPER["3"], 15 * DAY - 1, 15 * DAY - 1),
        (PAPER["4"], None, None),
        (PAPER["5"], 10 * DAY - 1, 10 * DAY - 1),
        (PAPER["6"], None, None),
        (AVERAGE_OF_ACME, None, 10 * DAY),
    ],
)
def test_the_queries_of_the_paper(text: str, duration: int | None, memory: int | None) -> None:
    found = translate_epsparql(parse(PREFIXES + text, "auto"), "q").query.form.pattern
    assert (duration_bound(found), memory_bound(found)) == (duration, memory)
