"""Shards of a variable: what they answer together is what one would have, on the random cases of every
language and on aggregates in two phases."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.algebra.nodes import Distinct
from rheos.optimize.sharding import Cut, cut
from rheos.runtime.csparql.operator import CSparqlBatch, CSparqlOperator
from rheos.runtime.operator import Answers
from rheos.runtime.sharding import Shard, UnmergedError
from rheos.runtime.worker.database import Database
from rheos.store.graphs import StaticGraphs
from rheos.syntax import parse
from tests.continuous import test_arriving, test_detecting, test_evaluation
from tests.continuous.arrival_cases import case as arrival_case
from tests.continuous.cases import QUERIES, SECOND, TIMED, Text, random_text
from tests.continuous.event_cases import case as event_case
from tests.spread import spread

SHARDS = 3
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(scope="module")
def graphs() -> StaticGraphs:
    return StaticGraphs()


MORE = [
    Text("SELECT ?b (COUNT(?a) AS ?n)", "{ ?a :p ?b }", "GROUP BY ?b ORDER BY DESC(?n) ?b"),
    Text("SELECT (COUNT(DISTINCT ?a) AS ?n) (COUNT(*) AS ?all)", "{ ?a :p ?b }"),
    Text("SELECT (SUM(?i) AS ?n) (AVG(?i) AS ?m)", "{ ?a :v ?i }"),
    Text("SELECT (MIN(?i) AS ?n) (MAX(?i) AS ?m)", "{ ?a :v ?i }"),
    Text("SELECT ?i (COUNT(*) AS ?n)", "{ ?a :v ?i OPTIONAL { ?a :p ?b } }", "GROUP BY ?i HAVING (?n > 1)"),
    Text("SELECT (SUM(?t) AS ?n)", "{ ?a :u ?t }"),  # of some that are no numbers
    Text("ASK", "{ ?a :p ?b . ?a :q ?c }"),
    Text("SELECT ?a", "{ ?a :p ?b . ?a :q ?c }", "ORDER BY ?a"),
    Text("SELECT ?a ?c", "{ ?a :p ?b . ?b :q ?c }"),  # by ?b, which both have
    Text("SELECT DISTINCT ?a ?c", "{ ?a :p ?b . ?b :q ?c }"),
    Text("SELECT DISTINCT ?a", "{ ?a :p ?b . ?b :q ?c . ?b :p ?d }", "ORDER BY DESC(?a)"),
]  # fmt: skip


@pytest.mark.parametrize("seed", spread(2, 1))
@pytest.mark.parametrize("text", [*QUERIES, *TIMED, *MORE], ids=str)
def test_csparql(text: Text, seed: int, graphs: StaticGraphs) -> None:
    test_evaluation.compare(text, seed, graphs, shards=SHARDS)


@pytest.mark.slow
def test_most_queries_of_csparql_can_be_sharded(graphs: StaticGraphs) -> None:
    texts = [random_text(random.Random(seed)) for seed in range(20)]
    sharded = [test_evaluation.compare(text, 0, graphs, shards=SHARDS) for text in [*texts, *MORE]]
    assert sum(sharded) > len(sharded) // 2
    assert all(sharded[len(texts) :])


@pytest.mark.parametrize("block", spread(4, 1))
def test_cqels(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    seeds = range(40 * block, 40 * block + 40)
    found = [test_arriving.check(arrival_case(seed), seed, tmp_path, graphs, SHARDS) for seed in seeds]
    assert sum(found) > 5


@pytest.mark.slow
@pytest.mark.parametrize("block", spread(4, 1))
def test_epsparql(block: int, graphs: StaticGraphs, tmp_path: Path) -> None:
    seeds = range(40 * block, 40 * block + 40)
    found = [test_detecting.check(event_case(seed), seed, tmp_path, graphs, SHARDS) for seed in seeds]
    assert sum(found) > 5


# --- sums ------------------------------------------------------------------------------------------------


def answered(query: str, values: list[str], shards: int | None) -> Answers:
    """What a query answers of so many sensors with these values, whole or merged from shards."""
    tree = parse(f"PREFIX : <http://ex/> {query}", "csparql")
    operator = CSparqlOperator.of(translate_csparql(tree, "q", "http://ex/"))
    rows = [
        (f"<http://ex/s{number % 7}>", "<http://ex/v>", value, number + 1, number + 1)
        for number, value in enumerate(values)
    ]
    elements = pa.table(list(zip(*rows, strict=True)), names=["s", "p", "o", "time", "place"])

    def part(shard: Shard | None) -> Answers:
        database = Database(StaticGraphs().connection.cursor())
        database.put("elements", elements)
        return CSparqlBatch(database, {"<http://ex/s>": "elements"}).answers(
            operator, -1, SECOND, None, shard
        )

    if shards is None:
        return part(None)
    return operator.merged([part(Shard(number, shards)) for number in range(shards)])


AGGREGATES = (
    "(SUM(?v) AS ?s) (AVG(?v) AS ?a) (COUNT(?v) AS ?c) (MIN(?v) AS ?l) (MAX(?v) AS ?h) (SAMPLE(?v) AS ?x)"
)
WINDOW = "FROM STREAM <http://ex/s> [RANGE 1s TUMBLING] WHERE"


@pytest.mark.parametrize("keys", ["", "?k"])
@pytest.mark.parametrize("kind", ["integer", "decimal"])
def test_exact_sums_are_merged_to_the_letter(kind: str, keys: str) -> None:
    chance = random.Random(kind)
    point = "" if kind == "integer" else ".25"
    values = [f'"{chance.randrange(-50, 10**9)}{point}"^^<{XSD}{kind}>' for _ in range(60)]
    group = "GROUP BY ?k" if keys else ""
    # A key that no shard has for itself.
    query = f"SELECT {keys} {AGGREGATES} {WINDOW} {{ ?z :v ?v BIND(STRLEN(STR(?v)) AS ?k) }} {group}"
    whole, merged = answered(query, values, None), answered(query, values, 4)
    assert len(whole.rows) >= 1
    assert merged.rows.equals(whole.rows)
    assert merged.instants.equals(whole.instants)


def test_sums_of_doubles_are_not_merged() -> None:
    query = f"SELECT (SUM(?v) AS ?s) {WINDOW} {{ ?z :v ?v }}"
    values = [f'"{number / 7}"^^<{XSD}double>' for number in range(20)]
    with pytest.raises(UnmergedError):
        answered(query, values, 4)


def test_nothing_in_a_shard_changes_no_extreme() -> None:
    query = f"SELECT {AGGREGATES} {WINDOW} {{ ?z :v ?v }}"
    values = [f'"5"^^<{XSD}integer>']
    assert answered(query, values, 5).rows.equals(answered(query, values, None).rows)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT ?z ?v {}", "by ?z"),
        ("SELECT (COUNT(*) AS ?n) {}", "groups are then put together"),
        ("SELECT ?z {} LIMIT 2", "not by a variable: LIMIT"),
        ("SELECT (GROUP_CONCAT(?v) AS ?n) {}", "not by a variable: GROUP_CONCAT"),
    ],
)
def test_explained(query: str, words: str) -> None:
    head, tail = query.split("{}")
    text = f"PREFIX : <http://ex/> {head} {WINDOW} {{ ?z :v ?v }} {tail}"
    operator = CSparqlOperator.of(translate_csparql(parse(text, "csparql"), "q", "http://ex/"))
    assert words in str(operator.sharding)


@pytest.mark.parametrize("head", ["SELECT ?a ?c", "SELECT DISTINCT ?a ?c", "ASK", "CONSTRUCT { ?a :to ?c }"])
def test_a_variable_that_all_patterns_have_comes_before_those_of_the_answer(head: str) -> None:
    text = f"PREFIX : <http://ex/> {head} {WINDOW} {{ ?a :p ?b . ?b :q ?c }}"
    operator = CSparqlOperator.of(translate_csparql(parse(text, "csparql"), "q", "http://ex/"))
    assert "by ?b" in str(operator.sharding)


@pytest.mark.parametrize("distinct", ["DISTINCT ", ""])
def test_a_shard_gives_a_distinct_row_once(distinct: str) -> None:
    """So what comes to the merge is as small as the answer, however much is live."""
    text = f"PREFIX : <http://ex/> SELECT {distinct}?r {WINDOW} {{ ?p :in ?r OPTIONAL {{ ?p :at ?x }} }}"
    found = cut(translate_csparql(parse(text, "csparql"), "q", "http://ex/").query)
    assert isinstance(found, Cut)
    assert found.variable == "p"
    assert isinstance(found.part.form.pattern, Distinct) is bool(distinct)
    assert isinstance(found.merge.form.pattern, Distinct) is bool(distinct)
