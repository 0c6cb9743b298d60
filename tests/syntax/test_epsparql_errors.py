"""Texts that are no EP-SPARQL: the message, and the place it points to."""

from __future__ import annotations

import pytest

import rheos
from rheos.errors import QuerySyntaxError
from rheos.syntax import parse


def failure(source: str, dialect: str = "epsparql") -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(source, dialect)
    return caught.value


def check(source: str, place: str, message: str) -> None:
    """The place is where its text first stands in the source."""
    error = failure(source)
    assert error.message.startswith(message)
    assert (error.line, error.column) == (1, source.index(place) + 1)


def resolved(source: str, place: str, message: str) -> None:
    """The same for what only resolved names show."""
    text = f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {source}"
    with pytest.raises(QuerySyntaxError) as caught:
        rheos.parse(text, dialect="epsparql")
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == (1, text.index(place) + 1)


# --- operators -------------------------------------------------------------------------------------

OPERATORS = ["SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "before",
    [
        "",
        "?a ?b ?c",
        "?a ?b ?c .",
        "{ ?a ?b ?c } .",
        "{ ?a ?b ?c } ?a ?b ?c",
        "OPTIONAL { ?a ?b ?c }",
        "MINUS { ?a ?b ?c }",
        "GRAPH <g> { ?a ?b ?c }",
        "{ ?a ?b ?c } FILTER(?a > 1)",
        "?a ?b ?c BIND(1 AS ?d)",
        "VALUES ?a { 1 }",
    ],
)
def test_no_group_before(operator: str, before: str) -> None:
    message = f"{operator} needs a group in braces directly before it, as in {{ ... }} {operator} {{ ... }}"
    check(f"ASK {{ {before} {operator} {{ ?d ?e ?f }} }}", operator, message)
    check(f"ASK {{ ?x ?y ?z {{ {before} {operator.lower()} {{ ?d ?e ?f }} }} }}", operator.lower(), message)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "source",
    [
        "SELECT * WHERE { ?a ?b ?c } %s { ?d ?e ?f }",
        "SELECT * { ?a ?b ?c } %s { ?d ?e ?f } FILTER(?a > 1)",
        "ASK { ?a ?b ?c } %s",
        "CONSTRUCT { } { ?a ?b ?c } %s { ?d ?e ?f }",
        "ASK { { SELECT * { ?a ?b ?c } %s { ?d ?e ?f } } }",
    ],
)
def test_outside_of_where(operator: str, source: str) -> None:
    message = f"{operator} stands inside WHERE, as in WHERE {{ {{ ... }} {operator} {{ ... }} }}"
    check(source % operator, operator, message)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("{ ?a ?b ?c } SEQ ?d ?e ?f", "?d", "expected '{', found '?d'"),
        ("{ ?a ?b ?c } SEQ FILTER(?a > 1)", "FILTER", "expected '{', found 'FILTER'"),
        ("{ ?a ?b ?c } SEQ GRAPH <g> { ?d ?e ?f }", "GRAPH", "expected '{', found 'GRAPH'"),
        ("{ ?a ?b ?c } SEQ SEQ { ?d ?e ?f }", "SEQ {", "expected '{', found 'SEQ'"),
        ("{ ?a ?b ?c } OPTIONAL SEQ { ?d ?e ?f }", "SEQ", "expected '{', found 'SEQ'"),
        ("{ ?a ?b ?c } EQUALS OPTIONAL { ?d ?e ?f }", "OPTIONAL", "expected '{', found 'OPTIONAL'"),
        ("{ ?a ?b ?c } UNION SEQ { ?d ?e ?f }", "SEQ", "expected '{', found 'SEQ'"),
        ("?a ?b SEQ", "SEQ", "expected a variable or term, found 'SEQ'"),
        ("{ ?a ?b ?c } SEQS { ?d ?e ?f }", "SEQS", "there is no keyword or function 'SEQS'"),
        ("{ ?a ?b ?c } SEQOPTIONAL { ?d ?e ?f }", "SEQOPTIONAL", "there is no keyword or function"),
        ("{ ?a ?b ?c } MET { ?d ?e ?f }", "{ ?d", "expected BY, found '{'"),
        ("?a ?b ?c . DURING { ?d ?e ?f }", "DURING", "DURING needs a group in braces directly before it"),
        ("NOT { ?a ?b ?c } SEQ { ?d ?e ?f }", "NOT", "NOT stands between two groups"),
        ("{ ?a ?b ?c } SEQ NOT { ?d ?e ?f }", "NOT", "NOT stands between two groups"),
        ("{ ?a ?b ?c } EQUALS NOT { ?d ?e ?f } SEQ { ?g ?h ?i }", "NOT", "NOT stands between two groups"),
        ("{ ?a ?b ?c } SEQ NOT { ?d ?e ?f } UNION { ?g ?h ?i }", "NOT", "NOT stands between two groups"),
        (
            "{ ?a ?b ?c } SEQ NOT { GRAPH ?d { ?e ?f ?g } } SEQ { ?g ?h ?i }",
            "{ GRAPH",
            "nothing happens in this group",
        ),
        (
            "{ ?a ?b ?c } SEQ { ?d ?e ?f } WITHIN P1Y",
            "P1Y",
            "expected a time, as in PT10M or 10m, found 'P1Y'",
        ),
        ("{ ?a ?b ?c }{3,2}", "{3", "a group is repeated at least once"),
        ("{ ?a ?b ?c }{2,}", "{2", "say how many at most"),
        ("{ ?a ?b ?c }{2,2000}", "{2", "a group can be repeated 1,000 times at most"),
        ("?a ?b ?c OPTIONAL { { ?a ?b ?c }+ }", "{ ?a ?b ?c }+", "that a run is over is known only later"),
        (
            "{ ?a ?b ?c } SEQ NOT { { ?a ?b ?c }+ } SEQ { ?d ?e ?f }",
            "{ ?a ?b ?c }+",
            "that a run is over is known",
        ),
        ("{ { ?a ?b ?c }+ }+", "{ ?a ?b ?c }+", "that a run is over is known only later"),
        ("{ ?a ?b ?c }+ AS (COUNT(*) AS ?a)", "?a)", "?a already has a value here"),
        ("GRAPH <g> { { ?a ?b ?c }+ }", "{ ?a ?b ?c }+", "a run cannot stand inside GRAPH"),
        ("{ ?a ?b ?c } STARTED { ?d ?e ?f }", "{ ?d", "expected BY, found '{'"),
    ],
)
def test_operands(text: str, place: str, message: str) -> None:
    check(f"ASK {{{text}}}", place, message)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "inside",
    [
        "",
        "FILTER(?a > 1)",
        "BIND(1 AS ?d)",
        "VALUES ?a { 1 }",
        "GRAPH <g> { ?d ?e ?f }",
        "MINUS { ?d ?e ?f }",
        "FILTER EXISTS { ?d ?e ?f }",
        "SELECT * { GRAPH ?g { ?d ?e ?f } }",
        "{ GRAPH <g> { ?d ?e ?f } } UNION { VALUES ?a { 1 } }",
    ],
)
def test_operands_in_which_nothing_happens(operator: str, inside: str) -> None:
    message = f"nothing happens in this group, so {operator} cannot say when"
    check(f"ASK {{ {{ ?a ?b ?c }} {operator} {{ {inside} }} }}", f"{{ {inside} }} }}", message)
    check(f"ASK {{ {{ {inside} }} {operator} {{ ?a ?b ?c }} }}", f"{{ {inside} }} {operator}", message)


