"""`rheos query` where all is well: sources of the query, data, graphs, formats and places for the result."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.cli.command import CITY, ROADWORKS, called, city, rheos

PREFIX = "PREFIX : <http://example.org/city#> "
NAMES = PREFIX + "SELECT ?name { ?person :name ?name } ORDER BY ?name"
GRAPH = PREFIX + "CONSTRUCT { ?p :called ?n } WHERE { ?p :name ?n }"
FIVE = ["Anna", "Boris", "Chiara", "Deniz", "Emil"]


def names_in(text: str) -> list[str]:
    return [row["name"]["value"] for row in json.loads(text)["results"]["bindings"]]


def test_json_in_a_pipe_from_outside() -> None:
    outcome = rheos("query", "-q", NAMES, "--data", CITY)
    assert (outcome.status, outcome.err) == (0, "")
    assert names_in(outcome.out) == FIVE


def test_query_from_standard_input() -> None:
    outcome = rheos("query", "-", "--data", CITY, stdin=NAMES.encode())
    assert (outcome.status, names_in(outcome.out)) == (0, FIVE)


def test_query_from_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    query = tmp_path / "names.rq"
    query.write_text(NAMES, encoding="utf-8-sig")
    assert names_in(city(query).out) == FIVE


@pytest.mark.parametrize(
    ("form", "parsed"),
    [
        ("json", ox.QueryResultsFormat.JSON),
        ("xml", ox.QueryResultsFormat.XML),
        ("tsv", ox.QueryResultsFormat.TSV),
    ],
)
def test_solution_formats(form: str, parsed: ox.QueryResultsFormat) -> None:
    outcome = city("-q", NAMES, "--format", form)
    solutions = ox.parse_query_results(input=io.BytesIO(outcome.out.encode()), format=parsed)
    assert isinstance(solutions, ox.QuerySolutions)
    assert [solution["name"] for solution in solutions] == [ox.Literal(name) for name in FIVE]
    assert outcome.out.endswith("\n")


def test_csv() -> None:
    assert city("-q", NAMES, "-f", "csv").out.splitlines() == ["name", *FIVE]


def test_table_shortens_with_the_prefixes_of_the_query() -> None:
    query = PREFIX + "SELECT ?person ?people { ?person :name 'Anna' ; :livesIn/:population ?people }"
    assert city("-q", query, "-f", "table").out.splitlines() == [
        "?person  ?people",
        "───────  ───────",
        ":anna      12750",
        "1 row",
    ]


@pytest.mark.parametrize(("form", "expected"), [("table", "true\n"), ("csv", "true")])
def test_ask(form: str, expected: str) -> None:
    assert city("-q", "ASK {}", "-f", form).out.strip() == expected.strip()


@pytest.mark.parametrize(
    ("form", "parsed"),
    [
        (None, ox.RdfFormat.TURTLE),
        ("turtle", ox.RdfFormat.TURTLE),
        ("ntriples", ox.RdfFormat.N_TRIPLES),
        ("rdfxml", ox.RdfFormat.RDF_XML),
        ("xml", ox.RdfFormat.RDF_XML),
        ("jsonld", ox.RdfFormat.JSON_LD),
        ("trig", ox.RdfFormat.TRIG),
        ("nquads", ox.RdfFormat.N_QUADS),
        ("json", ox.RdfFormat.JSON_LD),
    ],
)
def test_graph_formats(form: str | None, parsed: ox.RdfFormat) -> None:
    outcome = city("-q", GRAPH, *(["--format", form] if form else []))
    quads = list(ox.parse(input=outcome.out, format=parsed))
    assert sorted(quad.object.value for quad in quads) == FIVE  # type: ignore[union-attr]


def test_describe_is_turtle() -> None:
    outcome = city("-q", PREFIX + "DESCRIBE :anna")
    assert len(list(ox.parse(input=outcome.out, format=ox.RdfFormat.TURTLE))) == 6


def test_named_graph() -> None:
    query = PREFIX + "SELECT ?g ?stop { GRAPH ?g { ?stop :reason ?why } } ORDER BY ?stop"
    outcome = called("query", "-q", query, "--graph", f"http://example.org/g?a=b={ROADWORKS}", "-f", "csv")
    assert outcome.out.splitlines()[1:] == [
        "http://example.org/g?a=b,http://example.org/city#bridge",
        "http://example.org/g?a=b,http://example.org/city#stairs",
    ]


def test_several_data_files_and_a_gzipped_one(tmp_path: Path) -> None:
    packed = tmp_path / "more.nt.gz"
    packed.write_bytes(gzip.compress(b'<http://e/z> <http://example.org/city#name> "Zoe" .\n'))
    assert names_in(city("-q", NAMES, "--data", packed).out) == [*FIVE, "Zoe"]


def test_base_resolves_relative_iris() -> None:
    query = "SELECT ?name { <#anna> <#name> ?name }"
    assert names_in(city("-q", query, "--base", "http://example.org/city").out) == ["Anna"]


def test_no_data_is_an_empty_graph() -> None:
    assert names_in(called("query", "-q", NAMES).out) == []


@pytest.mark.parametrize(
    ("query", "name", "start"),
    [
        (NAMES, "out.csv", "name\r\n"),
        (NAMES, "out.txt", "?name\n"),
        (GRAPH, "out.nt", "<http://"),
        (NAMES, "out", "{"),
    ],
)
def test_output_takes_its_format_from_the_ending(tmp_path: Path, query: str, name: str, start: str) -> None:
    target = tmp_path / name
    outcome = city("-q", query, "--output", target)
    assert (outcome.status, outcome.out) == (0, "")
    assert target.read_bytes().decode().startswith(start)


def test_a_failing_query_leaves_the_output_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("kept")
    assert city("-q", "SELECT", "--output", target).status == 1
    assert target.read_text() == "kept"


def test_characters_beyond_ascii_come_out_as_utf8() -> None:
    outcome = rheos("query", "-q", "SELECT ('Zoë 東京 🚋' AS ?x) {}", "-f", "csv")
    assert outcome.out.splitlines() == ["x", "Zoë 東京 🚋"]


def test_explain_shows_the_plan_and_runs_nothing() -> None:
    outcome = called("explain", "-q", NAMES, "--data", CITY, "--execution", "local")
    assert (outcome.status, outcome.err) == (0, "")
    assert "SELECT" in outcome.out
    assert "Anna" not in outcome.out


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_from_outside_is_quiet() -> None:
    outcome = rheos("query", "-q", NAMES, "--data", CITY, "--execution", "catalyst")
    assert (outcome.status, names_in(outcome.out)) == (0, FIVE)
    assert outcome.err == ""
