"""Texts that are no CQELS-QL: the message, and the place it points to."""

from __future__ import annotations

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import parse
from tests.syntax import test_errors


def failure(source: str) -> QuerySyntaxError:
    return test_errors.failure(source, "cqels")


def check(source: str, place: str, message: str) -> None:
    test_errors.points(failure(source), place, message)


# --- windows ---------------------------------------------------------------------------------------

WINDOWS = "[NOW], [ALL], [TRIPLES 5], [RANGE 10s] or [RANGE 10s SLIDE 1s]"


@pytest.mark.parametrize(
    ("window", "place", "message"),
    [
        ("", "<x>", f"a stream needs a window: {WINDOWS}"),
        ("NOW", "NOW", f"a window stands in brackets: {WINDOWS}"),
        ("ALL", "ALL", "a window stands in brackets"),
        ("TRIPLES 5", "TRIPLES", "a window stands in brackets"),
        ("RANGE 3s", "RANGE", "a window stands in brackets"),
        ("RANGE 3s SLIDE 1s", "RANGE", "a window stands in brackets"),
        ("(NOW)", "(", "expected a window, as in [NOW] or [RANGE 10s], found '('"),
        ("LATER", "LATER", "expected a window, as in [NOW] or [RANGE 10s], found 'LATER'"),
        ("[]", "]", "expected ALL, NOW, RANGE or TRIPLES, found ']'"),
        ("[5s]", "5s", "expected ALL, NOW, RANGE or TRIPLES, found '5'"),
        ("[NOW", "{ ?a", "expected ']', found '{'"),
        ("[NOW 3s]", "3s", "expected ']', found '3'"),
        ("[NOW] [ALL]", "[ALL]", "expected '{', found '['"),
        ("[NOWHERE]", "NOWHERE", "expected ALL, NOW, RANGE or TRIPLES, found 'NOWHERE'"),
        ("[RANGE]", "]", "expected a whole number, found ']'"),
        ("[RANGE 10]", "]", "expected a unit: ns, ms, s, m, h or d, found ']'"),
        ("[RANGE 10us]", "us", "expected a unit: ns, ms, s, m, h or d, found 'us'"),
        ("[RANGE 10S]", "S]", "expected a unit: ns, ms, s, m, h or d, found 'S'"),
        ("[RANGE 1.5s]", ".5s", "a time is made of whole numbers, as in 1h30m"),
        ("[RANGE -5s]", "-5s", "expected a whole number, found '-5'"),
        ("[RANGE 10s STEP 5s]", "STEP", "expected ']', a whole number or SLIDE, found 'STEP'"),
        ("[RANGE 10s TUMBLING]", "TUMBLING", "expected ']', a whole number or SLIDE, found 'TUMBLING'"),
        ("[RANGE TRIPLES 5]", "TRIPLES", "expected a whole number, found 'TRIPLES'"),
        ("[RANGE 10s SLIDE]", "]", "expected a whole number, found ']'"),
        ("[SLIDE 1s]", "SLIDE", "expected ALL, NOW, RANGE or TRIPLES, found 'SLIDE'"),
        ("[NOW SLIDE 1s]", "SLIDE", "expected ']', found 'SLIDE'"),
        ("[TRIPLES]", "]", "expected a whole number, found ']'"),
        ("[TRIPLES 5s]", "s]", "expected ']', found 's'"),
        ("[TRIPLES 5 SLIDE 1]", "SLIDE", "expected ']', found 'SLIDE'"),
        (
            "[RANGE 0s]",
            "0s",
            "the range of a window must be more than 0; [NOW] has the elements of one moment",
        ),
        ("[RANGE 0h0ns]", "0h0ns", "the range of a window must be more than 0; [NOW]"),
        ("[RANGE 1s SLIDE 0m]", "0m", "the slide of a window must be more than 0"),
        ("[RANGE 1s SLIDE 7ns]", "7ns", "the slide of a window is a whole number of microseconds"),
        ("[RANGE 1s SLIDE 3ms1ns]", "3ms1ns", "the slide of a window is a whole number of microseconds"),
        ("[TRIPLES 0]", "0]", "the number of triples of a window must be more than 0"),
        ("[TRIPLES 000]", "000]", "the number of triples of a window must be more than 0"),
        ("[RANGE 4000000d]", "4000000d", "this is longer than ten thousand years"),
        (f"[RANGE 1s SLIDE {'9' * 5000}ns]", "9", "this is longer than ten thousand years"),
        (f"[TRIPLES {'9' * 5000}]", "9", "these are more triples than a window can hold"),
    ],
)
def test_windows(window: str, place: str, message: str) -> None:
    check(f"ASK {{ STREAM <x> {window} {{ ?a ?b ?c }} }}", place, message)


