"""A Spark cluster of processes on 127.0.0.1: a master, and workers that do not share the driver's disk.

Each worker runs in its own mount namespace, with an empty file system in the place of the folders that only
the driver may see, and with a folder for temporary files that nobody else sees. Where namespaces are not
permitted, workers run without, and `apart` says so.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOST = "127.0.0.1"
SPARK = Path(pyspark.__file__).parent


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def namespaces_work() -> bool:
    """Whether this machine permits mount namespaces."""
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                           capture_output=True, check=False)  # fmt: skip
    return tried.returncode == 0


@dataclass
class Cluster:
    """A running cluster. `hidden` folders of the driver are empty for the workers, if `apart` is true."""

    url: str
    log: Path
    hidden: Sequence[Path]
    apart: bool
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, arguments: Sequence[str], *, apart: bool = False) -> subprocess.Popen[bytes]:
        command = [str(SPARK / "bin" / "spark-class"), *arguments]
        if apart and self.apart:
            steps = [f"mount -t tmpfs tmpfs {shlex.quote(str(path))}" for path in self.hidden]
            # The cache of the state store is among temporary files. Workers that saw that of the driver, or
            # that of each other, would find there what they could not read from the store.
            own = shlex.quote(str(self.hidden[0] / "tmp"))
            steps += [f"mkdir {own}", f"export TMPDIR={own}", f"exec {shlex.join(command)}"]
            command = ["unshare", "--mount", "sh", "-c", " && ".join(steps)]
        with (self.log / f"{name}.log").open("wb") as output:
            process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                env=self.environment,
                start_new_session=True,
                cwd="/",
            )
        self.processes.append(process)
        return process

    def worker(self, name: str, cores: int = 1, memory: str = "1g") -> subprocess.Popen[bytes]:
        arguments = ["org.apache.spark.deploy.worker.Worker", "--host", HOST, "--port", str(free_port())]
        arguments += ["--webui-port", "0", "--cores", str(cores), "--memory", memory]
        work = self.hidden[0] / f"work-{name}" if self.apart else self.log / f"work-{name}"
        arguments += ["--work-dir", str(work), self.url]
        return self.start(name, arguments, apart=True)

    def stop(self) -> None:
        for process in reversed(self.processes):
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process that was started here, with those that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                continue


@contextmanager
def cluster(
    log: Path,
    hidden: Sequence[Path],
    workers: int = 2,
    environment: dict[str, str] | None = None,
    memory: str = "1g",
) -> Iterator[Cluster]:
    """A master with so many workers of one core each."""
    port, apart = free_port(), namespaces_work()
    log.mkdir(parents=True, exist_ok=True)
    given = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1", **(environment or {})}
    made = Cluster(f"spark://{HOST}:{port}", log, hidden, apart, given)
    try:
        made.start("master", ["org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port),
                              "--webui-port", str(free_port())])  # fmt: skip
        wait_for(lambda: listening(port), "the master")
        for number in range(1, workers + 1):
            made.worker(f"worker-{number}", memory=memory)
        wait_for(
            lambda: (log / "master.log").read_text().count("Registering worker") >= workers, "the workers"
        )
        yield made
    finally:
        made.stop()


def listening(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((HOST, port)) == 0


def wait_for(ready: object, what: str, seconds: float = 60) -> None:
    assert callable(ready)
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not start within {seconds:g} s")
        time.sleep(0.1)


@contextmanager
def s3_server(log: Path) -> Iterator[str]:
    """An S3 server of its own; its address."""
    port = free_port()
    with (log / "s3.log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_for(lambda: listening(port), "the S3 server")
        yield f"http://{HOST}:{port}"
    finally:
        end(process)


def make_bucket(address: str, name: str) -> None:
    request = urllib.request.Request(f"{address}/{name}", method="PUT")
    urllib.request.urlopen(request).close()
