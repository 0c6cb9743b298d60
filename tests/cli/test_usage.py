"""Help, version and wrong usage: status 2 and nothing on standard output."""

from __future__ import annotations

import pytest

from tests.cli.command import CITY, called, rheos

QUERY = "SELECT * { ?s ?p ?o } LIMIT 1"


def test_version() -> None:
    import importlib.metadata

    outcome = rheos("--version")
    assert outcome.status == 0
    assert outcome.out == f"rheos {importlib.metadata.version('rheos')}\n"


def test_no_arguments_show_the_help() -> None:
    outcome = rheos()
    assert outcome.status == 2
    assert "query" in outcome.out + outcome.err


@pytest.mark.parametrize("command", [[], ["run"], ["query"], ["explain"], ["bench"]])
def test_help_has_examples_and_no_colours_in_a_pipe(command: list[str]) -> None:
    outcome = rheos(*command, "--help")
    assert outcome.status == 0
    assert outcome.err == ""
    assert "\x1b" not in outcome.out
    _, examples = outcome.out.split("Examples:\n")
    assert all(line.strip().startswith(("rheos ", "cat ")) for line in examples.splitlines() if line)


def test_help_names_every_option_of_query() -> None:
    text = called("query", "--help").out
    for option in ("--data", "--graph", "--base", "--entailment", "--execution", "--format", "--output"):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["query"], "a query is needed"),
        (["query", "some.rq", "-q", QUERY], "not both"),
        (["query", "-q", QUERY, "--graph", "http://example.org/g"], "IRI=FILE"),
        (["query", "-q", QUERY, "--graph", f"relative={CITY}"], "absolute IRI"),
        (["query", "-q", QUERY, "--base", "not an iri"], "absolute IRI"),
        (["query", "-q", QUERY, "--format", "pdf"], "pdf"),
        (["query", "-q", QUERY, "--format", "turtle"], "turtle does not fit"),
        (["query", "-q", "CONSTRUCT WHERE { ?s ?p ?o }", "--format", "csv"], "csv does not fit"),
        (["query", "-q", QUERY, "--output", "result.ttl"], "turtle does not fit"),
        (["query", "-q", QUERY, "--execution", "moon"], "moon"),
        (["query", "-q", QUERY, "--entailment", "owl"], "owl"),
        (["query", "-q", QUERY, "--no-such-option"], "--no-such-option"),
        (["no-such-command"], "no-such-command"),
        (["bench", "no-such-benchmark"], "sparql"),
    ],
)
def test_wrong_usage(arguments: list[str], word: str) -> None:
    outcome = called(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert word in outcome.err


def test_wrong_usage_from_outside() -> None:
    outcome = rheos("query", "--format")
    assert (outcome.status, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
