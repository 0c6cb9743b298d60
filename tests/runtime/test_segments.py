"""Segments: what is live of them is a slice, also after some were put together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rheos.filesystems import uri_of
from rheos.runtime.driver.compaction import TOGETHER, small_ones
from rheos.runtime.state.buffer import Buffer, ordered, put_together
from rheos.runtime.state.segments import Segment, Segments, load, merged, save
from rheos.runtime.state.store import Store
from rheos.sources.chunks import LIVE


def part(*times: int) -> pa.Table:
    names = [f"<http://ex/{time}>" for time in times]
    zeros = [0] * len(times)
    return pa.table([names, names, names, list(times), list(times), [None] * len(times), zeros], schema=LIVE)


@pytest.mark.parametrize("forgotten", [0, 2, 4, 5, 9])
def test_segments_that_are_put_together_while_some_are_forgotten(tmp_path: Path, forgotten: int) -> None:
    store = Store(uri_of(tmp_path))
    parts = [part(1, 2), part(2, 4), part(3, 5), part(6, 7), part(8, 9)]  # some came late
    files = [save(elements, f"segments/{number}.arrow", store) for number, elements in enumerate(parts)]
    some = files[:4]
    together = save(merged(some, store), "segments/together.arrow", store)
    before = Segments().plus(files).since(forgotten, store)
    after = before.replaced({file.name for file in some}, together)
    assert load(after, store) == load(before, store)
    assert {file.name for file in after.files}.isdisjoint(file.name for file in some)


@pytest.mark.parametrize("times", [[1, 2, 2, 3, 5, 5], [1, 2, 2, 1, 3, 3], [4, 5, 5, 1, 2, 3]])
def test_parts_are_put_together_in_the_order_of_the_stream(times: list[int]) -> None:
    columns = {name: pa.array([str(at) for at in range(6)]) for name in "spo"}
    columns |= {"start": pa.array(times), "time": pa.array(times), "graph": pa.nulls(6, pa.string())}
    whole = pa.table(columns | {"partition": pa.array([0, 1, 1, 1, 0, 1])}).select(LIVE.names).cast(LIVE)
    parts = [ordered(whole.slice(0, 3)), whole.slice(0, 0), ordered(whole.slice(3))]
    assert put_together(parts).equals(ordered(pa.concat_tables(parts)))
    assert Buffer(parts[0]).with_more(parts[1:]).elements.equals(ordered(pa.concat_tables(parts)))


def test_only_small_segments_that_follow_one_another_are_put_together() -> None:
    small = [Segment(f"{number}", 0, 10, number, number) for number in range(TOGETHER)]
    large = Segment("large", 0, 10**6, 0, 0)
    assert small_ones([*small[1:], large]) == ()
    assert small_ones([small[0], large, *small]) == tuple(small)
