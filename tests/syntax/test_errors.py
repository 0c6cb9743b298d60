"""Texts that are not queries: the message, and the place it points to."""

from __future__ import annotations

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import parse


def failure(source: str, dialect: str = "auto") -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(source, dialect)
    return caught.value


def points(error: QuerySyntaxError, place: str, message: str, part: str = "") -> None:
    """The place is where its text first stands in that part of the source, or in all of it."""
    source = error.text
    assert error.message.startswith(message)
    assert (error.line, error.column) == (1, source.index(part) + (part or source).index(place) + 1)


def test_the_line_is_shown_with_a_caret() -> None:
    error = failure("SELECT ?x\nWHERE {\n\t?x ex:p ?y WHERE\n}")
    assert str(error).split("\n") == [
        "line 3, column 13: expected '.', ';', ',', '}' or a pattern (FILTER, OPTIONAL, ...), found 'WHERE'",
        "   ?x ex:p ?y WHERE",
        "              ^",
    ]


def test_of_a_long_line_what_is_near_is_shown() -> None:
    error = failure("ASK { " + "?s ?p ?o . " * 50 + "WHERE " + "?s ?p ?o . " * 50 + "}")
    _, shown, caret = str(error).split("\n")
    assert len(shown) < 210
    assert shown[caret.index("^") :].startswith("WHERE ")
    assert (shown[2], shown[-1]) == ("…", "…")


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("", 1, "the query is empty; expected ASK, BASE, CONSTRUCT, DESCRIBE, PREFIX or SELECT"),
        ("SELECT", 7, "the query ends too early; expected a variable, DISTINCT, REDUCED, '(' or '*'"),
        ("SELECT ?x", 10, "the query ends too early; expected a variable, FROM, WHERE, '{' or '('"),
        ("ASK { ?s ", 9, "the query ends too early; expected a predicate"),
        ("ASK { ?s ?p", 12, "the query ends too early; expected a variable or term"),
        ("ASK { FILTER(?x > ", 18, "the query ends too early; expected an expression"),
        ("ASK { FILTER(?x", 16, "the query ends too early; expected ')' or an operator"),
        ("SELECT * {} LIMIT", 18, "the query ends too early; expected a whole number"),
        ("PREFIX ex:", 11, "the query ends too early; expected an IRI in angle brackets"),
    ],
)
def test_a_query_that_ends_too_early(source: str, column: int, message: str) -> None:
    error = failure(source)
    assert error.message == message
    assert (error.line, error.column) == (1, column)


