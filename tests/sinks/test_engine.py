"""Sinks from Python: files, Parquet, functions and data frames, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from rheos import Engine, RheosError
from rheos.sources.push import PushLog
from tests.sinks.runs import COUNTS, SEEN, STREAM, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Engine:
    engine = Engine(spark, batch_bytes=4000)
    engine.add_stream(STREAM, str(written(tmp_path / "tolls.nq", 120)))
    return engine


@pytest.mark.slow
def test_every_sink_has_all_answers(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    """A file, Parquet and a function get what the handle got."""
    frames: list[tuple[int, list[Any]]] = []

    def function(frame: DataFrame, number: int) -> None:
        frames.append((number, frame.collect()))

    with engine:
        query = engine.register(COUNTS, keep=None)
        query.to(f"{tmp_path}/out/").to(f"parquet:{tmp_path}/answers").to(f"{tmp_path}/counts.csv")
        query.for_each_batch(function)
        engine.run()
        expected = sorted(
            (answer.at, row["gate"].value, int(row["cars"].value))
            for answer in query.results
            for row in answer.rows
        )
        assert len(expected) == 51
        assert [(sink.waiting, sink.taken) for sink in query.sinks] == [(0, 51)] * 4
        kept = query.dataframe()
        assert dict(kept.dtypes) == {"at": "timestamp", "gate": "string", "cars": "bigint"}
        assert sorted(map(tuple, rows(kept))) == expected
        structs = query.dataframe(terms=True).where("cars.value = '7'").select("cars.datatype").distinct()
        assert [row[0] for row in structs.collect()] == ["http://www.w3.org/2001/XMLSchema#integer"]

    lines = [json.loads(line) for line in (tmp_path / "out" / "counts.ndjson").read_text().splitlines()]
    assert (
        sorted(
            (at(item["at"]), item["row"]["gate"]["value"], int(item["row"]["cars"]["value"]))
            for item in lines
        )
        == expected
    )
    header, *rest = (tmp_path / "counts.csv").read_text().splitlines()
    assert header == "query,at,gate,cars"
    assert len(rest) == 51

    numbers = [number for number, _ in frames]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 1
    assert (
        sorted(
            (row["at"].replace(tzinfo=UTC), row["gate"], row["cars"]) for _, found in frames for row in found
        )
        == expected
    )

    table = ds.dataset(str(tmp_path / "answers"), partitioning="hive").to_table()
    assert table.schema.field("cars").type == pa.int64()
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert set(table.column("query").to_pylist()) == {"counts"}
    assert set(table.column("day").to_pylist()) == {"2026-01-01"}
    assert (
        sorted(zip(*(table.column(name).to_pylist() for name in ("at", "gate", "cars")), strict=True))
        == expected
    )
    read = spark.read.parquet(str(tmp_path / "answers"))
    assert dict(read.dtypes)["cars"] == "bigint"
    assert sorted(map(tuple, rows(read.select("at", "gate", "cars")))) == expected


def rows(frame: DataFrame) -> list[list[Any]]:
    """The rows of a frame; Spark gives times of this machine's zone."""
    return [
        [value.astimezone(UTC) if isinstance(value, datetime) else value for value in row]
        for row in frame.collect()
    ]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_triples_go_to_a_stream_and_to_files_of_nquads(spark: SparkSession, tmp_path: Path) -> None:
    log = PushLog(tmp_path / "log", None)
    with Engine(spark) as engine:
        engine.add_stream(STREAM, str(written(tmp_path / "tolls.nq", 30)))
        engine.add_stream("http://ex/seen", log)
        engine.register(SEEN).to("stream:http://ex/seen").to(f"{tmp_path}/seen.nq")
        engine.run()
    log.close()
    pushed = [
        line for line in next((tmp_path / "log").glob("*.nq")).read_text().splitlines() if line[0] != "#"
    ]
    assert sorted(pushed) == sorted((tmp_path / "seen.nq").read_text().splitlines())
    assert len(pushed) == 90


def test_a_function_that_raises_stops_its_query_alone(engine: Engine, tmp_path: Path, capfd: Any) -> None:
    calls = []

    def function(frame: DataFrame, number: int) -> None:
        calls.append(number)
        raise OSError("the disk is on fire")

    with engine:
        bad = engine.register(COUNTS).for_each_batch(function)
        good = engine.register(COUNTS.replace("counts", "others")).to(f"{tmp_path}/others.ndjson")
        engine.run()
        assert len(calls) == 1
        assert bad.failure == "its sink function-1 has failed: OSError: the disk is on fire"
        assert good.failure is None
    assert len((tmp_path / "others.ndjson").read_text().splitlines()) == 51
    assert "the query counts was stopped" in capfd.readouterr().err


