"""Streaming DataFrames with any columns and a mapping, in Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine
from rheos.errors import RheosError
from rheos.mapping import Mapping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://ex/s"
SCHEMA = "sensor STRING, at TIMESTAMP, readings ARRAY<STRUCT<kind: STRING, v: DOUBLE>>"
MAPPING = Mapping("""PREFIX : <http://ex/>
CONSTRUCT { ?s ?p ?readings_v } WHERE {
  BIND(IRI(CONCAT("http://ex/", ?sensor)) AS ?s) BIND(IRI(CONCAT("http://ex/", ?readings_kind)) AS ?p) }""")
QUERY = "SELECT ?s ?p ?v FROM STREAM <http://ex/s> [RANGE 10s STEP 10s] { ?s ?p ?v }"


def test_rows_are_records(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    readings = [{"kind": "t", "v": 21.5}, {"kind": "h", "v": 40}]
    rows = [
        {"sensor": "a", "at": "2026-01-01T00:00:01Z", "readings": readings},
        {"sensor": "b", "readings": readings},
    ]
    (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Engine(spark) as engine:
        frame = spark.readStream.schema(SCHEMA).json(str(folder))
        engine.add_stream(STREAM, frame, mapping=MAPPING, time="field:at")
        handle = engine.register(QUERY)
        assert engine.run()
        [answer] = handle.results
        found = {(row["p"].value, row["v"].value) for row in answer.rows or []}
        assert found == {("http://ex/t", "21.5"), ("http://ex/h", "40.0")}
        assert engine.metrics.streams[STREAM].bad == 1


def test_rows_have_no_time_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.schema(SCHEMA).json(str(tmp_path))
    with Engine(spark) as engine:
        with pytest.raises(RheosError, match="rows have no time of their own"):
            engine.add_stream(STREAM, frame, mapping=MAPPING, time="message")
        with pytest.raises(RheosError, match="has its time in the column time"):
            engine.add_stream(STREAM, frame, time="field:at")


def test_both_engines_encode_for_iris_alike(spark: SparkSession) -> None:
    import duckdb

    from rheos.sql.duckdb import DUCKDB
    from rheos.sql.spark import SPARK

    text = "a b/é-ü~._*%😀"
    expected = "a%20b%2Fé-ü~._%2A%25😀"
    assert duckdb.sql(f"SELECT {DUCKDB.encode_for_iri(DUCKDB.string(text))}").fetchall() == [(expected,)]
    assert spark.sql(f"SELECT {SPARK.encode_for_iri(SPARK.string(text))}").collect()[0][0] == expected
