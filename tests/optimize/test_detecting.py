"""The rules of the optimiser on queries in EP-SPARQL: what moves, and what stays because of its interval."""

from __future__ import annotations

import pytest

from rheos.algebra.epsparql import translate_epsparql
from rheos.algebra.nodes import Project
from rheos.algebra.printer import node_lines, show
from rheos.algebra.streams import EPSparqlQuery
from rheos.optimize import optimize_epsparql
from rheos.optimize.prune_columns import prune_columns
from rheos.optimize.push_filters import push_filters
from rheos.optimize.statistics import Statistics
from rheos.syntax import parse

PREFIXES = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
NOTHING = Statistics(0, {})


def translated(text: str) -> EPSparqlQuery:
    return translate_epsparql(parse(f"{PREFIXES} {text}", "epsparql"), "q")


def pushed(where: str) -> str:
    """What is below the projection of a pattern after its filters were pushed, on one line."""
    query = push_filters(translated(f"SELECT * {{ {spelled(where)} }}").query, NOTHING)
    assert isinstance(query.form.pattern, Project)
    line = " ".join(line.strip() for line in node_lines(query.form.pattern.pattern))
    for shown, short in SHORT.items():
        line = line.replace(shown, short)
    return line


def spelled(where: str) -> str:
    groups = {"A": "{ ?a :p ?x }", "B": "{ ?b :p ?y }", "BRIEF": 'getDURATION() < "PT1H"^^xsd:duration'}
    return " ".join(groups.get(word, word) for word in where.split())


SHORT = {
    "<http://ex/p>": ":p",
    '"1"^^xsd:integer': "1",
    '(< (duration) "PT1H"^^xsd:duration)': "BRIEF",
    "(bgp (?a :p ?x))": "A",
    "(bgp (?b :p ?y))": "B",
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # What reads one side alone goes there.
        ("A SEQ B FILTER(?x > 1)", "(seqjoin (filter (> ?x 1) A) B)"),
        ("A SEQ B FILTER(?y > 1)", "(seqjoin A (filter (> ?y 1) B))"),
        ("A EQUALS B FILTER(?y > 1)", "(eqjoin A (filter (> ?y 1) B))"),
        ("A SEQ B FILTER(?x > ?y)", "(filter (> ?x ?y) (seqjoin A B))"),
        # Not into what is optional, but into the other side.
        ("A OPTIONALSEQ B FILTER(?y > 1)", "(seqrightjoin A (filter (> ?y 1) B))"),
        ("A OPTIONALSEQ B FILTER(?x > 1)", "(filter (> ?x 1) (seqrightjoin A B))"),
        ("A EQUALSOPTIONAL B FILTER(?x > 1)", "(eqleftjoin (filter (> ?x 1) A) B)"),
        ("A EQUALSOPTIONAL B FILTER(?y > 1)", "(filter (> ?y 1) (eqleftjoin A B))"),
        # The condition of what is optional, where it reads nothing else.
        ("{ ?a :p ?x FILTER(?x > 1) } OPTIONALSEQ B", "(seqrightjoin (filter (> ?x 1) A) B)"),
        ("A EQUALSOPTIONAL { ?b :p ?y FILTER(?y > 1) }", "(eqleftjoin A (filter (> ?y 1) B))"),
        (
            "{ ?a :p ?x FILTER(?x > 1) FILTER(?x > ?y) } OPTIONALSEQ B",
            "(seqrightjoin (> ?x ?y) (filter (> ?x 1) A) B)",
        ),
        # What asks for the interval stays above everything that makes one.
        ("A SEQ B FILTER( BRIEF )", "(filter BRIEF (seqjoin A B))"),
        ("A EQUALS B FILTER( BRIEF )", "(filter BRIEF (eqjoin A B))"),
        ("A OPTIONALSEQ B FILTER( BRIEF )", "(filter BRIEF (seqrightjoin A B))"),
        ("A EQUALSOPTIONAL B FILTER( BRIEF )", "(filter BRIEF (eqleftjoin A B))"),
        ("A OPTIONAL B FILTER( BRIEF )", "(filter BRIEF (leftjoin A B))"),
        ("A SEQ B FILTER(?x < getENDTIME())", "(filter (< ?x (endtime)) (seqjoin A B))"),
        (
            "{ SELECT * A } { SELECT * B } FILTER(?x < getSTARTTIME())",
            "(filter (< ?x (starttime)) (join (project (?a ?x) A) (project (?b ?y) B)))",
        ),
        ("{ ?a :p ?x FILTER( BRIEF ) } OPTIONALSEQ B", "(seqrightjoin BRIEF A B)"),
        ("A EQUALSOPTIONAL { ?b :p ?y FILTER( BRIEF ) }", "(eqleftjoin BRIEF A B)"),
        ("A OPTIONAL { ?b :p ?y FILTER( BRIEF ) }", "(leftjoin BRIEF A B)"),
        ("A SEQ B FILTER(?x > 1 && BRIEF )", "(filter BRIEF (seqjoin (filter (> ?x 1) A) B))"),
        # Where solutions keep their intervals it moves on.
        ("A UNION B FILTER( BRIEF )", "(union (filter BRIEF A) (filter BRIEF B))"),
        ("A MINUS B FILTER( BRIEF )", "(minus (filter BRIEF A) B)"),
        ("A BIND(?x + 1 AS ?z) FILTER( BRIEF )", "(extend (?z (+ ?x 1)) (filter BRIEF A))"),
    ],
)
def test_filters(where: str, expected: str) -> None:
    assert pushed(where) == expected


