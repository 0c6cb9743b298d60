"""Which dialect a text is in, and that SPARQL means the same in both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import detect, parse
from tests.syntax.test_w3c import SUITE, cases


@pytest.mark.parametrize(
    "source",
    [
        "REGISTER QUERY q AS SELECT * {}",
        "register stream",
        "PREFIX ex: <http://ex/> # a comment\nREGISTER QUERY q AS ASK {}",
        "ASK FROM STREAM <s> [RANGE 1m TUMBLING] {}",
        "ASK from named stream ex:s [RANGE 1m TUMBLING] {}",
        "ASK FROM # the\n NAMED # next\n STREAM<s>[RANGE 1m TUMBLING]{}",
        "ASK { } AGGREGATE {(?n, COUNT, ?a)}",
        "ASK{}aggregate((?n, COUNT, ?a))",
        "ASK { FILTER(timestamp(?a) > 1) }",
        "ASK { ?a ?b 'it\\'s' FILTER(TimeStamp (?a)) }",
        'ASK { ?a ?b """a "quoted" REGISTER""" FILTER(!timestamp(?a)) }',
        "ASK { ?a ?b ?c FILTER(?a < 1 && timestamp(?b) > 1) }",
        "REGISTER QUERY q AS SELECT 'never closed",
    ],
)
def test_csparql(source: str) -> None:
    assert detect(source) == "csparql"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "ASK {}",
        "SELECT ?stream ?aggregate $register ?timestamp { ?stream ?step ?range }",
        "PREFIX stream: <s> PREFIX register: <r> ASK FROM stream:register FROM NAMED STREAM: { }",
        "PREFIX aggregate: <a> ASK { aggregate:timestamp register: timestamp:aggregate }",
        "ASK { ?s <http://ex/REGISTER> <STREAM>, <timestamp(> }",
        "ASK { ?s ?p 'REGISTER QUERY', \"timestamp(?x)\", '''FROM\nSTREAM 'AGGREGATE' ''' }",
        'ASK { ?s ?p """a \\""" timestamp""", \'x\'@timestamp, \'\\\' AGGREGATE {\' }',
        "# REGISTER QUERY q AS\nASK { } # FROM STREAM <s>",
        "ASK { _:aggregate ex:from _:register . ex:a.timestamp ex:b-register ex:c%20timestamp }",
        r"ASK { ?s ex:a\,timestamp ex:b }",
        "SELECT * FROM NAMED <g> { STREAM <s> [RANGE 1m] { ?a ?b ?c } }",
        "SELECT ?upstream { ?upstream f:timestamp(?s, ?p, ?o) }",
    ],
)
def test_sparql(source: str) -> None:
    assert detect(source) == "sparql"


def test_auto_reads_both() -> None:
    assert parse("ASK {}", "auto").dialect == "sparql"
    assert parse("ASK FROM STREAM <s> [RANGE TRIPLES 1] {}", "auto").dialect == "csparql"
    escaped = r"ASK FROM \u0053TREAM <s> [RANGE TRIPLES 1] {}"
    assert parse(escaped, "auto").dialect == "csparql"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("SELECT ?a, ?b { ?a ?p ?b }", "expected a variable, FROM, WHERE, '{' or '(', found ','"),
        ("SELECT ?a, FROM STREAM <s> [RANGE 1m] {}", "expected a variable or '(', found 'FROM'"),
        ("SELECT * FROM STREAM <s> [RANGE 1m] {", "a window needs STEP or TUMBLING"),
    ],
)
def test_auto_explains_in_the_language_of_the_text(source: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(source, "auto")
    assert caught.value.message.startswith(message)


def test_a_long_text_is_looked_through_quickly() -> None:
    assert detect("ASK { ?stream ?p " + "-" * 100_000 + "1 }") == "sparql"
    assert detect("ASK { ?stream ?p '" + "''' \\" * 100_000) == "sparql"


@pytest.mark.parametrize(("kind", "query"), cases())
def test_sparql_is_a_part_of_csparql(kind: str, query: str) -> None:
    text = (SUITE / query).read_bytes().decode()
    assert detect(text) == "sparql"
    if kind.startswith("Negative"):
        with pytest.raises(QuerySyntaxError):
            parse(text, "csparql")
    else:
        assert parse(text, "csparql") == replace(parse(text), dialect="csparql")
