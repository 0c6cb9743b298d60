"""How far queries can be evaluated, without Spark: the same from buffers in memory and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rheos.runtime.buffers import FOREVER, LIVE, NEVER, Buffer, Progress, Summary, arrive
from rheos.runtime.clock import Held, complete, end_of
from rheos.runtime.instants import End
from rheos.runtime.plan import Control
from rheos.runtime.segments import Segments, save
from rheos.sources.chunks import BadLine, Chunk, elements

STREAM = "<http://ex/s>"
TIMES = [[3, 1, 5], [], [5, 9, 7]]


def chunk(times: list[int], **about: object) -> Chunk:
    numbers = np.array(times, np.int64)
    lines = np.arange(1, len(times) + 1)
    terms = [pa.array(["<http://ex/a>"] * len(times), pa.string()) for _ in range(3)]
    return Chunk(elements(terms, numbers, numbers, lines), lines=len(times), **about)  # type: ignore[arg-type]


@pytest.fixture(params=["buffer", "segments"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Held:
    """Four elements that are gone, and those of TIMES."""
    batches = [chunk(times).elements.select(LIVE.names) for times in TIMES]
    if request.param == "buffer":
        return Buffer.empty(4).with_more(batches)
    files = [
        save(pa.Table.from_batches([batch], LIVE), tmp_path / f"{number}.arrow")
        for number, batch in enumerate(batches)
    ]
    return Segments(4, tuple(files))


def test_places_of_what_is_held(held: Held) -> None:
    assert held.last == 9
    assert [held.up_to(time) for time in (0, 1, 4, 5, 6, 8, 9, 100)] == [4, 5, 6, 8, 8, 9, 10, 10]


def test_the_end_of_a_stream(held: Held) -> None:
    assert end_of(STREAM, held, {}, {}) == End(9, before=9, count=10)
    assert end_of(STREAM, held, {STREAM: Progress(high=12)}, {}) == End(12, before=10, count=10)
    assert end_of(STREAM, held, {}, {STREAM: 5}) == End(9, before=1, count=2)
    assert end_of(STREAM, held, {STREAM: Progress()}, {}) is None


def test_nothing_is_held(tmp_path: Path) -> None:
    empty = save(LIVE.empty_table(), tmp_path / "empty.arrow")
    for nothing in (Buffer.empty(3), Segments(3), Segments(3, (empty,))):
        assert nothing.last == NEVER
        assert nothing.up_to(100) == 3


def test_a_stream_is_complete_before_its_watermark() -> None:
    progress = {
        "flows": Progress(high=100),
        "silent": Progress(high=100),
        "ended": Progress(ended=True),
        "new": Progress(),
    }
    control = Control(1, {}, lateness={"flows": 30}, silent=frozenset(["silent"]))
    assert complete(progress, control) == {
        "flows": 69,
        "silent": FOREVER,
        "ended": FOREVER,
        "new": NEVER - 1,
    }


def test_summaries_move_a_stream_as_its_chunks_do() -> None:
    chunks = [
        chunk([3, 9], place="a", first=True, bad=(BadLine(2, "?", "rubbish"),)),
        chunk([], place="a"),
        chunk([4, 10], place="a", without_zone=1),
        chunk([11], place="b", first=True),
        chunk([2], place="b"),
    ]
    arrived = arrive(STREAM, chunks, Progress(), lateness=5)
    moved = Progress()
    for item in chunks:
        moved = moved.moved(Summary.of(item))
    assert moved.with_late(1) == arrived.progress
    assert arrived.progress == Progress(11, 7, 1, 1, 1, "b", 2)
