"""What the fuzzers have found, as short as it became; each was an error of ours once."""

from __future__ import annotations

import pytest

from tests.fuzz.subjects import SUBJECTS

_DATETIME = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"

FOUND = [
    (
        "push",
        "application/n-triples",
        f'<p:><p:>""^^<p:>"0000-01-01T00:00:00Z"{_DATETIME}"2026-01-01T00:00:00"{_DATETIME}.',
    ),
    ("query", "", f"SELECT * {{ BIND({'9' * 410} AS ?x) FILTER(?x > {'9' * 410}.5) }}"),
]


@pytest.mark.parametrize(("name", "kind", "text"), FOUND)
def test_found_before(name: str, kind: str, text: str) -> None:
    assert SUBJECTS[name]().attempt((kind, text.encode())) is None
