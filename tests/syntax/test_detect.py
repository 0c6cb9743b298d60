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
        # Where a window is missing, what else there is.
        "ASK FROM STREAM <s> { } AGGREGATE {(?n, COUNT, ?a)}",
        "ASK FROM STREAM <s> { ?a ?b ?c FILTER(timestamp(?a) > 1) }",
        "REGISTER QUERY q COMPUTED EVERY 5m AS ASK FROM STREAM <s> { ?a ?b ?c }",
        "ASK FROM STREAM <s> FROM STREAM <t> [RANGE 1m TUMBLING] { ?a ?b ?c }",
        "REGISTER QUERY seq AS ASK FROM STREAM <s> # the\n [RANGE 1m TUMBLING] { ?a ?b ?c }",
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
        "SELECT ?during { ?starts ?before ?c FILTER CONTAINS(?c, 'x') { ?d ?e ?f } }",
        "PREFIX starts: <s> ASK { starts:meets starts:during <before> FILTER(CONTAINS(?x, 'a')) }",
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
    "source",
    [
        "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } }",
        "ASK { {} equals {} }",
        "ASK{{}OptionalSeq{}}",
        "ASK { {} EQUALSOPTIONAL",
        "ASK { ?a ?b ?c FILTER(getDURATION() < 1) }",
        "ASK { ?a ?b ?c FILTER(1 < GETSTARTTIME ( )) }",
        "SELECT (getEndTime() AS ?e) { }",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h",
        "REGISTER QUERY q CONSUMPTION RECENT AS ASK { ?a ?b ?c }",
        "REGISTER QUERY q AS ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } }",
        "REGISTER STREAM seq AS CONSTRUCT { } FROM STREAM <s> { ?a ?b ?c }",
        "ASK FROM STREAM <s> { ?a ?b ?c }",
        "ASK FROM STREAM ex:s FROM <g> { ?a ?b [] }",
        "ASK FROM NAMED STREAM <s> { [] ?b ?c }",
        "ASK FROM STREAM <s> # [RANGE 1m]\n { ?a ?b ?c }",
        "ASK FROM STREAM <s",
        # With words that others have too.
        "REGISTER QUERY q COMPUTED EVERY 5m AS ASK { {} SEQ {} }",
        "ASK { {} SEQ {} FILTER(timestamp(?a) > 1) }",
        "ASK { {} SEQ {} } AGGREGATE {(?n, COUNT, ?a)}",
        "ASK { { ?a ?b ?c } MET BY { ?d ?e ?f } }",
        "ASK { { ?a ?b ?c } contains # so\n { ?d ?e ?f } }",
        "ASK { { ?a ?b ?c } During { ?d ?e ?f } }",
        "ASK { { ?a ?b ?c }+ }",
        "ASK { { ?a ?b ?c } { 2 , 5 } }",
    ],
)
def test_epsparql(source: str) -> None:
    assert detect(source) == "epsparql"


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?seq ?equals $within { ?getDURATION ?consumption ?x }",
        "PREFIX seq: <s> PREFIX within: <w> ASK { seq:equals within: equals:seq }",
        "ASK { <http://ex/within> <SEQ> 'EQUALS', \"getDURATION()\", '''OPTIONALSEQ''' }",
        "ASK { _:seq ?p 'x'@seq } # CONSUMPTION",
        "SELECT ?sequel ?unequals ?within1 { ?s ex:a-seq ex:seq.within }",
    ],
)
def test_words_of_events_that_are_names(source: str) -> None:
    assert detect(source) == "sparql"


