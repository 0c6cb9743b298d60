"""EP-SPARQL at the doors of the engine: parse, explain and query; no stream runs here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rheos
from rheos import Engine, QuerySyntaxError, UnsupportedError
from tests.cli.command import called
from tests.syntax.test_cqels_explain import parts
from tests.syntax.test_epsparql import AVERAGE_OF_ACME, PAPER, PREFIXES

SEQUENCE = "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } }"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(execution="local", base="http://ex/") as engine:
        yield engine


def test_explain(engine: Engine) -> None:
    shown = parts(engine.explain(PREFIXES + PAPER["1"]))
    assert list(shown) == [
        "language", "reports", "streams", "consumption", "durations", "memory", "algebra", "optimised",
        "sharding",
        "incremental",
    ]  # fmt: skip
    assert shown["language"] == ["EP-SPARQL"]
    assert shown["reports"] == ["query: each solution once, with its interval, when that has ended"]
    assert shown["streams"] == ["all that there are"]
    assert shown["consumption"] == ["unrestricted: every combination of events that fits"]
    assert shown["durations"] == ["a solution lasts less than 30 d"]
    assert shown["memory"] == ["events that began less than 30 d ago"]
    assert shown["algebra"][:2] == ["(select (?company)", "  (project (?company)"]
    assert '    (filter (< (duration) "P30D"^^xsd:duration)' in shown["optimised"]


def test_explain_a_rule(engine: Engine) -> None:
    text = """REGISTER STREAM Falls CONSUMPTION RECENT AS CONSTRUCT { ?a <fell> ?d }
      FROM STREAM <s> FROM STREAM <t> { { ?a <p> ?b } SEQ { ?a <p> ?c } }"""
    shown = parts(engine.explain(text))
    assert shown["reports"] == [
        "Falls: a rule: its triples, with the interval of their solution, are events for all of EP-SPARQL, "
        "also as a stream that queries in other languages can read"
    ]
    assert shown["streams"] == ["<http://ex/s>", "<http://ex/t>"]
    assert shown["consumption"] == ["recent: an event goes with the latest before it that fits"]
    assert shown["durations"] == ["no FILTER on getDURATION() bounds how long a solution lasts"]
    assert shown["memory"] == [
        "nothing bounds it: whatever matches is remembered for ever",
        "WITHIN, or FILTER(getDURATION() < …) on a pattern, bounds it; what is optional needs a FILTER of"
        " its own, and { ... }+ a WITHIN",
    ]
    assert shown["optimised"] == shown["algebra"]


def test_explain_other_bounds(engine: Engine) -> None:
    assert parts(engine.explain(PREFIXES + AVERAGE_OF_ACME))["memory"] == [
        "events that began at most 10 d ago"
    ]
    single = parts(engine.explain("SELECT * FROM STREAM <s> { ?a ?b ?c }"))
    assert single["memory"] == ["no event is needed after it came"]


def test_the_command_explains(tmp_path: Path) -> None:
    query = tmp_path / "falls.rq"
    query.write_text(PREFIXES + PAPER["3"])
    outcome = called("explain", query, "--execution", "local")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("language:\n  EP-SPARQL\n")
    assert "a solution lasts less than 15 d" in outcome.out


def test_the_command_takes_a_dialect() -> None:
    text = "SELECT * { ?a ?b ?c }"
    outcome = called("explain", "-q", text, "--dialect", "epsparql", "-e", "local")
    assert outcome.out.startswith("language:\n  EP-SPARQL\n")
    assert called("explain", "-q", text, "-e", "local").out.startswith("language:\n  SPARQL 1.1\n")


def test_the_queries_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs" / "epsparql.md"
    queries = re.findall(r"```sparql\n(.*?)```", page.read_text(), re.DOTALL)
    assert [rheos.parse(query).dialect for query in queries] == ["epsparql"] * 3 + ["rspql"]


def test_parse() -> None:
    assert rheos.parse(SEQUENCE).dialect == "epsparql"
    assert rheos.parse(SEQUENCE).is_continuous
    assert rheos.parse("SELECT * { ?a ?b ?c }", dialect="epsparql").is_continuous
    assert not rheos.parse("SELECT * { ?a ?b ?c }").is_continuous


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("ASK {\n { ?a ex:b ?c } SEQ { ?a ?b ?c } }", "unknown prefix 'ex:'", 2, 7),
        ("ASK {\n ?a ?b ?c SEQ { ?a ?b ?c } }", "SEQ needs a group", 2, 11),
        ("ASK { { ?a ?b ?c } SEQ { ?a ?b ?c }\n SERVICE <x> { } }", "SERVICE is not supported", 2, 2),
        ("ASK { ?a ?b ?c\n FILTER(getDURATION() < 10) }", "this is no duration", 2, 25),
    ],
)
def test_parse_finds_what_is_wrong(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        rheos.parse(text)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "dialect", "line", "column"),
    [
        (SEQUENCE, "auto", 1, 1),
        ("PREFIX : <x>\nASK { ?a ?b ?c FILTER(getDURATION() > ?d) }", "auto", 2, 1),
        ("SELECT *\nFROM STREAM <s> { ?a ?b ?c }", "auto", 2, 1),
        ("PREFIX : <x>\n  REGISTER QUERY q AS\nASK { { ?a ?b ?c } SEQ { ?d ?e ?f } }", "auto", 2, 3),
        ("SELECT * { ?a ?b ?c }", "epsparql", 1, 1),
    ],
)
def test_a_continuous_query_is_not_answered_at_once(
    engine: Engine, text: str, dialect: str, line: int, column: int
) -> None:
    with pytest.raises(UnsupportedError, match="this is a continuous query: register") as caught:
        engine.query(text, dialect=dialect)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_command_does_not_answer_at_once() -> None:
    called("query", "-q", SEQUENCE).faulted("this is a continuous query: register() it")
