"""Texts that are no C-SPARQL: the message, and the place it points to."""

from __future__ import annotations

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import parse
from tests.syntax import test_errors


def failure(source: str) -> QuerySyntaxError:
    return test_errors.failure(source, "csparql")


def check(source: str, place: str, message: str, part: str = "") -> None:
    test_errors.points(failure(source), place, message, part)


# --- registration ----------------------------------------------------------------------------------

STREAM = "FROM STREAM <s> [RANGE 1m TUMBLING]"


@pytest.mark.parametrize(
    ("registration", "place", "message"),
    [
        ("REGISTER Cars AS", "Cars", "expected QUERY or STREAM, found 'Cars'"),
        ("REGISTER QUERY AS", "AS", "expected an IRI in angle brackets or a name, found 'AS'"),
        (
            "REGISTER QUERY ex:cars AS",
            "ex:cars",
            "expected an IRI in angle brackets or a name, found 'ex:cars'",
        ),
        ("REGISTER QUERY 1 AS", "1", "expected an IRI in angle brackets or a name, found '1'"),
        ("REGISTER QUERY COMPUTED EVERY 5m AS", "COMPUTED", "expected an IRI in angle brackets or a name"),
        ("REGISTER QUERY q EVERY 5m AS", "EVERY", "expected AS or COMPUTED EVERY, found 'EVERY'"),
        ("REGISTER QUERY q COMPUTED 5m AS", "5m", "expected EVERY, found '5'"),
        (
            "REGISTER QUERY q COMPUTED EVERY m AS",
            "m AS",
            "expected a duration, as in PT10M or 10m, found 'm'",
        ),
        ("REGISTER QUERY q COMPUTED EVERY 5 AS", "AS", "expected a unit: ms, s, m, h or d, found 'AS'"),
        ("REGISTER QUERY q COMPUTED EVERY 0m0s AS", "0m0s", "the time of COMPUTED EVERY must be more than 0"),
        ("REGISTER QUERY q", "SELECT", "expected AS or COMPUTED EVERY, found 'SELECT'"),
        ("REGISTER QUERY a AS REGISTER QUERY b AS", "REGISTER QUERY b", "expected ASK, BASE, CONSTRUCT"),
        (
            "REGISTER STREAM q AS",
            "SELECT",
            "only CONSTRUCT and DESCRIBE make streams; SELECT can be a REGISTER QUERY",
        ),
    ],
)
def test_registrations(registration: str, place: str, message: str) -> None:
    check(f"{registration} SELECT * {STREAM} {{}}", place, message)


@pytest.mark.parametrize(
    ("form", "place", "message"),
    [
        ("ASK", "STRETCHED", "a query that is STRETCHED says in its rows"),
        ("SELECT ISTREAM *", "STRETCHED", "ISTREAM compares one evaluation with the next"),
        ("SELECT ?skipped", "?skipped", "?skipped says what a query that is STRETCHED skips"),
    ],
)
def test_what_cannot_be_stretched(form: str, place: str, message: str) -> None:
    where = "{ ?a ?skipped ?b }" if "skipped" in form else "{ ?a ?b ?c }"
    check(f"REGISTER QUERY q COMPUTED EVERY 5m STRETCHED AS {form} {STREAM} {where}", place, message)


@pytest.mark.parametrize(
    ("dataset", "place", "message"),
    [
        ("FROM STREAM <s> SAMPLE 5%", "<s>", "a stream needs a window"),
        ("FROM NAMED STREAM <s> [RANGE 1m TUMBLING] SAMPLE 5%", "SAMPLE", "SAMPLE is of FROM STREAM"),
        ("FROM STREAM <s> [RANGE TRIPLES 9] SAMPLE 5%", "SAMPLE", "SAMPLE is of a window of time"),
        (
            f"{STREAM} SAMPLE 5% FROM STREAM <t> [RANGE 1m TUMBLING]",
            "SAMPLE",
            "a query with SAMPLE reads one stream",
        ),
        (f"{STREAM} SAMPLE 100%", "100", "a sample has more than 0 and less than 100 percent"),
        (f"{STREAM} SAMPLE 5", "{", "expected '%'"),
    ],
)
def test_samples(dataset: str, place: str, message: str) -> None:
    check(f"REGISTER QUERY q AS SELECT (COUNT(*) AS ?n) {dataset} {{ ?a ?b ?c }}", place, message)


