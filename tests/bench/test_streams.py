"""The generated stream, the naive loop beside it, and how memory is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from rheos.errors import EvaluationError
from rheos.syntax import parse
from rheos_bench import growth, naive, processes, streams
from rheos_bench.passages import COUNT, JOIN, Window, different
from rheos_bench.report import percentile
from rheos_bench.watched import watched


def test_so_many_elements_a_second_in_order() -> None:
    lines = list(streams.lines(2500))
    assert len(lines) == len(set(lines)) == 2500
    times = [line.split('"')[1] for line in lines]
    assert times == sorted(set(times))
    assert (times[0], times[999], times[-1]) == (
        "2026-01-01T00:00:00.001000Z",
        "2026-01-01T00:00:01.000000Z",
        "2026-01-01T00:00:02.500000Z",
    )
    assert len({line.split()[2] for line in lines}) == streams.GATES


def test_the_same_seed_gives_the_same_stream() -> None:
    assert list(streams.lines(100, seed=1)) == list(streams.lines(100, seed=1))
    assert list(streams.lines(100, seed=1)) != list(streams.lines(100, seed=2))


def test_the_static_graph_is_right_and_of_its_size() -> None:
    triples = set(ox.parse("".join(streams.static_lines()), format=ox.RdfFormat.N_TRIPLES))
    assert len(triples) == streams.STATIC_TRIPLES


def test_the_queries_differ_and_are_c_sparql() -> None:
    questions = different(100)
    assert len({question.plain for question in questions}) == 100
    for at, question in enumerate([COUNT, JOIN, *questions]):
        assert parse(question.over(Window(10, 1), f"q{at}"), "auto").streams


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    stream = streams.write_stream(tmp_path / "stream.nq", 45_000)
    return stream, streams.write_static(tmp_path / "static.nt")


@pytest.mark.parametrize(
    ("window", "instants", "passages"),
    # Instants at 10 s to 50 s; the last window is the first at or after the last element, of 45 s.
    [(Window(10, 10), 5, 45_000), (Window(20, 10), 5, 10_000 + 3 * 20_000 + 15_000)],
)
def test_the_naive_loop_answers_every_window(
    files: tuple[Path, Path], window: Window, instants: int, passages: int
) -> None:
    everything = "SELECT ?passage { ?passage <http://example.org/vocabulary#through> ?gate }"
    loop = naive.loop(*files, [everything, COUNT.plain], window)
    assert (loop.triples, loop.instants) == (45_000, instants)
    assert loop.rows == passages + instants * streams.GATES


def test_the_naive_loop_stops_when_its_time_is_over(files: tuple[Path, Path]) -> None:
    loop = naive.loop(*files, [JOIN.plain], Window(10, 10), seconds=0)
    assert loop.instants == 0
    assert loop.triples < 45_000


def test_percentiles() -> None:
    values = [value / 100 for value in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile([3.0], 0.95)) == (0.5, 0.95, 3.0)
    with pytest.raises(EvaluationError, match="no answer"):
        percentile([], 0.5)


def test_a_command_that_fails_is_told_of() -> None:
    with pytest.raises(EvaluationError, match="no such thing"):
        watched([sys.executable, "-c", "import sys; sys.exit('no such thing')"])


def test_memory_is_watched_between_the_first_answer_and_the_last() -> None:
    script = """
import time
time.sleep(0.5)
block = bytearray(b'x' * 60_000_000)
print('first', flush=True)
time.sleep(1.5)
print('last', flush=True)
del block
time.sleep(0.5)
"""
    seen = watched([sys.executable, "-c", script], keep=1)
    sizes = [size for _, size in seen.between_answers]
    assert len(sizes) >= 3
    assert min(sizes) > 60_000_000
    assert seen.peak.total() == max(size for _, size in seen.samples)
    assert seen.last == [b"last\n"]
    assert seen.seconds > 2.5


def test_memory_of_a_process_and_its_children() -> None:
    own = processes.memory(os.getpid()).total()
    script = "import sys; block = bytearray(50_000_000); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with_child = processes.memory(os.getpid()).total()
        alone = processes.memory(child.pid).total()
        child.communicate()
    assert alone > 50_000_000
    assert with_child - own > 45_000_000


def test_fifths_of_a_run() -> None:
    samples = [(10.0 + at, at) for at in range(11)]
    assert growth.parts(samples) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9, 10]]
    with pytest.raises(EvaluationError, match="too short"):
        growth.parts(samples[:3])
