"""A filter of OPTIONAL that speaks of both sides, in all the languages of streams and both ways to run."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from tests.runtime.streams import moment, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
ELEMENTS = ["a w 5", "b w 6", "c w 7", "a v 1", "b v 2", "c v 3"]
PREFIX = "PREFIX : <http://ex/>"
FILTER = "FILTER(?n = 1 || ?m = 7)"
QUERIES = {
    "csparql": f"REGISTER QUERY q AS {PREFIX} SELECT * FROM STREAM <http://ex/s> [RANGE 10s STEP 10s]"
    f" WHERE {{ ?x :v ?n OPTIONAL {{ ?x :w ?m {FILTER} }} }}",
    "cqels": f"{PREFIX} SELECT ?x ?n ?m WHERE {{ STREAM <http://ex/s> [ALL] {{ ?x :v ?n }}"
    f" OPTIONAL {{ STREAM <http://ex/s> [RANGE 9s] {{ ?x :w ?m }} {FILTER} }} }}",
    "epsparql": f"{PREFIX} SELECT ?x ?n ?m WHERE {{ ?x :v ?n OPTIONAL {{ ?x :w ?m {FILTER} }} }}",
}


@pytest.mark.parametrize("shards", [1, 2])
def test_a_filter_of_optional(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    file = tmp_path / "s.nq"
    parts = (element.split() for element in ELEMENTS)
    file.write_text(
        "".join(
            f'<http://ex/{s}> <http://ex/{p}> "{o}"^^<{INTEGER}> {moment(at)} .\n'
            for at, (s, p, o) in enumerate(parts, start=1)
        )
    )
    with Engine(spark, shards=shards) as engine:
        engine.add_stream("http://ex/s", file)
        handles = {
            language: engine.register(text, dialect=language, name=language)
            for language, text in QUERIES.items()
        }
        assert engine.run()
        for language, handle in handles.items():
            found = sorted((row for answer in handle.results for row in rows(answer)), key=itemgetter("x"))
            assert found == [
                {"x": "a", "n": "1", "m": "5"},
                {"x": "b", "n": "2"},
                {"x": "c", "n": "3", "m": "7"},
            ], language
