"""RDFS entailment on random schemas: what the engine answers batch by batch against the references, which
close graphs and elements by loops."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rheos.algebra.entailment import under
from rheos.engine import Engine
from rheos.execute.local import Local
from rheos.filesystems import uri_of
from rheos.optimize import optimize_csparql
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.driver.static_tables import StaticTables
from rheos.runtime.rspql.operator import RspqlOperator
from rheos.runtime.state.store import Store
from rheos.runtime.worker.database import Database
from rheos.store.graphs import StaticGraphs
from tests.continuous import (
    arrival_cases,
    cases,
    rspql_cases,
    rspql_reference,
    test_evaluation,
    test_rspql,
)
from tests.continuous.arrival_query import Triples, clauses
from tests.continuous.cases import QUERIES, SECOND, TIMED, Text
from tests.continuous.event_entailment import DOMAIN, RANGE, SUB_PROPERTY, TYPE, entailed_static
from tests.continuous.reference import answers
from tests.continuous.schemas import schema
from tests.continuous.test_arriving import check
from tests.spread import spread

if TYPE_CHECKING:
    pass


def named(letters: str) -> list[str]:
    return [f"<http://ex/{letter}>" for letter in letters]


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


# --- static data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", spread(4, 1))
def test_a_graph_has_what_it_entails_once(block: int) -> None:
    with Engine(execution="local", entailment="rdfs") as engine:
        for seed in range(10 * block, 10 * block + 10):
            chance = random.Random(seed)
            terms, properties = named("abcde"), named("pqr")
            triples = {(*triple, "") for triple in schema(chance, properties, terms)}
            for _ in range(chance.randrange(8)):
                o = chance.choice([*terms, *properties, '"text"'])
                triples.add((chance.choice([*terms, *properties]), chance.choice([*properties, TYPE]), o, ""))
            engine.clear()
            engine.load(data="".join(f"{s} {p} {o} .\n" for s, p, o, _ in triples), format="nt")
            found = engine.query("SELECT ?s ?p ?o { ?s ?p ?o }").arrow
            expected = sorted(quad[:3] for quad in entailed_static(triples))
            assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected


Q, P, V = named("qpv")
LINKS = [(Q, SUB_PROPERTY, P), (V, SUB_PROPERTY, P), (P, SUB_PROPERTY, Q), (TYPE, SUB_PROPERTY, P)]
LINKS += [(P, DOMAIN, named("a")[0]), (P, RANGE, named("b")[0])]


def about_classes(part: Any) -> Any:
    """A query, a part of one, or elements: about the classes of things, where it was about what q says."""
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{f.name: about_classes(getattr(part, f.name)) for f in fields(part)})
    if isinstance(part, tuple | list):
        return type(part)(map(about_classes, part))
    return TYPE if part == Q else part


# --- C-SPARQL ---------------------------------------------------------------------------------------------

ABOUT_TYPES = [
    Text("SELECT ?a ?c", "{ ?a a ?c }"),
    Text("SELECT ?a ?b", "{ ?a a :c . ?a :p ?b }"),
    Text("SELECT ?c (COUNT(?a) AS ?n)", "{ ?a a ?c }", "GROUP BY ?c"),
    Text("SELECT *", "{ GRAPH ?g { ?a a :b } }"),
    Text("SELECT *", "{ ?a ?p ?b }"),
    Text("SELECT *", "{ ?a a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>+ ?c }"),
]


def with_schema(chance: random.Random, text: Text) -> cases.Case:
    by_class = chance.random() < 0.5
    sessions = chance.random() < 0.3
    found = cases.case(chance, of_classes(text) if by_class else text, sessions=sessions)
    if by_class:
        found = replace(found, streams={name: about_classes(some) for name, some in found.streams.items()})
    about = {*schema(chance, named("pqs"), named("abcd")), *chance.sample(LINKS, 2)}
    return replace(
        found,
        query=under(found.query, "rdfs"),
        static=[*found.static, *sorted(about)],
        entailment=True,
    )


def of_classes(text: Text) -> Text:
    """The same about the classes of things, where it is about what q says."""
    head, where, tail, same = text
    changed = [part.replace(":q", TYPE) for part in (head, where, tail, *(same or ()))]
    return Text(changed[0], changed[1], changed[2], tuple(changed[3:]) or None)


def compare(
    text: Text,
    seed: int,
    graphs: StaticGraphs,
    folder: Path,
    place: Callable[[], Database],
    cuts: int = 3,
) -> None:
    chance = random.Random(f"{text}{seed}")
    found = with_schema(chance, text)
    until = max(element[3] for elements in found.streams.values() for element in elements) + 40 * SECOND
    test_evaluation.load(graphs, found)
    evaluation = CSparqlOperator.of(found.query, place().dialect)
    with_derivations, filled = derived(evaluation, graphs, folder, place)
    spans = [-1, *sorted(chance.sample(range(0, until, SECOND // 2), cuts)), until]
    expected = answers(found, evaluation.statement.columns, -1, until)
    assert test_evaluation.evaluated(found, evaluation, with_derivations, spans, filled) == expected


def derived(
    operator: CSparqlOperator, graphs: StaticGraphs, folder: Path, place: Callable[[], Database]
) -> tuple[Callable[[], Database], frozenset[str]]:
    """Databases that also have what the elements of an operator's streams entail, and the names of the tables
    that are not empty."""
    assert operator.derivations is not None
    tables = StaticTables(graphs, Store(uri_of(folder)), lambda: Local(graphs))
    kept = tables.up_to_date([(None, operator.derivations)])

    def with_derivations() -> Database:
        here = place()
        for name, table in kept.items():
            here.put(name, tables.store.table(table.file))
        return here

    return with_derivations, frozenset(name for name, table in kept.items() if table.size.rows)


def entailing(graphs: StaticGraphs) -> Database:
    cursor = graphs.connection.cursor()
    graphs.entailments.make(cursor, ())
    return Database(cursor)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", [*QUERIES, *TIMED, *ABOUT_TYPES], ids=str)
def test_windows_have_what_they_entail(text: Text, seed: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    compare(text, seed, graphs, tmp_path, lambda: entailing(graphs))


# --- RSP-QL -----------------------------------------------------------------------------------------------

OF_WINDOWS = [
    rspql_cases.Text("SELECT ?a ?c", "{ WINDOW :v { ?a a ?c } }"),
    rspql_cases.Text("SELECT *", "{ WINDOW :v { ?a a :c } WINDOW :w { ?a :p ?b } }"),
    rspql_cases.Text("SELECT *", "{ WINDOW ?x { ?a a :b } ?a a ?c }"),
    rspql_cases.Text("SELECT *", "{ WINDOW ?x { GRAPH ?g { ?a a ?c } } }"),
    rspql_cases.Text("SELECT *", "{ WINDOW :v { ?a ?p ?b } }"),
    rspql_cases.Text("SELECT ?c (COUNT(?a) AS ?n)", "{ WINDOW ?x { ?a a ?c } }", "GROUP BY ?c"),
]


def windows_with_schema(chance: random.Random, text: rspql_cases.Text) -> rspql_reference.Case:
    by_class = chance.random() < 0.5
    if by_class:
        text = rspql_cases.Text(*(part.replace(":q", TYPE) for part in text))
    found = rspql_cases.case(chance, text, sessions=chance.random() < 0.3)
    if by_class:
        streams = {name: about_classes(some) for name, some in found.streams.items()}
        found = replace(found, streams=streams)
    about = {*schema(chance, named("pqs"), named("abcd")), *chance.sample(LINKS, 2)}
    static = [*found.static, *sorted(about)]
    return replace(found, query=under(found.query, "rdfs"), static=static, entailment=True)


@pytest.mark.parametrize("seed", spread(4, 1))
@pytest.mark.parametrize("text", [*rspql_cases.QUERIES, *OF_WINDOWS], ids=str)
def test_windows_with_names_have_what_they_entail(
    text: rspql_cases.Text, seed: int, graphs: StaticGraphs, tmp_path: Path
) -> None:
    chance = random.Random(f"{text}{seed}")
    found = windows_with_schema(chance, text)
    until = max(element.time for some in found.streams.values() for element in some) + 40 * SECOND
    graphs.clear()
    graphs.load(data="".join(f"{' '.join(triple)} .\n" for triple in found.static), format="nt")
    operator = RspqlOperator.of(optimize_csparql(found.query))
    place, filled = derived(operator, graphs, tmp_path, lambda: entailing(graphs))
    spans = [-1, *sorted(chance.sample(range(0, until, SECOND // 2), 3)), until]
    expected = rspql_reference.answers(found, operator.statement.columns, -1, until)
    assert test_rspql.evaluated(found, operator, place, spans, filled) == expected


# --- CQELS-QL ---------------------------------------------------------------------------------------------


def arriving(seed: int, changes: bool) -> arrival_cases.Case:
    chance = random.Random(f"schema {seed}")
    found = arrival_cases.case(seed, changes=changes)
    if seed % 3:
        streams = {name: about_classes(elements) for name, elements in found.streams.items()}
        found = replace(found, query=about_classes(found.query), streams=streams)

    def about() -> Sequence[tuple[str, str, str, str]]:
        made = {*schema(chance, named("pqvsw"), named("abc")), *chance.sample(LINKS, 2)}
        return [(*triple, graph) for triple in sorted(made) for graph in ("", *arrival_cases.GRAPHS[:1])]

    return replace(
        found,
        static=[*found.static, *about()],
        changes=[(time, [*data, *about()]) for time, data in found.changes],
        entailment=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(4, 1))
def test_elements_have_what_they_entail(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        check(arriving(seed, changes=False), seed, tmp_path, graphs)


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(2, 1))
def test_a_schema_that_changes(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        found = arriving(seed, changes=True)
        # What matched by no schema of its time is not there to be counted by a later one.
        if not any(isinstance(clause.window, Triples) for clause in clauses(found.query)):
            check(found, seed, tmp_path, graphs)