@pytest.mark.parametrize(
    ("start", "place", "message"),
    [
        ("STREAM NOW <x>", "NOW", "a window stands in brackets"),
        ("STREAM RANGE 3s ?x", "RANGE", "a window stands in brackets"),
        ("STREAM [NOW]", "{ ?a", "expected an IRI or a variable, found '{'"),
        ("STREAM", "{ ?a", "expected a window, as in [NOW] or [RANGE 10s], an IRI or a variable, found '{'"),
        ("STREAM 'x' [NOW]", "'x'", "expected a window, as in [NOW] or [RANGE 10s], an IRI or a variable"),
        ("STREAM _:x [NOW]", "_:x", "expected a window"),
        ("STREAM <x > [NOW]", "<x >", "the IRI '<x >' cannot contain a space"),
        ("STREAM [NOW] <x> [ALL]", "[ALL]", "expected '{', found '['"),
        ("STREAMS <x> [NOW]", "STREAMS", "there is no keyword or function 'STREAMS'"),
    ],
)
def test_names(start: str, place: str, message: str) -> None:
    check(f"ASK {{ {start} {{ ?a ?b ?c }} }}", place, message)


def test_the_line_is_shown_with_a_caret() -> None:
    error = failure("SELECT *\nWHERE {\n  STREAM <x> [RANGE 0s] { ?a ?b ?c }\n}")
    assert str(error).split("\n") == [
        "line 3, column 21: the range of a window must be more than 0; [NOW] has the elements of one moment",
        "    STREAM <x> [RANGE 0s] { ?a ?b ?c }",
        "                      ^",
    ]


# --- what the braces hold --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "place", "construct"),
    [
        ("?a ?b ?c FILTER(?a > 1)", "FILTER", "FILTER"),
        ("FILTER(?a > 1)", "FILTER", "FILTER"),
        ("?a ?b ?c . OPTIONAL { ?a ?b ?d }", "OPTIONAL", "OPTIONAL"),
        ("?a ?b ?c MINUS { ?a ?b ?d }", "MINUS", "MINUS"),
        ("{ ?a ?b ?c } UNION { ?a ?b ?d }", "{ ?a ?b ?c }", "UNION"),
        ("{ ?a ?b ?c }", "{ ?a ?b ?c }", "a group"),
        ("GRAPH <g> { ?a ?b ?c }", "GRAPH", "GRAPH"),
        ("SERVICE <g> { ?a ?b ?c }", "SERVICE", "SERVICE"),
        ("?a ?b ?c BIND(1 AS ?d)", "BIND", "BIND"),
        ("VALUES ?a { 1 } ?a ?b ?c", "VALUES", "VALUES"),
        ("SELECT * { ?a ?b ?c }", "SELECT", "a sub-select"),
        ("STREAM <y> [ALL] { ?a ?b ?c }", "STREAM <y>", "another STREAM"),
        ("?a <p>/<q> ?c", "<p>/<q>", "a property path"),
        ("?a ?b ?c ; <p>* ?d", "<p>*", "a property path"),
        ("?a ?b [ ^<p> ?c ]", "^<p>", "a property path"),
        ("?a !<p> ?c", "!<p>", "a property path"),
    ],
)
def test_braces_hold_only_triples(inside: str, place: str, construct: str) -> None:
    message = f"{construct} cannot stand in the braces of STREAM; they hold only triples"
    check(f"ASK {{ STREAM <x> [NOW] {{ {inside} }} }}", place, message)


