"""Families of CQELS-QL queries: which constants may differ, and that each answers as its members do alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rheos.algebra.cqels import translate_cqels
from rheos.algebra.expressions import Constant
from rheos.algebra.families import CONSTANTS, can_vary, changed, family, skeleton
from rheos.algebra.nodes import Term
from rheos.algebra.streams import CqelsQuery
from rheos.optimize.static_parts import kept_in
from rheos.runtime.cqels.operator import CqelsOperator
from rheos.sources.times import NEVER
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous.arrival_batches import cuts, evaluated, registered, told, translated
from tests.continuous.arrival_cases import INTEGERS, KINDS, NODES, P, Q, V, drawn, static, triple
from tests.continuous.arrival_query import (
    SECOND,
    Element,
    Filter,
    Group,
    Pattern,
    Query,
    Static,
    Stream,
    Union,
    clauses,
    text,
)
from tests.continuous.arrival_reference import Case, answers
from tests.continuous.expressions import Compare
from tests.spread import spread

STREAM = "STREAM <s> [RANGE 5s]"


def query(text: str, name: str = "q") -> CqelsQuery:
    return translate_cqels(parse(f"PREFIX : <http://ex/> {text}", "cqels"), name, "http://ex/", ())


def marked(text: str) -> list[str]:
    """The constants that may differ, by the last part of their names."""
    _, constants = skeleton(query(text))
    return [re.sub(r'<http://ex/|>|"|\^\^.*', "", constant) for constant in constants]


def related(one: str, other: str) -> bool:
    first, second = (
        CqelsOperator.of(query(text, name)).skeleton for text, name in ((one, "a"), (other, "b"))
    )
    return first == second


# --- what may differ ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} }}", "a"),
        (f"SELECT * {{ {STREAM} {{ :b :p ?x . ?x :q :c }} ?x :name 'd' }}", "b c d"),
        (f"SELECT * {{ {STREAM} {{ ?x :p ?y }} GRAPH :g {{ ?x :in :b }} }}", "b"),
        (f"SELECT * {{ {{ {STREAM} {{ ?x :p :a }} }} UNION {{ {STREAM} {{ ?x :q :b }} }} }}", "a b"),
        (f"SELECT * {{ {STREAM} {{ ?x :p ?y }} FILTER (?y > 3 && (?y != 5 || !(?x = :c))) }}", "3 5 c"),
        (f"SELECT * {{ {STREAM} {{ ?x :p ?y }} BIND (?y + 1 AS ?z) FILTER (?z < 7) }}", "7"),
        (f"CONSTRUCT {{ ?x :near :me . :you :p 1 }} {{ {STREAM} {{ ?x :p :a }} }}", "a me you 1"),
        (f"SELECT DISTINCT ?x {{ {STREAM} {{ ?x :p :a }} }} ORDER BY ?x", "a"),
        (f"SELECT ?x (COUNT(*) AS ?n) {{ {STREAM} {{ ?x :p :a }} FILTER (?x != :b) }} GROUP BY ?x", "b a"),
        # Beside what is optional or taken away, but not in it.
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} OPTIONAL {{ ?x :q :b }} ?x :r :c }}", "c"),
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} OPTIONAL {{ ?x :q :b }} FILTER (?x != :c) }}", "c"),
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} MINUS {{ ?x :q :b }} }}", ""),
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} FILTER NOT EXISTS {{ ?x :q :b }} }}", "a"),
        # What a window of TRIPLES holds depends on what matches.
        (f"SELECT * {{ STREAM <s> [TRIPLES 2] {{ ?x :p :a }} {STREAM} {{ ?x :q :b }} }}", "b"),
        # Not what a function is called with, a number that is added, a path, a group's own condition.
        (f"SELECT * {{ {STREAM} {{ ?x :p ?y }} FILTER (CONTAINS(?y, 'a') && ?y + 1 = 2) }}", "2"),
        (f"SELECT * {{ {STREAM} {{ ?x :p ?y }} ?y :s+ :a }}", ""),
        (
            f"SELECT ?x (COUNT(*) AS ?n) {{ {STREAM} {{ ?x :p :a }} }} GROUP BY ?x HAVING (COUNT(*) > 2)",
            "a",
        ),
        # Of a sub-select that is all there is, but not of one that is joined.
        (f"SELECT * {{ {{ SELECT ?x {{ {STREAM} {{ ?x :p :a }} }} }} FILTER (?x != :b) }}", "b a"),
        (f"CONSTRUCT {{ ?x :is :b }} {{ {{ SELECT ?x {{ {STREAM} {{ ?x :p :a }} }} }} }}", "a b"),
        (f"SELECT * {{ {STREAM} {{ ?x :p :a }} {{ SELECT ?x {{ {STREAM} {{ ?x :q :b }} }} }} }}", "a"),
    ],
)
def test_constants_that_may_differ(text: str, constants: str) -> None:
    assert marked(text) == constants.split()
    assert can_vary(query(text))


@pytest.mark.parametrize(
    "text",
    [
        f"ASK {{ {STREAM} {{ ?x :p :a }} }}",
        f"SELECT (COUNT(*) AS ?n) {{ {STREAM} {{ ?x :p :a }} }}",
        f"SELECT ?n {{ {{ SELECT (COUNT(*) AS ?n) {{ {STREAM} {{ ?x :p :a }} }} }} }}",
        f"SELECT ?x {{ {STREAM} {{ ?x :p :a }} }} ORDER BY ?x LIMIT 2",
        f"SELECT ?x {{ {{ SELECT ?x {{ {STREAM} {{ ?x :p :a }} }} LIMIT 2 }} }}",
        f"CONSTRUCT {{ ?x :is :b }} {{ {{ SELECT ?x {{ {STREAM} {{ ?x :p :a }} }} GROUP BY ?x }} }}",
    ],
)
def test_queries_without_relatives(text: str) -> None:
    """Not even one of the same text is one."""
    assert not can_vary(query(text))
    assert marked(text) == []
    assert not related(text, text)


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("SELECT * { STREAM <s> [NOW] { ?x :p :a } }", "SELECT * { STREAM <s> [NOW] { ?x :p 'b' } }", True),
        (
            "SELECT * { STREAM <s> [NOW] { ?x :p :a } }",
            "REGISTER QUERY b AS SELECT * { STREAM <s> [NOW] { ?x :p :a } }",
            True,
        ),
        (
            "REGISTER STREAM a AS CONSTRUCT { ?x :p :a } { STREAM <s> [NOW] { ?x :p :a } }",
            "REGISTER QUERY b AS CONSTRUCT { ?x :p :c } { STREAM <s> [NOW] { ?x :p :b } }",
            True,
        ),
        ("SELECT * { STREAM <s> [NOW] { ?x :p :a } }", "SELECT * { STREAM <s> [NOW] { ?x :q :a } }", False),
        ("SELECT * { STREAM <s> [NOW] { ?x :p :a } }", "SELECT * { STREAM <t> [NOW] { ?x :p :a } }", False),
        ("SELECT * { STREAM <s> [NOW] { ?x :p :a } }", "SELECT * { STREAM <s> [ALL] { ?x :p :a } }", False),
        ("SELECT * { STREAM <s> [NOW] { ?x :p :a } }", "SELECT * { STREAM <s> [NOW] { ?y :p :a } }", False),
        (
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } FILTER (?y > 1) }",
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } FILTER (?y > 2.5) }",
            True,
        ),
        (
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } FILTER (?y > 1) }",
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } FILTER (?y < 1) }",
            False,
        ),
        (
            "SELECT * { STREAM <s> [TRIPLES 3] { ?x :p :a } }",
            "SELECT * { STREAM <s> [TRIPLES 3] { ?x :p :b } }",
            False,
        ),
        (
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } OPTIONAL { ?y :q :a } }",
            "SELECT * { STREAM <s> [NOW] { ?x :p ?y } OPTIONAL { ?y :q :b } }",
            False,
        ),
        (
            "SELECT ?x { STREAM <s> [NOW] { ?x :p ?y } } GROUP BY ?x HAVING (COUNT(*) > 1)",
            "SELECT ?x { STREAM <s> [NOW] { ?x :p ?y } } GROUP BY ?x HAVING (COUNT(*) > 2)",
            False,
        ),
        (
            "SELECT * { { SELECT ?x (COUNT(*) AS ?n) { STREAM <s> [NOW] { ?x :p ?y } } GROUP BY ?x }"
            " FILTER (?n > 1) }",
            "SELECT * { { SELECT ?x (COUNT(*) AS ?n) { STREAM <s> [NOW] { ?x :p ?y } } GROUP BY ?x }"
            " FILTER (?n > 2) }",
            False,
        ),
    ],
)
def test_relatives(one: str, other: str, are: bool) -> None:
    assert related(one, other) is are


def test_a_family_has_a_column_for_each_constant_that_differs() -> None:
    texts = [f"SELECT ?y {{ {STREAM} {{ :a :p ?x }} ?x :q :{q} . ?x :r ?y FILTER (?y > {n}) }}"
             for q, n in (("b", 1), ("b", 2), ("c", 1))]  # fmt: skip
    members = [query(text) for text in texts]
    found = family(members[0], [skeleton(member)[1] for member in members], "xyz")
    # In the order of the pattern: the filter stands above the rest, and :a is the same for all.
    assert found.variables == ("$1", "$3")
    one, two = (
        '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '"2"^^<http://www.w3.org/2001/XMLSchema#integer>',
    )
    assert found.rows == ((one, "<http://ex/b>"), (two, "<http://ex/b>"), (one, "<http://ex/c>"))
    (table,) = kept_in(found.query.query.form.pattern)
    assert (table.table, table.variables) == (CONSTANTS, ("$member", "$1", "$3"))
    assert "<http://ex/a>" in repr(found.query)
    assert "<http://ex/b>" not in repr(found.query)


def test_who_is_alone_needs_no_table() -> None:
    member = query(f"SELECT ?x {{ {STREAM} {{ :a :p ?x }} }}")
    found = family(member, [skeleton(member)[1]], "x")
    assert (found.query, found.variables, found.rows) == (member, (), ())


# --- a family answers as its members alone ----------------------------------------------------------------


def with_constants(query: Query, chance: random.Random) -> Query:
    """A random query with more constants than those have by themselves."""

    def element(found: Element) -> Element:
        match found:
            case Stream(iri, window, patterns):
                return Stream(iri, window, tuple(map(pattern, patterns)))
            case Static(written) if chance.random() < 0.3:
                return Static(re.sub(r"(:s|:p) \?[a-e]\b", rf"\1 :{chance.choice('abc')}", written, count=1))
            case Union(branches):
                return Union(tuple(map(group, branches)))
            case Group():
                return group(found)
        return found

    def group(found: Group) -> Group:
        return Group(tuple(map(element, found.elements)))

    def pattern(found: Pattern) -> Pattern:
        subject, predicate, object_ = found
        if chance.random() < 0.2:
            object_ = chance.choice(INTEGERS if predicate == V else NODES)
        elif chance.random() < 0.1:
            subject = chance.choice(NODES)
        return subject, predicate, object_

    where = group(query.where)
    if chance.random() < 0.3:
        variables = [
            place for clause in clauses(query) for p in clause.patterns for place in p if place[0] == "?"
        ]
        condition = Compare(chance.choice(variables or ["?a"]), "!=", chance.choice([*NODES, *INTEGERS]))
        where = Group((*where.elements, Filter(condition)))
    template = query.template
    if template and chance.random() < 0.7:
        s, p, _ = template[0]
        template = ((s, p, chance.choice(NODES)), *template[1:])
    return replace(query, where=where, template=template)


def put(constants: list[str]) -> Callable[[Constant], Term]:
    given = iter(constants)
    return lambda _: Constant(next(given))


def variants(first: CqelsQuery, chance: random.Random, number: int) -> list[CqelsQuery]:
    """The query, and others with other constants of the same kinds."""
    _, constants = skeleton(first)
    found = [first]
    for _ in range(number - 1):
        others = [
            chance.choice([constant, *(INTEGERS if constant in INTEGERS else NODES)])
            for constant in constants
        ]
        found.append(changed(first, put(others)))
        assert skeleton(found[-1]) == (skeleton(first)[0], tuple(others))
    return found


def a_family(seed: int) -> tuple[Case, list[CqelsQuery], random.Random]:
    """Members of a family with the streams and data of a case; every second has constants that differ. Most
    have something to report."""
    chance = random.Random(f"family {seed}")
    silent = chance.random() < 0.3  # may be
    while True:
        found = drawn(chance, chance.choice(KINDS), changes=False)
        found = replace(found, query=with_constants(found.query, chance))
        first = translated(found)
        varies = can_vary(first) and (skeleton(first)[1] or chance.random() < 0.1)
        if varies and (silent or answers(found)):
            return found, variants(first, chance, chance.choice([2, 3, 3, 4])), chance


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(6))
def test_as_each_of_its_members_alone(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    answered = 0
    for seed in range(15 * block, 15 * block + 15):
        found, members, chance = a_family(seed)
        queries = [registered(replace(member, name=f"q{at}"), f"q{at}") for at, member in enumerate(members)]
        times = cuts(found, queries[0], chance, most=3)
        assert times is not None
        together = evaluated(queries, found, tmp_path, graphs, times)
        for query in queries:
            alone = evaluated([query], found, tmp_path, graphs, times)[query.name]
            answered += bool(alone)
            given = told(query, together[query.name])
            assert given == told(query, alone), (seed, query.name, text(found.query), members)
    assert answered > 20


# Two constants, and in the streams and the data of the case below much that they can be.
SHAPES = [
    "SELECT ?unbound ?x { STREAM <s> [RANGE 2s] { ?x :p $0 } FILTER (?x != $1) }",
    "SELECT * { { SELECT ?x { STREAM <s> [RANGE 2s] { ?x :p $0 } } } FILTER (?x != $1) }",
    """SELECT ?x { { SELECT DISTINCT ?x ?y { STREAM <s> [RANGE 2s] { ?x :p ?y } ?y :s $0 } }
       FILTER (?y != $1) }""",
    """SELECT ?x ?n { ?x :s $0 FILTER (?x != $1)
       { SELECT ?x (COUNT(*) AS ?n) { STREAM <s> [RANGE 3s] { ?x :p ?y } } GROUP BY ?x } }""",
    """SELECT DISTINCT ?x { STREAM <s> [RANGE 3s] { ?x :p ?y } ?y :s $0 FILTER (?x != $1) }
       ORDER BY DESC(?y)""",
    """SELECT REDUCED ?x ?y { STREAM <s> [NOW] { ?x :p ?y } FILTER (?x != $0 || ?y = $1) }
       ORDER BY DESC(?y) ?x""",
    """SELECT ?x (GROUP_CONCAT(?y) AS ?all) { STREAM <s> [RANGE 3s] { ?x :p ?y } ?x :s $0 FILTER (?y != $1) }
       GROUP BY ?x HAVING (COUNT(*) > 1)""",
    """SELECT ?x ?z { STREAM <s> [RANGE 3s] { ?x :p ?y } OPTIONAL { ?y :s ?z }
       FILTER (?x != $0 && ?y != $1) }""",
    """SELECT ?x { { STREAM <s> [NOW] { ?x :p $0 } }
       UNION { STREAM <s> [RANGE 3s] { ?x :p ?y } ?y :s $1 } }""",
    "SELECT ?x { STREAM <s> [RANGE 3s] { ?x :p ?y } { ?y :s $0 } UNION { ?x :s ?z . ?z :s $1 } }",
    "SELECT ?g ?x { STREAM <s> [NOW] { ?x :p ?y } GRAPH ?g { ?y :s $0 } FILTER (?x != $1) }",
    """SELECT ?x FROM <g1> FROM NAMED <g2> { STREAM <s> [RANGE 3s] { ?x :p ?y } ?y :s $0 .
       GRAPH <g2> { ?x :s $1 } }""",
    """SELECT ?x { STREAM <s> [RANGE 3s] { ?x :p $0 } ?x :s $1
       FILTER NOT EXISTS { STREAM <s> [NOW] { ?x :q ?y } } }""",
    "CONSTRUCT { ?x :is $0 . $1 :is ?x } { STREAM <s> [NOW] { ?x :p ?y } }",
    "CONSTRUCT { ?x :is $0 } { STREAM <s> [RANGE 3s] { ?x :p ?y } MINUS { ?y :s ?x } FILTER (?y != $1) }",
    "CONSTRUCT { ?x :is $0 } { { SELECT ?x { STREAM <s> [RANGE 3s] { ?x :p $1 } } } }",
    "CONSTRUCT { [] :is ?x ; :at $0 } { STREAM <s> [RANGE 3s] { ?x :p ?y } ?y :s $1 }",
    """CONSTRUCT { _:a :is ?x . _:b :of _:a } { STREAM <s> [RANGE 3s] { ?x :p ?y } OPTIONAL { ?x :s ?z }
       ?x :s $0 FILTER (?y != $1) }""",
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_families(shape: str, graphs: StaticGraphs, tmp_path: Path) -> None:
    chance = random.Random(shape)
    streams = {"<http://ex/s>": [(*triple(chance, [P, P, Q]), at * SECOND // 3) for at in range(30)]}
    data = static(chance)
    constants = [(one, other) for one in "abc" for other in "abc"]
    queries = []
    for one, other in constants:
        written = shape.replace("$0", f":{one}").replace("$1", f":{other}")
        name = f"{one}{other}"
        queries.append(registered(query(written, name), name))
    assert len({member.operator.skeleton for member in queries}) == 1
    found = Case(Query(Group(())), streams, data)
    times = [NEVER, *sorted(chance.sample(range(10 * SECOND), 2)), 12 * SECOND]
    together = evaluated(queries, found, tmp_path, graphs, times)
    blanks: dict[str, set[str]] = {}
    for member in queries:
        alone = told(member, evaluated([member], found, tmp_path, graphs, times)[member.name])
        assert told(member, together[member.name]) == alone
        blanks[member.name] = set(re.findall(r"_:\w+", repr(alone)))
    assert sum(map(len, together.values())) > 3
    assert sum(map(len, blanks.values())) == len(set().union(*blanks.values()))