@pytest.mark.parametrize("graph", ["<g>", "?g"])
@pytest.mark.parametrize(
    ("inside", "place", "word"),
    [
        ("{ ?a ?b ?c } SEQ { ?d ?e ?f }", "SEQ", "SEQ"),
        ("?a ?b ?c OPTIONAL { { ?a ?b ?c } EQUALS { ?d ?e ?f } }", "EQUALS", "EQUALS"),
        ("?a ?b ?c FILTER(getDURATION() < ?x)", "getDURATION", "getDURATION()"),
        ("?a ?b ?c BIND(getstarttime() AS ?t)", "getstarttime", "getSTARTTIME()"),
        ("{ SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h }", "WITHIN", "WITHIN"),
    ],
)
def test_nothing_happens_in_a_graph(graph: str, inside: str, place: str, word: str) -> None:
    message = f"{word} cannot stand inside GRAPH; events are not part of a graph"
    check(f"ASK {{ ?x ?y ?z GRAPH {graph} {{ {inside} }} }}", place, message)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * { }",
        "ASK { GRAPH <g> { ?a ?b ?c } }",
        "PREFIX : <x> SELECT (1 AS ?x) { VALUES ?a { 1 } }",
        "ASK FROM STREAM <s> { GRAPH ?g { ?a ?b ?c } FILTER EXISTS { ?d ?e ?f } }",
        "CONSTRUCT { } { { SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?a ?b ?c } } } }",
    ],
)
def test_queries_in_which_nothing_happens(source: str) -> None:
    form = next(word for word in ("SELECT *", "ASK", "SELECT (1", "CONSTRUCT") if word in source)
    check(source, form, "nothing happens in this query: there is no triple pattern in it outside of GRAPH")


