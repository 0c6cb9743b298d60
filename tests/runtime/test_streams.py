"""Continuous queries through the engine, on Structured Streaming: what is reported, what goes to the dead
letters, and what happens while streams flow."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine, QuerySyntaxError
from rheos.errors import RheosError
from rheos.runtime.driver.handle import Handle
from rheos.sources.reader import Planned, StreamPart
from tests.runtime.streams import line, lines, rows, seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "PREFIX : <http://ex/>"
STREAM = "http://ex/s"


def query(name: str, head: str, where: str, window: str = "RANGE 10s STEP 10s", stream: str = STREAM) -> str:
    form = f"{PREFIX} SELECT {head} FROM STREAM <{stream}> [{window}] WHERE {{ {where} }}"
    return f"REGISTER QUERY {name} AS {form}"


ALL = query("all", "?s ?o", "?s :p ?o")


@pytest.fixture(params=[1, 2])
def shards(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(spark, dead_letters=tmp_path / "dead") as engine:
        yield engine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.nq"
    path.write_text(lines([("a", "p", "b", 1), ("a", "p", "c", 5), ("b", "p", "c", 12), ("a", "p", "b", 31)]))
    return path


def reported(handle: Handle) -> list[tuple[float, list[dict[str, str]]]]:
    return [(seconds(answer), rows(answer)) for answer in handle.results]


def wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


@pytest.mark.parametrize("shards", [1, 2])
def test_a_query_that_is_stretched_answers_each_instant_or_says_that_it_skips_it(
    spark: SparkSession, tmp_path: Path, shards: int
) -> None:
    path = tmp_path / "s.nq"
    path.write_text(lines((f"a{at % 7}", "p", f"b{at}", at / 4) for at in range(240)))
    where = f"{PREFIX} SELECT ?s (COUNT(*) AS ?n) FROM STREAM <{STREAM}> [RANGE 10s STEP 1s]"
    where += " WHERE { ?s :p ?o } GROUP BY ?s"
    with Engine(spark, batch_bytes=4_000, shards=shards) as engine:
        engine.add_stream(STREAM, path)
        whole = engine.register(f"REGISTER QUERY whole COMPUTED EVERY 2s AS {where}", keep=None)
        some = engine.register(f"REGISTER QUERY some COMPUTED EVERY 2s STRETCHED AS {where}", keep=None)
        assert engine.run()
        expected, given = reported(whole), reported(some)
        assert [at for at, _ in given] == [at for at, _ in expected]
        skipped = [answer.skipped for answer in some.results]
        assert 0 < sum(skipped) < len(skipped)
        for (_, found), (_, exact), left_out in zip(given, expected, skipped, strict=True):
            assert found == ([] if left_out else exact)
        metrics = engine.metrics.queries["some"]
        assert (metrics.skipped, metrics.instants) == (sum(skipped), len(skipped) - sum(skipped))
        assert engine.metrics.queries["whole"].skipped == 0


def test_a_sample_through_the_engine(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(lines((f"a{at}", "p", f"b{at % 3}", at / 100) for at in range(1_000)))
    engine.add_stream(STREAM, path)
    window = f"FROM STREAM <{STREAM}> [RANGE 20s TUMBLING]"
    text = f"{PREFIX} SELECT (COUNT(*) AS ?n) {window} SAMPLE 20% WHERE {{ ?s :p ?o }}"
    handle = engine.register(f"REGISTER QUERY sampled AS {text}")
    assert engine.run()
    [answer] = handle.results
    [row] = answer.rows or []
    count, error = (float(row[name].value) for name in ("n", "n_error"))
    assert count % 5 == 0
    assert 0 < error < 200
    assert abs(count - 1_000) < 2 * error


@pytest.mark.parametrize("way", ["one", "time", "variable"])
def test_windows_are_reported_as_they_end(spark: SparkSession, file: Path, way: str) -> None:
    shards, by = (1, None) if way == "one" else (2, way)
    with Engine(spark, shards=shards, shard_by=by, batch_bytes=150) as engine:
        engine.add_stream(STREAM, file)
        handle = engine.register(ALL)
        seen: list[float] = []
        handle.subscribe(lambda answer: seen.append(seconds(answer)))
        assert engine.run()
        assert reported(handle) == [
            (10, [{"s": "a", "o": "b"}, {"s": "a", "o": "c"}]),
            (20, [{"s": "b", "o": "c"}]),
            (40, [{"s": "a", "o": "b"}]),
        ]
        assert seen == [10, 20, 40]
        assert engine.metrics.batches > 1
        metrics = engine.metrics.queries["all"]
        assert metrics.sharding == way
        assert metrics.shards in (1, shards)  # the last answer may be of one of them
        [executor] = metrics.executors
        assert executor.startswith(socket.gethostname())
        assert engine.metrics.streams[STREAM].read == 4


@pytest.mark.slow
@pytest.mark.parametrize("datatype", ["decimal", "double"])
def test_sums_of_doubles_are_not_put_together_from_shards(
    spark: SparkSession, tmp_path: Path, datatype: str
) -> None:
    """How a sum of doubles is rounded depends on the order of all: such a query is answered as a whole."""
    values = [f'"{number / 7:.3f}"^^<http://www.w3.org/2001/XMLSchema#{datatype}>' for number in range(60)]
    file = tmp_path / "values.nq"
    file.write_text("".join(
        f'<http://ex/s{at % 9}> <http://ex/p> {value} "1970-01-01T00:00:{at:02}Z"^^'
        "<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        for at, value in enumerate(values)
    ))  # fmt: skip
    found = []
    for shards in (1, 2):
        with Engine(spark, shards=shards, shard_by="variable", batch_bytes=1500) as engine:
            engine.add_stream(STREAM, file)
            handle = engine.register(query("sums", "(SUM(?o) AS ?sum) (COUNT(*) AS ?n)", "?s :p ?o"))
            assert engine.run()
            found.append(reported(handle))
            way = "one" if shards == 1 else {"decimal": "variable", "double": "time"}[datatype]
            assert engine.metrics.queries["sums"].sharding == way
    assert len(found[0]) == 7
    assert found[0] == found[1]


def test_derived_streams_are_read_in_the_same_run(spark: SparkSession, file: Path, shards: int) -> None:
    with Engine(spark, shards=shards, batch_bytes=150) as engine:
        engine.load(data="@prefix : <http://ex/> . :b :in :x . :c :in :x .", format="turtle")
        engine.add_stream(STREAM, file)
        second = engine.register(
            query("second", "?o ?s", "?o :from ?s . ?o :in :x", "RANGE 20s STEP 20s", "http://ex/made")
        )
        first = engine.register(
            f"REGISTER STREAM <http://ex/made> AS {PREFIX} CONSTRUCT {{ ?o :from ?s }}"
            f" FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] WHERE {{ ?s :p ?o }}"
        )
        third = engine.register(
            query("third", "(COUNT(*) AS ?n)", "?o :from ?s", "RANGE 40s STEP 40s", "http://ex/made")
        )
        engine.run()
        assert [(seconds(a), len(a.triples or [])) for a in first.results] == [(10, 2), (20, 1), (40, 1)]
        assert reported(second) == [
            (20, [{"o": "b", "s": "a"}, {"o": "c", "s": "a"}, {"o": "c", "s": "b"}]),
            (40, [{"o": "b", "s": "a"}]),
        ]
        assert reported(third) == [(40, [{"n": "3"}])]


def test_bad_and_late_elements_go_to_the_dead_letters(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(
        line("a", "p", "b", 1) + "rubbish\n" + line("a", "p", "c", 9) + line("a", "p", "late", 2)
        + line("a", "p", "d", 6) + line("a", "p", "e", 30)
    )  # fmt: skip
    engine.add_stream(STREAM, path, lateness=5_000_000)
    handle = engine.register(ALL)
    engine.run()
    assert reported(handle) == [
        (10, [{"s": "a", "o": "b"}, {"s": "a", "o": "c"}, {"s": "a", "o": "d"}]),
        (30, [{"s": "a", "o": "e"}]),
    ]
    bad, late = map(json.loads, (tmp_path / "dead").read_text().splitlines())
    assert (bad["kind"], bad["line"], bad["text"], bad["stream"]) == ("bad", 2, "rubbish", STREAM)
    assert (late["kind"], late["line"]) == ("late", 4)
    assert late["text"] == "<http://ex/a> <http://ex/p> <http://ex/late>"
    assert late["reason"] == (
        "late: its time is 2026-01-01T00:00:02Z, the stream is already at 2026-01-01T00:00:04Z;"
        " a lateness of 7s would have kept it"
    )
    metrics = engine.metrics.streams[STREAM]
    assert (metrics.read, metrics.bad, metrics.late) == (6, 1, 1)


def test_a_stream_that_goes_back_in_time(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(
        lines([("a", "p", "b", 20), ("a", "p", "c", 10), ("a", "p", "d", 5), ("a", "p", "e", 21)])
    )
    engine.add_stream(STREAM, path)
    handle = engine.register(ALL)
    engine.run()
    assert reported(handle) == [(20, [{"s": "a", "o": "b"}]), (30, [{"s": "a", "o": "e"}])]
    assert engine.metrics.streams[STREAM].late == 2


def test_times_without_a_zone_are_utc_and_warned_of_once(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.nq"
    path.write_text("".join(line("a", "p", "b", n).replace('Z"', '"') for n in (1, 2, 3)))
    engine.add_stream(STREAM, path)
    handle = engine.register(ALL)
    engine.run()
    assert reported(handle) == [(10, [{"s": "a", "o": "b"}])]
    assert capsys.readouterr().err.count("without a time zone are taken as UTC") == 1
    assert engine.metrics.streams[STREAM].warnings == 3


def test_a_window_with_gaps_skips_what_is_between(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)
    handle = engine.register(query("gaps", "?o", "?s :p ?o", "RANGE 4s STEP 20s"))
    engine.run()
    assert reported(handle) == []
    shown = engine.explain(query("gaps", "?o", "?s :p ?o", "RANGE 4s STEP 20s"))
    assert "elements of 16 s between two windows are in neither, and skipped" in shown


def test_two_streams_wait_for_each_other(engine: Engine, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "t.nq"
    other.write_text(lines([("c", "q", "x", 3), ("c", "q", "y", 14)]))
    engine.add_stream(STREAM, file)
    engine.add_stream("http://ex/t", other)
    handle = engine.register(
        f"REGISTER QUERY both AS {PREFIX} SELECT ?s ?x FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]"
        " FROM STREAM <http://ex/t> [RANGE 20s STEP 10s] WHERE { ?s :p ?o . ?o :q ?x }"
    )
    engine.run()
    assert reported(handle) == [
        (10, [{"s": "a", "x": "x"}]),
        (20, [{"s": "b", "x": "x"}, {"s": "b", "x": "y"}]),
        (30, []),
        (40, []),
    ]


def test_a_dataframe_is_a_stream(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text(
        "http://ex/a,http://ex/p,<http://ex/b>,2026-01-01T00:00:01Z\n"
        '_:x,<http://ex/p>,"""text""@en",2026-01-01T00:00:02Z\n'
        "no term,<http://ex/p>,<http://ex/b>,2026-01-01T00:00:02Z\n"
    )
    frame = (
        spark.readStream.schema("subject STRING, predicate STRING, object STRING, time TIMESTAMP")
        .option("quote", '"').option("escape", '"').csv(str(folder))
    )  # fmt: skip
    engine.add_stream(STREAM, frame)
    handle = engine.register(query("all", "?o", "?s :p ?o"))
    assert engine.run()
    assert reported(handle) == [(10, [{"o": "b"}, {"o": "text"}])]
    assert engine.metrics.streams[STREAM].bad == 1


