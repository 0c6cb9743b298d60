"""The examples of the CQELS paper in the reference: it reports what was worked out for them by hand.

The queries are put together here once more, and compared with their files token by token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from rheos.answers.continuous import time_text
from tests.cli.command import ROOT
from tests.cli.examples import Example, examples
from tests.continuous.arrival_query import (
    Aggregate,
    Filter,
    Group,
    Now,
    Pattern,
    Query,
    Range,
    Static,
    Stream,
    Triples,
    Window,
    text,
)
from tests.continuous.arrival_reference import Case, answers, row_text
from tests.continuous.example_files import elements, quads, term_of, tokens
from tests.continuous.expressions import SECOND, Compare

ALL = examples(ROOT / "examples" / "cqels")
PREFIXES = {
    "lv:": "http://deri.org/floorplan/",
    "dc:": "http://purl.org/dc/elements/1.1/",
    "dcterms:": "http://purl.org/dc/terms/",
    "foaf:": "http://xmlns.com/foaf/0.1/",
    "swrc:": "http://swrc.ontoware.org/ontology#",
    ":": "http://deri.org/localisation#",
}
PLAN = "<http://deri.org/floorplan/>"


def full(written: str) -> str:
    """With IRIs in place of prefixed names."""

    return re.sub(r"(?<![\w<])(\w*:)(\w+)", lambda found: f"<{PREFIXES[found[1]]}{found[2]}>", written)


def pattern(written: str) -> Pattern:
    s, p, o = full(written).split()
    return s, p, o


def rfid(window: Window, written: str) -> Stream:
    return Stream("<http://deri.org/streams/rfid>", window, (pattern(written),))


def static(written: str) -> Static:
    return Static(full(written))


DIFFERENT = Filter(Compare("?auth", "!=", "?coAuth"))

QUERIES = {
    "localisation": Query(
        Group(
            (
                Stream(
                    "<http://deri.org/streams/localisation>", Now(), (pattern("?person1 :detectedAt ?loc1"),)
                ),
                Stream(
                    "<http://deri.org/streams/localisation>",
                    Range(2 * SECOND),
                    (pattern("?person2 :detectedAt ?loc2"),),
                ),
                static("?loc1 :conn ?loc2 ."),
            )
        ),
        template=(pattern("?person2 :reaches ?person1"),),
    ),
    "location-entered": Query(
        Group(
            (
                rfid(Now(), "?person lv:detectedAt ?loc"),
                static(f"GRAPH {PLAN} {{ ?loc lv:name ?locName . ?loc lv:desc ?locDesc }}"),
                static('?person foaf:name "Anna Keller" .'),
            )
        ),
        ("?locName", "?locDesc"),
        named=(PLAN,),
    ),
    "reachable-people": Query(
        Group(
            (
                rfid(Now(), "?person1 lv:detectedAt ?loc1"),
                rfid(Range(3 * SECOND), "?person2 lv:detectedAt ?loc2"),
                static(f"GRAPH {PLAN} {{ ?loc1 lv:connected ?loc2 }}"),
            )
        ),
        template=(pattern("?person1 lv:reachable ?person2"),),
        named=(PLAN,),
    ),
    "co-authors-here": Query(
        Group(
            (
                rfid(Triples(1), "?auth lv:detectedAt ?loc"),
                rfid(Range(5 * SECOND), "?coAuth lv:detectedAt ?loc"),
                static(
                    '{ ?paper dc:creator ?auth . ?paper dc:creator ?coAuth . ?auth foaf:name "Anna Keller" .'
                    " ?coAuth foaf:name ?coAuthName }"
                ),
                DIFFERENT,
            )
        ),
        ("?coAuthName",),
        named=(PLAN,),
    ),
    "editors-nearby": Query(
        Group(
            (
                rfid(Triples(1), "?auth lv:detectedAt ?loc1"),
                rfid(Range(15 * SECOND), "?editor lv:detectedAt ?loc2"),
                static(f"GRAPH {PLAN} {{ ?loc1 lv:connected ?loc2 }}"),
                static("?paper dc:creator ?auth . ?paper dcterms:partOf ?proceeding ."),
                static("?proceeding swrc:editor ?editor . ?editor foaf:name ?editorName ."),
                static('?auth foaf:name "Anna Keller" .'),
            )
        ),
        ("?editorName",),
    ),
    "co-authors-nearby": Query(
        Group(
            (
                rfid(Triples(1), "?auth lv:detectedAt ?loc1"),
                rfid(Range(30 * SECOND), "?coAuth lv:detectedAt ?loc2"),
                static(f"GRAPH {PLAN} {{ ?loc2 lv:name ?locName . ?loc2 lv:connected ?loc1 }}"),
                static(
                    '{ ?paper dc:creator ?auth . ?paper dc:creator ?coAuth . ?auth foaf:name "Anna Keller" }'
                ),
                DIFFERENT,
            )
        ),
        ("?loc2", "?locName", Aggregate("COUNT", "?coAuth", "?noCoAuths", distinct=True)),
        group_by=("?loc2", "?locName"),
        named=(PLAN,),
    ),
}


def expected(example: Example) -> Iterator[tuple[str, str]]:
    for line in example.expected_lines:
        row = {f"?{name}": term_of(term) for name, term in line.get("row", {}).items()}
        yield line["at"], line.get("triple") or row_text(row)


@pytest.mark.parametrize("name", QUERIES)
def test_the_query_is_that_of_the_file(name: str) -> None:
    (path,) = ALL[name].queries
    assert tokens(text(QUERIES[name])) == tokens(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ALL)
def test_the_reference_reports_what_is_expected(name: str) -> None:
    example = ALL[name]
    data = [quad for path in example.options.get("--data", []) for quad in quads(str(ROOT / path))]
    data += [quad for graph, path in example.pairs("--graph") for quad in quads(path, f"<{graph}>")]
    streams = {f"<{stream}>": list(elements(path)) for stream, path in example.pairs("--stream")}
    found = [(time_text(at), row) for at, rows in answers(Case(QUERIES[name], streams, data)) for row in rows]
    assert [at for at, _ in found] == [at for at, _ in expected(example)]
    assert Counter(found) == Counter(expected(example))
