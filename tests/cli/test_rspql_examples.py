"""The examples of RSP-QL report what the reference of the tests does, and its page does what it says."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rheos import Engine, parse
from tests.cli.command import ROOT
from tests.cli.examples import blocks, check_folder, check_python, examples
from tests.continuous.rspql_examples import BASE, FOLDER, expected

ALL = examples(FOLDER)
PAGE = (ROOT / "docs" / "rspql.md").read_text(encoding="utf-8")


def test_every_file_has_its_place() -> None:
    check_folder(FOLDER, ALL)
    assert len(ALL) == 5


@pytest.mark.parametrize("name", ALL)
def test_what_is_expected_is_what_the_reference_reports(name: str) -> None:
    assert ALL[name].expected.read_text(encoding="utf-8") == expected(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_reports(name: str, spark: SparkSession) -> None:
    example = ALL[name]
    example.options.pop("--base", None)
    with Engine(spark=spark) as engine:
        for iri, path in example.pairs("--stream"):
            engine.add_stream(iri, path)
        handles = [engine.register(query.read_text(encoding="utf-8"), base=BASE) for query in example.queries]
        engine.run()
        found = [(answer.at, handle.name, answer) for handle in handles for answer in handle.results]
    found.sort(key=lambda item: item[0])
    from tests.cli.examples import reported

    example.check(line for _, query, answer in found for line in reported(query, [answer]))


@pytest.mark.parametrize("text", [text for kind, text in blocks(PAGE) if kind == "sparql"])
def test_queries_of_the_page(text: str) -> None:
    assert parse(text).dialect in ("rspql", "csparql")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("code", [text for kind, text in blocks(PAGE) if kind == "python"])
def test_python_of_the_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_python(code, capsys)
