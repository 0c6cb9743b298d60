"""The static rules of the recommendation that its grammar cannot say."""

from __future__ import annotations

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import parse
from tests.syntax.test_errors import failure


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * { ?s ?p ?o BIND(1 AS ?x) ?x ?q ?r }",
        "SELECT * { ?s ?p ?x { BIND(1 AS ?x) } }",
        "SELECT * { { BIND(1 AS ?x) } UNION { BIND(2 AS ?x) } }",
        "SELECT * { ?s ?p ?o OPTIONAL { BIND(1 AS ?o) } }",
        "SELECT * { FILTER(?x) BIND(1 AS ?x) }",
        "SELECT * { FILTER EXISTS { ?x ?p ?o } BIND(1 AS ?x) }",
        "SELECT * { ?s ?p ?o MINUS { ?x ?p ?o } BIND(1 AS ?x) }",
        "SELECT * { { SELECT ?s { ?s ?p ?x } } BIND(1 AS ?x) }",
        "SELECT (1 AS ?x) { { SELECT ?s { ?s ?p ?x } } }",
        "SELECT (1 AS ?x) { ?s ?p ?o FILTER(?x) }",
        "SELECT (1 AS ?x) (?x + 1 AS ?y) ?x { }",
        "SELECT ?x ?x { ?x ?p ?o }",
        "SELECT ?x (MAX(?o) AS ?o) { ?x ?p ?o } GROUP BY ?x",
    ],
)
def test_new_variables(source: str) -> None:
    parse(source)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("SELECT * { ?s ?p ?o BIND(1 AS ?o) }", 31),
        ("SELECT * { BIND(1 AS ?x) BIND(2 AS ?x) }", 36),
        ("SELECT * { { ?s ?p ?o } BIND(1 AS ?o) }", 35),
        ("SELECT * { OPTIONAL { ?s ?p ?o } BIND(1 AS ?o) }", 44),
        ("SELECT * { { ?s ?p ?o } UNION { } BIND(1 AS ?o) }", 45),
        ("SELECT * { GRAPH ?g { } BIND(1 AS ?g) }", 35),
        ("SELECT * { SERVICE ?g { } BIND(1 AS ?g) }", 37),
        ("SELECT * { VALUES ?x { } BIND(1 AS ?x) }", 36),
        ("SELECT * { { SELECT * { ?s ?p ?o } } BIND(1 AS ?o) }", 48),
        ("SELECT * { { SELECT (1 AS ?o) { } } BIND(1 AS ?o) }", 47),
        ("ASK { FILTER EXISTS { ?s ?p ?o BIND(1 AS ?o) } }", 42),
        ("ASK { ?s ?p ?o MINUS { ?a ?b ?c BIND(1 AS ?c) } }", 43),
        ("CONSTRUCT { } { ?s ?p ?o BIND(1 AS ?o) }", 36),
        ("DESCRIBE ?s { ?s ?p ?o BIND(1 AS ?o) }", 34),
        ("SELECT (1 AS ?o) { ?s ?p ?o }", 14),
        ("SELECT (1 AS ?x) (2 AS ?x) { }", 24),
        ("SELECT ?x (2 AS ?x) { }", 17),
        ("SELECT (1 AS ?x) { } VALUES ?x { 1 }", 14),
        ("SELECT (1 AS ?x) { { SELECT (2 AS ?x) { } } }", 14),
        ("SELECT * { { SELECT (1 AS ?o) { ?s ?p ?o } } }", 27),
        ("SELECT ?x (1 AS ?x) { ?x ?p ?o } GROUP BY ?x", 17),
        ("SELECT (1 AS ?a) { ?s ?p ?o } GROUP BY (?o + 1 AS ?a)", 14),
        ("SELECT ?s { ?s ?p ?o } GROUP BY (1 AS ?s)", 39),
        ("SELECT ?a { } GROUP BY (1 AS ?a) (2 AS ?a)", 40),
        ("ASK { ?s ?p ?o } GROUP BY (1 AS ?s)", 33),
    ],
)
def test_variables_that_are_not_new(source: str, column: int) -> None:
    error = failure(source)
    assert error.message.endswith("already has a value here; AS needs a new variable")
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s",
        "SELECT ?k { ?s ?p ?o } GROUP BY (STR(?o) AS ?k)",
        "SELECT ?s { ?s ?p ?o } GROUP BY (?s)",
        "SELECT (STR(?s) AS ?k) (SUM(?o + ?p) AS ?n) { ?s ?p ?o } GROUP BY ?s",
        "SELECT (COUNT(*) AS ?n) (?n * 2 AS ?m) ?n { }",
        "SELECT (SAMPLE(?o) AS ?x) { ?s ?p ?o }",
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (?o > 1)",
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s ORDER BY ?o COUNT(?p)",
        "SELECT ?s (EXISTS { ?s ?p ?x FILTER(?o = ?x) } AS ?e) { ?s ?p ?o } GROUP BY ?s",
        "SELECT ?s ?v { ?s ?p ?o } GROUP BY ?s VALUES ?v { 1 }",
        "SELECT ?s { ?s ?p ?o } HAVING (?o > 1)",
        "SELECT ?n { { SELECT (COUNT(*) AS ?n) { } } }",
        "SELECT * { { SELECT ?s { ?s ?p ?o } GROUP BY ?s } }",
        "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } GROUP BY ?s",
        "ASK { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1)",
    ],
)
def test_grouped_queries(source: str) -> None:
    parse(source)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("SELECT ?o { ?s ?p ?o } GROUP BY ?s", 8),
        ("SELECT ?p (COUNT(?o) AS ?n) { ?s ?p ?o }", 8),
        ("SELECT ?s { ?s ?p ?o } HAVING (COUNT(*) > 1)", 8),
        ("SELECT ?s { ?s ?p ?o } ORDER BY COUNT(*)", 8),
        ("SELECT ?s (?o + 1 AS ?x) { ?s ?p ?o } GROUP BY ?s", 12),
        ("SELECT (COUNT(?o) + ?p AS ?x) { ?s ?p ?o } GROUP BY ?s", 21),
        ("SELECT ((?a + ?b) AS ?c) (COUNT(?a) AS ?n) { ?s ?a ?b } GROUP BY (?a + ?b)", 10),
        ("SELECT ?a { ?s ?a ?b } GROUP BY (?a + ?b)", 8),
        ("SELECT (?n + 1 AS ?m) (COUNT(*) AS ?n) { }", 9),
        ("SELECT * { { SELECT ?o { ?s ?p ?o } GROUP BY ?s } }", 21),
        ("ASK { FILTER NOT EXISTS { SELECT ?o { ?s ?p ?o } GROUP BY ?s } }", 34),
    ],
)
def test_variables_that_are_not_grouped(source: str, column: int) -> None:
    error = failure(source)
    assert "is neither in GROUP BY nor in an aggregate" in error.message
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    "source",
    [
        "SELECT * { ?s ?p ?o } GROUP BY ?s",
        "SELECT * { ?s ?p ?o } HAVING (COUNT(*) > 1)",
        "SELECT * { ?s ?p ?o } ORDER BY COUNT(*)",
    ],
)
def test_no_star_over_groups(source: str) -> None:
    error = failure(source)
    assert error.message.startswith("SELECT * cannot stand with")
    assert (error.line, error.column) == (1, 1)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("SELECT ?s { ?s ?p ?o FILTER(COUNT(?o) > 1) }", 29),
        ("SELECT ?s { ?s ?p ?o BIND(1 + SUM(?o) AS ?x) }", 31),
        ("SELECT ?x { ?s ?p ?o } GROUP BY (MAX(?o) AS ?x)", 34),
        ("SELECT (SUM(COUNT(?o)) AS ?x) { ?s ?p ?o }", 13),
        ("SELECT (SUM(1 + STR(AVG(?o))) AS ?x) { ?s ?p ?o }", 21),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (MAX(MIN(?o)) > 1)", 48),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s ORDER BY DESC(MAX(MIN(?o)))", 54),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { FILTER(COUNT(?s) > 1) })", 60),
        ("ASK { OPTIONAL { FILTER(COUNT(?o) > 1) } }", 25),
    ],
)
def test_aggregates_out_of_place(source: str, column: int) -> None:
    error = failure(source)
    assert "cannot stand in" in error.message
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    "source",
    [
        "ASK { _:a ?p ?v . _:a ?q 1 }",
        "ASK { _:a ?p ?v FILTER(?v) _:a ?q 1 }",
        "ASK { _:a ?p ?v FILTER EXISTS { _:b ?p ?w } _:a ?q 1 }",
        "ASK { _:a ex:p* ?v . _:a ?q 1 }",
        "ASK { { _:a ?p ?v } { _:b ?q 1 } }",
        "CONSTRUCT { _:a ?p ?o } { _:a ?p ?o }",
        "CONSTRUCT WHERE { _:a ?p ?o . _:a ?q ?o }",
        "ASK { [] ?p [] . OPTIONAL { [] ?p [] } }",
    ],
)
def test_blank_nodes_in_one_basic_graph_pattern(source: str) -> None:
    parse(source)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("ASK { _:a ?p ?v . { _:a ?q 1 } }", 21),
        ("ASK { { _:a ?p ?v } _:a ?q 1 }", 21),
        ("ASK { { _:a ?p ?v } { _:a ?q 1 } }", 23),
        ("ASK { { _:a ?p ?v } UNION { _:a ?q 1 } }", 29),
        ("ASK { _:a ?p ?v OPTIONAL { } _:a ?q 1 }", 30),
        ("ASK { _:a ?p ?v OPTIONAL { ?v ?q _:a } }", 34),
        ("ASK { _:a ?p ?v GRAPH ?g { } _:a ?q 1 }", 30),
        ("ASK { _:a ?p ?v MINUS { _:a ?p ?v } }", 25),
        ("ASK { _:a ?p ?v BIND(1 AS ?x) _:a ?q 1 }", 31),
        ("ASK { _:a ?p ?v VALUES ?x { } _:a ?q 1 }", 31),
        ("ASK { _:a ?p ?v FILTER EXISTS { _:a ?q 1 } }", 33),
        ("ASK { _:a ?p ?v { SELECT * { _:a ?q 1 } } }", 30),
        ("SELECT * { _:a ?p ?v } ORDER BY (EXISTS { _:a ?q 1 })", 43),
    ],
)
def test_blank_nodes_across_basic_graph_patterns(source: str, column: int) -> None:
    error = failure(source)
    assert "_:a is already used in another basic graph pattern" in error.message
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("ASK { VALUES (?a ?b) { (1 2) (3) } }", 30, "this row of VALUES has 1 value for 2 variables"),
        ("ASK { VALUES (?a) { (1 2) } }", 21, "this row of VALUES has 2 values for 1 variable"),
        ("ASK { VALUES () { (1) } }", 19, "this row of VALUES has 1 value for 0 variables"),
        ("SELECT * { } VALUES (?a) { () }", 28, "this row of VALUES has 0 values for 1 variable"),
        ("ASK { VALUES (?a ?a) { } }", 18, "?a is named twice in VALUES"),
    ],
)
def test_values(source: str, column: int, message: str) -> None:
    error = failure(source)
    assert (error.line, error.column, error.message) == (1, column, message)


def test_the_line_of_a_rule_in_a_longer_text() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("SELECT *\nWHERE {\n  ?s ?p ?o .\n  BIND(1 AS\n    ?o)\n}")
    assert str(caught.value).endswith("\n      ?o)\n      ^")
    assert (caught.value.line, caught.value.column) == (5, 5)