# --- while streams flow --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str) -> None:
    """A file that is there at once."""
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def test_queries_come_and_go_while_a_directory_is_followed(engine: Engine, folder: Path) -> None:
    engine.add_stream(STREAM, folder, follow=True)
    first = engine.register(ALL)
    engine.start()
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    wait(lambda: len(first.results) == 1, "the first window")

    late = engine.register(query("late", "?s ?o", "?s :p ?o", "RANGE 20s STEP 10s"))
    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    wait(lambda: len(first.results) == 2 and len(late.results) == 1, "the second window")
    assert reported(late) == [(20, [{"s": "a", "o": "d"}])]  # not what came before it

    first.stop()
    put(folder, "3.nq", lines([("a", "p", "f", 22), ("a", "p", "g", 31)]))
    wait(lambda: len(late.results) == 2, "the third window")
    assert not first.running
    first.start()
    put(folder, "4.nq", lines([("a", "p", "h", 32), ("a", "p", "i", 41)]))
    wait(lambda: len(first.results) == 3, "the window after it was started again")
    assert reported(first) == [
        (10, [{"s": "a", "o": "b"}]),
        (20, [{"s": "a", "o": "c"}, {"s": "a", "o": "d"}]),
        (40, [{"s": "a", "o": "h"}]),
    ]

    late.unregister()
    put(folder, "5.nq", lines([("a", "p", "j", 51)]))
    wait(lambda: len(first.results) == 4, "the fifth window")
    assert len(late.results) <= 4
    with pytest.raises(RheosError, match="there is no query late"):
        late.stop()
    with pytest.raises(QuerySyntaxError, match="nobody supplies the stream <http://ex/unknown>"):
        engine.register(query("bad", "?s", "?s :p ?o", stream="http://ex/unknown"))
    engine.stop()


