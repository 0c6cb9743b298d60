"""What one element or one file does wrong stays its own: elements far ahead of the clock, late ones, files
that change under their reader, and streams whose clock is started anew."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine, RheosError
from rheos.runtime.driver.handle import Handle
from rheos.runtime.driver.hosting import Hosting
from rheos.runtime.state.progress import Progress
from rheos.sources.ahead import HOUR, Ahead
from rheos.sources.lines import read_lines
from rheos.sources.push import UNTIMED, PushLog
from tests.runtime.arrivals import arrive
from tests.runtime.streams import EX, NEW_YEAR, line, lines
from tests.runtime.test_clock import chunk
from tests.runtime.test_streams import ALL, PREFIX, STREAM, put, query, reported, wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- files that change ---------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["truncated", "replaced"])
def test_a_file_that_changes_under_its_reader_is_named(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    path = tmp_path / "s.nq"
    path.write_text(lines(("a", "p", f"o{n}", n) for n in range(1000)))

    def spoil(_: object) -> None:
        other = "" if change == "truncated" else lines(("b", "p", f"x{n}", n) for n in range(1000))
        path.write_text(other)

    with Engine(spark, batch_bytes=10_000) as engine:
        engine.add_stream(STREAM, path)
        engine.register(ALL).subscribe(spoil)
        with pytest.raises(RheosError) as error:
            engine.run()
    told = str(error.value)
    assert "\n" not in told
    assert f"{path}: " in told
    assert change in told
    assert "Error" not in told, "the names of classes are not for users"


# --- too far ahead -------------------------------------------------------------------------------------


def test_elements_beyond_the_bound_move_no_clock() -> None:
    ahead = Ahead(1000, 500)
    given = chunk([900, 1500, 1501, 950, 9999], place="f", first=True)
    arrived = arrive(f"<{STREAM}>", [given], Progress(), 1000, ahead)
    assert [batch.column("time").to_pylist() for batch in arrived.elements] == [[900, 950, 1500]]
    assert [(letter.kind, letter.line, letter.text) for letter in arrived.letters] == [
        ("ahead", 3, "<http://ex/a> <http://ex/a> <http://ex/a>"),
        ("ahead", 5, "<http://ex/a> <http://ex/a> <http://ex/a>"),
    ]
    assert arrived.letters[0].reason == (
        "too far ahead: its time is 1970-01-01T00:00:00.001501Z, when the clock was at "
        "1970-01-01T00:00:00.001Z; at most 0.0005s are allowed"
    )
    progress = arrived.progress
    assert (progress.high, progress.read, progress.ahead, progress.accepted) == (1500, 5, 2, 3)


@pytest.mark.parametrize("shards", [1, 2])
def test_a_followed_directory_with_a_bound(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    dead = tmp_path / "dead"
    far = time.time() - NEW_YEAR + 7200
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "far", far), ("a", "p", "c", 5)]))
    with Engine(spark, shards=shards, dead_letters=dead) as engine:
        engine.add_stream(STREAM, folder, follow=True, ahead=HOUR)
        handle = engine.register(ALL)
        engine.start()
        put(folder, "2.nq", line("a", "p", "d", 12))
        wait(lambda: len(handle.results) == 1, "a window")
        engine.stop()
        assert reported(handle) == [(10, [{"s": "a", "o": "b"}, {"s": "a", "o": "c"}])]
        metrics = engine.metrics.streams[STREAM]
        assert (metrics.read, metrics.ahead, metrics.late) == (4, 1, 0)
    [letter] = map(json.loads, dead.read_text().splitlines())
    assert (letter["kind"], letter["line"]) == ("ahead", 2)
    assert letter["reason"].startswith("too far ahead: its time is ")


def test_a_file_that_is_replayed_has_no_bound(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s.nq").write_text(line("a", "p", "b", 1) + line("a", "p", "c", 10**9))
    with Engine(spark) as engine:
        engine.add_stream(STREAM, tmp_path / "s.nq", ahead=HOUR)
        handle = engine.register(ALL)
        assert engine.run()
        assert len(handle.results) == 2


# --- late ----------------------------------------------------------------------------------------------


def test_the_first_late_element_is_a_warning_at_once(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.nq").write_text(lines(("a", "p", f"o{n}", n) for n in (1, 20, 15, 16, 2, 30)))
    with Engine(spark, batch_bytes=150) as engine:
        engine.add_stream(STREAM, tmp_path / "s.nq")
        engine.register(ALL)
        assert engine.run()
        assert engine.metrics.streams[STREAM].late == 3
    [warning] = capsys.readouterr().err.splitlines()
    assert warning == (
        f"warning: <{STREAM}>: the first late element: <{EX}a> <{EX}p> <{EX}o15>: late: its time is "
        "2026-01-01T00:00:15Z, the stream is already at 2026-01-01T00:00:20Z; "
        "a lateness of 5s would have kept it"
    )


# --- a clock that starts anew --------------------------------------------------------------------------


def push(log: PushLog, text: str) -> None:
    log.append(read_lines(text.encode(), "", untimed=UNTIMED).elements)


DERIVED = (
    f"REGISTER STREAM <http://ex/made> AS {PREFIX} CONSTRUCT {{ ?o :from ?s }}"
    f" FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] WHERE {{ ?s :p ?o }}"
)
READER = query("reader", "?o", "?o :from ?s", "RANGE 20s STEP 20s", "http://ex/made")
COUNTED = query("counted", "?o", "?s :p ?o", "RANGE TRIPLES 2 STEP 2")
BOTH = f"""REGISTER QUERY both AS {PREFIX} SELECT ?o ?x FROM STREAM <{STREAM}> [RANGE 10s STEP 10s]
    FROM STREAM <http://ex/t> [RANGE 10s STEP 10s] WHERE {{ {{ ?s :p ?o }} UNION {{ ?s :q ?x }} }}"""


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "incremental"), [(1, False), (2, False), (None, True)])
def test_a_stream_that_is_reset_is_as_new(
    spark: SparkSession, tmp_path: Path, shards: int | None, incremental: bool
) -> None:
    log = PushLog(tmp_path / "log", ahead=None)
    other = PushLog(tmp_path / "other", ahead=None)
    texts = (ALL, DERIVED, READER, COUNTED, BOTH)

    def started() -> Engine:
        checkpoint = tmp_path / "checkpoint"
        engine = Engine(spark, shards=shards, incremental=incremental, checkpoint=checkpoint)
        engine.add_stream(STREAM, log.source)
        engine.add_stream("http://ex/t", other.source)
        for text in texts:
            engine.register(text)
        engine.start()
        return engine

    def read(engine: Engine, number: int) -> None:
        wait(lambda: engine.metrics.streams[STREAM].read == number, f"{number} elements are read")

    with started() as engine:
        handles = engine.streaming.registry.handles
        push(other, line("a", "q", "x", 1) + line("a", "q", "y", 25))
        push(log, lines([("a", "p", "b", 1), ("a", "p", "c", 2), ("a", "p", "far", 10**9)]))
        wait(lambda: bool(handles["both"].results), "the first window")
        read(engine, 3)
        first = {name: reported(handle) for name, handle in handles.items() if handle.kind == "select"}
        push(log, line("a", "p", "lost", 3))
        wait(lambda: engine.metrics.streams[STREAM].late == 1, "the clock has gone astray")
        engine.reset_stream(STREAM)
        with pytest.raises(RheosError, match="is made by a query"):
            engine.reset_stream("http://ex/made")
        with pytest.raises(RheosError, match="http://ex/none is not there"):
            engine.reset_stream("http://ex/none")
        # What is accepted while nobody reads is dropped by a reset, too.
        engine.stop()
        push(log, line("a", "p", "far", 2 * 10**9))
        engine.reset_stream(STREAM)
    assert first["all"] == [(10, [{"s": "a", "o": "b"}, {"s": "a", "o": "c"}])]
    # "both" waits for the other stream, which is at 25: it has seen x, and reports y when that is over.
    assert first["both"] == [(10, [{"o": "b"}, {"o": "c"}, {"x": "x"}])]

    with started() as engine:  # it has survived
        handles = engine.streaming.registry.handles
        push(log, lines([("a", "p", "d", 31), ("a", "p", "e", 33), ("a", "p", "f", 45), ("a", "p", "g", 71)]))
        push(other, line("a", "q", "z", 32) + line("a", "q", "y", 71))
        wait(lambda: len(handles["reader"].results) == 2 and len(handles["both"].results) == 2, "windows")
        # Nothing of before, neither of the stream nor of the others that its readers have.
        assert reported(handles["all"]) == [
            (40, [{"s": "a", "o": "d"}, {"s": "a", "o": "e"}]),
            (50, [{"s": "a", "o": "f"}]),
        ]
        assert reported(handles["reader"]) == [(40, [{"o": "d"}, {"o": "e"}]), (60, [{"o": "f"}])]
        assert reported(handles["counted"]) == [(33, [{"o": "d"}, {"o": "e"}])]
        assert reported(handles["both"]) == [
            (40, [{"o": "d"}, {"o": "e"}, {"x": "z"}]),
            (50, [{"o": "f"}]),
        ]
        assert engine.metrics.streams[STREAM].late == 1
    log.close()
    other.close()