def test_the_end_is_after_the_last_character_that_shows() -> None:
    error = failure("ASK {\n  ?s ?p ?o\n\n")
    assert (error.line, error.column) == (2, 11)


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("SELECT ?x, ?y {}", 10, "expected a variable, FROM, WHERE, '{' or '(', found ','"),
        ("SELECT * {} LIMIT x", 19, "expected a whole number, found 'x'"),
        (
            "SELECT * {} }",
            13,
            "expected a modifier (ORDER BY, LIMIT, ...) or the end of the query, found '}'",
        ),
        ("ASK { ?s foo ?o }", 10, "expected a predicate, found 'foo'"),
        ("ASK { ?s ?p foo }", 13, "expected a variable or term, found 'foo'"),
        ("ASK { FILTER ?x }", 14, "expected a condition in brackets, found '?x'"),
        ("ASK { BIND(1 + AS ?x) }", 16, "expected an expression, found 'AS'"),
        ("ASK { VALUES ?x { ?y } }", 19, "expected '}' or a value, found '?y'"),
        ("ASK { GRAPH { } }", 13, "expected an IRI or a variable, found '{'"),
        ("CONSTRUCT { ?s ex:a/ex:b ?o } {}", 20, "expected a variable or term, found '/'"),
        ("CONSTRUCT WHERE { ?s ?p ?o FILTER(1) }", 28, "expected '.', ';', ',' or '}', found 'FILTER'"),
        ("PREFIX 1: <x> ASK {}", 8, "expected a prefix with its colon, found '1'"),
        ("PREFIX ex:y <x> ASK {}", 11, "expected an IRI in angle brackets, found 'y'"),
        ("ASK { ?s ?p\x00 ?o }", 12, "expected a variable or term, found U+0000 (a control character)"),
        (
            "ASK { ?s ?p \u2018a }",
            13,
            "expected a variable or term, found U+2018 (LEFT SINGLE QUOTATION MARK)",
        ),
        ("UPDATE {}", 1, "expected ASK, BASE, CONSTRUCT, DESCRIBE, PREFIX or SELECT, found 'UPDATE'"),
    ],
)
def test_found_and_expected(source: str, column: int, message: str) -> None:
    error = failure(source)
    assert error.message == message
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ('ASK { ?s ?p "abc }', 13, "the string is not closed on its line"),
        ("ASK { ?s ?p 'abc\n' }", 13, "the string is not closed on its line"),
        ('ASK { ?s ?p """abc" }', 13, 'the string is not closed with """'),
        (r'ASK { ?s ?p "a\qb" }', 13, r"the string has an unknown escape, \q"),
        ("ASK { ?s <http://ex/ a> ?o }", 10, "the IRI '<http://ex/ a>' cannot contain a space"),
        ("ASK { ?s ?p <http://ex/a", 13, "the IRI is not closed with '>'"),
        ("ASK { ?s ?p <a{b}> }", 13, "the IRI '<a{b}>' cannot contain '{'"),
        ("ASK { FILTER(?x = <a b>) }", 19, "the IRI '<a b>' cannot contain a space"),
        ("ASK { ?s ?p ? }", 13, "a variable needs a name after '?'"),
        ("ASK { ?s ?p $ }", 13, "a variable needs a name after '$'"),
        ("ASK { _: ?p ?o }", 7, "a blank node needs a label after '_:'"),
        ('ASK { ?s ?p "a"@ }', 16, "a language tag needs letters after '@'"),
        ("ASK { ?s ?p ex:a%zz }", 17, "in a name, '%' needs two hexadecimal digits"),
        (r"ASK { ?s ?p ex:a\z }", 17, "in a name, a backslash can only stand before one of"),
        ("ASK { FILTER(FOO(?x)) }", 14, "there is no function 'FOO'"),
        ("ASK { FILTER(STRLENGTH (?x)) }", 14, "there is no function 'STRLENGTH'"),
        ("ASK { FILTERS(?x) }", 7, "there is no keyword or function 'FILTERS'"),
        ("SELECTED ?x {}", 1, "there is no keyword or function 'SELECTED'"),
        ("SELECT NOTHING {}", 8, "expected a variable, DISTINCT, REDUCED, '(' or '*', found 'NOTHING'"),
        ("SELECT COUNT(*) {}", 8, "an expression in SELECT needs brackets and a name"),
        ("ASK { FILTER(?a<?b&&?c>?d) }", 16, "'<?b&&?c>' reads as an IRI here"),
        ('ASK { ?s ?p "\ud800" }', 14, "U+D800 is only half of a character"),
        (r'ASK { ?s ?p "\uD800" }', 14, r"\uD800 is not a character"),
    ],
)
def test_what_began_well(source: str, column: int, message: str) -> None:
    error = failure(source)
    assert error.message.startswith(message)
    assert (error.line, error.column) == (1, column)
    str(error).encode()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("STRLEN()", "STRLEN takes 1 argument, not 0"),
        ("strlen(1, 2)", "STRLEN takes 1 argument, not 2"),
        ("NOW(1)", "NOW takes no arguments, not 1"),
        ("BNODE(1, 2)", "BNODE takes 0 or 1 argument, not 2"),
        ("REGEX(1)", "REGEX takes 2 or 3 arguments, not 1"),
        ("REPLACE(1, 2, 3, 4, 5)", "REPLACE takes 3 or 4 arguments, not 5"),
        ("IF(1, 2)", "IF takes 3 arguments, not 2"),
        ("CONTAINS(1)", "CONTAINS takes 2 arguments, not 1"),
        ("BOUND((?x))", "expected a variable, found '('"),
        ("SUM(1, 2)", "expected ')', found ','"),
    ],
)
def test_numbers_of_arguments(call: str, message: str) -> None:
    assert failure(f"SELECT ({call} AS ?x) {{}}").message == message


@pytest.mark.parametrize(
    "source",
    [
        "ASK { ?s ?p ?o ?x }",
        "ASK { . ?s ?p ?o }",
        "ASK { ?s ?p ?o .. }",
        "ASK { ?s ?p , }",
        "ASK { ?s ?p ?o , }",
        "ASK { ; }",
        "ASK { ?s ; }",
        "ASK { <a> }",
        "ASK { [] }",
        "ASK { () }",
        "ASK { ?s _:p ?o }",
        "ASK { ?s 'p' ?o }",
        "ASK { ?s [] ?o }",
        "ASK { ?s ^^ex:p ?o }",
        "ASK { ?s A ?o }",
        "ASK { FILTER(_:x = 1) }",
        "ASK { FILTER(1 = 1 = 1) }",
        "ASK { FILTER(!!?x) }",
        "ASK { FILTER(1 +) }",
        "ASK { ?s ?p - 1 }",
        "ASK { FILTER(ex:f(DISTINCT)) }",
        "ASK { VALUES ?x { _:a } }",
        "ASK { VALUES { 1 } }",
        "ASK { VALUES (?x) { 1 } }",
        "ASK { OPTIONAL ?s ?p ?o }",
        "ASK { { } UNION }",
        "ASK { UNION { } }",
        "ASK { SELECT * { } ?s ?p ?o }",
        "ASK { ?s ?p ?o SELECT * { } }",
        "SELECT { ?s ?p ?o }",
        "SELECT DISTINCT REDUCED ?x { }",
        "SELECT ?x * { }",
        "SELECT (?x) { }",
        "SELECT (SUM(*) AS ?x) { }",
        "SELECT (COUNT() AS ?x) { }",
        "SELECT (GROUP_CONCAT(?x, ',') AS ?y) { }",
        "SELECT (GROUP_CONCAT(?x; SEPARATOR=?s) AS ?y) { }",
        "SELECT * { } GROUP BY",
        "SELECT * { } HAVING ?x",
        "SELECT * { } ORDER BY ASC ?x",
        "SELECT * { } LIMIT 1 LIMIT 2",
        "SELECT * { } LIMIT 1.5",
        "SELECT * { } LIMIT 1 ORDER BY ?x",
        "SELECT * { } BINDINGS ?x { (1) }",
        "SELECT * WHERE FROM <g> { }",
        "CONSTRUCT { ?s (ex:p) ?o } { }",
        "CONSTRUCT { ?s ^ex:p ?o } { }",
        "CONSTRUCT { FILTER(1) } { }",
        "CONSTRUCT { ?s ?p ?o }",
        "CONSTRUCT WHERE { { ?s ?p ?o } }",
        "CONSTRUCT WHERE { GRAPH <g> { ?s ?p ?o } }",
        "CONSTRUCT WHERE { ?s ex:p/ex:q ?o }",
        "CONSTRUCT { ?s ?p ?o } WHERE",
        "DESCRIBE",
        "DESCRIBE { ?s ?p ?o }",
        "ASK { } ASK { }",
        "BASE ex: ASK { }",
        "PREFIX ex <x> ASK { }",
        "ASK { } PREFIX ex: <x>",
    ],
)
def test_what_the_grammar_refuses(source: str) -> None:
    failure(source)


