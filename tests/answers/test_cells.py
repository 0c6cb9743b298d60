"""Whole columns of terms as text: the same as each term alone, whatever is in the column."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from rheos.answers import cells
from rheos.answers.cells import concatenated, csv_cells, json_objects, tsv_cells
from rheos.answers.result import Result
from rheos.answers.terms import csv_term, json_term, tsv_term
from rheos.terms import XSD

TEXTS = ["", "a", "plain", "some more words", "ä€😀", "1", "2.5", "-3e7", "é" * 9]
ODD = [
    '"',
    'a "word"',
    "a,b",
    "tab\there",
    "line\nline",
    "\r",
    "\\",
    "\b\f",
    "\x01",
    "ends with \\",
    '"^^<x>',
]
SUFFIXES = ["", "@en", "@de-at", *(f"^^<{XSD}{name}>" for name in ("integer", "decimal", "double", "date"))]


def column(chance: random.Random, kinds: str, rows: int) -> list[str | None]:
    """Random terms, almost all different: I an IRI, B a blank node, L a literal, O an odd one, N none."""

    def term(number: int) -> str | None:
        match chance.choice(kinds):
            case "I":
                return f"<http://ex/{chance.choice(['', 'ä/', 'longer/than/twelve/'])}{number}>"
            case "B":
                return f"_:b{number}"
            case "L":
                return f'"{chance.choice(TEXTS)}{number}"{chance.choice(SUFFIXES)}'
            case "O":
                return f'"{chance.choice(ODD)}{chance.choice(["", str(number)])}"{chance.choice(SUFFIXES)}'
            case "R":
                return f'"{number % 3}"'
        return None

    return [term(number) for number in range(rows)]


KINDS = ["I", "B", "L", "IBL", "ILN", "LO", "IBLON", "R", "RN", "N"]


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("rows", [1, 60, 700])
@pytest.mark.parametrize(("whole", "one"), [(csv_cells, csv_term), (tsv_cells, tsv_term)])
def test_a_column_is_its_terms(
    kinds: str, rows: int, whole: Callable[[pa.ChunkedArray], pa.Array], one: Callable[[str], str]
) -> None:
    terms = column(random.Random(rows), kinds, rows)
    expected = ["" if term is None else one(term) for term in terms]
    for given in chunked(terms):
        assert whole(given).to_pylist() == expected


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("rows", [1, 60, 700])
def test_a_row_of_json_has_what_is_bound(kinds: str, rows: int) -> None:
    chance = random.Random(rows)
    terms = [column(chance, kinds, rows), column(chance, "IBLON", rows)]
    names = ["x", 'odd "name"']
    expected = [
        {name: json.loads(json_term(term)) for name, term in zip(names, row, strict=True) if term is not None}
        for row in zip(*terms, strict=True)
    ]
    for given in zip(*map(chunked, terms), strict=True):
        written = concatenated(*json_objects(names, given)).to_pylist()
        assert [json.loads(text) for text in written] == expected


def chunked(terms: list[str | None]) -> list[pa.ChunkedArray]:
    """A column as one piece, in several, of another type of text, and as a part of a longer one."""
    array = pa.array(terms, pa.string())
    half = len(terms) // 2
    longer = pa.array([*terms[:3], '"before"', None, *terms, "<http://ex/after>"], pa.string())
    return [
        pa.chunked_array([array]),
        pa.chunked_array([array[:half], array[half:]]),
        pa.chunked_array([array.cast(pa.large_string())]),
        pa.chunked_array([longer.slice(len(terms[:3]) + 2, len(terms))]),
    ]


def test_results_of_many_rows_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheos.answers.writers._PART_ROWS", 100)
    monkeypatch.setattr(cells, "FEW", 0)
    chance = random.Random(3)
    terms = {name: column(chance, "IBLON", 450) for name in "xyz"}
    rows = list(zip(*terms.values(), strict=True))
    result = Result.select(
        list(terms), pa.table({name: pa.array(found, pa.string()) for name, found in terms.items()})
    )

    def lines(one: Callable[[str], str], between: str) -> list[str]:
        return [between.join("" if term is None else one(term) for term in row) for row in rows]

    assert result.serialize("csv") == "\r\n".join(["x,y,z", *lines(csv_term, ","), ""])
    assert result.serialize("tsv") == "\n".join(["?x\t?y\t?z", *lines(tsv_term, "\t"), ""])
    found = json.loads(result.serialize("json"))["results"]["bindings"]
    assert found == [
        {name: json.loads(json_term(term)) for name, term in zip("xyz", row, strict=True) if term is not None}
        for row in rows
    ]
