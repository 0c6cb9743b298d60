"""Counts that never fall, whatever they count."""

from __future__ import annotations

from rheos.runtime.driver.metrics import BOUNDS, Times
from rheos.server.rising import Rising


def test_a_count_that_begins_again_goes_on() -> None:
    rising = Rising[float]()
    assert [rising.of(("a",), count) for count in (0.0, 3.0, 5.0, 2.0, 2.0, 4.0, 1.0)] == [
        0,
        3,
        5,
        7,
        7,
        9,
        10,
    ]
    assert rising.of(("b",), 1.0) == 1


def test_times_are_counted_as_a_whole() -> None:
    rising = Rising[Times]()
    before = Times().plus(0.004).plus(0.005).plus(100.0)
    assert (before.counts[0], before.counts[-1], before.count, len(before.counts)) == (
        2,
        1,
        3,
        len(BOUNDS) + 1,
    )
    assert rising.of(("a",), before) == before
    after = rising.of(("a",), Times().plus(0.3))
    assert (after.count, after.total) == (4, 100.309)
    assert rising.of(("a",), Times().plus(0.3).plus(0.3)).count == 5


def test_names_that_are_gone_do_not_fill_the_memory() -> None:
    rising = Rising[float](most=10)
    for number in range(100):
        rising.of((str(number),), 1.0)
        rising.of(("stays",), number)
    assert len(rising._seen) == 10
    assert rising.of(("stays",), 0.0) == 99
