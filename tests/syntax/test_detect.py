"""Which dialect a text is in, and that SPARQL means the same in all of them."""

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
        "SELECT ?upstream { ?upstream f:timestamp(?s, ?p, ?o) }",
    ],
)
def test_sparql(source: str) -> None:
    assert detect(source) == "sparql"


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * FROM NAMED <g> { STREAM <s> [RANGE 1m] { ?a ?b ?c } }",
        "ASK{stream<s>[NOW]{?a ?b ?c}}",
        "ASK { STREAM # the name\n ex:s [NOW] { ?a ?b ?c } }",
        "ASK { STREAM [NOW] ?s { ?a ?b ?c } }",
        "ASK FROM <g> { ?a ?b ?c . STREAM",
        "ASK { STREAM",
        # With words that C-SPARQL has too.
        "REGISTER QUERY q AS ASK { STREAM <s> [NOW] { ?a ?b ?c } }",
        "REGISTER STREAM q AS CONSTRUCT { } { STREAM <s> [NOW] { ?a ?b ?c } }",
        "REGISTER QUERY q COMPUTED EVERY 5m AS ASK { STREAM <s> [NOW] { ?a ?b ?c } }",
        "ASK { STREAM <s> [NOW] { ?a ?b ?c } FILTER(timestamp(?a) > 1) }",
        "ASK { STREAM <s> [NOW] { ?a ?b ?c } } AGGREGATE {(?n, COUNT, ?a)}",
    ],
)
def test_cqels(source: str) -> None:
    assert detect(source) == "cqels"


@pytest.mark.parametrize(
    "name", ["stream", "STREAM", "my-stream", "stream-1", "As-stream", "<stream>", "# it's a\n stream"]
)
@pytest.mark.parametrize("kind", ["QUERY", "STREAM"])
def test_a_registered_name_shows_no_language(kind: str, name: str) -> None:
    clause = "FROM STREAM <s> [RANGE 1m TUMBLING]"
    assert detect(f"REGISTER {kind} {name} AS CONSTRUCT {{ }} {clause} {{ }}") == "csparql"


def test_auto_reads_all() -> None:
    assert parse("ASK {}", "auto").dialect == "sparql"
    assert parse("ASK { STREAM <s> [NOW] { ?a ?b ?c } }", "auto").dialect == "cqels"
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


# --- two languages in one text ---------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["auto", "sparql", "csparql", "cqels"])
@pytest.mark.parametrize(
    "source",
    [
        "ASK\nFROM STREAM <s> [RANGE 1m TUMBLING]\n{ |STREAM <s> [NOW] { ?a ?b ?c } }",
        "ASK FROM NAMED STREAM <s> [RANGE 1m TUMBLING] { ?a ?b ?c { |stream ?x [ALL] { ?a ?b ?c } } }",
        "REGISTER QUERY stream AS ASK FROM STREAM <s>[RANGE TRIPLES 1] {|STREAM<s>[NOW]{?a ?b ?c}}",
        "ASK { STREAM <s> [NOW] { ?a ?b ?c } } FROM |STREAM <s> [RANGE TRIPLES 1]",
    ],
)
def test_windows_of_both_languages(source: str, dialect: str) -> None:
    before, _ = source.split("|")
    with pytest.raises(QuerySyntaxError) as caught:
        parse(source.replace("|", ""), dialect)
    assert caught.value.message.startswith("this mixes C-SPARQL windows (FROM STREAM) and CQELS-QL patterns")
    lines = before.split("\n")
    assert (caught.value.line, caught.value.column) == (len(lines), len(lines[-1]) + 1)


def test_words_that_only_look_like_windows_of_both() -> None:
    parse("ASK FROM STREAM <s> [RANGE TRIPLES 1] { ?stream <STREAM> 'STREAM' } # STREAM", "auto")
    parse("PREFIX stream: <s> ASK FROM stream: { STREAM stream: [NOW] { ?a ?b 'FROM STREAM' } }", "auto")


# --- SPARQL is a part of both ----------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["csparql", "cqels"])
@pytest.mark.parametrize(("kind", "query"), cases())
def test_sparql_is_a_part_of_the_others(kind: str, query: str, dialect: str) -> None:
    text = (SUITE / query).read_bytes().decode()
    assert detect(text) == "sparql"
    if kind.startswith("Negative"):
        with pytest.raises(QuerySyntaxError):
            parse(text, dialect)
    else:
        assert parse(text, dialect) == replace(parse(text), dialect=dialect)