def test_the_line_is_shown_with_a_caret() -> None:
    error = failure("SELECT *\nWHERE {\n  ?a ?b ?c .\n  SEQ { ?d ?e ?f }\n}")
    assert str(error).split("\n") == [
        "line 4, column 3: SEQ needs a group in braces directly before it, as in { ... } SEQ { ... }",
        "    SEQ { ?d ?e ?f }",
        "    ^",
    ]


# --- functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "place", "message"),
    [
        ("getDURATION(?a)", "getDURATION", "getDURATION takes no arguments; it is of the interval of the"),
        ("getEndTime(?a, 1)", "getEndTime", "getEndTime takes no arguments"),
        ("getDURATION > ?x", "> ?x", "expected '(', found '>'"),
        ("getDURATIONS() > ?x", "getDURATIONS", "there is no function 'getDURATIONS'"),
        ("DURATION() > ?x", "DURATION", "there is no function 'DURATION'"),
        ("getTIME() > ?x", "getTIME", "there is no function 'getTIME'"),
    ],
)
def test_functions(expression: str, place: str, message: str) -> None:
    check(f"ASK {{ ?a ?b ?c FILTER({expression}) }}", place, message)


@pytest.mark.parametrize(
    ("comparison", "place"),
    [
        ('getDURATION() < "P10X"^^xsd:duration', '"P10X"'),
        ('"P10X"^^xsd:duration >= getduration()', '"P10X"'),
        ('getDURATION() = "P"^^xsd:duration', '"P"'),
        ('getDURATION() < "PT"^^xsd:dayTimeDuration', '"PT"'),
        ('getDURATION() < "P1M"^^xsd:dayTimeDuration', '"P1M"'),
        ('getDURATION() < "P1D"^^xsd:yearMonthDuration', '"P1D"'),
        ('getDURATION() < "P10D"', '"P10D"'),
        ('getDURATION() < "P10D"^^xsd:string', '"P10D"'),
        ('getDURATION() != "P10D"@en', '"P10D"'),
        ("getDURATION() < 10", "10)"),
        ("getDURATION() < 1e3", "1e3"),
        ("10 > getDURATION()", "10 >"),
        ('getDURATION() IN ("P1D"^^xsd:duration, 10)', "10)"),
        ('getDURATION() NOT IN ("P1"^^xsd:duration)', '"P1"'),
        ('getDURATION() < "2026-01-01T00:00:00Z"^^xsd:dateTime', '"2026'),
        ("?a > 1 && !(?b = 2 || getDURATION() > true)", "true"),
    ],
)
def test_what_is_no_duration(comparison: str, place: str) -> None:
    message = 'this is no duration; getDURATION() is compared with one, as in "PT10M"^^xsd:duration'
    resolved(f"ASK {{ ?a ?b ?c FILTER({comparison}) }}", place, message)


@pytest.mark.parametrize(
    ("comparison", "place"),
    [
        ('getSTARTTIME() < "2026-02-30T00:00:00Z"^^xsd:dateTime', '"2026'),
        ('getENDTIME() < "2026-02-01"^^xsd:date', '"2026'),
        ('"2026-02-01T00:00:00Z" > getENDTIME()', '"2026'),
        ("getSTARTTIME() = 2026", "2026)"),
        ('getSTARTTIME() < "P1D"^^xsd:duration', '"P1D"'),
    ],
)
def test_what_is_no_time(comparison: str, place: str) -> None:
    resolved(f"ASK {{ ?a ?b ?c FILTER({comparison}) }}", place, "this is no xsd:dateTime; get")