def test_ask_makes_no_stream() -> None:
    check(
        f"REGISTER STREAM q AS ASK {STREAM} {{}}", "ASK", "only CONSTRUCT and DESCRIBE make streams; ASK can"
    )


def test_a_registered_query_without_streams() -> None:
    source = "PREFIX : <x> REGISTER QUERY Cars AS SELECT * FROM <g> {}"
    check(source, "REGISTER", "Cars has no stream to wait for; add FROM STREAM <iri> [RANGE 10m STEP 1m]")


def test_nothing_but_a_keyword() -> None:
    assert failure("REGISTER").message == "the query ends too early; expected QUERY or STREAM"


# --- windows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "place", "message"),
    [
        ("", "<s>", "a stream needs a window, as in [RANGE 10m STEP 1m] or [RANGE TRIPLES 100]"),
        ("[RANGE 10m]", "[", "a window needs STEP or TUMBLING"),
        ("[RANGE 10]", "]", "expected a unit: ms, s, m, h or d, found ']'"),
        ("[RANGE 10 STEP 2]", "STEP", "expected a unit: ms, s, m, h or d, found 'STEP'"),
        ("[RANGE 10m STEP 2]", "]", "expected a unit: ms, s, m, h or d, found ']'"),
        ("[RANGE 10minutes TUMBLING]", "minutes", "expected a unit: ms, s, m, h or d, found 'minutes'"),
        ("[RANGE 10M TUMBLING]", "M TUM", "expected a unit: ms, s, m, h or d, found 'M'"),
        ("[RANGE 1.5h TUMBLING]", ".5h", "a time is made of whole numbers, as in 1h30m"),
        ("[RANGE -5m TUMBLING]", "-5m", "expected a duration, as in PT10M or 10m or TRIPLES, found '-5'"),
        ("[RANGE 10m SLIDE 5m]", "SLIDE", "expected ']', a whole number, STEP or TUMBLING, found 'SLIDE'"),
        ("[RANGE 10m STEP]", "]", "expected a duration, as in PT10M or 10m, found ']'"),
        ("[10m STEP 1m]", "10m", "expected RANGE or SESSION, found '10'"),
        ("[]", "]", "expected RANGE or SESSION, found ']'"),
        ("[RANGE]", "]", "expected a duration, as in PT10M or 10m or TRIPLES, found ']'"),
        ("[RANGE TRIPLES]", "]", "expected a whole number, found ']'"),
        ("[RANGE TRIPLES 10 STEP 5s]", "s]", "expected ']', found 's'"),
        ("[RANGE 10m STEP 1m", "{}", "expected ']' or a whole number, found '{'"),
        ("[RANGE 0m STEP 1m]", "0m", "the range of a window must be more than 0"),
        ("[RANGE 1m STEP 0h0ms]", "0h0ms", "the step of a window must be more than 0"),
        ("[RANGE TRIPLES 00]", "00", "the range of a window must be more than 0"),
        ("[RANGE TRIPLES 5 STEP 0]", "0", "the step of a window must be more than 0"),
        ("[RANGE 4000000d TUMBLING]", "4000000d", "this is longer than ten thousand years"),
        (f"[RANGE 1m STEP {'9' * 5000}d]", "9", "this is longer than ten thousand years"),
        (f"[RANGE TRIPLES {'9' * 5000}]", "9", "these are more triples than a window can hold"),
    ],
)
def test_windows(window: str, place: str, message: str) -> None:
    check(f"ASK FROM STREAM <s> {window} {{}}", place, message)


def test_the_line_is_shown_with_a_caret() -> None:
    error = failure("SELECT *\nFROM STREAM <s>\n  [RANGE 10m]\nWHERE {}")
    example = "[RANGE 10m STEP 1m] or [RANGE 10m TUMBLING]"
    assert str(error).split("\n") == [
        f"line 3, column 3: a window needs STEP or TUMBLING, as in {example}",
        "    [RANGE 10m]",
        "    ^",
    ]


