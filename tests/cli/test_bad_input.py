"""Every way in which a query or a file can be wrong: status 1, a line or two, a caret, no traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.command import CITY, called, city, rheos

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000") + bytes(range(256))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_query_file_that_is_not_there() -> None:
    rheos("query", "missing.rq").faulted("missing.rq", "No such file", lines=1)


def test_a_query_file_that_is_a_directory(tmp_path: Path) -> None:
    rheos("query", tmp_path).faulted(str(tmp_path), lines=1)


def test_a_query_file_that_is_not_text(tmp_path: Path) -> None:
    rheos("query", written(tmp_path, "query.rq", PNG)).faulted("query.rq", "UTF-8")


def test_an_error_in_a_file_is_told_with_its_place(tmp_path: Path) -> None:
    query = written(tmp_path, "query.rq", "SELECT *\nWHERE {\n  ?s ex:p ?o\n}\n")
    outcome = rheos("query", query, "--data", CITY)
    outcome.faulted(f"{query}: line 3, column 6: ", "ex:")
    assert outcome.err.splitlines()[-2:] == ["    ?s ex:p ?o", " " * 7 + "^"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        pytest.param("SELECT * { ?s ex:p ?o }", ["ex:"], id="unknown prefix"),
        pytest.param(
            "SELECT * { ?s ?p ?o FILTER(<http://example.org/unknown>(?o)) }",
            ["http://example.org/unknown"],
            id="unknown function",
        ),
        pytest.param("SELECT * { ?s ?p ?o FILTER(NOSUCH(?o)) }", ["NOSUCH"], id="unknown built-in"),
        pytest.param("SELECT * { ?s <http://exa mple/p> ?o }", ["line 1"], id="space in an IRI"),
        pytest.param("SELECT * { ?s <http://[bad/p> ?o }", ["line 1"], id="malformed IRI"),
        pytest.param("SELECT * { ?s ?p", ["end"], id="cut off"),
        pytest.param("SELECT * {\n  ?s ?p ?o\n", ["end"], id="cut off after a line"),
        pytest.param("SELECT * { ?s ?p 'text", ["line 1"], id="cut off in a string"),
        pytest.param("", ["empty"], id="empty"),
        pytest.param("# only a comment\n", ["expected"], id="comment only"),
        pytest.param("SELEKT * { ?s ?p ?o }", ["line 1, column 1"], id="misspelt"),
        pytest.param("SELECT ?x { ?x ?p ?o } GROUP BY ?p", ["?x"], id="ungrouped"),
        pytest.param("SELECT * { SERVICE <http://example.org/s> { ?s ?p ?o } }", ["SERVICE"], id="SERVICE"),
        pytest.param("INSERT DATA { <http://e/a> <http://e/b> 1 }", ["line 1"], id="an update"),
    ],
)
def test_wrong_queries(query: str, words: list[str]) -> None:
    outcome = city("-q", query)
    outcome.faulted("line ", "column ", *words)
    if query.strip():
        assert outcome.err.rstrip().endswith("^"), outcome


def test_cut_off_query_from_outside() -> None:
    rheos("query", "-", stdin=b"SELECT * WHERE { ?s ?p").faulted("standard input: line 1, column ")


def test_a_very_long_line_is_cut_around_the_place() -> None:
    query = "SELECT * { " + "?s ?p ?o . " * 500 + "oops! " + "?s ?p ?o . " * 500 + "}"
    outcome = city("-q", query)
    outcome.faulted("line 1, column ")
    assert all(len(line) < 130 for line in outcome.err.splitlines()[1:])
    source, caret = outcome.err.splitlines()[-2:]
    assert source[len(caret) - 1 :].startswith("oops")


def test_a_data_file_that_is_not_there() -> None:
    rheos("query", "-q", "ASK {}", "--data", "missing.ttl").faulted("missing.ttl")


@pytest.mark.parametrize(
    "name", ["picture.ttl", "picture.nt", "picture.nq", "picture.rdf", "picture.jsonld", "picture.trig"]
)
@pytest.mark.parametrize("option", ["--data", "--graph"])
def test_a_data_file_that_is_a_picture(tmp_path: Path, name: str, option: str) -> None:
    path = written(tmp_path, name, PNG)
    value = str(path) if option == "--data" else f"http://example.org/g={path}"
    called("query", "-q", "ASK {}", option, value, "--execution", "local").faulted(name)


def test_a_picture_by_its_own_name(tmp_path: Path) -> None:
    rheos("query", "-q", "ASK {}", "--data", written(tmp_path, "city.png", PNG)).faulted("city.png")


def test_a_picture_that_claims_to_be_gzipped(tmp_path: Path) -> None:
    path = written(tmp_path, "city.nt.gz", PNG)
    called("query", "-q", "ASK {}", "--data", path, "--execution", "local").faulted("city.nt.gz")


def test_a_gzipped_file_that_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path, "city.ttl.gz", gzip.compress(CITY.read_bytes())[:-40])
    called("query", "-q", "ASK {}", "--data", path, "--execution", "local").faulted("city.ttl.gz")


@pytest.mark.parametrize("name", ["broken.ttl", "broken.nt"])
def test_a_broken_line_of_data_is_named(tmp_path: Path, name: str) -> None:
    good = "<http://e/a> <http://e/b> <http://e/c> .\n"
    path = written(tmp_path, name, good * 2 + "<http://e/a> <http://e/b> .\n" + good)
    called("query", "-q", "ASK {}", "--data", path, "--execution", "local").faulted(name, "line 3")


def test_a_directory_as_data(tmp_path: Path) -> None:
    called("query", "-q", "ASK {}", "--data", tmp_path, "--execution", "local").faulted(tmp_path.name)


def test_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    called("query", "-q", "ASK {}", "--data", tmp_path / "*.ttl", "--execution", "local").faulted("*.ttl")


def test_the_query_is_checked_before_the_data_is_read() -> None:
    called("query", "-q", "SELECT", "--data", "missing.ttl").faulted("line 1, column ")


@pytest.mark.parametrize("target", ["nowhere/out.json", "."])
def test_an_output_that_cannot_be_written(tmp_path: Path, target: str) -> None:
    city("-q", "ASK {}", "--output", tmp_path / target).faulted("cannot write", lines=1)


def test_explain_reports_the_same_way(tmp_path: Path) -> None:
    query = written(tmp_path, "query.rq", "SELECT * {\n ?s ?p }")
    called("explain", query).faulted(f"{query}: line 2, column ")