@pytest.mark.parametrize(
    ("expression", "place", "message"),
    [
        ("getDURATION() * 2 > ?x", "getDURATION", "getDURATION() is a duration, and SPARQL only calculates"),
        ("-getDURATION() > ?x", "getDURATION", "getDURATION() is a duration"),
        ("getENDTIME() - getSTARTTIME() > ?x", "getENDTIME", "getENDTIME() is a time, and SPARQL only"),
        ("?x + getENDTIME() > ?y", "getENDTIME", "getENDTIME() is a time"),
    ],
)
def test_nobody_calculates_with_time(expression: str, place: str, message: str) -> None:
    resolved(f"ASK {{ ?a ?b ?c FILTER({expression}) }}", place, message)


@pytest.mark.parametrize(
    "comparison",
    [
        'getDURATION() < "P1D"^^xsd:duration',
        'getDURATION() < "-PT0.5S"^^xsd:duration',
        'getDURATION() <= "P1Y2M"^^xsd:yearMonthDuration',
        '"P1DT2H"^^xsd:dayTimeDuration > getDURATION()',
        'getDURATION() != "PT1M30.25S"^^<http://www.w3.org/2001/XMLSchema#duration>',
        "getDURATION() < ?x",
        "getDURATION() < STRDT(?x, xsd:duration)",
        'getSTARTTIME() > "2026-01-01T00:00:00"^^xsd:dateTime && getENDTIME() < NOW()',
        "YEAR(getSTARTTIME()) = 2026",
        "getSTARTTIME() = getENDTIME()",
        'STR(getDURATION()) = "PT1S"',
        'xsd:string(getDURATION()) != "PT1S"',
        '?x < "P10X"^^xsd:duration',
    ],
)
def test_comparisons_that_are_right(comparison: str) -> None:
    prefix = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    rheos.parse(f"{prefix} ASK {{ ?a ?b ?c FILTER({comparison}) }}", dialect="epsparql")


def test_the_place_of_a_duration_on_a_later_line() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        rheos.parse(
            "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
            "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f }\n"
            '  FILTER(getDURATION() < "P10X"^^xsd:duration) }'
        )
    assert (caught.value.line, caught.value.column) == (3, 26)


def test_the_timestamps_of_c_sparql() -> None:
    resolved(
        "ASK { ?a ?b ?c FILTER(<http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?a, ?b, ?c) > 1) }",
        "<http://larkc",
        "the timestamp of a triple is for queries in C-SPARQL; EP-SPARQL has getENDTIME()",
    )


@pytest.mark.parametrize("dialect", ["sparql", "csparql", "cqels"])
@pytest.mark.parametrize("function", ["getDURATION", "GETSTARTTIME", "getEndTime"])
def test_other_languages_have_no_intervals(dialect: str, function: str) -> None:
    source = f"ASK {{ ?a ?b ?c FILTER({function}() > ?x) }}"
    error = failure(source, dialect)
    assert error.message == f"{function}() is of EP-SPARQL, where solutions have intervals"
    assert (error.line, error.column) == (1, source.index(function) + 1)


# --- aggregates ------------------------------------------------------------------------------------

ENDLESS = "a stream does not end, so that an aggregate over all of it would have to be taken back"
STATIC = "GRAPH <g> { ?a ?b ?c }"


@pytest.mark.parametrize(
    "source",
    [
        "SELECT (|COUNT(*) AS ?n) { ?a ?b ?c }",
        "SELECT ?a { ?a ?b ?c } GROUP BY |?a",
        "SELECT ?a (|AVG(?c) AS ?m) { ?a ?b ?c } GROUP BY ?a",
        "SELECT ?a { ?a ?b ?c } GROUP BY ?a HAVING(|COUNT(*) > 1)",
        "SELECT ?a { ?a ?b ?c } GROUP BY ?a ORDER BY |MAX(?c)",
        "ASK { ?a ?b ?c } HAVING(|1 > 2)",
        "CONSTRUCT { ?a ?b 1 } { ?a ?b ?c } GROUP BY ?a ?b HAVING(|SUM(?c) > 1)",
        "ASK { ?x ?y ?z { SELECT (|MIN(?c) AS ?m) { ?a ?b ?c } } }",
        "ASK { { ?x ?y ?z } SEQ { SELECT (|MIN(?c) AS ?m) { ?a ?b ?c } } }",
        "ASK { ?x ?y ?z FILTER EXISTS { SELECT (|MIN(?c) AS ?m) { ?a ?b ?c } } }",
        f"ASK {{ ?x ?y ?z {{ SELECT (|MIN(?c) AS ?m) {{ {STATIC} FILTER EXISTS {{ ?d ?e ?f }} }} }} }}",
        f"ASK {{ ?x ?y ?z {{ SELECT (|MIN(?c) AS ?m) {{ {STATIC} ?d ?e ?f }} }} }}",
    ],
)
def test_aggregates_need_within(source: str) -> None:
    message = f"{ENDLESS}; say how far it looks back, as in WITHIN 10m"
    error = failure(source.replace("|", ""))
    assert error.message == message
    assert (error.line, error.column) == (1, source.index("|") + 1)