@pytest.mark.parametrize(
    ("clauses", "place", "message"),
    [
        ("FROM STREAM ?s [RANGE 1m TUMBLING]", "?s", "expected an IRI, found '?s'"),
        (
            f"{STREAM} FROM NAMED STREAM <s > [RANGE TRIPLES 5]",
            "<s >",
            "the IRI '<s >' cannot contain a space",
        ),
        (f"FROM NAMED : {STREAM}", ": FROM", "<s> is a stream of this query; it cannot be a named graph"),
    ],
)
def test_streams(clauses: str, place: str, message: str) -> None:
    check(f"PREFIX : <s> ASK {clauses} {{}}", place, message)


def test_a_stream_may_be_a_default_graph_too() -> None:
    parse(f"ASK {STREAM} FROM <s> {{}}", "csparql")


# --- AGGREGATE -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "place", "message"),
    [
        ("AGGREGATE {}", "}", "expected '(', found '}'"),
        ("AGGREGATE (?n, COUNT, ?a)", "?n", "expected '(', found '?n'"),
        ("AGGREGATE {(?n, COUNT)}", ")}", "expected ',' or '(', found ')'"),
        ("AGGREGATE {(?n, COUNT, {})}", "})", "expected a variable, found '}'"),
        (
            "AGGREGATE {(?n, MEDIAN(?a), ?a)}",
            "MEDIAN",
            "expected COUNT, SUM, AVG, MIN or MAX, found 'MEDIAN'",
        ),
        (
            "AGGREGATE {(?n, SAMPLE(?a), ?a)}",
            "SAMPLE",
            "AGGREGATE has COUNT, SUM, AVG, MIN and MAX, but not SAMPLE",
        ),
        (
            "AGGREGATE {(?n, COUNT(DISTINCT ?a), ?a)}",
            "DISTINCT",
            "expected a variable or '*', found 'DISTINCT'",
        ),
        ("AGGREGATE {(?n, sum, ?a)}", "sum", "SUM needs a variable, as in SUM(?x)"),
        ("AGGREGATE {(?n, MAX(*), ?a)}", "MAX", "MAX needs a variable, as in MAX(?x)"),
        ("AGGREGATE {(?n, SUM(?a + 1), ?a)}", "+", "expected ')', found '+'"),
        ("FILTER(?a > 1) AGGREGATE {(?n, COUNT, ?a)}", "FILTER", "expected a modifier"),
        (
            "AGGREGATE {(?n, COUNT, ?a)} what",
            "what",
            "expected a modifier (ORDER BY, LIMIT, ...), the end of the",
        ),
        (
            "ORDER BY ?a AGGREGATE {(?n, COUNT, ?a)} LIMIT 1",
            "LIMIT",
            "expected the end of the query or VALUES",
        ),
    ],
)
def test_how_aggregate_is_written(clauses: str, place: str, message: str) -> None:
    check(f"SELECT * WHERE {{ ?a ?b ?c }} {clauses}", place, message, clauses)


