"""An engine inside a server: what comes and goes, what is seen, and what is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos import Engine, QuerySyntaxError
from rheos.errors import RheosError
from rheos.runtime.driver.hosting import Hosting
from tests.runtime.streams import lines, rows, seconds
from tests.runtime.test_streams import ALL, PREFIX, STREAM, put, query, reported, wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DERIVED = f"REGISTER STREAM <http://ex/made> AS {PREFIX} CONSTRUCT {{ ?o :from ?s }}"
MAKER = f"{DERIVED} FROM STREAM <{STREAM}> [RANGE 10s STEP 10s] WHERE {{ ?s :p ?o }}"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def engine(spark: SparkSession, said: list[str], folder: Path) -> Iterator[Engine]:
    with Engine(spark, hosting=Hosting(said.append, limit=20.0)) as engine:
        engine.add_stream(STREAM, folder, follow=True)
        yield engine


def test_streams_flow_with_no_query_and_views_see_what_is_held(engine: Engine, folder: Path) -> None:
    engine.start()
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 2)]))
    wait(lambda: engine.metrics.streams[STREAM].read == 2, "elements that nobody reads")
    every = engine.register(query("every", "?o", "?s :p ?o", "RANGE 20s STEP 1s"))
    put(folder, "2.nq", lines([("a", "p", "d", 3), ("a", "p", "e", 4), ("a", "p", "f", 6)]))
    wait(lambda: len(every.results) == 3, "the instants of every second")

    # A view begins with what is held for others, and of the instants of a batch reports the last.
    view = engine.register(query("view", "?o", "?s :p ?o", "RANGE 20s STEP 1s"), view=True)
    last = engine.register(query("last", "?o", "?s :p ?o", "RANGE TRIPLES 2"), view=True)
    engine.streaming.ask_for_batch()
    wait(lambda: bool(view.results and last.results), "what the views see at first")
    assert reported(view) == [(5, [{"o": "d"}, {"o": "e"}])]
    assert reported(last) == [(4, [{"o": "d"}, {"o": "e"}])]
    put(folder, "3.nq", lines([("a", "p", "g", 7), ("a", "p", "h", 9), ("a", "p", "i", 11)]))
    wait(lambda: len(view.results) == 2, "the view moves")
    assert (seconds(view.results[1]), len(rows(view.results[1]))) == (10, 5)
    assert reported(last)[1] == (9, [{"o": "g"}, {"o": "h"}])
    assert len(every.results) == 8


def test_queries_are_replaced_if_the_new_one_is_right(engine: Engine, folder: Path) -> None:
    first = engine.register(ALL)
    engine.start()
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    wait(lambda: len(first.results) == 1, "the first window")
    with pytest.raises(RheosError, match="there is a query all already"):
        engine.register(ALL)
    with pytest.raises(QuerySyntaxError, match="nobody supplies the stream"):
        engine.register(ALL.replace(STREAM, "http://ex/none"), replace=True)
    assert first.running
    second = engine.register(query("all", "?o", "?s :p ?o"), replace=True)
    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    wait(lambda: len(second.results) == 1, "the window of the new one")
    assert reported(second) == [(20, [{"o": "d"}])]
    assert len(first.results) == 1

    maker = engine.register(MAKER)
    reader = engine.register(query("reader", "?o", "?o :from ?s", stream="http://ex/made"))
    with pytest.raises(RheosError, match="makes a stream that is read by reader"):
        engine.register(query("<http://ex/made>", "?o", "?s :p ?o"), replace=True)
    assert maker.running
    again = engine.register(MAKER.replace("?o :from ?s", "?s :from ?o"), replace=True)
    put(folder, "3.nq", lines([("a", "p", "f", 22), ("a", "p", "g", 41)]))
    wait(lambda: bool(reader.results), "what is made in the new way")
    assert reported(reader) == [(30, [{"o": "a"}])]
    assert len(again.results) >= 1
    engine.stop()
    with pytest.raises(RheosError, match="is read by all"):
        engine.remove_stream(STREAM)


def test_a_query_that_takes_too_long_is_stopped_and_holds_nobody_up(
    spark: SparkSession, said: list[str], folder: Path
) -> None:
    data = "".join(f"<http://ex/s{n}> <http://ex/q> <http://ex/o{n}> .\n" for n in range(3000))
    with Engine(spark, hosting=Hosting(said.append, limit=1.0)) as engine:
        engine.load(data=data, format="ntriples")
        engine.add_stream(STREAM, folder, follow=True)
        product = (
            "?s :p ?o . ?a :q ?x . ?b :q ?y . ?c :q ?z FILTER(CONCAT(STR(?x), STR(?y), STR(?z)) = 'none')"
        )
        slow = engine.register(query("slow", "?s", product))
        quick = engine.register(ALL)
        engine.start()
        put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
        wait(lambda: len(quick.results) == 1, "the window of the quick one")
        wait(lambda: not slow.running, "the slow one is stopped")
        assert slow.metrics.failure == "it took longer than 1 s, and was stopped"
        assert said == ["the query slow was stopped: it took longer than 1 s, and was stopped"]
        put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
        wait(lambda: len(quick.results) == 2, "the next window")
    assert slow.results == []


def test_a_checkpoint_gives_up_what_is_no_longer_registered(
    spark: SparkSession, said: list[str], folder: Path, tmp_path: Path
) -> None:
    put(folder, "1.nq", lines([("a", "p", "b", 1), ("a", "p", "c", 11)]))
    other = query("other", "?s", "?s :p ?o")

    def hosted() -> Engine:
        engine = Engine(spark, checkpoint=tmp_path / "checkpoint", hosting=Hosting(said.append))
        engine.add_stream(STREAM, folder, follow=True)
        return engine

    with hosted() as engine:
        handles = [engine.register(text) for text in (ALL, other, query("gone", "?s", "?s :p ?o"))]
        engine.start()
        wait(lambda: all(handle.results for handle in handles), "the first window")
    put(folder, "2.nq", lines([("a", "p", "d", 12), ("a", "p", "e", 21)]))
    with hosted() as engine:
        same = engine.register(ALL)
        changed = engine.register(other.replace("?s :p ?o", "?s ?p ?o"))
        engine.start()
        wait(lambda: bool(same.results and changed.results), "the second window")
    assert reported(same) == [(20, [{"s": "a", "o": "c"}, {"s": "a", "o": "d"}])]
    assert reported(changed) == [(20, [{"s": "a"}])]
    assert len(said) == 1
    assert "the query other" in said[0]
