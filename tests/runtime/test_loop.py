"""The loop without Spark: what a batch that fails leaves behind."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from rheos.runtime.driver.failures import Told
from rheos.runtime.driver.loop import Loop, Output
from rheos.runtime.driver.registry import Registry
from rheos.runtime.state.journal import Journal
from rheos.runtime.state.progress import Progress
from rheos.runtime.state.segments import Segments
from rheos.runtime.state.store import Store

S = "<http://ex/s>"


def loop_of(folder: Path) -> Loop:
    """A loop that has nothing but its state and its journal."""
    loop = object.__new__(Loop)
    loop.streams, loop.registry, loop.output = {}, Registry(), Output()
    loop.progress, loop.reached, loop.counts = {S: Progress()}, {"q": 1}, {}
    loop.segments = {S: Segments(1)}
    loop._busy, loop._stopping = threading.RLock(), threading.Event()
    loop._failing, loop._done, loop.batches = {}, -1, 0
    loop.journal = Journal(Store(folder.as_uri()), folder)
    loop.journal.commit(-1, loop._record(), {})
    return loop


def recorded(loop: Loop) -> tuple[int, dict[str, Any]]:
    found = loop.journal.last()
    assert found is not None
    return found


@pytest.mark.parametrize("committed", [False, True])
def test_a_reset_after_a_batch_that_failed_does_not_record_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    def failing(loop: Loop, frame: object, number: int) -> None:
        loop.progress = {S: Progress(ended=True)}
        loop.reached = {"q": 2}
        if committed:
            loop.journal.commit(number, loop._record(), {})
            loop._done = number
        raise OSError("the disk is full")

    monkeypatch.setattr(Loop, "_evaluate", failing)
    loop = loop_of(tmp_path)
    with pytest.raises(Told):
        loop._batch(None, 0)  # type: ignore[arg-type]
    loop.reset("<http://ex/other>")
    number, record = recorded(loop)
    assert number == (0 if committed else -1)
    assert record["reached"] == {"q": 2 if committed else 1}
    assert record["progress"][S]["ended"] == committed