@pytest.mark.parametrize(
    ("clauses", "place", "message"),
    [
        ("AGGREGATE {(?a, COUNT, ?b)}", "?a", "?a already stands in WHERE; AGGREGATE needs a new variable"),
        ("AGGREGATE {(?f, COUNT, ?b)}", "?f", "?f already stands in WHERE"),  # only in a FILTER
        ("AGGREGATE {(?h, COUNT, ?b)}", "?h", "?h already stands in WHERE"),  # only inside a sub-select
        (
            "AGGREGATE {(?n, COUNT, ?a)} AGGREGATE {(?n, COUNT, ?b)}",
            "?n, COUNT, ?b",
            "?n is already made by another AGGREGATE",
        ),
        ("AGGREGATE {(?n, COUNT, {?a, ?x})}", "?x", "?x is not in WHERE"),
        ("AGGREGATE {(?n, COUNT(?x), ?a)}", "?x", "?x is not in WHERE"),
        ("AGGREGATE {(?n, COUNT, ?f)}", "?f", "?f is not in WHERE"),
        ("AGGREGATE {(?n, COUNT, ?h)}", "?h", "?h is not in WHERE"),
        ("AGGREGATE {(?n, COUNT, ?n)}", "?n)", "?n is not in WHERE"),
        ("AGGREGATE {(?n, COUNT, ?a) (?m, SUM(?n), ?a)}", "?n), ?a", "?n is not in WHERE"),
        (
            "AGGREGATE {(?n, COUNT, ?a) FILTER(?x > 1)}",
            "?x",
            "?x is a variable neither of WHERE nor of an AGGREGATE",
        ),
        ("AGGREGATE {(?n, COUNT, ?a)} FILTER(?n > ?x)", "?x", "?x is a variable neither of WHERE nor"),
        (
            "AGGREGATE {(?n, COUNT, ?a)} FILTER(SUM(?n) > 1)",
            "SUM",
            "the aggregate SUM cannot stand in a FILTER",
        ),
    ],
)
def test_the_scope_of_aggregate(clauses: str, place: str, message: str) -> None:
    where = "{ ?a ?b ?c { SELECT ?a { ?a ?b ?h } } FILTER(!BOUND(?f)) }"
    check(f"SELECT * WHERE {where} {clauses}", place, message, clauses)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("DESCRIBE <x> AGGREGATE {(?n, COUNT, ?a)}", "?a", "?a is not in WHERE"),
        ("ASK { { SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?x)} } }", "?x", "?x is not in WHERE"),
        ("ASK { ?n ?b ?c } AGGREGATE {(?n, COUNT, ?b)}", "?n, C", "?n already stands in WHERE"),
        (
            "SELECT ?a ?n { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?b)} GROUP BY ?a",
            "?n {",
            "?n is neither in GROUP BY nor in an aggregate",
        ),
        (
            "SELECT (1 AS ?n) { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?b)}",
            "?n) {",
            "?n already has a value here; AS needs a new variable",
        ),
    ],
)
def test_the_scope_of_aggregate_by_form(source: str, place: str, message: str) -> None:
    check(source, place, message)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?a ?n (?n + 1 AS ?m) { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)} ORDER BY ?n ?m",
        "SELECT ?n (MAX(?a) AS ?m) { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)} GROUP BY ?n",
        "SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a) FILTER(?n > ?m)} AGGREGATE {(?m, COUNT, ?b)}",
        "SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)} FILTER EXISTS { ?x ?y ?n }",
        "SELECT * { GRAPH ?g { ?a ?b ?c } BIND(1 AS ?d) } AGGREGATE {(?n, COUNT(?d), {?g ?d})}",
        "CONSTRUCT { ?a <count> ?n } { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)}",
        "SELECT ?n { { SELECT ?a ?n { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)} } ?n ?p ?o }",
    ],
)
def test_what_the_variables_of_aggregate_may_do(source: str) -> None:
    parse(source, "csparql")


# --- timestamp() -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("called", "place", "message"),
    [
        ("timestamp(?x)", "?x", "timestamp needs a variable of a triple pattern in WHERE; ?x is in none"),
        ("timestamp(?g)", "?g)", "timestamp needs a variable of a triple pattern in WHERE; ?g is in none"),
        (
            "timestamp(?a, ?x)",
            "?x",
            "the stream of timestamp is an IRI or the variable of a GRAPH; ?x is none",
        ),
        ("timestamp(?a + 1)", "?a + 1", "timestamp takes a variable, as in timestamp(?car)"),
        ("timestamp(<a>)", "<a>", "timestamp takes a variable"),
        ("timestamp(?a, 'b')", "'b'", "the second argument of timestamp is a stream"),
        ("timestamp()", "timestamp", "TIMESTAMP takes 1 or 2 arguments, not 0"),
        ("timestamp(?a, ?b, ?c)", "timestamp", "TIMESTAMP takes 1 or 2 arguments, not 3"),
        ("timestamps(?a)", "timestamps", "there is no function 'timestamps'"),
    ],
)
def test_timestamp(called: str, place: str, message: str) -> None:
    source = f"CONSTRUCT {{ ?x ?y ?z }} {{ ?a ?b ?c FILTER({called} > 1) GRAPH ?g {{ }} }}"
    check(source, place, message, called)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT (timestamp(?b) AS ?t) { ?a ?b ?c }",
        "SELECT * { OPTIONAL { ?a <p>/<q> ?c } } ORDER BY timestamp(?c)",
        "SELECT * { FILTER EXISTS { ?a ?b ?c FILTER(timestamp(?a) > 1) } }",
        "SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)} FILTER(timestamp(?a) > ?n)",
        "SELECT * { GRAPH ?g { ?a ?b ?c } FILTER(timestamp(?a, ?g) > timestamp(?b, <s>)) }",
    ],
)
def test_where_timestamp_may_stand(source: str) -> None:
    parse(source, "csparql")


