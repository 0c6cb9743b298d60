"""The examples of the CQELS paper in the reference: it reports what was worked out for them by hand.

The queries are put together here once more, and compared with their files token by token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pyoxigraph as ox
import pytest

from rheos.answers.continuous import time_text
from rheos.terms import encode
from tests.cli.command import ROOT
from tests.cli.examples import Example, examples
from tests.continuous.arrival_algebra import Quad
from tests.continuous.arrival_query import (
    SECOND,
    Aggregate,
    Compare,
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
    integer,
    text,
)
from tests.continuous.arrival_reference import Case, Timed, answers, row_text

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


def tokens(written: str) -> list[str]:
    """A text without its prologue, comments, and what may be left out or doubled: full stops and brackets."""
    body = re.sub(r"^#.*$|PREFIX \S+ \S+", "", written, flags=re.MULTILINE)
    return re.findall(r'<[^<>\s]*>|"[^"]*"|\?\w+|\w+|[^\s.()]', full(body))


def elements(path: str) -> Iterator[Timed]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                s, p, o, time, _ = line.split()
                moment = datetime.fromisoformat(time.split('"')[1])
                yield s, p, o, round(moment.timestamp() * SECOND)


def quads(path: str, graph: str = "") -> Iterator[Quad]:
    for triple in ox.parse(path=path):
        yield encode(triple.subject), encode(triple.predicate), encode(triple.object), graph


def expected(example: Example) -> Iterator[tuple[str, str]]:
    for line in example.expected_lines:
        row = {f"?{name}": from_json(term) for name, term in line.get("row", {}).items()}
        yield line["at"], line.get("triple") or row_text(row)


def from_json(term: dict[str, str]) -> str:
    if term["type"] == "uri":
        return f"<{term['value']}>"
    return integer(int(term["value"])) if "datatype" in term else f'"{term["value"]}"'


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