def test_a_stopped_maker_holds_up_none_of_its_readers(spark: SparkSession, folder: Path, shards: int) -> None:
    with Engine(spark, shards=shards) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        maker = engine.register(
            f"REGISTER STREAM <http://ex/made> AS {PREFIX} CONSTRUCT {{ ?o :from ?s }}"
            f" FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] WHERE {{ ?s :p ?o }}"
        )
        alone = engine.register(query("alone", "?x", "?x :from ?y", stream="http://ex/made"))
        both = query("both", "?o ?x", "{ ?s :p ?o } UNION { ?x :from ?y }")
        beside = engine.register(
            both.replace(" WHERE", " FROM STREAM <http://ex/made> [RANGE 30s STEP 10s] WHERE")
        )
        engine.start()
        put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
        wait(lambda: len(beside.results) == 1, "the first window")

        maker.stop()
        put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 31)]))
        wait(lambda: len(beside.results) == 3, "windows without the stream that is silent")
        assert reported(alone) == [(10, [{"x": "b"}])]

        maker.start()
        put(folder, "3.nq", lines([("a", "p", "f", 32), ("a", "p", "g", 41)]))
        wait(lambda: len(beside.results) == 4, "the window after it was started again")
        engine.stop()
    assert reported(alone) == [(10, [{"x": "b"}]), (40, [{"x": "f"}])]
    # What it made before it was stopped stays as long as it is in a window.
    windows = [(10, "b", "b"), (20, "cd", "b"), (30, "", "b"), (40, "ef", "f")]
    assert reported(beside) == [
        (at, [{"o": o} for o in own] + [{"x": x} for x in others]) for at, own, others in windows
    ]


