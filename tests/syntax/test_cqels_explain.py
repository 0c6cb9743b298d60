"""CQELS-QL at the doors of the engine: parse, explain and query; no stream runs here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rheos
from rheos import Engine, QuerySyntaxError, RheosError, UnsupportedError
from tests.cli.command import called

QUERY = """REGISTER STREAM Near AS
CONSTRUCT { ?a <with> ?b } WHERE {
  STREAM <s> [NOW] { ?a <at> ?x }
  STREAM <s> [RANGE 3s] { ?b <at> ?x }
  STREAM <t> [TRIPLES 1500] { ?c <at> ?x . ?c <is> ?y }
  STREAM <t> [TRIPLES 1] { ?d <at> ?x }
  STREAM <u> [RANGE 1m SLIDE 5s] { ?e <at> ?x }
  STREAM <u> [RANGE 10s SLIDE 1h] { ?f <at> ?x }
  STREAM <v> [ALL] { ?g <at> ?x }
}"""
STREAM = "ASK { STREAM ?s [NOW] { ?a ?b ?c } }"


def parts(explanation: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in explanation.split("\n\n"):
        title, *lines = part.split("\n")
        found[title.rstrip(":")] = [line[2:] for line in lines]
    return found


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(execution="local", base="http://ex/") as engine:
        yield engine


def test_explain(engine: Engine) -> None:
    shown = parts(engine.explain(QUERY))
    assert list(shown) == ["language", "reports", "windows", "ticks", "algebra", "sharding", "incremental"]
    assert shown["language"] == ["CQELS-QL"]
    assert shown["reports"] == [
        "Near: the new triples at every tick, also as a stream that other queries can read"
    ]
    assert shown["windows"] == [
        "1: <http://ex/s>: the elements of the moment itself",
        "2: <http://ex/s>: the elements of the last 3 s",
        "3: <http://ex/t>: the last 1,500 elements matching one of its patterns",
        "4: <http://ex/t>: the last element matching its pattern",
        "5: <http://ex/u>: the elements of the last 1 m, moved every 5 s",
        "6: <http://ex/u>: the elements of the last 10 s, moved every 1 h",
        "  the slide is longer than the range: "
        "elements of 3,590 s between two windows are in neither, and skipped",
        "7: <http://ex/v>: every element so far",
    ]
    arrivals = [f"whenever an element of <http://ex/{name}> arrives" for name in "stuv"]
    multiples = [f"the multiples of {period} since 1970-01-01T00:00:00Z" for period in ("5 s", "1 h")]
    assert shown["ticks"] == [", and ".join([*arrivals, *multiples])]
    assert shown["algebra"][0] == "(construct ((?a <http://ex/with> ?b))"
    assert "(stream 7 (?g <http://ex/at> ?x))" in "\n".join(shown["algebra"])


def test_explain_with_a_name_that_the_text_does_not_have(engine: Engine) -> None:
    shown = parts(engine.explain("SELECT * { STREAM <s> [NOW] { ?a ?b ?c } }", dialect="cqels"))
    assert shown["reports"] == ["query: what is new at every tick"]
    assert shown["windows"] == ["1: <http://ex/s>: the elements of the moment itself"]


def test_explain_with_a_stream_that_is_a_variable(engine: Engine, tmp_path: Path) -> None:
    assert parts(engine.explain(STREAM))["windows"] == [
        "1: <urn:rheos:any-stream>: the elements of the moment itself",
        "  in its place, each stream that there is when the query is registered",
    ]
    (tmp_path / "a.nq").touch()
    engine.add_stream("http://ex/b", tmp_path / "a.nq")
    engine.add_stream("http://ex/a", tmp_path / "a.nq")
    made = "REGISTER STREAM c AS CONSTRUCT { } FROM STREAM <a> [RANGE TRIPLES 1] { ?a ?b ?c }"
    engine.register(made)
    assert parts(engine.explain(STREAM))["windows"] == [
        f"{number}: <http://ex/{name}>: the elements of the moment itself"
        for number, name in enumerate("abc", 1)
    ]


def test_the_command_explains(tmp_path: Path) -> None:
    query = tmp_path / "near.rq"
    query.write_text(QUERY)
    outcome = called("explain", query, "--base", "http://ex/", "--execution", "local")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("language:\n  CQELS-QL\n")
    assert "1: <http://ex/s>: the elements of the moment itself" in outcome.out


def test_the_command_takes_a_dialect() -> None:
    text = "SELECT 1 AS ?one { }"
    assert called("explain", "-q", text, "--dialect", "cqels", "-e", "local").status == 0
    called("explain", "-q", text, "-e", "local").faulted("line 1, column 8: ")
    called("explain", "-q", text, "--dialect", "rspql").faulted("line 1, column 8: ")
    outcome = called("run", "-q", text, "--dialect", "cqels", "-f", "csv")
    assert (outcome.status, outcome.out) == (0, "query,at,one\r\nquery,,1\r\n")


def test_parse() -> None:
    assert rheos.parse(QUERY).dialect == "cqels"
    assert rheos.parse(STREAM, dialect="cqels").is_continuous
    assert not rheos.parse("SELECT 1 AS ?one { }", dialect="cqels").is_continuous


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("ASK {\n STREAM ex:s [NOW] { ?a ?b ?c } }", "unknown prefix 'ex:'", 2, 9),
        ("ASK {\n STREAM <s> [NOW] { ?a ?b ?c FILTER(?a) } }", "FILTER cannot stand", 2, 30),
        ("ASK { STREAM <s> [NOW] { ?a ?b ?c }\n SERVICE <x> { } }", "SERVICE is not supported", 2, 2),
    ],
)
def test_parse_finds_what_is_wrong(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        rheos.parse(text)
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("sql", "dialect 'sql' is not one of: auto, sparql, csparql, cqels, epsparql, rspql"),
    ],
)
def test_dialects_that_do_not_exist(engine: Engine, dialect: str, message: str) -> None:
    for door in (rheos.parse, engine.explain, engine.query, engine.register):
        with pytest.raises(RheosError) as caught:
            door(STREAM, dialect=dialect)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (QUERY, 1, 1),
        ("ASK {\n  ?a ?b ?c OPTIONAL { STREAM <s> [NOW] { ?a ?b ?c } } }", 2, 23),
        ("SELECT *\nFROM STREAM <s> [RANGE TRIPLES 1] { ?a ?b ?c }", 2, 1),
    ],
)
def test_a_continuous_query_is_not_answered_at_once(
    engine: Engine, text: str, line: int, column: int
) -> None:
    with pytest.raises(UnsupportedError, match="this is a continuous query: register") as caught:
        engine.query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_query_with_a_dialect(engine: Engine) -> None:
    result = engine.query("SELECT 1 AS ?one { }", dialect="cqels")
    assert result.variables == ["one"]
