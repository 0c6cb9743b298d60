"""Random streams of graphs and queries of RSP-QL for the reference: chance comes in, a case goes out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rheos.algebra.rspql import translate_rspql
from rheos.syntax import parse
from tests.continuous.cases import ONE, SECOND, TWO, session, triple
from tests.continuous.reference import Triple
from tests.continuous.rspql_reference import Case, Element

PREFIX = "PREFIX : <http://ex/>"


class Text(NamedTuple):
    """A query: what it asks for, its pattern, and its modifiers. The windows are :v and :w."""

    head: str
    where: str
    tail: str = ""

    def __str__(self) -> str:
        return " ".join(self).strip()


# A path of length zero starts at a variable: see `tests.continuous.cases`.
QUERIES = [
    Text("SELECT ?a ?b", "{ WINDOW :v { ?a :p ?b } }"),
    Text("SELECT ?a (COUNT(*) AS ?n)", "{ WINDOW :v { ?a :p ?b } }", "GROUP BY ?a"),
    Text("SELECT (COUNT(*) AS ?n)", "{ WINDOW :w { ?a :q ?b } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b } WINDOW :w { ?b :q ?c } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b OPTIONAL { ?b :q ?c } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b } OPTIONAL { WINDOW :w { ?b :q ?c } } }"),
    Text("SELECT *", "{ ?a :static ?t OPTIONAL { WINDOW :w { ?a :q ?c } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b } MINUS { WINDOW :w { ?a :p ?b } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b MINUS { ?b :q ?c } } }"),
    Text("SELECT *", "{ WINDOW ?x { ?a :p ?b } }"),
    Text("SELECT ?x (COUNT(?a) AS ?n)", "{ WINDOW ?x { ?a :q ?b } }", "GROUP BY ?x"),
    Text("SELECT *", "{ WINDOW ?x { ?a :p ?b } WINDOW ?x { ?b :q ?c } }"),
    Text("SELECT *", "{ WINDOW ?x { ?a :p ?b } WINDOW ?y { ?b :q ?c } FILTER(?x != ?y) }"),
    Text("SELECT *", "{ { WINDOW :v { ?a :p ?b } } UNION { WINDOW :w { ?b :q ?a } } ?a :static ?t }"),
    Text("SELECT *", "{ ?a :static ?t FILTER NOT EXISTS { WINDOW :v { ?a :p ?x } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?x } FILTER EXISTS { WINDOW :w { ?x :q ?y } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?x FILTER NOT EXISTS { ?x :q ?y } } }"),
    Text("SELECT *", "{ WINDOW ?z { ?a :p ?x FILTER NOT EXISTS { ?x :q ?y } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p+ ?x } }"),
    Text("SELECT *", "{ WINDOW ?z { ?a (:p|:q)* ?x } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p/:q ?x } }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH ?g { ?a :p ?b } } }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH ?g { ?a :p ?b . ?a :q ?c } } }"),
    Text("SELECT *", "{ WINDOW :v { ?a :p ?b GRAPH ?g { ?b :q ?c } } }"),
    Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { ?a :p ?b } } }"),
    Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { ?a :p ?b } GRAPH ?h { ?a :q ?c } } }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH :g1 { ?a :p ?b } } }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH :g1 { } } ?a :static ?t }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH ?g { } } }"),
    Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { VALUES ?k { 1 2 } } } }"),
    Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { ?a :p* ?b } } }"),
    Text("SELECT ?g ?n", "{ WINDOW :v { GRAPH ?g { { SELECT (COUNT(*) AS ?n) { ?a :q ?b } } } } }"),
    Text("SELECT *", "{ WINDOW :v { GRAPH ?g { OPTIONAL { ?a :p ?b } } } }"),
    Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { ?a :p ?b FILTER NOT EXISTS { ?b :q ?c } } } }"),
    Text("SELECT ?g (COUNT(*) AS ?n)", "{ WINDOW :v { GRAPH ?g { ?a ?p ?b } } }", "GROUP BY ?g"),
    Text("SELECT *", "{ WINDOW :v { } ?a :static ?t }"),
    Text("SELECT DISTINCT ?a", "{ WINDOW ?x { ?a ?p ?b } }"),
    Text("SELECT ?a ?b", "{ WINDOW :v { ?a :p ?b } }", "ORDER BY ?b ?a LIMIT 2"),
    Text("SELECT ?a", "{ WINDOW :v { ?a :p ?b } }", "ORDER BY ?b ?a"),
    Text("SELECT ?a ?n", "{ { SELECT ?a (COUNT(*) AS ?n) { WINDOW :v { ?a :p ?b } } GROUP BY ?a } }"),
    Text("SELECT ?a (SUM(?i) AS ?n)", "{ WINDOW :v { ?a :v ?i } }", "GROUP BY ?a HAVING (SUM(?i) > 1)"),
    Text("SELECT *", "{ VALUES ?a { :a :b } OPTIONAL { WINDOW :v { ?a :p ?b } } }"),
    Text("CONSTRUCT { ?b :r ?a }", "{ WINDOW :v { ?a :p ?b } }"),
    Text("CONSTRUCT { ?b :r ?a . ?a :x ?w }", "{ WINDOW ?w { ?a :p ?b } }"),
    Text("ASK", "{ WINDOW :v { ?a :p ?a } }"),
]  # fmt: skip


def graphs(chance: random.Random, named: float, count: int | None = None) -> list[Element]:
    """A stream of a few graphs: of one triple and without a name, or of several, `named` or not."""
    elements, time = [], 0
    for _ in range(count or chance.randrange(1, 20)):
        time += chance.choice([0, 0, SECOND // 2, SECOND, 2 * SECOND, 30 * SECOND * (chance.random() < 0.15)])
        name, size = None, 1
        if chance.random() < named:
            name = chance.choice(
                [None, "<http://ex/g1>", "<http://ex/g1>", "<http://ex/g2>", "<http://ex/g3>"]
            )
            size = chance.randrange(1, 4)
        triples = (triple(chance, ["p", "p", "p", "q", "q", "q", "v", "u"]) for _ in range(size))
        elements.append(Element(name, tuple(dict.fromkeys(triples)), time))
    return elements


def window(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.45:
        size, step = chance.choice([(5, 5), (10, 5), (7, 3), (4, 6), (12, 4), (9, 4)])
        return f"[RANGE PT{size}S STEP {step}s]"
    if kind < 0.55:
        return "[RANGE PT4S]"
    if kind < 0.75:
        first, last, step = chance.choice([(10, 5, 5), (9, 2, 3), (6, 1, 4), (8, 0, 2), (12, 9, 5)])
        return f"[FROM NOW-PT{first}S TO NOW-{last}s STEP PT{step}S]"
    size = chance.randrange(1, 6)
    return f"[ELEMENTS {size}{chance.choice(['', f' STEP {chance.randrange(1, 7)}'])}]"


def registered(
    chance: random.Random, text: Text, other: str, name: str = "q", *, sessions: bool = False
) -> str:
    """A query whose window :v is on the first stream, and :w on this or the other. With `sessions` one of
    them has sessions."""
    first, second = window(chance), window(chance)
    if sessions:
        first, second = chance.choice([(session(chance), second), (first, session(chance))])
    clauses = f"FROM NAMED WINDOW :v ON {ONE} {first} FROM NAMED WINDOW :w ON {other} {second}"
    every = chance.choice(["", "", "", "COMPUTED EVERY 1s", "COMPUTED EVERY PT4S", "COMPUTED EVERY 10s"])
    operator = chance.choice(["RSTREAM", "ISTREAM", "DSTREAM"]) if text.head != "ASK" else "RSTREAM"
    if sessions:  # neither of them goes with sessions
        every, operator = "", "RSTREAM"
    return (
        f"{PREFIX} REGISTER {operator} <{name}> {every} AS {text.head} {clauses}"
        f" WHERE {text.where} {text.tail}"
    )


def background(chance: random.Random) -> list[Triple]:
    """The static triples of a case."""
    return [triple(chance, ["static", "static", "p", "other", "v"]) for _ in range(chance.randrange(6))]


def case_of(
    query: str, text: Text, static: Sequence[Triple], streams: Mapping[str, Sequence[Element]]
) -> Case:
    """A query and what it reads."""
    return Case(
        translate_rspql(parse(query, "rspql"), "q"),
        PREFIX,
        f"{text.head} WHERE {text.where} {text.tail}",
        static,
        streams,
        {},
    )


def case(chance: random.Random, text: Text, named: float = 0.5, *, sessions: bool = False) -> Case:
    streams = {ONE: graphs(chance, named)}
    other = chance.choice([ONE, ONE, TWO])
    if other == TWO:
        streams[TWO] = graphs(chance, named)
    query = registered(chance, text, other, sessions=sessions)
    return case_of(query, text, background(chance), streams)