def test_empty_braces() -> None:
    check("ASK { STREAM <x> [NOW] { } }", "{ }", "the braces of STREAM hold at least one triple pattern")


# --- where a stream cannot stand -------------------------------------------------------------------

STREAM = "STREAM <x> [NOW] { ?a ?b ?c }"


@pytest.mark.parametrize(
    "where",
    [
        f"GRAPH <g> {{ {STREAM} }}",
        f"GRAPH ?g {{ ?x ?y ?z OPTIONAL {{ {STREAM} }} }}",
        f"GRAPH ?g {{ GRAPH ?h {{ {STREAM} }} }}",
        f"GRAPH ?g {{ {{ SELECT * {{ {STREAM} }} }} }}",
        f"OPTIONAL {{ GRAPH ?g {{ FILTER EXISTS {{ {STREAM} }} }} }}",
        f"FILTER NOT EXISTS {{ GRAPH ?g {{ ?x ?y ?z {STREAM} }} }}",
    ],
)
def test_not_in_a_graph(where: str) -> None:
    check(f"ASK {{ {where} }}", "STREAM", "STREAM cannot stand inside GRAPH; a stream is not part of a graph")


def test_a_graph_beside_a_stream_is_none_around_it() -> None:
    parse(f"ASK {{ GRAPH <g> {{ ?a ?b ?c }} {STREAM} GRAPH ?g {{ ?a ?b ?c }} }}", "cqels")


def test_describe() -> None:
    message = "DESCRIBE cannot read streams in CQELS-QL; use CONSTRUCT, SELECT or ASK"
    check(f"PREFIX : <x> DESCRIBE ?a {{ {STREAM} }}", "DESCRIBE", message)
    check(f"REGISTER STREAM q AS DESCRIBE * {{ {STREAM} }}", "DESCRIBE", message)
    parse("DESCRIBE ?a { ?a ?b ?c }", "cqels")


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (f"CONSTRUCT WHERE {{ {STREAM} }}", "STREAM", "expected '}' or a variable or term, found 'STREAM'"),
        (f"CONSTRUCT {{ {STREAM} }} {{ }}", "STREAM", "expected '}' or a variable or term, found 'STREAM'"),
        (f"ASK {{ {{ }} UNION {STREAM} }}", "STREAM", "expected '{', found 'STREAM'"),
        (f"ASK {STREAM}", "STREAM", "expected FROM, WHERE or '{', found 'STREAM'"),
        (
            "ASK { ?a ?b ?c . foo }",
            "foo",
            "expected '}', a variable or term or a pattern (FILTER, OPTIONAL, ...)",
        ),
    ],
)
def test_other_places(source: str, place: str, message: str) -> None:
    check(source, place, message)


def test_a_brace_that_is_missing() -> None:
    error = failure("ASK { STREAM <x> [NOW] { ?a ?b ?c }")
    assert error.message.startswith("the query ends too early; expected '.', '}', a variable or term")
    assert (error.line, error.column) == (1, 36)


# --- scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (
            "ASK { _:n ?p ?q STREAM <x> [NOW] { _:n ?b ?c } }",
            "_:n ?b",
            "the blank node _:n is already used in another basic graph pattern",
        ),
        (
            "ASK { STREAM <x> [NOW] { _:n ?b ?c } STREAM <x> [NOW] { _:n ?d ?e } }",
            "_:n ?d",
            "the blank node _:n is already used in another basic graph pattern",
        ),
        (
            "ASK { ?a ?p _:n STREAM <x> [NOW] { ?a ?b ?c } ?d ?e _:n }",
            "_:n }",
            "the blank node _:n is already used in another basic graph pattern",
        ),
        ("ASK { STREAM <x> [NOW] { ?a ?b ?c } BIND(1 AS ?a) }", "?a) }", "?a already has a value here"),
        ("ASK { STREAM ?s [NOW] { ?a ?b ?c } BIND(1 AS ?s) }", "?s) }", "?s already has a value here"),
        (
            "SELECT ?c count(?b) AS ?n { STREAM <x> [NOW] { ?a ?b ?c } } GROUP BY ?a",
            "?c count",
            "?c is neither in GROUP BY nor in an aggregate",
        ),
        (
            "SELECT ?a AS ?b { STREAM <x> [NOW] { ?a ?b ?c } }",
            "?b {",
            "?b already has a value here; AS needs a new variable",
        ),
        (
            "ASK { STREAM <x> [NOW] { ?a ?b ?c } FILTER(SUM(?a) > 1) }",
            "SUM",
            "the aggregate SUM cannot stand in",
        ),
    ],
)
def test_scope(source: str, place: str, message: str) -> None:
    check(source, place, message)


