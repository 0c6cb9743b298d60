"""The syntax tests of the W3C, where they are at hand; queries to evaluate must parse as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rheos.errors import QuerySyntaxError
from rheos.syntax import parse

SUITE = Path(__file__).parents[2].parent / "shared" / "w3c"


def cases() -> list[object]:
    index = SUITE / "tests.json"
    if not index.exists():
        reason = f"the W3C tests are not at {SUITE}"
        return [pytest.param("", "", marks=pytest.mark.skip(reason=reason), id="absent")]
    tests = json.loads(index.read_text(encoding="utf-8"))
    return [pytest.param(test["type"], test["query"], id=test["id"]) for test in tests]


@pytest.mark.parametrize(("kind", "query"), cases())
def test_w3c_syntax(kind: str, query: str) -> None:
    # As bytes, so that line ends stay as they are.
    text = (SUITE / query).read_bytes().decode()
    if kind.startswith("Negative"):
        with pytest.raises(QuerySyntaxError):
            parse(text)
    else:
        parse(text)