# --- what workers keep of long windows -----------------------------------------------------------------

MANY = 21_000  # with so many live elements, workers keep what they found


def crowd(log: PushLog, start: int, seconds: int) -> None:
    """Many different elements in some seconds. So much is new then that the batch is evaluated as a whole."""
    push(log, lines(("a", "p", f"o{at}", start + at * seconds / MANY) for at in range(MANY)))


def counts(handle: Handle) -> dict[float, int]:
    return {at: int(row["n"]) for at, [row] in reported(handle)}


def test_a_reset_leaves_nothing_of_before_with_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    """The places of elements begin again, while time goes on."""
    log = PushLog(tmp_path / "log", ahead=None)
    texts = (
        query("n", "(COUNT(*) AS ?n)", "?s :p ?o", "RANGE 60s STEP 10s"),
        f"REGISTER QUERY pairs AS {PREFIX} SELECT ?o WHERE {{"
        f" STREAM <{STREAM}> [RANGE 60s] {{ ?s :p ?o . ?o :q ?x }} }}",
        f"REGISTER QUERY order AS {PREFIX} SELECT ?o WHERE {{ {{ ?s :p ?o }} SEQ {{ ?o :q ?x }}"
        f' FILTER (getDURATION() < "PT60S"^^<http://www.w3.org/2001/XMLSchema#duration>) }}',
    )
    with Engine(spark) as engine:
        engine.add_stream(STREAM, log.source)
        count, pairs, order = (engine.register(text, keep=None) for text in texts)
        engine.start()
        crowd(log, 100, 40)
        wait(lambda: 130 in counts(count), "the first answers")
        push(log, line("o7", "q", "x", 141))  # workers begin to keep what they find
        wait(lambda: 140 in counts(count), "the answer with what is kept")
        engine.reset_stream(STREAM)
        since = [len(handle.results) for handle in (pairs, order)]
        crowd(log, 201, 38)
        wait(lambda: 230 in counts(count), "the answers after it")
        push(log, line("o8", "q", "x", 241) + line("o20000", "q", "x", 242))
        wait(lambda: 240 in counts(count), "the answer with what is kept")
        push(log, line("b", "p", "c", 251) + line("o9", "q", "x", 252))
        wait(lambda: 250 in counts(count), "another one")
        wait(lambda: len(order.results) >= since[1] + 2, "the sequences")
    assert [counts(count)[at] for at in (240, 250)] == [MANY, MANY]
    for handle, told in zip((pairs, order), since, strict=True):
        assert reported(handle)[told:] == [(241, [{"o": "o8"}]), (242, [{"o": "o20000"}])]
    log.close()


def test_a_query_that_takes_the_place_of_another_has_its_own_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The two differ in their windows only, and the second goes on where the first was."""
    log = PushLog(tmp_path / "log", ahead=None)

    def text(window: str) -> str:
        return query("n", "(COUNT(*) AS ?n)", "?s :p ?o", window)

    with Engine(spark, hosting=Hosting(lambda message: None)) as engine:
        engine.add_stream(STREAM, log.source)
        engine.start()
        handle = engine.register(text("RANGE 60s STEP 10s"))
        crowd(log, 1, 38)
        wait(lambda: 30 in counts(handle), "the answers of the first")
        push(log, line("b", "p", "c", 41))
        wait(lambda: 40 in counts(handle), "its answer with what is kept")
        handle = engine.register(text("RANGE 30s STEP 10s"), replace=True)
        crowd(log, 75, 4)
        push(log, line("b", "p", "d", 81))
        wait(lambda: 80 in counts(handle), "the answers of the second")
        push(log, line("b", "p", "d", 91))
        wait(lambda: 90 in counts(handle), "its answer with what is kept")
    assert counts(handle)[90] == MANY + 1
    log.close()
