"""Random streams and queries to compare with the reference: a source of chance comes in, a case goes out.

Streams have equal times, gaps and repeated triples; windows do not divide each other, and skip elements.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from rheos.algebra.csparql import translate_csparql
from rheos.syntax import parse
from tests.continuous.conditions import INTEGERS, MIXED, Conditions, iri
from tests.continuous.reference import Case, Element, Triple

SECOND = 1_000_000
PREFIX = "PREFIX : <http://ex/> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>"
ONE, TWO = "<http://ex/one>", "<http://ex/two>"


class Text(NamedTuple):
    """A query: its head, pattern and modifiers, and head and pattern for the reference where they differ."""

    head: str
    where: str
    tail: str = ""
    same_as: tuple[str, str, str] | None = None

    def __str__(self) -> str:
        return " ".join(self[:3]).strip()


# A path of length zero starts at a variable: from a constant that is not in the graph pyoxigraph finds none,
# where the recommendation has one.
QUERIES = [
    Text("SELECT ?a ?b", "{ ?a :p ?b }"),
    Text("SELECT ?a (COUNT(*) AS ?n)", "{ ?a :p ?b }", "GROUP BY ?a"),
    Text("SELECT (COUNT(*) AS ?n)", "{ ?a :q ?b }"),
    Text("SELECT ?a ?c", "{ ?a :p ?b . ?b :q ?c }"),
    Text("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c } }"),
    Text("SELECT *", "{ ?a :static ?t OPTIONAL { ?a :q ?c } }"),
    Text("SELECT *", "{ ?a :p ?b MINUS { ?b :q ?c } }"),
    Text("SELECT DISTINCT ?b", "{ { ?a :p ?b } UNION { ?b :static ?a } }"),
    Text("SELECT *", "{ ?a :static ?t FILTER NOT EXISTS { ?a :p ?x } }"),
    Text("SELECT *", "{ ?a :p ?x FILTER EXISTS { ?x :q ?y . FILTER(?y != ?a) } }"),
    Text("SELECT *", "{ ?a :p ?x OPTIONAL { ?x :q ?y FILTER NOT EXISTS { ?y :p ?a } } }"),
    Text("SELECT *", "{ ?a :p/:q ?x . ?a :static ?z }"),
    Text("SELECT *", "{ ?a :p+ ?x }"),
    Text("SELECT *", "{ ?a (:p|:q)* ?x }"),
    Text("SELECT *", f"{{ GRAPH {ONE} {{ ?a :p ?b }} }}"),
    Text("SELECT *", "{ GRAPH ?g { ?a :p ?b } }"),
    Text("SELECT ?g (COUNT(?a) AS ?n)", "{ GRAPH ?g { ?a :q ?b } }", "GROUP BY ?g"),
    Text("SELECT ?a ?b", "{ ?a :p ?b }", "ORDER BY ?b ?a LIMIT 2"),
    Text("SELECT ?a ?n", "{ ?a :static ?t { SELECT ?a (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a } }"),
    Text("SELECT *", "{ VALUES ?a { :a :b } OPTIONAL { ?a :p ?b } }"),
    Text("CONSTRUCT { ?b :r ?a }", "{ ?a :p ?b }"),
    Text("ASK", "{ ?a :p ?a }"),
    Text("SELECT ?a (SUM(IF(EXISTS { ?b :q ?c }, 1, 0)) AS ?n)", "{ ?a :p ?b }", "GROUP BY ?a"),
    Text("SELECT ?t (SUM(IF(EXISTS { ?a :p ?c }, 1, 0)) AS ?n)", "{ ?a :static ?t }", "GROUP BY ?t"),
    Text("SELECT (COUNT(DISTINCT IF(EXISTS { ?b :q ?c FILTER(?c != ?a) }, ?a, ?b)) AS ?n)", "{ ?a :p ?b }"),
    Text("SELECT ?a", "{ ?a :p ?b }", "GROUP BY ?a HAVING (MAX(IF(NOT EXISTS { ?b :q ?c }, 1, 0)) = 1)"),
]

LATER = '"1970-01-01T00:00:07Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
TIMED = [
    Text("SELECT ?a ?b (timestamp(?a) AS ?t)", "{ ?a :p ?b }", "",
         ("SELECT ?a ?b (:time(?a, :p, ?b) AS ?t)", "{ ?a :p ?b }", "")),
    Text("SELECT ?a ?c ?t", "{ ?a :p ?b . ?b :q ?c BIND(timestamp(?b) AS ?t) }", "",
         ("SELECT ?a ?c ?t", "{ ?a :p ?b . ?b :q ?c BIND(:time(?a, :p, ?b, ?b, :q, ?c) AS ?t) }", "")),
    Text("SELECT *", "{ ?a :p ?b . ?b :q ?c FILTER(timestamp(?a) < timestamp(?c)) }", "",
         ("SELECT *", "{ ?a :p ?b . ?b :q ?c FILTER(:time(?a, :p, ?b) < :time(?b, :q, ?c)) }", "")),
    Text("SELECT *", f"{{ ?a :p ?b FILTER(timestamp(?a) > {LATER}) }}", "",
         ("SELECT *", f"{{ ?a :p ?b FILTER(:time(?a, :p, ?b) > {LATER}) }}", "")),
    Text("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c FILTER(timestamp(?b) >= timestamp(?c)) } }", "",
         ("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c FILTER(:time(?a, :p, ?b, ?b, :q, ?c)"
          " >= :time(?b, :q, ?c)) } }", "")),
    # Only the optional part has ?c: nothing to take a time from, so no row.
    Text("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c } FILTER(timestamp(?c) > timestamp(?a)) }", "",
         ("SELECT *", "{ ?a :p ?b OPTIONAL { ?b :q ?c } FILTER(false) }", "")),
    Text("SELECT ?a ?b", "{ ?a :p ?b }", "ORDER BY DESC(timestamp(?a)) ?a ?b LIMIT 2",
         ("SELECT ?a ?b", "{ ?a :p ?b }", "ORDER BY DESC(:time(?a, :p, ?b)) ?a ?b LIMIT 2")),
    Text("SELECT *", f"{{ ?a :p ?b BIND(timestamp(?a, {ONE}) AS ?t) }}", "",
         ("SELECT *", f"{{ ?a :p ?b BIND(:timeIn({ONE}, ?a, :p, ?b) AS ?t) }}", "")),
    Text("SELECT *", "{ ?a :p ?b . ?a :q ?c FILTER(f:timestamp(?a, :p, ?b) <= f:timestamp(?a, :q, ?c)) }", "",
         ("SELECT *", "{ ?a :p ?b . ?a :q ?c FILTER(:time(?a, :p, ?b) <= :time(?a, :q, ?c)) }", "")),
    Text("SELECT *", "{ GRAPH ?g { ?a :p ?b } BIND(timestamp(?a, ?g) AS ?t) }", "",
         ("SELECT *", "{ GRAPH ?g { ?a :p ?b } BIND(:timeOf(?g, ?a, :p, ?b) AS ?t) }", "")),
    Text("SELECT *", f"{{ GRAPH {ONE} {{ ?a :p ?b }} ?a :q ?c BIND(timestamp(?a, {ONE}) AS ?t) }}", "",
         ("SELECT *", f"{{ GRAPH {ONE} {{ ?a :p ?b }} ?a :q ?c"
          f" BIND(:timeOf({ONE}, ?a, :p, ?b) AS ?x) BIND(:timeIn({ONE}, ?a, :q, ?c) AS ?y)"
          " BIND(IF(!BOUND(?y) || ?x > ?y, ?x, ?y) AS ?t) }", "")),
    Text("SELECT ?a (MAX(timestamp(?b)) AS ?t)", "{ ?a :p ?b }", "GROUP BY ?a",
         ("SELECT ?a (MAX(:time(?a, :p, ?b)) AS ?t)", "{ ?a :p ?b }", "GROUP BY ?a")),
]  # fmt: skip


# What a triple pattern may look for: its object is a node, an integer (:v) or a term of any kind (:u).
OBJECTS = {"p": "?b", "q": "?b", "static": "?b", "v": "?i", "u": "?t"}
OTHERS = {"?b": "?c", "?i": "?j", "?t": "?u"}


def random_text(chance: random.Random) -> Text:
    """A pattern and one operator about the same node, with a condition on the variables of both sides."""
    predicate, other = (chance.choice([*OBJECTS, "p", "v"]) for _ in range(2))
    subject = "?b" if OBJECTS[predicate] == "?b" and chance.random() < 0.3 else "?a"
    before, inside = f"?a :{predicate} {OBJECTS[predicate]}", f"{subject} :{other} {OTHERS[OBJECTS[other]]}"
    conditions = Conditions(chance)
    condition = conditions.about_both(["?a", OBJECTS[predicate]], [OTHERS[OBJECTS[other]]])
    group = f"{{ {inside} FILTER({condition}) }}"
    after = chance.choice(
        [
            *[f"OPTIONAL {group}"] * 3,
            f"MINUS {group}",
            f"FILTER EXISTS {group}",
            f"FILTER NOT EXISTS {group}",
            f"{{ {{ {before} }} UNION {group} }}",
            f"{{ SELECT * {group} }}",
        ]
    )
    if chance.random() < 0.2:
        after += f" FILTER({conditions.about(['?a', OBJECTS[predicate], OTHERS[OBJECTS[other]]])})"
    return Text("SELECT *", f"{{ {before} {after} }}")


def triple(chance: random.Random, predicates: list[str]) -> Triple:
    predicate = chance.choice(predicates)
    objects = {"v": INTEGERS, "u": MIXED}.get(predicate, [iri(name) for name in "abcd"])
    return iri(chance.choice("abcd")), iri(predicate), chance.choice(objects)


def stream(chance: random.Random) -> list[Element]:
    elements, time = [], 0
    for _ in range(chance.randrange(1, 25)):
        time += chance.choice([0, 0, SECOND // 2, SECOND, 2 * SECOND, 30 * SECOND * (chance.random() < 0.1)])
        elements.append((*triple(chance, ["p", "p", "p", "q", "q", "q", "v", "v", "u"]), time))
    return elements


def window(chance: random.Random) -> str:
    """A logical or physical window; one in two has a step that does not divide its range, or is longer."""
    if chance.random() < 0.65:
        return "[RANGE {}s STEP {}s]".format(
            *chance.choice([(5, 5), (10, 5), (7, 3), (4, 6), (12, 4), (9, 4)])
        )
    triples = chance.randrange(1, 7)
    return f"[RANGE TRIPLES {triples}{chance.choice(['', ' TUMBLING', f' STEP {chance.randrange(1, 9)}'])}]"


def session(chance: random.Random) -> str:
    gap = chance.choice(["500ms", "1s", "PT1S", "2s", "PT40S"])
    return f"[SESSION {gap}{chance.choice(['', ' PER SUBJECT'])}]"


def case(chance: random.Random, text: Text, *, sessions: bool = False) -> Case:
    streams = {ONE: stream(chance)}
    clauses = f"FROM STREAM {ONE} {session(chance) if sessions else window(chance)}"
    if chance.random() < 0.5:
        streams[TWO] = stream(chance)
        clauses += f" FROM {chance.choice(['', '', 'NAMED '])}STREAM {TWO} {window(chance)}"
    every = (
        ""
        if sessions
        else chance.choice(["", "", "", "COMPUTED EVERY 1s", "COMPUTED EVERY 4s", "COMPUTED EVERY 10s"])
    )
    static = [triple(chance, ["static", "static", "p", "other", "v"]) for _ in range(chance.randrange(6))]
    if chance.random() < 0.25:
        clauses += f" FROM {chance.choice(['', 'NAMED '])}STREAM {ONE} {window(chance)}"
    query = f"REGISTER QUERY q {every} AS {PREFIX} {text.head} {clauses} WHERE {text.where} {text.tail}"
    head, where, tail = text.same_as or text[:3]
    return Case(
        translate_csparql(parse(query, "csparql"), "q"),
        f"{PREFIX} {head} WHERE {where} {tail}",
        static,
        streams,
        {},
    )
