"""The report: units, verdicts and plain tables."""

from __future__ import annotations

import pytest

from rheos_bench.report import Measured, duration, table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-5, "20 µs"), (0.0123, "12.3 ms"), (0.25, "250 ms"), (1.5, "1.50 s"), (61, "61.00 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_verdicts() -> None:
    assert Measured("start", 1.4, target=1.5).verdict == "ok"
    assert Measured("start", 1.6, target=1.5).cells == ["start", "1.60 s", "1.50 s", "missed"]


def test_a_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    table(["query", "rows"], [["star", "5"], ["chain join", "1,000"]])
    assert capsys.readouterr().out.splitlines() == [
        "query        rows",
        "----------  -----",
        "star            5",
        "chain join  1,000",
    ]
