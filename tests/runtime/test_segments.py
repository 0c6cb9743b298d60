"""Segments: what is live of them is a slice, also after some were put together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rheos.filesystems import uri_of
from rheos.runtime.driver.compaction import TOGETHER, small_ones
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


def test_only_small_segments_that_follow_one_another_are_put_together() -> None:
    small = [Segment(f"{number}", 0, 10, number, number) for number in range(TOGETHER)]
    large = Segment("large", 0, 10**6, 0, 0)
    assert small_ones([*small[1:], large]) == ()
    assert small_ones([small[0], large, *small]) == tuple(small)
