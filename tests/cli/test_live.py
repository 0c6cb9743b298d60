"""The live lines of `rheos run`, its summary, and its output when that cannot be written."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rheos.cli.live import figures, shown
from rheos.cli.options import RunFormat
from rheos.cli.place import Terminal, chosen_format, opened
from rheos.cli.run import summarise
from rheos.runtime.driver.metrics import Metrics, QueryMetrics, StreamMetrics

NEW_YEAR = 1_767_225_600_000_000
RUNNING = Metrics(
    streams={
        "http://ex/tolls": StreamMetrics(
            read=12_345, bad=1, late=2, event_time=NEW_YEAR + 500_000, rate=1000.4, lag=0.25
        ),
        "http://ex/[cams]": StreamMetrics(),
    },
    queries={
        "Q": QueryMetrics(instants=1, rows=200, milliseconds=31.6, execution="task"),
        "R": QueryMetrics(),
    },
)


def printed(metrics: Metrics) -> list[str]:
    console = Console(file=io.StringIO(), width=140)
    console.print(figures(metrics))
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_a_line_for_each_stream_and_each_query() -> None:
    assert printed(RUNNING) == [
        "http://ex/tolls 12,345 elements 1,000/s 2026-01-01T00:00:00.5Z 0.2 s behind 3 dead letters",
        "http://ex/[cams] 0 elements 0/s no time yet",
        "Q 1 instant 200 rows 32 ms task",
        "R 0 instants 0 rows",
    ]


def test_nothing_is_shown_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with shown(lambda: RUNNING, quiet=False) as above:
        assert above is None
    assert capfd.readouterr() == ("", "")


def test_the_summary_counts_what_no_query_saw(capsys: pytest.CaptureFixture[str]) -> None:
    summarise(RUNNING, None)
    assert capsys.readouterr().err == (
        "3 elements went to the dead letters: 1 bad, 2 late; --dead-letters FILE keeps them\n"
    )
    summarise(Metrics({"s": StreamMetrics(read=5, late=1)}), Path("dead.txt"))
    assert capsys.readouterr().err == ("1 element went to the dead letters: 1 late; they are in dead.txt\n")
    summarise(Metrics({"s": StreamMetrics(read=5)}), None)
    assert capsys.readouterr().err == ""


def test_an_output_can_be_led_above_the_figures_in_whole_lines() -> None:
    file = io.BytesIO()
    seen: list[bytes] = []
    output = Terminal(file)
    output.above = seen.append
    for piece in ("a\né".encode()[:3], "é\nb\nc".encode()[1:], b"\n"):
        assert output.write(piece) == len(piece)
    output.above = None
    output.write(b"below\n")
    assert (b"\n".join(seen).decode(), file.getvalue()) == ("a\né\nb\nc", b"below\n")


def test_an_output_writes_all_even_if_the_file_takes_little_at_once() -> None:
    class Slow(io.BytesIO):
        def write(self, data: object) -> int:
            return super().write(bytes(data)[:3])  # type: ignore[call-overload]

    file = Slow()
    Terminal(file).write(b"0123456789")
    assert file.getvalue() == b"0123456789"


def test_a_file_is_begun_anew_unless_a_run_goes_on(tmp_path: Path) -> None:
    path, checkpoint = tmp_path / "out.ndjson", tmp_path / "state"
    path.write_bytes(b"of another run")
    with opened(path, checkpoint) as output:
        output.write(b"first ")
    (checkpoint / "batches").mkdir(parents=True)
    (checkpoint / "batches" / "0.json").touch()
    with opened(path, checkpoint) as output:
        output.write(b"second")
    assert path.read_bytes() == b"first second"
    with opened(path, None):
        pass
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("asked", "output", "chosen"),
    [
        (None, None, "ndjson"),
        (RunFormat.csv, None, "csv"),
        (None, Path("a.csv"), "csv"),
        (None, Path("a.NQ"), "nquads"),
        (None, Path("a.trig"), "trig"),
        (None, Path("a.out"), "ndjson"),
        (RunFormat.ndjson, Path("a.csv"), "ndjson"),
    ],
)
def test_the_form(asked: RunFormat | None, output: Path | None, chosen: str) -> None:
    assert chosen_format(asked, output).value == chosen
