"""A standalone Spark cluster on this machine: one master and some workers of one core, each a process.

It comes from the installed PySpark and listens on 127.0.0.1 only.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rheos.errors import EnvironmentFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOST = "127.0.0.1"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
WORKER_MEMORY = "4g"
EXECUTOR_MEMORY = "3g"
PATIENCE = 60.0  # seconds for a process to start or to end

LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[SparkSession]:
    """A session on a new cluster of so many workers. Logs and scratch files go to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    processes: list[subprocess.Popen[bytes]] = []
    port = free_port()
    url = f"spark://{HOST}:{port}"
    # Without a handler, SIGTERM would end this process and leave the cluster running.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        processes.append(launch(folder / "master", MASTER, "--port", str(port)))
        wait_for_port(processes[0], port, folder / "master.log")
        for number in range(workers):
            place = folder / f"worker{number}"
            options = ["--cores", "1", "--memory", WORKER_MEMORY, "--work-dir", str(place), url]
            processes.append(launch(place, WORKER, *options))
        spark = connect(url, workers, folder)
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        for process in reversed(processes):
            end(process)
        signal.signal(signal.SIGTERM, before)


def launch(place: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """A master or a worker. Its log stands beside its folder."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(place),
        "SPARK_DAEMON_MEMORY": "512m",
        "PYSPARK_PYTHON": sys.executable,
    }
    place.mkdir()
    # `spark-class` becomes the JVM, so the id of the process is that of the master or worker itself.
    command = [str(home / "bin" / "spark-class"), name, "--host", HOST, "--webui-port", "0", *options]
    with place.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=place)


def connect(url: str, workers: int, folder: Path) -> SparkSession:
    """A session that waits for all workers before its first job."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING.format(log=folder / "driver.log"), encoding="utf-8")
    settings = {
        "spark.app.name": "rheos bench cluster",
        "spark.master": url,
        "spark.cores.max": str(workers),
        "spark.executor.cores": "1",
        "spark.executor.memory": EXECUTOR_MEMORY,
        "spark.default.parallelism": str(workers),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE:g}s",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
    }
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    gateway = SparkContext._gateway  # the JVM of a session that was stopped is used again
    if gateway is None:
        with (folder / "driver.log").open("ab") as log:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until a process listens."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise EnvironmentFault(
        f"the master of the cluster did not start: {log.read_text(errors='replace')[-2000:]}"
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here; a worker ends its executors."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
