"""Rates are those of event time: how elements are cut into batches does not matter."""

from __future__ import annotations

from random import Random

import pytest

from rheos.server import rates
from rheos.server.rates import Rates

SECOND = 1_000_000


class Clock:
    """The clock on the wall, as a test wants it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rates, "time", clock)
    return clock


def test_a_steady_stream_is_steady_whatever_its_batches(wall: Clock) -> None:
    """Fifty a second, which arrive after pauses of up to four seconds: by the clock, that would be
    spikes and zeros."""
    found, random, event = Rates(), Random(3), 0.0
    while event < 100:
        event += random.choice([0.3, 0.5, 1.1, 4.0])
        wall.now += random.choice((0.2, 1.0, 3.0))
        found.add({"steady": (round(event * SECOND), round(event * 50))})
    shown = found.of("steady")
    assert len(shown) > 40
    assert min(shown) > 49
    assert max(shown) < 51


def test_rows_of_a_slow_query_are_spread_over_its_steps(wall: Clock) -> None:
    """Twelve rows every ten seconds are 1.2 a second, and not 6 and 0."""
    found = Rates()
    for step in range(12):
        wall.now += 10
        found.add({"slow": (step * 10 * SECOND, step * 12)})
    assert set(found.of("slow")) == {1.2}


def test_a_change_is_where_it_was(wall: Clock) -> None:
    found, count = Rates(), 0
    for second in range(61):
        wall.now += 1
        found.add({"s": (second * SECOND, count)})
        count += 10 if second < 30 else 40
    shown = found.of("s")
    assert shown[:13] == [10] * 13
    assert shown[-13:] == [40] * 13
    assert found.until("s") == 60 * SECOND


def test_silence_is_zero_after_a_while(wall: Clock) -> None:
    found = Rates()
    for second in range(31):
        wall.now += 1
        found.add({"s": (second * SECOND, second * 10)})
    assert found.of("s")[-1] == 10
    wall.now += 3
    assert found.of("s")[-1] == 10  # the next batch may be on its way
    wall.now += 17
    shown = found.of("s")
    assert shown[-8:] == [0] * 8
    assert shown[-12] == 10
    # What comes then came then: it is not spread over the silence.
    found.add({"s": (50 * SECOND, 320)})
    shown = found.of("s")
    assert shown[-6:-2] == [0] * 4
    assert shown[-1] > 5


def test_what_begins_again_has_no_rates_of_before(wall: Clock) -> None:
    found = Rates()
    for second in range(10):
        wall.now += 1
        found.add({"s": (second * SECOND, second * 10), "gone": (second * SECOND, second)})
    found.add({"s": (3 * SECOND, 0), "late": (None, 0)})
    assert found.of("s") == []
    assert found.of("gone") == []
    assert found.of("late") == []
    assert found.until("late") is None
