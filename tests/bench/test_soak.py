"""`rheos bench soak`: what grows is found, and a short run goes through."""

from __future__ import annotations

import pytest

from rheos_bench import Settings, soak, soaking
from rheos_bench.soaking import MEGABYTE, Look
from tests.conftest import java_is_missing


def look(at: float, driver: int, files: int = 100) -> Look:
    memory = {"driver": driver * MEGABYTE, "jvm": 500 * MEGABYTE, "workers": 300 * MEGABYTE}
    return Look(at, memory, 400, files, 10 * MEGABYTE, 9, 0.5, 0.9, 1.5, int(at) * 2000, int(at))


def test_what_grows_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    soak.report([look(at, 100 + at // 60, files=100 + at % 7) for at in range(0, 3600, 60)])
    out = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    # The first third is not judged, and the number of files goes up and down.
    assert "memory of the driver 120.0 MB 159.0 MB +60.0 MB +32.5% 5% missed" in out, out
    assert "memory of the JVM 500.0 MB 500.0 MB +0.0 MB +0.0% 10% ok" in out
    assert any(line.startswith("files ") and line.endswith(" ok") for line in out)
    assert "the longest lag 1.50 s" in out


def test_the_slope_is_that_of_all_that_was_seen() -> None:
    times = [0.0, 1.0, 2.0, 3.0]
    assert soak.slope(times, [1, 3, 5, 7]) == 2
    assert soak.slope(times, [1, 1, 1, 1]) == 0
    assert soak.change(times, [10, 11, 12, 13]) == pytest.approx(0.3)


def test_times_of_batches_are_read_out_of_the_buckets() -> None:
    before = [(0.1, 1.0), (0.5, 3.0), (1.0, 3.0), (float("inf"), 3.0)]
    after = [(0.1, 1.0), (0.5, 7.0), (1.0, 11.0), (float("inf"), 11.0)]
    buckets = soaking.difference(before, after)
    assert buckets == [(0.1, 0.0), (0.5, 4.0), (1.0, 8.0), (float("inf"), 8.0)]
    assert soaking.quantile(buckets, 0.5) == pytest.approx(0.5)
    assert soaking.quantile(buckets, 0.25) == pytest.approx(0.3)
    assert soaking.quantile([], 0.5) == 0
    assert soaking.quantile([(1.0, 0.0), (float("inf"), 4.0)], 0.95) == 1.0


@pytest.mark.slow
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    soak.run(Settings(quick=True, minutes=0.3))
    out = capsys.readouterr().out.splitlines()
    header = next(line for line in out if "driver" in line)
    assert header.split()[:4] == ["time", "driver", "JVM", "workers"]
    *_, last = (line.split() for line in out if line.strip().startswith("0:00:"))
    assert all(float(cell.replace(",", "")) > 0 for cell in last[1:8])
    assert int(last[-2].replace(",", "")) > 0
    assert int(last[-1]) > 2
    assert sum(line.startswith("memory of ") for line in out) == 3