def test_a_silent_stream_holds_nothing_up_for_ever(engine: Engine, folder: Path, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.mkdir()
    put(silent, "1.nq", line("x", "q", "y", 1))
    engine.add_stream(STREAM, folder, follow=True)
    engine.add_stream("http://ex/t", silent, follow=True, idle=1.5)
    handle = engine.register(
        f"REGISTER QUERY both AS {PREFIX} SELECT ?s ?o FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]"
        " FROM STREAM <http://ex/t> [RANGE 10s STEP 10s] WHERE { ?s :p ?o }"
    )
    engine.start()
    put(folder, "1.nq", lines([("a", "p", "b", 2), ("a", "p", "c", 12)]))
    wait(lambda: engine.metrics.streams[STREAM].read == 2, "the elements")
    wait(lambda: len(handle.results) == 1, "the window that the silent stream held up")
    assert reported(handle) == [(10, [{"s": "a", "o": "b"}])]
    engine.stop()


def test_start_goes_on_where_stop_was(engine: Engine, folder: Path) -> None:
    engine.add_stream(STREAM, folder, follow=True)
    handle = engine.register(ALL)
    engine.start()
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    wait(lambda: len(handle.results) == 1, "the first window")
    engine.stop()
    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    engine.start()
    wait(lambda: len(handle.results) == 2, "the second window")
    engine.stop()
    assert reported(handle)[1] == (20, [{"s": "a", "o": "c"}, {"s": "a", "o": "d"}])


# --- what is refused -----------------------------------------------------------------------------------


def refused(engine: Engine, text: str) -> str:
    def register_and_run() -> None:
        engine.register(text)
        engine.run()

    with pytest.raises(RheosError) as error:
        register_and_run()
    return str(error.value)


def test_wrong_queries_are_refused_with_their_place(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)
    zero = refused(engine, query("q", "?s", "?s :p ?o", "RANGE 0s STEP 1s"))
    assert "line 1, column" in zero
    assert "^" in zero
    select = refused(engine, ALL.replace("QUERY", "STREAM"))
    assert "REGISTER STREAM" in select
    assert "CONSTRUCT" in select
    with pytest.raises(RheosError, match="this is a continuous query"):
        engine.query(ALL)
    assert "FROM STREAM" in refused(engine, "REGISTER QUERY q AS SELECT * { ?s ?p ?o }")
    unknown = refused(engine, query("q", "?s", "?s :p ?o", stream="http://ex/unknown"))
    assert "nobody supplies the stream <http://ex/unknown>: there is <http://ex/s>" in unknown
    assert "line 1, column" in unknown


def test_two_queries_of_one_name(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)
    engine.register(ALL)
    assert "there is a query all already" in refused(engine, ALL)


def test_streams_in_a_circle(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)

    def made(name: str, stream: str) -> str:
        return (
            f"REGISTER STREAM <http://ex/{name}> AS {PREFIX} CONSTRUCT {{ ?s :p ?o }}"
            f" FROM STREAM <{stream}> [RANGE 1s STEP 1s] WHERE {{ ?s :p ?o }}"
        )

    engine.register(made("one", "http://ex/three"))
    engine.register(made("two", "http://ex/one"))
    circle = refused(engine, made("three", "http://ex/two"))
    assert "in a circle: " in circle
    assert refused(engine, made("self", "http://ex/self")).endswith("http://ex/self → http://ex/self")


def test_a_stream_has_one_source(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)
    with pytest.raises(RheosError, match="has a source already"):
        engine.add_stream(STREAM, file)


def test_a_batch_that_comes_while_it_stops_is_not_taken_for_done(engine: Engine, folder: Path) -> None:
    engine.add_stream(STREAM, folder, follow=True)
    handle = engine.register(ALL)
    engine.start()
    loop = engine.streaming.loop
    assert loop is not None
    loop._stopping.set()  # the moment between the request and Spark's own stop
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    query = loop._query
    assert query is not None
    wait(lambda: not query.isActive, "Spark has heard that the batch failed")
    assert handle.results == []
    engine.stop()
    engine.start()
    wait(lambda: len(handle.results) == 1, "the same batch again")
    engine.stop()


def test_a_subscriber_may_stop_the_engine(engine: Engine, file: Path) -> None:
    engine.add_stream(STREAM, file)
    handle = engine.register(ALL)
    handle.subscribe(lambda answer: engine.stop())
    engine.start()
    wait(lambda: len(handle.results) == 3, "all the answers of the batch")
    loop = engine.streaming.loop
    assert loop is not None
    wait(lambda: not loop.active, "the end")


def test_a_subscriber_that_fails_ends_nothing(
    engine: Engine, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.add_stream(STREAM, file)
    query, told = engine.register(ALL), list[float]()
    query.subscribe(lambda answer: [].pop())
    query.subscribe(lambda answer: told.append(seconds(answer)))
    assert engine.run()
    assert told == [seconds(answer) for answer in query.results]
    assert query.metrics.callback_errors == len(told) > 0
    said = capsys.readouterr().err
    assert "a subscriber of all raised an error" in said
    assert "IndexError: pop from empty list" in said


def test_the_last_answers_are_kept(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "long.nq"
    path.write_text(lines([("a", "p", f"o{at}", at) for at in range(1500)]))
    engine.add_stream(STREAM, path)
    texts = {
        name: query(name, "?o", "?s :p ?o", "RANGE 1s STEP 1s") for name in ("usual", "all", "few", "none")
    }
    usual = engine.register(texts["usual"])
    every, few, none = (
        engine.register(texts[name], keep=keep) for name, keep in (("all", None), ("few", 3), ("none", 0))
    )
    assert engine.run()
    assert [len(found.results) for found in (usual, every, few, none)] == [1000, 1500, 3, 0]
    assert [seconds(answer) for answer in few.results] == [1497, 1498, 1499]
    assert usual.results[-1].rows == every.results[-1].rows


@pytest.mark.slow
def test_nothing_is_left_in_the_store_that_no_record_names(spark: SparkSession, tmp_path: Path) -> None:
    """Segments come and go, also within one batch, and for several groups of queries."""
    happens = [(f"s{n % 7}", "p", f"o{n}", n / 4) for n in range(4000)]
    (tmp_path / "in.nq").write_text(lines(happens))
    with Engine(spark, checkpoint=tmp_path / "run", batch_bytes=60_000) as engine:
        engine.add_stream(STREAM, tmp_path / "in.nq")
        for number in range(16):  # two groups
            engine.register(query(f"q{number}", "?s", "?s :p ?o", f"RANGE {number + 5}s STEP 5s"), keep=0)
        engine.run()
        assert engine.metrics.batches > 3
    record = json.loads(max((tmp_path / "run" / "batches").glob("*.json")).read_text())
    named = {file["name"] for kept in record["segments"].values() for file in kept["files"]}
    found = {
        str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run" / "segments").rglob("*.arrow")
    }
    assert found == named


MANY = lines((f"s{n % 7}", "p", f"o{n}", n / 10) for n in range(1000))


@pytest.mark.parametrize("lost", [None, []])
def test_word_of_another_batch_is_not_believed(
    lost: list[StreamPart] | None, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the driver hears is only a shorter way. Where it cannot be about the batch, Spark reads."""
    told, heard = Planned.told, list[Planned]()

    def strange(folder: Path) -> Planned | None:
        found = told(folder)
        assert found is not None
        heard.append(found)
        return found if len(heard) == 1 else replace(found, start={"beat": 0, "streams": {}}, parts=lost)

    monkeypatch.setattr(Planned, "told", strange)
    (tmp_path / "in.nq").write_text(MANY)
    with Engine(spark, batch_bytes=len(MANY) // 3) as engine:
        engine.add_stream(STREAM, tmp_path / "in.nq")
        engine.register(ALL)
        assert engine.run()
        assert len(heard) > 2
        assert engine.metrics.streams[STREAM].read == MANY.count("\n")