UNUSED = "WITHIN says how far aggregates look back, and there is none, as in (COUNT(*) AS ?n)"


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?a { ?a ?b ?c } WITHIN 1h",
        "SELECT * { ?a ?b ?c } WITHIN 1h",
        "SELECT ?a { ?a ?b ?c } GROUP BY ?a WITHIN 1h",
        "CONSTRUCT { } { ?a ?b ?c } WITHIN 1h",
        "ASK { ?a ?b ?c } WITHIN 1h HAVING(?a > 1)",
    ],
)
def test_within_needs_aggregates(source: str) -> None:
    check(source, "WITHIN", UNUSED)


def test_within_needs_events() -> None:
    source = "ASK { ?x ?y ?z { SELECT (COUNT(*) AS ?n) { VALUES ?a { 1 } } WITHIN 1h } }"
    message = "WITHIN looks back from events, and there is no triple pattern outside of GRAPH"
    check(source, "WITHIN", message)


@pytest.mark.parametrize(
    ("clauses", "place", "message"),
    [
        ("WITHIN 0s", "0s", "the time of WITHIN must be more than 0"),
        ("WITHIN 4000000d", "4000000d", "this is longer than ten thousand years"),
        ("WITHIN 1.5h", ".5h", "a time is made of whole numbers, as in 1h30m"),
        ("WITHIN 5 HAVING(?n > 1)", "HAVING", "expected a unit: ns, ms, s, m, h or d, found 'HAVING'"),
        ("WITHIN 5us", "us", "expected a unit: ns, ms, s, m, h or d, found 'us'"),
        ("WITHIN ?d", "?d", "expected a time, as in PT10M or 10m, found '?d'"),
        ("WITHIN 1h WITHIN 1h", "WITHIN 1h", "expected"),
        ("HAVING(?n > 1) WITHIN 1h", "WITHIN", "expected"),
    ],
)
def test_within(clauses: str, place: str, message: str) -> None:
    source = f"SELECT COUNT(*) AS ?n {{ ?a ?b ?c }} {clauses}"
    error = failure(source)
    assert error.message.startswith(message)
    assert (error.line, error.column) == (1, source.rindex(place) + 1)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (
            "SELECT ?c (COUNT(*) AS ?n) { ?a ?b ?c } GROUP BY ?a WITHIN 1h",
            "?c (",
            "?c is neither in GROUP BY nor in an aggregate",
        ),
        (
            "SELECT * { ?a ?b ?c } GROUP BY ?a WITHIN 1h HAVING(COUNT(*) > 1)",
            "SELECT",
            "SELECT * cannot stand with GROUP BY",
        ),
    ],
)
def test_groups(source: str, place: str, message: str) -> None:
    check(source, place, message)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ('"P10X"^^xsd:duration', "WITHIN takes a time, as in WITHIN 10m or WITHIN "),
        ('"P10D"', "WITHIN takes a time"),
        ('"10"^^xsd:integer', "WITHIN takes a time"),
        ('"P10D"@en', "WITHIN takes a time"),
        ('"P1M"^^xsd:duration', "months and years have no fixed length; WITHIN takes days"),
        ('"P1Y"^^xsd:yearMonthDuration', "months and years have no fixed length"),
        ('"PT0S"^^xsd:duration', "the time of WITHIN must be more than 0"),
        ('"-P1D"^^xsd:duration', "the time of WITHIN must be more than 0"),
        ('"P4000000D"^^xsd:duration', "this is longer than ten thousand years"),
    ],
)
def test_durations_of_within(literal: str, message: str) -> None:
    source = f"SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c }} WITHIN {literal}"
    resolved(source, literal, message)