# --- spellings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("SELECT ?a, WHERE { ?a ?b ?c }", "WHERE", "expected a variable or '(', found 'WHERE'"),
        (
            "SELECT , ?a { ?a ?b ?c }",
            ",",
            "expected a variable, DISTINCT, REDUCED, RSTREAM, ISTREAM or DSTREAM, '{', '(' or '*', found ','",
        ),
        ("SELECT { ?a ?b ?c . }", ". }", "expected ',', '}', a variable or '(', found '.'"),
        ("ASK { GRAPH <a> { } UNION OPTIONAL { } }", "OPTIONAL", "expected GRAPH or '{', found 'OPTIONAL'"),
        ("ASK { ?a ?b ?c FILTER(?a AND) }", ")", "expected an expression, found ')'"),
        ("ASK { ?a ?b ?c FILTER(?a ANDROID ?b) }", "ANDROID", "expected ')' or an operator, found 'ANDROID'"),
        (
            "ASK { ?a ?b ?c FILTER(?a-STRLEN(?b) > 1) }",
            "(?b)",
            "?a-STRLEN reads as one variable here; to subtract, put a space after '-'",
        ),
        ("ASK { ?a ?b ?c FILTER(?a-ex:x > 1) }", ":x", "?a-ex reads as one variable here"),
        ("ASK { FILTERS(?x) }", "FILTERS", "there is no keyword or function 'FILTERS'"),
        ("ASK { FILTER(FOO(?x)) }", "FOO", "there is no function 'FOO'"),
    ],
)
def test_spellings(source: str, place: str, message: str) -> None:
    check(source, place, message)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?a, ?b { ?a ?p ?b }",
        "SELECT { ?a ?b } { ?a ?p ?b }",
        "SELECT ?a { ?a ?p ?b FILTER(?a AND ?b) }",
        "SELECT ?a-b { ?a-b ?p ?b }",
        "CONSTRUCT * { ?a ?p ?b }",
        "ASK { GRAPH <a> { } UNION { } }",
        "ASK FROM STREAM <s> [RANGE 1m TUMBLING] {}",
        "REGISTER QUERY q AS ASK FROM STREAM <s> [RANGE 1m TUMBLING] {}",
        "ASK { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)}",
        "ASK { ?a ?b ?c FILTER(timestamp(?a)) }",
    ],
)
def test_plain_sparql_has_none_of_it(source: str) -> None:
    parse(source, "csparql")
    with pytest.raises(QuerySyntaxError):
        parse(source)


# --- sessions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("ASK FROM STREAM <s> [SESSION 0s] {}", "0s", "the time of a session must be more than 0"),
        ("ASK FROM STREAM <s> [SESSION P1M] {}", "P1M", "expected a duration of days and times"),
        (
            "ASK FROM STREAM <s> [SESSION 1s] FROM STREAM <t> [SESSION PT1S PER SUBJECT] {}",
            "[SESSION PT1S",
            "a query is evaluated once for each session, so it can have one such window",
        ),
        (
            "REGISTER QUERY q COMPUTED EVERY 1s AS ASK FROM STREAM <s> [SESSION 1s] {}",
            "[SESSION",
            "a query is evaluated once for each session, so it cannot be COMPUTED EVERY",
        ),
        (
            "REGISTER QUERY q AS SELECT ISTREAM * FROM STREAM <s> [SESSION 1s] {}",
            "[SESSION",
            "ISTREAM compares one evaluation with the next",
        ),
    ],
)
def test_sessions(text: str, place: str, message: str) -> None:
    check(text, place, message)