def test_types_that_get_wider_are_the_same_in_all_files(spark: SparkSession, tmp_path: Path) -> None:
    """First whole numbers, then fractions, then words: Spark reads all files as one table."""
    values = ["1", "2", '"3.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', "4"]
    values = [
        v if v.startswith('"') else f'"{v}"^^<http://www.w3.org/2001/XMLSchema#integer>' for v in values
    ]
    stamp = '"2026-01-0{}T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'

    def run(values: list[str]) -> list[Any]:
        path = tmp_path / "s.nq"
        path.write_text(
            "".join(
                f"<http://ex/a> <http://ex/p> {v} {stamp.format(day)} .\n" for day, v in enumerate(values, 1)
            )
        )
        with Engine(spark, batch_bytes=1) as engine:
            engine.add_stream("http://ex/s", str(path))
            text = "SELECT ?v { STREAM <http://ex/s> [NOW] { ?s ?p ?v } }"
            engine.register(text, name="q").to(f"parquet:{tmp_path}/out")
            engine.run()
        return sorted(row[0] for row in spark.read.parquet(f"{tmp_path}/out").select("v").collect())

    assert run(values[:2]) == [1, 2]
    assert run(values) == [1.0, 1.0, 2.0, 2.0, 3.5, 4.0]
    assert run(['"high"']) == ["1", "1", "2", "2", "3.5", "4", "high"]
    files = list((tmp_path / "out").rglob("*.parquet"))
    assert {str(pq.read_schema(file).field("v").type) for file in files} == {"string"}
    assert {file.parent.name for file in files} == {f"day=2026-01-0{day}" for day in range(1, 5)}


@pytest.mark.parametrize(
    ("sink", "options", "message"),
    [
        ("ftp://a/b", {}, "there is no sink for ftp:"),
        ("s3://bucket/file", {}, "use parquet:s3://bucket/file"),
        ("kafka://host", {}, "expected kafka://host:port/topic"),
        ("kafka://me:pw@host/topic", {}, "no user and no password"),
        ("kafka://host/topic", {"group.id": "x"}, "unknown option 'group.id'"),
        ("kafka://host/topic", {"format": "xml"}, "format 'xml' is not one of: ndjson, nquads"),
        ("kafka://host/topic", {"format": "nquads"}, "nquads needs triples"),
        ("kafka://host/topic", {"key": "x"}, "counts has no ?x"),
        ("mqtt://host/a/+/b", {}, "without + and #"),
        ("mqtt://host/a", {"version": "4"}, "the versions of MQTT are 5 and 3.1.1"),
        ("http://127.0.0.1:1/", {}, "127.0.0.1:1 is not allowed"),
        ("http://host/", {"size": "0"}, "size is how many answers"),
        ("parquet:", {}, "what comes after the colon is missing"),
        ("stream:http://ex/s", {}, "a stream needs triples"),
        ("answers.nq", {}, "nquads needs triples"),
        ("answers.csv", {"speed": "high"}, "unknown option 'speed'; it has format"),
        ("answers.csv", {"full": "wait"}, "full is one of stop, drop"),
        ("delta:answers", {}, "io.delta:delta-spark_4.3_2.13"),
        ("iceberg:local.answers", {}, "org.apache.iceberg:iceberg-spark-runtime-4.3_2.13"),
    ],
)
def test_what_is_refused(spark: SparkSession, sink: str, options: dict[str, Any], message: str) -> None:
    with Engine(spark, allow=["host"]) as engine:
        query = engine.register(COUNTS)
        with pytest.raises(RheosError, match=message.replace("+", r"\+").replace("?", r"\?")) as found:
            query.to(sink, **{name.replace(".", "__"): value for name, value in options.items()})
        assert "pw" not in str(found.value)
        assert query.sinks == []


def test_a_stream_that_is_not_there_is_no_sink(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark) as engine:
        engine.add_stream(STREAM, str(written(tmp_path / "tolls.nq", 1)))
        query = engine.register(SEEN)
        for name in ("http://ex/nowhere", STREAM):  # nothing can be pushed to a file
            with pytest.raises(RheosError, match=f"there is no push stream {name}"):
                query.to(f"stream:{name}")
        assert query.sinks == []


def test_a_sink_is_named_once(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark) as engine:
        query = engine.register(COUNTS).to(f"{tmp_path}/a.csv")
        with pytest.raises(RheosError, match=r"go to .* already"):
            query.to(f"{tmp_path}/a.csv")


def test_one_shot_answers_are_typed_on_demand(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        text = 'SELECT ?n ?t ?T { VALUES (?n ?t ?T) { (1 "x"@en <http://ex/a>) (2.5 "y" UNDEF) } }'
        result = engine.query(text)
        assert dict(result.dataframe.dtypes) == {"n": "string", "t": "string", "T": "string"}
        frame = result.typed_dataframe()
        assert frame.dtypes == [("n", "double"), ("t", "string"), ("T_2", "string")]
        assert sorted(map(tuple, frame.collect())) == [(1.0, "x", "http://ex/a"), (2.5, "y", None)]
        terms = result.typed_dataframe(terms=True).where("n.value = '1'").select("t.lang", "T_2.type")
        assert [tuple(row) for row in terms.collect()] == [("en", "uri")]
        assert [tuple(row) for row in engine.query("ASK {}").typed_dataframe().collect()] == [(True,)]
        graph = engine.query("CONSTRUCT { <http://ex/a> <http://ex/p> 'b' } {}").typed_dataframe()
        assert [tuple(row) for row in graph.collect()] == [("<http://ex/a>", "<http://ex/p>", '"b"')]
