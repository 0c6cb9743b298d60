"""How far queries can be evaluated, without Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rheos.algebra.csparql import translate_csparql
from rheos.answers.continuous import QueryInfo
from rheos.filesystems import uri_of
from rheos.runtime.csparql.operator import CSparqlOperator
from rheos.runtime.operator import Count, End
from rheos.runtime.plan import Control, Registered
from rheos.runtime.state.buffer import Buffer
from rheos.runtime.state.progress import Partition, Progress
from rheos.runtime.state.segments import Segments, load, save
from rheos.runtime.state.store import Store
from rheos.runtime.worker.clock import complete, end_of, pass_on, until_of
from rheos.sources.chunks import LIVE, BadLine, Chunk, elements
from rheos.sources.times import FOREVER, NEVER
from rheos.syntax import parse
from tests.runtime.arrivals import NO_STORE, arrive

STREAM = "<http://ex/s>"
TIMES = [[3, 1, 5], [], [5, 9, 7]]


def chunk(times: list[int], **about: object) -> Chunk:
    numbers = np.array(times, np.int64)
    lines = np.arange(1, len(times) + 1)
    terms = [pa.array(["<http://ex/a>"] * len(times), pa.string()) for _ in range(3)]
    return Chunk(elements(terms, numbers, numbers, lines), lines=len(times), **about)  # type: ignore[arg-type]


def at(*times: int, **about: object) -> Progress:
    """How far a stream is whose partitions are at these times."""
    partitions = {number: Partition(time) for number, time in enumerate(times)}
    return Progress(partitions, **about)  # type: ignore[arg-type]


@pytest.fixture(params=["buffer", "segments"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Buffer:
    """Four elements that are gone, and those of TIMES."""
    parts = arrive(STREAM, [chunk(times) for times in TIMES], Progress(), 100).elements
    if request.param == "buffer":
        return Buffer.empty(4).with_more(parts)
    store = Store(uri_of(tmp_path))
    files = [save(part, f"segments/{number}.arrow", store) for number, part in enumerate(parts)]
    return load(Segments(4).plus(files), store)


def test_places_of_what_is_held(held: Buffer) -> None:
    assert held.last == 9
    assert [held.up_to(time) for time in (0, 1, 4, 5, 6, 8, 9, 100)] == [4, 5, 6, 8, 8, 9, 10, 10]


def test_the_end_of_a_stream(held: Buffer) -> None:
    assert end_of(STREAM, held, {}, None) == End(9, before=9, count=10)
    assert end_of(STREAM, held, {STREAM: at(12)}, None) == End(12, before=10, count=10)
    assert end_of(STREAM, held, {}, Count(8, 8)) == End(9, before=1, count=2)
    assert end_of(STREAM, held, {STREAM: Progress()}, None) is None


def test_nothing_is_held(tmp_path: Path) -> None:
    store = Store(uri_of(tmp_path))
    empty = save(LIVE.empty_table(), "segments/empty.arrow", store)
    for nothing in (Buffer.empty(3), load(Segments(3), store), load(Segments(3).plus([empty]), store)):
        assert nothing.last == NEVER
        assert nothing.up_to(100) == 3


def test_a_stream_is_complete_before_its_watermark() -> None:
    progress = {
        "flows": at(100),
        "silent": at(100),
        "ended": Progress(ended=True),
        "new": Progress(),
    }
    control = Control(1, progress, NO_STORE, lateness={"flows": 30}, silent=frozenset(["silent"]))
    assert complete(progress, control) == {
        "flows": 69,
        "silent": FOREVER,
        "ended": FOREVER,
        "new": NEVER,
    }


def reading(*streams: str, makes: str | None = None) -> Registered:
    clauses = " ".join(f"FROM STREAM <{stream}> [RANGE 10s STEP 5s]" for stream in streams)
    query = translate_csparql(parse(f"SELECT * {clauses} {{ ?s ?p ?o }}", "csparql"), "q", "http://ex/")
    made = None if makes is None else f"<http://ex/{makes}>"
    return Registered(QueryInfo("q", "select", ("s", "p", "o"), {}), CSparqlOperator.of(query), made)


def test_a_stream_whose_maker_is_stopped_is_not_waited_for() -> None:
    known = {"<http://ex/s>": 100}  # and nothing of <http://ex/stopped>
    held = {f"<http://ex/{name}>": Buffer.empty() for name in ("s", "stopped", "again", "more")}

    def until(query: Registered) -> int:
        return until_of(query, known, held, {}, 42, {}, {})

    assert until(reading("s")) == until(reading("s", "stopped")) == 100
    assert until(reading("stopped")) == 42
    # What is made of it alone is not waited for either; what is made of other streams too is.
    pass_on(reading("stopped", makes="again"), known)
    pass_on(reading("s", "stopped", makes="more"), known)
    assert known == {"<http://ex/s>": 100, "<http://ex/more>": 100}
    assert until(reading("s", "again")) == until(reading("again", "more")) == 100
    assert until(reading("again")) == 42
    known["<http://ex/s>"] = FOREVER
    assert until(reading("s", "stopped")) == 42  # it has ended without an element


def test_chunks_move_a_stream() -> None:
    chunks = [
        chunk([3, 9], place="a", first=True, bad=(BadLine(2, "?", "rubbish"),)),
        chunk([], place="a"),
        chunk([4, 10], place="a", without_zone=1),
        chunk([11], place="b", first=True),
        chunk([2], place="b"),
    ]
    arrived = arrive(STREAM, chunks, Progress(), lateness=5)
    assert arrived.progress == Progress({0: Partition(11, "b", 2)}, read=7, bad=1, late=1, without_zone=1)
