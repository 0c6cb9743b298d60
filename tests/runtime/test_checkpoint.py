"""Checkpoints that are opened again: what must be the same, and what a query sees that is new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import CheckpointError, Engine
from tests.runtime.streams import lines
from tests.runtime.test_streams import ALL, PREFIX, STREAM, put, query, reported, wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER = query("other", "?s", "?s :p ?o", "RANGE 20s STEP 10s")
RELATIVE = "REGISTER QUERY relative AS SELECT ?s FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?s <p> ?o }"
MAKER = f"REGISTER STREAM <{STREAM}> AS {PREFIX} CONSTRUCT WHERE {{ ?s :p ?o }}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    return folder


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_what_was_there_must_be_there_again(spark: SparkSession, folder: Path, checkpoint: Path) -> None:
    with Engine(spark, checkpoint=checkpoint, base="http://ex/") as engine:
        engine.add_stream(STREAM, folder)
        for text in (ALL, OTHER, RELATIVE):
            engine.register(text)
        assert engine.run()

    def refused(*texts: str, stream: str = STREAM, base: str = "http://ex/") -> str:
        with Engine(checkpoint=checkpoint, base=base) as engine:  # it is refused before Spark is needed
            engine.add_stream(stream, folder)
            for text in texts:
                engine.register(text)
            with pytest.raises(CheckpointError) as error:
                engine.start()
        head, found = str(error.value).split(" was made with other queries or streams: ")
        assert head == f"the checkpoint {checkpoint}"
        return found.split(". ")[0]

    assert refused(ALL, RELATIVE) == "the query other is missing"
    changed = OTHER.replace("20s", "30s")
    assert refused(RELATIVE, changed) == "the query all is missing; the text of the query other has changed"
    elsewhere = f"{STREAM}2"
    assert refused(ALL, OTHER, RELATIVE, stream=elsewhere) == f"the stream <{STREAM}> is missing"
    read = MAKER.replace("WHERE", f"FROM STREAM <{elsewhere}> [RANGE 1s STEP 1s] WHERE")
    assert refused(ALL, OTHER, RELATIVE, read, stream=elsewhere) == f"the stream <{STREAM}> is missing"
    based = refused(ALL, OTHER, RELATIVE, base="http://ex/there/")
    assert based.startswith("the base IRI of the query all was http://ex/;")

    # That it was refused has not changed it: with the same queries, in another order, it is at its end.
    with Engine(spark, checkpoint=checkpoint, base="http://ex/") as engine:
        engine.add_stream(STREAM, folder)
        handles = [engine.register(text) for text in (RELATIVE, OTHER, ALL)]
        assert engine.run()
        assert [handle.results for handle in handles] == [[], [], []]


def test_a_run_that_had_no_batch_has_said_what_it_is_made_of(
    spark: SparkSession, tmp_path: Path, checkpoint: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for text in (ALL, OTHER):
        with Engine(spark, checkpoint=checkpoint) as engine:
            engine.add_stream(STREAM, empty, follow=True)
            engine.register(text)
            if text is ALL:
                engine.start()
            else:
                with pytest.raises(CheckpointError, match="the query all is missing"):
                    engine.start()


def test_a_query_and_a_stream_that_are_new(
    spark: SparkSession, folder: Path, tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        old = engine.register(ALL)
        engine.start()
        wait(lambda: len(old.results) == 1, "the first window")
    assert capsys.readouterr().err == ""

    added = tmp_path / "added"
    added.mkdir()
    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    put(added, "1.nq", lines([("x", "q", "y", 13), ("x", "q", "z", 21)]))
    second = OTHER.replace("other", "second").replace("?s :p ?o", "?s ?p ?o")
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        engine.add_stream("http://ex/t", added, follow=True)
        old, new = engine.register(ALL), engine.register(OTHER)
        both = engine.register(
            second.replace(" WHERE", " FROM STREAM <http://ex/t> [RANGE 20s STEP 10s] WHERE")
        )
        engine.start()
        wait(lambda: all(handle.results for handle in (old, new, both)), "the second window")
    assert reported(old) == [(20, [{"s": "a", "o": "c"}, {"s": "a", "o": "d"}])]
    assert reported(new) == [(20, [{"s": "a"}])]  # d alone; c came before
    assert reported(both) == [(20, [{"s": "a"}, {"s": "x"}])]
    assert capsys.readouterr().err.splitlines() == [
        f"warning: the query {name} is new to the checkpoint {checkpoint}: it sees what comes from now on"
        for name in ("other", "second")
    ]


def test_queries_that_came_and_went_during_a_run(
    spark: SparkSession, folder: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        first = engine.register(ALL)
        stopped = engine.register(query("stopped", "?o", "?s :p ?o", "RANGE 30s STEP 10s"))
        engine.start()
        wait(lambda: len(first.results) == 1, "the first window")
        engine.register(OTHER)
        engine.stop()
        first.unregister()
        stopped.stop()

    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    with Engine(spark, checkpoint=checkpoint) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        other = engine.register(OTHER)
        stopped = engine.register(stopped.text)
        engine.start()
        wait(lambda: bool(other.results and stopped.results), "the second window")
    assert reported(other) == [(20, [{"s": "a"}])]
    assert reported(stopped) == [(20, [{"o": "d"}])]
    assert "the query stopped was stopped in the checkpoint" in capsys.readouterr().err


def test_a_checkpoint_reached_through_a_link_is_the_same(
    spark: SparkSession, folder: Path, checkpoint: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkpoint, target_is_directory=True)
    told = []
    for number, place in enumerate((checkpoint, link, checkpoint)):
        put(folder, f"{number + 2}.nq", lines([("a", "p", f"d{number}", 12 + 3 * number)]))
        with Engine(spark, checkpoint=place) as engine:
            engine.add_stream(STREAM, folder, follow=True)
            query = engine.register(ALL)
            engine.start()
            read = 3 + number
            wait(lambda: engine.metrics.streams[STREAM].read == read, "the next element")  # noqa: B023
        told += reported(query)
    # The window of 10 to 20 has what came before, and what came through the link.
    put(folder, "9.nq", lines([("a", "p", "e", 21)]))
    with Engine(spark, checkpoint=link) as engine:
        engine.add_stream(STREAM, folder)
        query = engine.register(ALL)
        assert engine.run()
    told += reported(query)
    assert [row["o"] for at, rows in told if at == 20 for row in rows] == ["c", "d0", "d1", "d2"]
