"""`--entailment rdfs` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import called

QUERY = "PREFIX : <http://ex/> SELECT ?x { ?x a :Animal }"
SCHEMA = "<http://www.w3.org/2000/01/rdf-schema#"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.ttl"
    file.write_text(f"@prefix : <http://ex/> . :Dog {SCHEMA}subClassOf> :Animal . :rex a :Dog .")
    return file


def test_query(data: Path) -> None:
    asked = ("query", "-q", QUERY, "--data", data, "--format", "csv")
    assert called(*asked, "--entailment", "rdfs").out.split() == ["x", "http://ex/rex"]
    assert called(*asked).out.split() == ["x"]


def test_explain(data: Path) -> None:
    asked = ("explain", "-q", QUERY, "--data", data)
    outcome = called(*asked, "--entailment", "rdfs")
    assert (outcome.status, outcome.err) == (0, "")
    assert "RDFS, by the schema in\n    the default graph" in outcome.out
    assert "default_graph_rdfs" in outcome.out
    assert "rdfs" not in called(*asked).out