@pytest.mark.parametrize(
    "name",
    [
        "stream", "STREAM", "my-stream", "stream-1", "As-stream", "<stream>", "# it's a\n stream",
        "seq", "WITHIN", "equals-1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["QUERY", "STREAM"])
def test_a_registered_name_shows_no_language(kind: str, name: str) -> None:
    clause = "FROM STREAM <s> [RANGE 1m TUMBLING]"
    assert detect(f"REGISTER {kind} {name} AS CONSTRUCT {{ }} {clause} {{ }}") == "csparql"


def test_auto_reads_all() -> None:
    assert parse("ASK {}", "auto").dialect == "sparql"
    assert parse("ASK { STREAM <s> [NOW] { ?a ?b ?c } }", "auto").dialect == "cqels"
    assert parse("ASK FROM STREAM <s> [RANGE TRIPLES 1] {}", "auto").dialect == "csparql"
    assert parse("ASK FROM STREAM <s> { ?a ?b ?c }", "auto").dialect == "epsparql"
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


DIALECTS = ["auto", "sparql", "csparql", "cqels", "epsparql"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (
            "ASK FROM STREAM <s> [RANGE 1m TUMBLING]\n{ { ?a ?b ?c } |SEQ { ?a ?b ?c } }",
            "C-SPARQL windows (FROM STREAM) and EP-SPARQL (SEQ)",
        ),
        (
            "ASK FROM STREAM <s> [RANGE 1m TUMBLING] { ?a ?b ?c FILTER(|getDURATION() > 1) }",
            "C-SPARQL windows (FROM STREAM) and EP-SPARQL (getDURATION)",
        ),
        (
            "REGISTER QUERY seq CONSUMPTION RECENT AS ASK FROM |STREAM <s> [RANGE TRIPLES 1] { ?a ?b ?c }",
            "C-SPARQL windows (FROM STREAM) and EP-SPARQL (CONSUMPTION)",
        ),
        (
            "ASK { { ?a ?b ?c } SEQ {\n |STREAM <s> [NOW] { ?a ?b ?c } } }",
            "CQELS-QL patterns (STREAM in WHERE) and EP-SPARQL (SEQ)",
        ),
        (
            "SELECT COUNT(*) AS ?n { STREAM <s> [NOW] { ?a ?b ?c } } |WITHIN 1h",
            "CQELS-QL patterns (STREAM in WHERE) and EP-SPARQL (WITHIN)",
        ),
        (
            "ASK FROM STREAM <s> { |STREAM <s> [NOW] { ?a ?b ?c } }",
            "C-SPARQL windows (FROM STREAM) and CQELS-QL patterns (STREAM in WHERE)",
        ),
    ],
)
def test_events_and_windows(source: str, kinds: str, dialect: str) -> None:
    before, _ = source.split("|")
    with pytest.raises(QuerySyntaxError) as caught:
        parse(source.replace("|", ""), dialect)
    assert caught.value.message == f"this mixes {kinds}; a query has one kind only"
    lines = before.split("\n")
    assert (caught.value.line, caught.value.column) == (len(lines), len(lines[-1]) + 1)


@pytest.mark.parametrize("dialect", DIALECTS)
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
    parse("ASK FROM STREAM <s> [RANGE TRIPLES 1] { ?seq <WITHIN> 'SEQ' } # getDURATION()", "auto")
    parse("ASK FROM STREAM <s> { { ?a ?b [] } SEQ { [] ?stream 'STREAM' } }", "auto")


# --- SPARQL is a part of all -----------------------------------------------------------------------


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


# What EP-SPARQL refuses of SPARQL, because a stream goes on.
REFUSED = (
    "nothing happens in this query",
    "a stream does not end, so that an aggregate over all of it would have to be taken back",
    "LIMIT is for whole answers",
    "OFFSET is for whole answers",
    "DESCRIBE cannot read events",
)


@pytest.mark.parametrize(("kind", "query"), cases())
def test_sparql_is_a_part_of_epsparql(kind: str, query: str) -> None:
    text = (SUITE / query).read_bytes().decode()
    if kind.startswith("Negative"):
        with pytest.raises(QuerySyntaxError):
            parse(text, "epsparql")
        return
    refusal = refused(text)
    if refusal is None:
        assert parse(text, "epsparql") == replace(parse(text), dialect="epsparql")
    else:
        assert refusal.startswith(REFUSED)


def refused(text: str) -> str | None:
    try:
        parse(text, "epsparql")
    except QuerySyntaxError as error:
        return error.message
    return None
