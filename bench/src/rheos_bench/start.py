"""`rheos bench start`: how long a user waits for the first answer of each command.

Every measurement is a new process, with files that are in the memory of the machine already.
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rheos.cli.progress import progress
from rheos.errors import EvaluationError
from rheos_bench import Settings, streams
from rheos_bench.passages import COUNT, Window
from rheos_bench.report import Measured, heading, machine, table

ELEMENTS = 5000
RUNS = 3
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Files:
    """A small file of RDF, a small stream, and queries on them."""

    folder: Path

    def made(self) -> Files:
        streams.write_static(self.folder / "city.nt", 1000)
        streams.write_stream(self.folder / "stream.nq", ELEMENTS)
        (self.folder / "once.rq").write_text("SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }")
        (self.folder / "count.rq").write_text(COUNT.over(Window(2, 1), "count"))
        (self.folder / "rheos.toml").write_text("port = 0\n[streams.readings]\npush = true\n")
        return self

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)


def run(settings: Settings) -> None:
    """Print how long each takes that the user asked for."""
    heading(machine())
    measurements: dict[str, tuple[str, float, Callable[[Files], float]]] = {
        "query": ("rheos query on a small file, all of it", 0.8, query),
        "run": ("rheos run on a small file, first answer", 6.0, first_answer),
        "serve": ("rheos serve, healthy", 6.0, healthy),
        "demo": ("rheos demo, first answers", 10.0, demo),
    }
    rows = []
    with tempfile.TemporaryDirectory(prefix="rheos-bench-") as folder:
        files = Files(Path(folder)).made()
        for name, (what, target, measure) in measurements.items():
            if settings.wants(name):
                with progress(what):
                    times = [measure(files) for _ in range(1 if settings.quick else RUNS)]
                rows.append(Measured(what, median(times), target).cells)
    table(["start", "time", "target", ""], rows)


def query(files: Files) -> float:
    began = time.perf_counter()
    with started("query", files["once.rq"], "--data", files["city.nt"]) as process:
        process.communicate(timeout=PATIENCE)
    return time.perf_counter() - began


def first_answer(files: Files) -> float:
    options = ["--stream", f"{streams.STREAM}={files['stream.nq']}", "--format", "ndjson", "--quiet"]
    return until_line("run", files["count.rq"], *options)


def demo(files: Files) -> float:
    return until_line("demo", "--for", "60s")


def until_line(*arguments: str) -> float:
    """The time until a command has written a line to standard output."""
    began = time.perf_counter()
    with started(*arguments) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise EvaluationError(f"rheos {arguments[0]} gave no answer")
        return time.perf_counter() - began


def healthy(files: Files) -> float:
    """The time until /health says that all is well."""
    # A folder of its own each time: a server goes on only at the address that it had.
    data = tempfile.mkdtemp(dir=files.folder)
    began = time.perf_counter()
    with started("serve", "--config", files["rheos.toml"], "--data-dir", data) as process:
        assert process.stderr is not None
        addresses = (re.search(rb"\"port\": (\d+)", line) for line in process.stderr)
        told = next(filter(None, addresses), None)
        if told is None:
            raise EvaluationError("rheos serve did not start")
        while time.perf_counter() - began < PATIENCE:
            connection = http.client.HTTPConnection("127.0.0.1", int(told[1]), timeout=PATIENCE)
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return time.perf_counter() - began
            time.sleep(0.02)
    raise EvaluationError("rheos serve was not healthy in time")


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of rheos, which is ended with the block."""
    command: Sequence[str] = [sys.executable, "-m", "rheos", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
