"""RSP-QL: what its texts mean as trees, and what is wrong with them, at its place."""

from __future__ import annotations

import pytest

from rheos import parse
from rheos.algebra.rspql import translate_rspql
from rheos.errors import QuerySyntaxError
from rheos.runtime.languages import explain
from rheos.syntax import ast

PREFIX = "PREFIX : <http://ex/> "


def query(
    window: str = "[RANGE PT1M STEP PT10S]", where: str = "{ WINDOW :w { ?s ?p ?o } }", head: str = "SELECT *"
) -> str:
    return f"{PREFIX}{head} FROM NAMED WINDOW :w ON :s {window} WHERE {where}"


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("[RANGE PT1M STEP PT10S]", (60_000_000, 10_000_000, 0)),
        ("[RANGE 1m STEP 10s]", (60_000_000, 10_000_000, 0)),
        ("[RANGE pt0.5s]", (500_000, 500_000, 0)),
        ("[RANGE 1h30m]", (5_400_000_000, 5_400_000_000, 0)),
        ("[RANGE 10 STEP 2]", (10_000, 2_000, 0)),
        ("[FROM NOW-PT35M TO NOW-PT5M STEP PT5M]", (1_800_000_000, 300_000_000, 300_000_000)),
        ("[FROM NOW - 2h TO NOW]", (7_200_000_000, 7_200_000_000, 0)),
    ],
)
def test_windows_of_time(window: str, kind: tuple[int, int, int]) -> None:
    found = parse(query(window)).streams[0].window
    assert isinstance(found, ast.LogicalWindow)
    assert (found.range, found.step, found.delay) == kind


def test_windows_of_elements() -> None:
    for window, step in (("[ELEMENTS 100 STEP 10]", 10), ("[ELEMENTS 100]", 1)):
        found = parse(query(window)).streams[0].window
        assert isinstance(found, ast.PhysicalWindow)
        assert (found.triples, found.step, found.graphs) == (100, step, True)


@pytest.mark.parametrize(
    ("text", "operator", "name", "makes_stream"),
    [
        (query(), "RSTREAM", "q", False),
        (query(head="SELECT ISTREAM *"), "ISTREAM", "q", False),
        (query(head="REGISTER DSTREAM <out> AS SELECT *"), "DSTREAM", "out", False),
        (query(head="REGISTER RSTREAM :out AS SELECT RSTREAM *"), "RSTREAM", "http://ex/out", False),
        (query(head="REGISTER QUERY out AS CONSTRUCT { ?s ?p ?o }"), "RSTREAM", "out", False),
        (query(head="REGISTER STREAM <http://o/x> AS CONSTRUCT ISTREAM { ?s ?p ?o }"), "ISTREAM", "http://o/x", True),  # noqa: E501
        (query(head="REGISTER ISTREAM <x> AS CONSTRUCT { ?s ?p ?o }"), "ISTREAM", "x", True),
        ("BASE <http://b/> " + query(head="REGISTER ISTREAM <x> AS CONSTRUCT { ?s ?p ?o }"), "ISTREAM", "http://b/x", True),  # noqa: E501
        (query(head="REGISTER STREAM x COMPUTED EVERY PT1M AS SELECT *"), "RSTREAM", "x", False),
    ],
)  # fmt: skip
def test_registration(text: str, operator: str, name: str, makes_stream: bool) -> None:
    found = translate_rspql(parse(text), "q")
    assert (found.operator, found.name, found.makes_stream) == (operator, name, makes_stream)


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        (query(head="REGISTER ISTREAM <x> AS SELECT DSTREAM *"), "a query reports one of them", "DSTREAM"),
        (query(where="{ WINDOW :v { ?s ?p ?o } }"), "there is no window <http://ex/v>", ":v"),
        (query(where="{ WINDOW :w { ?s ?p ?o WINDOW :w { } } }"), "inside another WINDOW", "WINDOW :w { }"),
        (query(where="{ GRAPH ?g { WINDOW :w { ?s ?p ?o } } }"), "inside GRAPH", "WINDOW :w {"),
        (query(window="[FROM NOW-PT5M TO NOW-PT10M]"), "begins before it ends", "NOW-PT5M"),
        (query(window="[RANGE PT0S]"), "must be more than 0", "PT0S"),
        (query(window=""), "a window needs a size", ":s  WHERE"),
        (query(window="[RANGE P1M]"), "days and times", "P1M"),
        (query(window="[RANGE 5s] FROM NAMED WINDOW :w ON :t [RANGE 5s]"), "two windows", ":w ON :t"),
        (query(head="REGISTER ISTREAM q AS ASK").replace("AS ASK", "AS ASK"), "ISTREAM is of SELECT", "ASK"),
        (f"{PREFIX}REGISTER RSTREAM q AS SELECT * WHERE {{ ?s ?p ?o }}", "no stream to wait for", "REGISTER"),
        (f"{PREFIX}SELECT ISTREAM * WHERE {{ ?s ?p ?o }}", "this one has none", "ISTREAM"),
        (query(where="{ { SELECT ISTREAM ?s { WINDOW :w { ?s ?p ?o } } } }"), "a sub-select has none", "ISTREAM"),  # noqa: E501
        (query(head="REGISTER QUERY q UNDER ENTAILMENT REGIME <http://www.w3.org/ns/entailment/RIF> AS SELECT *"),  # noqa: E501
         "entailment/RIF> is not supported", "<http://www"),
        (query(where="{ WINDOW :w { ?s ?p ?o } END AT ?t }"), "END AT is not supported", "END AT"),
        (query().replace("WHERE", "FROM STREAM :t [RANGE 5s STEP 5s] WHERE"), "this mixes C-SPARQL", "STREAM :t"),  # noqa: E501
    ],
)  # fmt: skip
def test_errors(text: str, words: str, at: str) -> None:
    with pytest.raises(QuerySyntaxError, match=words.replace("(", r"\(")) as caught:
        parse(text)
    assert caught.value.column == text.index(at) + 1, caught.value


def test_entailment() -> None:
    head = "REGISTER QUERY q UNDER ENTAILMENT REGIME <http://www.w3.org/ns/entailment/{}> AS SELECT *"
    assert translate_rspql(parse(query(head=head.format("RDFS"))), "q").entailment == "rdfs"
    assert translate_rspql(parse(query(head=head.format("Simple"))), "q").entailment == "none"
    tree = parse(query(head=head.format("RDFS")))
    assert explain(tree, "http://ex/", [], "none")["entailment"].startswith("RDFS")


def test_explained() -> None:
    text = query("[FROM NOW-PT2H TO NOW-PT1H STEP 5m]", head="SELECT DSTREAM *")
    found = explain(parse(text), "http://ex/", [], "none")
    assert found["language"] == "RSP-QL"
    assert found["windows"] == (
        "<http://ex/w> on <http://ex/s>: the elements from 2 h to 1 h before the instant, moved every 5 m"
    )
    assert "gone from the answer since the evaluation before" in found["reports"]
    assert found["instants"].endswith("none at which all windows are empty, unless something is gone then")
    assert "not by a variable: DSTREAM compares the answers of all shards" in found["sharding"]


def test_istream_in_csparql() -> None:
    text = "REGISTER QUERY q AS SELECT ISTREAM ?s FROM STREAM <http://ex/s> [RANGE 5s STEP 5s] WHERE { ?s ?p ?o }"  # noqa: E501
    tree = parse(text)
    assert (tree.dialect, tree.operator) == ("csparql", "ISTREAM")
    assert "what is new" in explain(tree, "http://ex/", [], "none")["reports"]
