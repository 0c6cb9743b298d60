"""Runs that are killed (kill -9) at random moments and started again: what they wrote, taken together, is
to the byte what an undisturbed run writes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import java_is_missing

RUNS, KILLS = 2, 5  # ten kills in all
TYPE = "http://www.w3.org/2001/XMLSchema#dateTime"
SECONDS = 400

QUERIES = {
    "counts.rq": """REGISTER QUERY counts AS PREFIX : <http://ex/>
        SELECT ?r (COUNT(*) AS ?n) FROM STREAM <http://ex/s> [RANGE 30s STEP 5s]
        WHERE { ?s :observes ?r . ?r :in ?h } GROUP BY ?r""",
    "last.rq": """REGISTER QUERY last AS PREFIX : <http://ex/>
        SELECT ?s ?r FROM STREAM <http://ex/s> [RANGE TRIPLES 3 STEP 2] WHERE { ?s :observes ?r }""",
    "busy.rq": """REGISTER STREAM busy AS PREFIX : <http://ex/>
        CONSTRUCT { ?r :saw ?s } FROM STREAM <http://ex/s> [RANGE 10s STEP 10s] WHERE { ?s :observes ?r }""",
    "reads.rq": """REGISTER QUERY reads AS PREFIX : <http://ex/>
        SELECT ?s (COUNT(*) AS ?n) FROM STREAM <http://localhost/busy> [RANGE 60s STEP 20s]
        WHERE { ?r :saw ?s } GROUP BY ?s""",
}


def elements(chance: random.Random) -> str:
    """Elements with equal times, some late, and lines that are no elements."""
    lines = []
    for second in range(SECONDS):
        for _ in range(chance.randrange(4)):
            moment = max(0, second - (chance.random() < 0.1) * 7)
            time = f"2026-01-01T00:{moment // 60:02}:{moment % 60:02}Z"
            room, sensor = chance.randrange(5), chance.randrange(9)
            lines.append(
                f'<http://ex/s{sensor}> <http://ex/observes> <http://ex/r{room}> "{time}"^^<{TYPE}> .\n'
            )
        if chance.random() < 0.02:
            lines.append(f"this is no element {second}\n")
    return "".join(lines)


class Command:
    """The same command, again and again, in one folder."""

    def __init__(self, folder: Path, *more: str, stream: str) -> None:
        self.folder = folder
        folder.mkdir()
        for name, text in QUERIES.items():
            (folder / name).write_text(text)
        (folder / "houses.ttl").write_text("@prefix : <http://ex/> . :r0 :in :h . :r1 :in :h . :r3 :in :k .")
        (folder / "s.nq").write_text(stream)
        self.arguments = [sys.executable, "-m", "rheos", "run", *QUERIES, "--format", "ndjson", *more]
        self.arguments += ["--stream", "http://ex/s=s.nq", "--data", "houses.ttl", "--dead-letters", "dead"]
        self.arguments += ["--lateness", "2s", "--batch-size", "3000"]

    def start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "out").open("ab") as out, (self.folder / "err").open("ab") as err:
            return subprocess.Popen(
                self.arguments, cwd=self.folder, stdout=out, stderr=err, start_new_session=True
            )

    def batches(self) -> int:
        return max((int(path.stem) for path in (self.folder / "dir" / "batches").glob("*.json")), default=-1)

    def written(self, name: str) -> bytes:
        """What is in a file; dead letters name the stream's file with its folder, which differs."""
        path = self.folder / name
        return path.read_bytes().replace(os.fsencode(self.folder), b"") if path.exists() else b""


def killed_again_and_again(folder: Path, stream: str, chance: random.Random) -> Command:
    """A run that was killed KILLS times, each time somewhere after a batch of that life had been done, and
    then left in peace until its end."""
    killed = Command(folder, "--checkpoint", "dir", stream=stream)
    for _ in range(KILLS):
        before = killed.batches()
        process = killed.start()
        deadline = time.monotonic() + 300
        while process.poll() is None and killed.batches() == before:
            assert time.monotonic() < deadline, killed.written("err")
            time.sleep(0.01)
        time.sleep(chance.choice([0, 0.01, 0.05, chance.random()]))
        assert process.poll() is None, "the run was over before it was killed often enough"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert killed.start().wait(300) == 0, killed.written("err")
    return killed


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(java_is_missing(), reason="Spark needs Java 17 or 21, and there is none here")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    chance = random.Random(7)
    stream = elements(chance)
    chances = [random.Random(chance.random()) for _ in range(RUNS)]
    with ThreadPoolExecutor(RUNS) as pool:  # most of a life is the start of Spark, which leaves a core free
        runs = [
            pool.submit(killed_again_and_again, tmp_path / f"killed{number}", stream, its_chance)
            for number, its_chance in enumerate(chances)
        ]
        undisturbed = Command(tmp_path / "undisturbed", stream=stream)
        assert undisturbed.start().wait(300) == 0, undisturbed.written("err")
    assert len(undisturbed.written("dead").splitlines()) > 20
    for run in runs:
        assert run.result().written("out") == undisturbed.written("out")
        assert run.result().written("dead") == undisturbed.written("dead")

    # And once more, when there is nothing left to do.
    killed = runs[0].result()
    assert killed.start().wait(300) == 0
    assert killed.written("out") == undisturbed.written("out")
