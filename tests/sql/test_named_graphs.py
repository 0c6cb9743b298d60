"""GRAPH with a name: no solution where the graph is not of the dataset, even for what needs no triple."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

import rheos
from rheos.terms import encode

DATA = """
<a:s> <a:p> <a:o> .
<a:s> <a:p> <a:o> <a:g> .
<a:t> <a:q> <a:u> <a:h> .
"""

# What is asked of the graph, and how many solutions there are where it is <a:g>.
PATTERNS = {
    "": 1,
    "OPTIONAL { ?s <a:nothing> ?o }": 1,
    "?s <a:p> ?o": 1,
    "?s <a:nothing> ?o": 0,
    "VALUES ?x { 1 2 }": 2,
    "BIND(1 AS ?x)": 1,
    "{} UNION { ?s <a:p> ?o }": 2,
    "{ ?s <a:p> ?o } UNION { ?s <a:nothing> ?o }": 1,
    "FILTER NOT EXISTS { ?s <a:nothing> ?o }": 1,
    "FILTER EXISTS { ?s <a:p> ?o }": 1,
    "<a:x> <a:p>* <a:x>": 1,
    "<a:s> (<a:p>*)+ <a:s>": 1,
    "<a:s> <a:p>+ <a:o>": 1,
    "{ SELECT (COUNT(*) AS ?n) { ?s <a:nothing> ?o } }": 1,
    "{ SELECT ?s (COUNT(*) AS ?n) { ?s <a:p> ?o } GROUP BY ?s }": 1,
    "GRAPH <a:h> {}": 1,
    "GRAPH <a:nowhere> {}": 0,
    "{ SELECT * { ?s <a:p> ?o } ORDER BY ?s LIMIT 3 }": 1,
}


def loaded(engine: rheos.Engine) -> rheos.Engine:
    engine.load(data=DATA, format="nquads")
    return engine


def rows(engine: rheos.Engine, query: str) -> Counter[frozenset[tuple[str, str]]]:
    found = engine.query(query).rows or []
    return Counter(frozenset((name, encode(term)) for name, term in row.items()) for row in found)


@pytest.fixture(scope="module")
def local() -> rheos.Engine:
    return loaded(rheos.Engine(execution="local"))


@pytest.mark.parametrize(("pattern", "count"), PATTERNS.items())
def test_of_the_dataset_or_not(local: rheos.Engine, pattern: str, count: int) -> None:
    assert rows(local, f"SELECT * {{ GRAPH <a:g> {{ {pattern} }} }}").total() == count
    assert rows(local, f"SELECT * {{ GRAPH <a:nowhere> {{ {pattern} }} }}").total() == 0
    assert rows(local, f"SELECT * FROM NAMED <a:h> {{ GRAPH <a:g> {{ {pattern} }} }}").total() == 0
    assert not local.query(f"ASK {{ FILTER EXISTS {{ GRAPH <a:nowhere> {{ {pattern} }} }} }}").boolean


def test_graphs_come_and_go(local: rheos.Engine) -> None:
    local.update("CREATE GRAPH <a:new>")
    assert local.query("ASK { GRAPH <a:new> {} }").boolean
    local.update("DROP GRAPH <a:new>")
    assert not local.query("ASK { GRAPH <a:new> {} }").boolean


@pytest.mark.slow
def test_spark(spark: SparkSession, local: rheos.Engine) -> None:
    """The other dialect gives the same, many patterns in one query because a query takes long."""
    engine = loaded(rheos.Engine(spark, execution="catalyst"))
    for name in ("<a:g>", "<a:nowhere>"):
        branches = (
            f"{{ BIND({number} AS ?number) GRAPH {name} {{ {pattern} }} }}"
            for number, pattern in enumerate(PATTERNS)
        )
        query = f"SELECT ?number (COUNT(*) AS ?n) {{ {' UNION '.join(branches)} }} GROUP BY ?number"
        assert rows(engine, query) == rows(local, query)


def test_streams() -> None:
    """A window is the named graph of its stream, also while it is empty."""
    from tests.continuous.test_batch import answer, elements, evaluation

    found = elements(("a p b", 1), ("a p c", 7))
    some = answer(evaluation("SELECT * { ?a :p ?b GRAPH <http://ex/s> {} }"), found).rows
    assert some.num_rows == 4
    assert answer(evaluation("SELECT * { ?a :p ?b GRAPH <a:nowhere> {} }"), found).rows.num_rows == 0