def pruned(text: str) -> list[str]:
    return show(prune_columns(translated(text).query, NOTHING)).split("\n")


def test_columns_of_joins() -> None:
    assert pruned("SELECT ?a { { ?a :p ?x . ?x :q ?y } SEQ { ?a :p ?z } }") == [
        "(select (?a)",
        "  (project (?a)",
        "    (seqjoin",
        "      (project (?a)",
        "        (bgp (?a <http://ex/p> ?x)",
        "             (?x <http://ex/q> ?y)))",
        "      (project (?a)",
        "        (bgp (?a <http://ex/p> ?z))))))",
    ]


def test_conditions_keep_their_columns() -> None:
    assert pruned("SELECT ?b { { ?a :p ?x FILTER(?x > ?y) } OPTIONALSEQ { ?b :p ?y } }") == [
        "(select (?b)",
        "  (project (?b)",
        "    (seqrightjoin (> ?x ?y)",
        "      (project (?x)",
        "        (bgp (?a <http://ex/p> ?x)))",
        "      (bgp (?b <http://ex/p> ?y)))))",
    ]


def test_what_is_counted_keeps_all_columns() -> None:
    text = "SELECT ?a (COUNT(*) AS ?n) { ?a :p ?x . ?a :q ?y } GROUP BY ?a WITHIN 1s HAVING(MAX(?x) > 1)"
    assert pruned(text) == [
        "(select (?a ?n)",
        "  (project (?a ?n)",
        "    (extend (?n ?.aggregate2)",
        '      (filter (> ?.aggregate1 "1"^^xsd:integer)',
        "        (recent 1000000µs (?a) ((?.aggregate1 (max ?x)) (?.aggregate2 (count *)))",
        "          (bgp (?a <http://ex/p> ?x)",
        "               (?a <http://ex/q> ?y)))))))",
    ]


def test_aggregates_that_nobody_reads() -> None:
    text = "SELECT ?a { { SELECT ?a (COUNT(*) AS ?n) { ?a :p ?x } GROUP BY ?a WITHIN 1s } }"
    assert "      (recent 1000000µs (?a) ()" in pruned(text)


RULE = "AS CONSTRUCT { ?a :q %s } { { ?a :p ?x } SEQ { ?a :p ?y } FILTER(?x > 1) }"


def test_what_is_optimised() -> None:
    once = optimize_epsparql(translated("REGISTER QUERY q " + RULE % "?a"))
    assert "(seqjoin\n      (filter (> ?x" in show(once.query)


def test_new_blank_nodes_are_of_whole_solutions() -> None:
    query = translated("REGISTER QUERY q " + RULE % "_:n")
    plan = optimize_epsparql(query)
    assert plan.query == push_filters(query.query, NOTHING)
    assert plan.query != query.query


@pytest.mark.parametrize("policy", ["RECENT", "CHRONOLOGICAL"])
def test_where_events_are_used_up_nothing_moves(policy: str) -> None:
    query = translated(f"REGISTER QUERY q CONSUMPTION {policy} " + RULE % "?a")
    assert optimize_epsparql(query) == query
