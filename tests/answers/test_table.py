"""Tables for the terminal: short, readable, numbers to the right."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console

from rheos.answers import table as tables
from rheos.answers.result import Result

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"ex": "http://ex/", "deep": "http://ex/deep/", "": "http://other/"}


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (None, ""),
        ("<http://ex/a>", "ex:a"),
        ("<http://ex/deep/a>", "deep:a"),
        ("<http://ex/deep/a/b>", "<http://ex/deep/a/b>"),
        ("<http://other/x>", ":x"),
        ("<http://ex/>", "ex:"),
        ("<urn:x>", "<urn:x>"),
        ("_:b0", "_:b0"),
        ('"word"', '"word"'),
        ('"two\nlines"@en', '"two\\nlines"@en'),
        (f'"5"^^<{XSD}integer>', "5"),
        (f'"true"^^<{XSD}boolean>', "true"),
        (f'"2026-01-01"^^<{XSD}date>', "2026-01-01"),
        (f'"aa"^^<{XSD}hexBinary>', '"aa"^^xsd:hexBinary'),
        ('"x"^^<http://ex/t>', '"x"^^ex:t'),
    ],
)
def test_terms(term: str | None, text: str) -> None:
    assert tables.readable(term, PREFIXES) == text


@pytest.fixture
def result() -> Result:
    table = pa.table(
        {
            "name": ['"Ada"', '"Grace"@en', None],
            "n": [f'"5"^^<{XSD}integer>', f'"12.5"^^<{XSD}decimal>', None],
            "x": ["<http://ex/a>", "_:b", f'"5"^^<{XSD}integer>'],
        }
    )
    return Result.select(["name", "n", "x"], table, prefixes=PREFIXES)


def test_plain_text(result: Result) -> None:
    assert result.serialize("table") == (
        "?name         ?n  ?x\n"
        "──────────  ────  ────\n"
        '"Ada"          5  ex:a\n'
        '"Grace"@en  12.5  _:b\n'
        "                  5\n"
        "3 rows\n"
    )


def test_an_empty_table() -> None:
    empty = Result.select(["x"], pa.table({"x": pa.array([], pa.string())}))
    assert empty.serialize("table") == "?x\n──\n0 rows\n"


def test_a_graph_as_a_table() -> None:
    graph = Result.graph("describe", pa.table({"s": ["<a:s>"], "p": ["<a:p>"], "o": ["<a:o>"]}))
    assert "?subject  ?predicate  ?object\n" in graph.serialize("table")


def test_a_terminal_gets_a_grid_that_fits(result: Result) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=40)
    tables.show(result.variables, result.arrow, result.prefixes, console)
    assert "ex:a" in out.getvalue()
    assert "3 rows" in out.getvalue()


def test_elsewhere_it_is_plain(result: Result) -> None:
    out = io.StringIO()
    tables.show(result.variables, result.arrow, result.prefixes, Console(file=out))
    assert out.getvalue() == result.serialize("table")


def test_html(result: Result) -> None:
    html = result._repr_html_()
    assert "<th>?name</th>" in html
    assert "<td>&quot;Ada&quot;</td>" in html
    assert Result.ask(True)._repr_html_() == "<p>true</p>"