# --- registration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (
            f"REGISTER STREAM q AS SELECT * {{ {STREAM} }}",
            "SELECT",
            "only CONSTRUCT and DESCRIBE make streams; SELECT can be a REGISTER QUERY",
        ),
        (
            f"REGISTER STREAM q AS ASK {{ {STREAM} }}",
            "ASK",
            "only CONSTRUCT and DESCRIBE make streams; ASK can be a REGISTER QUERY",
        ),
        (
            f"REGISTER QUERY q COMPUTED EVERY 5m AS ASK {{ {STREAM} }}",
            "COMPUTED",
            "COMPUTED EVERY belongs to C-SPARQL; a query in CQELS-QL answers as elements arrive",
        ),
        (
            f"REGISTER QUERY q compute every 5ns AS ASK {{ {STREAM} }}",
            "compute",
            "COMPUTED EVERY belongs to C-SPARQL",
        ),
        (
            "PREFIX : <x> REGISTER QUERY Cars AS SELECT * { ?a ?b ?c }",
            "REGISTER",
            "Cars has no stream to wait for; add STREAM <iri> [RANGE 10s] { ?s ?p ?o } to WHERE, or",
        ),
        (f"REGISTER q AS ASK {{ {STREAM} }}", "q AS", "expected QUERY or STREAM, found 'q'"),
        (
            f"REGISTER QUERY AS ASK {{ {STREAM} }}",
            "AS",
            "expected an IRI in angle brackets or a name, found 'AS'",
        ),
    ],
)
def test_registrations(source: str, place: str, message: str) -> None:
    check(source, place, message)


# --- expressions in SELECT -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("SELECT count(?a) { ?a ?b ?c }", "{", "expected an operator or AS, found '{'"),
        ("SELECT ?a + { ?a ?b ?c }", "{", "expected an expression, found '{'"),
        ("SELECT count(?a) AS { ?a ?b ?c }", "{", "expected a variable, found '{'"),
        ("SELECT count(?a) AS 5 { ?a ?b ?c }", "5", "expected a variable, found '5'"),
        ("SELECT (count(?a) AS ?n { ?a ?b ?c }", "{", "expected ')', found '{'"),
        ("SELECT ?a, ?b { ?a ?b ?c }", ",", "expected an expression, an operator, AS, FROM, WHERE or '{'"),
        ("SELECT counts(?a) AS ?n { ?a ?b ?c }", "counts", "there is no function 'counts'"),
    ],
)
def test_expressions_in_select(source: str, place: str, message: str) -> None:
    check(source, place, message)


# --- other languages -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        f"ASK {{ {STREAM} }}",
        f"REGISTER QUERY q AS ASK {{ {STREAM} }}",
        "SELECT ?a count(?b) AS ?n { ?a ?b ?c } GROUP BY ?a",
    ],
)
def test_plain_sparql_has_none_of_it(source: str) -> None:
    parse(source, "cqels")
    with pytest.raises(QuerySyntaxError):
        parse(source)


@pytest.mark.parametrize(
    "source",
    [
        "ASK FROM STREAM <x> [RANGE 1m TUMBLING] { ?a ?b ?c }",
        "SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)}",
        "ASK { STREAM <x> [NOW] { ?a ?b ?c } FILTER(timestamp(?a) > 1) }",
        "SELECT ?a, ?b { ?a ?b ?c }",
        "CONSTRUCT * { ?a ?b ?c }",
    ],
)
def test_it_has_nothing_of_csparql(source: str) -> None:
    failure(source)