def test_nesting_without_end_is_a_syntax_error_too() -> None:
    deep = failure("ASK " + "{" * 3000 + "}" * 3000)
    points(deep, "{" * (3000 - 150) + "}", "this is nested too deeply, or part of a chain that is too long")
    parse("ASK { FILTER(" + "(" * 3000 + "1" + " + 1" * 60 + ")" * 3000 + ") }")


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("ASK { FILTER (<< ?s ?p ?o >> = ?x) }", "<<", "quoted triples ('<<', RDF-star) are not supported"),
        ("ASK { FILTER (?x = <<( ?s ?p ?o )>>) }", "<<", "quoted triples"),
        ("ASK { FILTER (?a << ?b) }", "<<", "quoted triples"),
        ("ASK { <<?s ?p ?o>> ?q ?r }", "<<", "quoted triples"),
        ("ASK { ?q ?r << <a:s> <a:p> <a:o> >> }", "<< ", "quoted triples"),
        ("ASK { <<?s ?p <<?a ?b ?c>>>> ?q ?r }", "<<?s", "quoted triples"),
        ("ASK { VALUES ?t { <<( <a:s> <a:p> <a:o> )>> } }", "<<", "quoted triples"),
        ("CONSTRUCT { << ?s ?p ?o >> ?q 1 } WHERE { ?s ?p ?o }", "<<", "quoted triples"),
        ("ASK FROM STREAM <s> [RANGE 1s STEP 1s] { <<?s ?p ?o>> ?q ?r }", "<<", "quoted triples"),
        ("ASK { STREAM <s> [NOW] { <<?s ?p ?o>> ?q ?r } }", "<<", "quoted triples"),
        ("ASK { { <<?s ?p ?o>> ?q ?r } SEQ { ?a ?b ?c } }", "<<", "quoted triples"),
        ("ASK { ?s ?p ?o ~ ?r }", "~", "names of triples ('~', RDF-star) are not supported"),
        ("ASK { ?s ?p ?o {| ?a ?b |} }", "{|", "annotations of triples ('{|', RDF-star) are not supported"),
        ("ASK { ?s ?p 'x'@en--ltr }", "--", "the direction of a text ('--', SPARQL 1.2) is not supported"),
        ("ASK { BIND(TRIPLE(?s, ?p, ?o) AS ?t) }", "TRIPLE", "TRIPLE() is not supported: it is of quoted"),
        ("ASK { FILTER isTriple (?s) }", "isTriple", "isTriple() is not supported: it is of quoted"),
        ("ASK { FILTER hasLang(?s) }", "hasLang", "hasLang() is not supported: it is of SPARQL 1.2"),
        ("ASK { ?s ?p ?o . LATERAL { ?s ?q ?z } }", "LATERAL", "LATERAL is not supported: it is of no"),
        ("VERSION '1.2' ASK { }", "VERSION", "VERSION is not supported: it is of SPARQL 1.2"),
        ("ASK { ?s <a:p>{1,2} ?o }", "{1,2}", "a number of repetitions ('{1,2}') is not supported"),
        ("ASK { ?s ?p ?o NOT EXISTS { } }", "NOT", "EXISTS is a condition; as a pattern it needs FILTER"),
        ("ASK { EXISTS { } }", "EXISTS", "EXISTS is a condition; as a pattern it needs FILTER"),
    ],
)
def test_what_other_versions_have(source: str, place: str, message: str) -> None:
    points(failure(source), place, message)
