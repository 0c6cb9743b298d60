"""`rheos bench server`: it finds what is lost and what comes twice, and a short run loses nothing."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rheos.server.config import config_of
from rheos.server.serve import served
from rheos_bench import server
from rheos_bench.server import CONFIG, Heard, Pushed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_767_225_600  # 2026-01-01


def answer(at: str, value: object) -> dict[str, object]:
    return {"at": at, "row": {"x": {"value": str(value)}}}


def test_what_is_lost_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    pushed = Pushed(30_000, [0.01], {"a": SECOND + 0.5, "b": SECOND + 1.0}, {"at": SECOND + 2.0}, seconds=3.0)
    alarms, deaf, counts = Heard("alarms"), Heard("alarms"), Heard("counts")
    for name in ("a", "b", "b"):
        alarms.take(answer("at", name), SECOND + 2.0)
    deaf.take(answer("at", "a"), SECOND + 5.0)
    counts.take(answer("at", 29_999), SECOND + 2.1)
    server.report(pushed, [alarms, deaf, counts], warm_up=0)
    out = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "elements accepted a second 10,000 10,000 ok",
        "alarms that a subscriber did not get 1 0 missed",
        "elements that a count has not 1 0 missed",
        "answers that came twice 1 0 missed",
        "alarms: 50th percentile 1.50 s",
        "alarms: 95th percentile 4.50 s 3.00 s missed",
        "counts: 95th percentile 100 ms 3.00 s ok",
    ):
        assert line in out, out


def test_seconds_are_complete_with_the_first_element_after_them() -> None:
    pushed = Pushed()
    server.note_completed(0, SECOND * 10**6 + 1, pushed)  # the first element of all completes nothing
    server.note_completed(SECOND * 10**6 + 1, (SECOND + 1) * 10**6, pushed)
    assert pushed.completed == {}
    server.note_completed((SECOND + 1) * 10**6, (SECOND + 2) * 10**6 + 5, pushed)
    assert pushed.completed == {"2026-01-01T00:00:02Z": SECOND + 2.000005}


def test_a_short_run_loses_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PER_SECOND", 1000)
    monkeypatch.setattr(server, "SUBSCRIBERS", 6)
    with served(config_of(tomllib.loads(CONFIG), folder=tmp_path), spark) as host:
        pushed, heard = asyncio.run(server.measured(host.port, 3))
    assert pushed.accepted == 3000
    assert len(pushed.alarms) == 60
    assert [some.query for some in heard] == ["counts", "alarms"] * 3
    for some in heard:
        assert not some.twice
        if some.query == "alarms":
            assert {value for _, value in some.times} == pushed.alarms.keys()
        else:
            assert some.total == 3000