@pytest.mark.parametrize(
    ("source", "place", "word"),
    [
        ("PREFIX : <x> SELECT * { ?a ?b ?c } LIMIT 5", "SELECT", "LIMIT"),
        ("SELECT * { ?a ?b ?c } ORDER BY ?a OFFSET 5", "SELECT", "OFFSET"),
        ("CONSTRUCT { } { ?a ?b ?c } OFFSET 5 LIMIT 5", "CONSTRUCT", "LIMIT"),
        ("ASK { ?x ?y ?z { SELECT * { ?a ?b ?c } LIMIT 5 } }", "SELECT", "LIMIT"),
        ("SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h LIMIT 5", "SELECT", "LIMIT"),
    ],
)
def test_there_is_no_whole_answer(source: str, place: str, word: str) -> None:
    check(source, place, f"{word} is for whole answers, and that of a stream goes on")


@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("ASK { ?x ?y ?z { SELECT (MAX(getDURATION()) AS ?d) { GRAPH <g> { ?a ?b ?c } } } }", "getDURATION"),
        ("ASK { ?x ?y ?z { SELECT (getENDTIME() AS ?d) { VALUES ?a { 1 } } } }", "getENDTIME"),
        ("ASK { FILTER(getSTARTTIME() < ?x) }", "getSTARTTIME"),
    ],
)
def test_static_data_has_no_interval(source: str, function: str) -> None:
    check(source, function, f"{function}() is of events, and there is no triple pattern outside of GRAPH")


# --- the query as a whole --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("DESCRIBE ?a { ?a ?b ?c }", "DESCRIBE", "DESCRIBE cannot read events in EP-SPARQL; use CONSTRUCT"),
        ("PREFIX : <x> DESCRIBE <x>", "DESCRIBE", "DESCRIBE cannot read events in EP-SPARQL"),
        (
            "REGISTER STREAM q AS SELECT * { ?a ?b ?c }",
            "SELECT",
            "only CONSTRUCT makes a stream; SELECT can be a REGISTER QUERY",
        ),
        (
            "REGISTER STREAM q CONSUMPTION RECENT AS ASK { ?a ?b ?c }",
            "ASK",
            "only CONSTRUCT makes a stream; ASK can be a REGISTER QUERY",
        ),
        (
            "REGISTER QUERY q COMPUTED EVERY 5m AS ASK { ?a ?b ?c }",
            "COMPUTED",
            "COMPUTED EVERY belongs to C-SPARQL; a query in EP-SPARQL answers as its events end",
        ),
        (
            "REGISTER QUERY q CONSUMPTION RECENT COMPUTE EVERY 5m AS ASK { ?a ?b ?c }",
            "COMPUTE",
            "COMPUTED EVERY belongs to C-SPARQL",
        ),
        (
            "REGISTER QUERY q COMPUTED EVERY 5m CONSUMPTION RECENT AS ASK { ?a ?b ?c }",
            "COMPUTED",
            "COMPUTED EVERY belongs to C-SPARQL",
        ),
        (
            "REGISTER QUERY q CONSUMPTION LATEST AS ASK { ?a ?b ?c }",
            "LATEST",
            "expected CHRONOLOGICAL, RECENT or UNRESTRICTED, found 'LATEST'",
        ),
        (
            "REGISTER QUERY q CONSUMPTION AS ASK { ?a ?b ?c }",
            "AS ASK",
            "expected CHRONOLOGICAL, RECENT or UNRESTRICTED, found 'AS'",
        ),
        (
            "REGISTER QUERY q RECENT AS ASK { ?a ?b ?c }",
            "RECENT",
            "expected AS, COMPUTED EVERY or CONSUMPTION, found 'RECENT'",
        ),
        (
            "REGISTER QUERY q CONSUMPTION RECENT CONSUMPTION RECENT AS ASK { ?a ?b ?c }",
            "CONSUMPTION RECENT AS",
            "expected AS or COMPUTED EVERY, found 'CONSUMPTION'",
        ),
        (
            "ASK FROM NAMED STREAM <s> { ?a ?b ?c }",
            "STREAM",
            "a stream is no named graph in EP-SPARQL; FROM STREAM adds it to the events of the query",
        ),
        (
            "ASK FROM STREAM <s> [RANGE 1m STEP 1m] { ?a ?b ?c }",
            "[",
            "windows belong to C-SPARQL; in EP-SPARQL, FILTER(getDURATION() < ...) bounds a pattern",
        ),
        ("ASK FROM STREAM ex:s [RANGE TRIPLES 1] { ?a ?b ?c }", "[", "windows belong to C-SPARQL"),
        ("ASK FROM <s> [RANGE TRIPLES 1] { ?a ?b ?c }", "[", "expected FROM, WHERE or '{', found '['"),
        (
            "ASK { STREAM <s> [NOW] { ?a ?b ?c } }",
            "STREAM",
            "STREAM patterns belong to CQELS-QL; here FROM STREAM, before WHERE, names the streams",
        ),
        ("SELECT * { ?a ?b ?c } AGGREGATE {(?n, COUNT, ?a)}", "AGGREGATE", "expected a modifier"),
        ("SELECT * { ?a ?b ?c FILTER(timestamp(?a) > 1) }", "timestamp", "there is no function 'timestamp'"),
    ],
)
def test_the_whole(source: str, place: str, message: str) -> None:
    check(source, place, message)


