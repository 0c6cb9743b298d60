"""SERVICE without federation: refused at its place, and with SILENT one solution that binds nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rheos import Engine, UnsupportedError


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(execution="local") as engine:
        engine.load(data="<a:1> <a:p> 1 , 2 .", format="turtle")
        yield engine


@pytest.mark.parametrize(
    ("text", "variables", "bound"),
    [
        ("SELECT * { SERVICE SILENT <a:x> { ?s ?p ?o FILTER(?o > 1) } }", ["s", "p", "o"], [set()]),
        ("SELECT * { SERVICE SILENT ?where { } }", ["where"], [set()]),
        ("SELECT * { ?s <a:p> ?o SERVICE SILENT <a:x> { ?s <a:q> ?v } }", ["s", "o", "v"], [{"s", "o"}] * 2),
        (
            "SELECT * { ?s <a:p> ?o OPTIONAL { SERVICE SILENT <a:x> { ?o ?p [] } } }",
            ["s", "o", "p"],
            [{"s", "o"}] * 2,
        ),
        ("SELECT (COUNT(*) AS ?n) { SERVICE SILENT <a:x> { ?s ?p ?o } }", ["n"], [{"n"}]),
    ],
)
def test_silent(engine: Engine, text: str, variables: list[str], bound: list[set[str]]) -> None:
    found = engine.query(text)
    assert found.variables == variables
    assert [set(row) for row in found.rows] == bound


def test_not_silent(engine: Engine) -> None:
    with pytest.raises(UnsupportedError, match="line 2, column 2: SERVICE is not supported"):
        engine.query("SELECT * {\n SERVICE <a:x> { ?s ?p ?o } }")
