"""The RSP-QL queries that others have published are read; what they have of their own is refused by name.

They are read from `../shared/rspql`; where that folder is missing these tests are skipped. Corrections of
slips are listed here, each as a piece of the text and what stands in its place.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rheos import parse
from rheos.errors import QuerySyntaxError
from tests.cli.command import ROOT

SHARED = ROOT.parent / "shared" / "rspql"
if not SHARED.is_dir():
    SHARED = ROOT.parents[1] / "shared" / "rspql"
RSP4J = sorted((SHARED / "rsp4j").glob("*.rspql")) if SHARED.is_dir() else []

needed = pytest.mark.skipif(not RSP4J, reason="../shared/rspql is missing")

# ?p is neither grouped nor aggregated.
RSP4J_SLIPS = {"csparql2-citybench-q12": [("GROUP BY ?service", "GROUP BY ?service ?p")]}

# By the number of the query on its page.
COLON = ("SELECT", "PREFIX : <http://ex/> SELECT")  # a prefix that is not declared
COMMUNITY_SLIPS = {
    1: [COLON, ("COUNT(?ride) as ?rideCount", "(COUNT(?ride) AS ?rideCount)"), (":wind ", ":win ")],
    2: [
        ("REGISTER", "PREFIX : <http://ex/> REGISTER"),
        ("as ?taxinumber", "as ?taxinumber)"),
        ("ON s [", "ON s:trips ["),
        ("GROUPBY ?location\n HAVING (?taxinumber >= 20)\n}", "} GROUP BY ?location HAVING (?taxinumber >= 20)"),  # noqa: E501
    ],
    3: [
        ("REGISTER", "PREFIX : <http://ex/> REGISTER"),
        ("ON s [", "ON s:trips ["),
        ("?taxi debs:pickup ?location\n", "?taxi debs:pickup ?location .\n"),
        ("LIMIT 3\n", "LIMIT 3 }\n"),
        ("GROUP BY", "} GROUP BY"),
        (" \n }\n}", "\n}"),
    ],
    4: [COLON, ("units:mile", "<http://ex/mile>")],
    5: [COLON, ("(?amount - ?tax -?tips -?tolls) AS ?profit", "(?amount - ?tax -?tips -?tolls AS ?profit)")],
    6: [COLON],
    7: [
        COLON,
        (" \n\t\t?new", " .\n\t\t?new"),
        ("?nlat\n", "?nlat .\n"),
        ("?olat\n", "?olat .\n"),
        ("FILTER ( ?increase >= 1.2 ) #increase by 20%\n\n}", "} GROUP BY ?neighbourhood HAVING (?increase >= 1.2)"),  # noqa: E501
    ],
}  # fmt: skip
# Functions of GeoSPARQL.
UNKNOWN = {4}


def corrected(text: str, slips: list[tuple[str, str]]) -> str:
    for slip, right in slips:
        assert slip in text, slip
        text = text.replace(slip, right, 1)
    return text


@needed
@pytest.mark.parametrize("path", RSP4J, ids=lambda path: path.stem)
def test_rsp4j(path: Path) -> None:
    tree = parse(corrected(path.read_text(encoding="utf-8"), RSP4J_SLIPS.get(path.stem, [])))
    assert tree.dialect == "rspql"
    assert tree.is_continuous


@needed
@pytest.mark.parametrize("number", COMMUNITY_SLIPS)
def test_the_community_group(number: int) -> None:
    page = (SHARED / "community" / "sample-queries.md").read_text(encoding="utf-8")
    part = page.split(f"### Query {number}\n")[1].split("### Query")[0]
    (text,) = (
        block
        for block in re.findall(r"```\s*\n(.*?)```", part, re.DOTALL)
        if "SELECT" in block or "CONSTRUCT" in block
    )
    query = corrected(text, COMMUNITY_SLIPS[number])
    if number in UNKNOWN:
        with pytest.raises(QuerySyntaxError, match="function"):
            parse(query)
    else:
        assert parse(query).dialect == "rspql"


@needed
@pytest.mark.parametrize(("page", "words"), [("example", "BEGIN AT is not supported")])
def test_what_the_drafts_have_more(page: str, words: str) -> None:
    text = (SHARED / "community" / f"{page}.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    with pytest.raises(QuerySyntaxError, match=words):
        parse(query)


# Written as the documentation of RSP-JS, rsp-rs and Kolibrie writes them.
OTHERS = [
    "PREFIX ex: <https://e/> REGISTER RStream <output> AS SELECT * FROM NAMED WINDOW ex:w ON STREAM ex:s"
    " [RANGE 10 STEP 2] WHERE { WINDOW ex:w { ?s ?p ?o } }",
    "PREFIX : <https://e/> REGISTER IStream <output> AS SELECT (AVG(?v) AS ?mean) FROM NAMED WINDOW :w ON STREAM :s"  # noqa: E501
    " [RANGE 60000 STEP 1000] WHERE { WINDOW :w { ?sensor :value ?v } }",
    "REGISTER RSTREAM <http://out/stream> AS SELECT * FROM NAMED WINDOW <http://e/w> ON <http://e/s>"
    " [RANGE 10 STEP 2] WHERE { WINDOW <http://e/w> { ?s a <http://e/T> . } }",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_other_engines(text: str) -> None:
    tree = parse(text)
    assert tree.dialect == "rspql"
    assert tree.streams[0].window is not None


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ("[SLIDING 10 SLIDE 2 REPORT ON_WINDOW_CLOSE TICK TIME_DRIVEN]", "of Kolibrie, are not supported"),
        ("[TUMBLING 10]", "one without STEP"),
        ("[RANGE TRIPLES 10]", "expected a duration"),
        ("[TRIPLES 10]", "counts elements here"),
        ("[START 0 END 10]", "of Janus, are not supported"),
    ],
)
def test_windows_of_others(window: str, words: str) -> None:
    with pytest.raises(QuerySyntaxError, match=words):
        parse(f"SELECT * FROM NAMED WINDOW <w> ON <s> {window} WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}")
