"""The loop without Spark: what batches that fail, and attempts that are lost, leave behind."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rheos.runtime.driver import loop as driver
from rheos.runtime.driver.failures import Told
from rheos.runtime.driver.loop import Loop
from rheos.runtime.driver.output import Output
from rheos.runtime.driver.registry import Registry
from rheos.runtime.state.journal import Journal
from rheos.runtime.state.progress import Progress
from rheos.runtime.state.segments import Segment, Segments
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
    loop.store = Store(folder.as_uri())
    loop.journal = Journal(loop.store, folder)
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


@pytest.mark.parametrize("number", range(4))
def test_what_lost_attempts_wrote_is_collected_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(driver, "GARBAGE_BATCHES", 3)
    loop = loop_of(tmp_path)
    live = Segment("segments/live.arrow", 0, 1, 5, 5)
    loop.segments = {S: Segments(0, (live,))}
    old = ("segments/live.arrow", "segments/lost.arrow", "answers/lost.arrow", "static/table.arrow")
    for name in (*old, "segments/young.arrow", "answers/young.arrow"):
        loop.store.write(name, b"")
    for name in old:
        os.utime(tmp_path / name, (1, time.time() - driver.GARBAGE_AGE - 10))
    loop._collect_garbage(number)
    loop.journal.close()
    left = {name for folder in ("segments", "answers", "static") for name in loop.store.names(folder)}
    lost = {"segments/lost.arrow", "answers/lost.arrow"} if number == 2 else set()
    assert left == {*old, "segments/young.arrow", "answers/young.arrow"} - lost


def test_a_run_that_goes_on_collects_what_the_one_before_left(tmp_path: Path) -> None:
    """No task of the run before is alive, so nothing has to be old."""
    loop = loop_of(tmp_path)
    for name in ("segments/lost.arrow", "answers/lost.arrow"):
        loop.store.write(name, b"")
    journal = Journal(loop.store, tmp_path)
    found = journal.last()
    assert found is not None
    journal.collect_garbage(found[1], time.time() + 1)
    journal.close()
    assert not {**loop.store.names("segments"), **loop.store.names("answers")}
