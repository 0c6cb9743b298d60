"""`rheos translate`: queries of C-SPARQL in RSP-QL report the same; what cannot be said is named."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rheos import parse
from rheos.errors import RheosError
from rheos.syntax.parser import translated
from tests.cli.command import ROOT, called
from tests.cli.examples import Example, examples
from tests.runtime.batches import Batches

FOLDER = ROOT / "examples" / "csparql"
EXAMPLES = examples(FOLDER)
REFUSED = {"cars-turning-from-golgi-into-celoria", "growing-districts"}  # both ask for timestamp()
STATIC = {"sensors-per-street", "users-per-topic-at-once"}


def texts(example: Example) -> Iterator[str]:
    for path in example.queries:
        yield path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in STATIC])
def test_translations_are_rsp_ql(name: str) -> None:
    for text, path in zip(texts(EXAMPLES[name]), EXAMPLES[name].queries, strict=True):
        if path.stem in REFUSED:
            with pytest.raises(RheosError, match="cannot be said"):
                translated(text)
        else:
            tree = parse(translated(text))
            assert tree.dialect == "rspql"
            assert len(tree.streams) == len(parse(text).streams)


def test_the_command(tmp_path: Path) -> None:
    query = tmp_path / "q.rq"
    query.write_text(
        "REGISTER QUERY cars COMPUTED EVERY 5s AS PREFIX : <http://ex/> SELECT ISTREAM ?c"
        " FROM NAMED STREAM :s [RANGE 1m STEP 10s] WHERE { GRAPH :s { ?c :in :x } ?c a :Car }"
    )
    found = called("translate", str(query), "--to", "rspql")
    assert (found.status, found.err) == (0, "")
    assert found.out.splitlines() == [
        "PREFIX : <http://ex/>",
        "PREFIX window: <urn:window:>",
        "REGISTER QUERY cars COMPUTED EVERY PT5S AS",
        "SELECT ISTREAM ?c",
        "FROM NAMED WINDOW window:w1 ON :s [RANGE PT1M STEP PT10S]",
        "WHERE {",
        "  WINDOW window:w1 {",
        "    ?c :in :x .",
        "  }",
        "  ?c <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> :Car .",
        "}",
    ]
    query.write_text(
        "PREFIX : <http://ex/> SELECT (timestamp(?c) AS ?t)"
        " FROM STREAM :s [RANGE 1m STEP 10s] WHERE { ?c :in :x }"
    )
    called("translate", str(query)).faulted("line 1, column 31: timestamp() cannot be said in RSP-QL")


def test_what_is_given_up_under_load() -> None:
    head, rest = "REGISTER QUERY q COMPUTED EVERY 5s STRETCHED AS", "FROM STREAM <s> [RANGE 1m STEP 1s]"
    assert "COMPUTED EVERY PT5S STRETCHED AS" in translated(f"{head} SELECT * {rest} {{ ?a ?b ?c }}")
    with pytest.raises(RheosError, match="SAMPLE cannot be said in RSP-QL"):
        translated(f"SELECT (COUNT(*) AS ?n) {rest} SAMPLE 5% {{ ?a ?b ?c }}")


@pytest.mark.parametrize("name", ["<http://ex/s>", ":s", "?g"])
def test_a_graph_that_is_the_union_of_two_windows(name: str) -> None:
    query = f"""PREFIX : <http://ex/> SELECT *
        FROM NAMED STREAM :s [RANGE 1m STEP 1s] FROM STREAM <http://ex/s> [RANGE 5m STEP 1m]
        {{ ?a :p ?b GRAPH {name} {{ ?a ?b ?c }} }}"""
    with pytest.raises(RheosError, match=r"line 3, column 20: GRAPH on <http://ex/s>, the union of several"):
        translated(query)
    assert "WINDOW" in translated(query.replace(f"GRAPH {name}", "GRAPH :t"))


QUERIES = [
    "SELECT ?a (COUNT(*) AS ?n) {} WHERE {{ ?a :p ?b }} GROUP BY ?a",
    "SELECT ?a ?n {} WHERE {{ ?a :p ?b }} AGGREGATE {{ (?n, COUNT, {{?a}}) FILTER(?n > 1) }}",
    "SELECT * {} WHERE {{ ?a :p ?b OPTIONAL {{ ?b :q ?c FILTER(?c != ?a) }} }}",
    "SELECT * {} WHERE {{ ?a :p [ :q ?c ] MINUS {{ ?c :p ?a }} }}",
    "SELECT * {} WHERE {{ GRAPH ?g {{ ?a :p ?b }} FILTER NOT EXISTS {{ ?b :q ?c }} }}",
    "SELECT DISTINCT ?b {} WHERE {{ {{ ?a :p ?b }} UNION {{ GRAPH :s {{ ?b :q ?a }} }} }} ORDER BY ?b",
    "SELECT ?a {} WHERE {{ ?a :p ?b }} AGGREGATE {{ (?how-many, COUNT, {{?a}}) FILTER(?how-many > 1) }}",
    "CONSTRUCT {{ ?b :r ?a }} {} WHERE {{?a :p ?b BIND(STR(?a) AS ?x) FILTER(STRLEN(?x) > 1 || ?b IN (:a))}}",
    "ASK {} WHERE {{ :a :p :b }}",
]  # fmt: skip


@pytest.mark.parametrize("text", QUERIES)
def test_translations_report_the_same(text: str) -> None:
    chance = random.Random(text)
    names = ["http://ex/s", "http://ex/t"]
    windows = "FROM STREAM <http://ex/s> [RANGE 7s STEP 3s] FROM STREAM <http://ex/t> [RANGE TRIPLES 3]"
    query = f"REGISTER QUERY q AS PREFIX : <http://ex/> {text.format(windows)}"
    elements = {
        name: [
            (chance.choice("abc"), chance.choice("pq"), chance.choice("abc"), second / 2)
            for second in sorted(chance.sample(range(60), 25))
        ]
        for name in names
    }
    found = []
    for asked in (query, translated(query)):
        lines = Batches(names, [asked]).run([{name: elements[name] for name in names}])
        found.append(Counter((at, row) for _, at, row in lines))
    assert found[0]
    assert found[0] == found[1]