# --- expressions in SELECT -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "place", "message"),
    [
        ("?a + 1 AS ?b + 2", "?b + 2", "AS needs a variable, as in (?sum / ?count AS ?average)"),
        ("1 AS 2", "2", "AS needs a variable"),
        ("?a AS ?x -?c AS ?y", "AS ?y", "an expression needs brackets where another AS comes before it"),
        ("?a AS ?b AS ?c", "AS ?c", "an expression needs brackets where another AS comes before it"),
        ("(?n AS ?count + 1)", "+ 1", "expected ')', found '+'"),
        ("?a ?b + 1", "{", "expected AS, found '{'"),
        ("STRLEN(?a)", "{", "expected AS, found '{'"),
        ("?a AS", "{", "expected an expression, found '{'"),
        ("?a, ?b", ",", "expected an expression, an operator, AS, FROM, WHERE or '{'"),
        ("?s1 AS ?count + 1", "?s1", "?s1 already has a value here; AS needs a new variable"),
        ("?count + 1 AS ?s1", "?s1", "?s1 already has a value here; AS needs a new variable"),
    ],
)
def test_expressions_in_select(clause: str, place: str, message: str) -> None:
    check(f"SELECT {clause} {{ ?s1 ?p1 ?o1 }}", place, message)


# --- scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (
            "ASK { { _:n ?p ?q } SEQ { _:n ?b ?c } }",
            "_:n ?b",
            "the blank node _:n is already used in another basic graph pattern",
        ),
        (
            "ASK { _:n ?p ?q { ?a ?b ?c } SEQ { ?d ?e ?f } ?a ?b _:n }",
            "_:n }",
            "the blank node _:n is already used in another basic graph pattern",
        ),
        ("ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } BIND(1 AS ?a) }", "?a) }", "?a already has a value here"),
        ("ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } BIND(1 AS ?f) }", "?f) }", "?f already has a value here"),
        (
            "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f FILTER(SUM(?d) > 1) } }",
            "SUM",
            "the aggregate SUM cannot stand in",
        ),
    ],
)
def test_scope(source: str, place: str, message: str) -> None:
    check(source, place, message)


def test_too_many_groups() -> None:
    text = "ASK { " + " SEQ ".join(["{ ?a ?b ?c }"] * 5_000) + " }"
    assert "too long" in failure(text).message


# --- other languages -------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["sparql", "csparql", "cqels"])
@pytest.mark.parametrize(
    "source",
    [
        "ASK { { ?a ?b ?c } SEQ { ?d ?e ?f } }",
        "ASK { { ?a ?b ?c } EQUALSOPTIONAL { ?d ?e ?f } }",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c } WITHIN 1h",
        "REGISTER QUERY q CONSUMPTION RECENT AS ASK { ?a ?b ?c }",
        "SELECT ?n AS ?c + 1 { ?a ?b ?c }",
        "ASK FROM STREAM <s> { ?a ?b ?c }",
    ],
)
def test_the_others_have_none_of_it(source: str, dialect: str) -> None:
    parse(source, "epsparql")
    failure(source, dialect)
