"""Spark for the engine: nothing or the caller's session comes in, a session with our settings goes out.

An own session is local: all cores, UTC, no web UI, no ports beyond 127.0.0.1, nothing on standard error, no
files in the working directory. The caller's session is not touched: the engine works in a sibling of it
(`newSession`), which shares the cluster and the cached data but not the settings or the views.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rheos.errors import EnvironmentFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_VERSIONS = "17 or 21"
_OLDEST_JAVA = 17
_INSTALL = (
    "install it with `sudo apt install openjdk-17-jre-headless` (Debian, Ubuntu) or "
    "`brew install openjdk@17` (macOS), or set JAVA_HOME"
)

# Both kinds of session: plans are small and many, so no adaptive re-planning, and SPARQL's errors are NULLs.
SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.caseSensitive": "true",
}

_LOCAL_SETTINGS = {
    "spark.app.name": "rheos",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
}

_LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""

_starting = threading.Lock()


def start(cores: int | None = None) -> SparkSession:
    """The process's own local session; the same one again while it lives."""
    from pyspark.sql import SparkSession

    with _starting:
        active = SparkSession.getActiveSession()
        if active is not None and active.conf.get("spark.app.name", None) == "rheos":
            return active
        check_java()
        return _launch(cores or os.cpu_count() or 1)


def adopt(spark: SparkSession) -> SparkSession:
    """A sibling of the caller's session with the engine's settings; the caller's stay as they are."""
    session = spark.newSession()
    partitions = spark.sparkContext.defaultParallelism
    for name, value in {**SQL_SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}.items():
        session.conf.set(name, value)
    return session


def check_java() -> None:
    """Say how to get Java, where there is none or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "no `java` was found"
        raise EnvironmentFault(f"Spark needs Java {JAVA_VERSIONS}, and {where}: {_INSTALL}")
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"{java} cannot be run ({error}): {_INSTALL}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    if version and int(version[1]) < _OLDEST_JAVA:
        raise EnvironmentFault(f"Spark needs Java {JAVA_VERSIONS}; {java} is Java {version[1]}: {_INSTALL}")


def _launch(cores: int) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    home = Path(tempfile.mkdtemp(prefix="rheos-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    log = home / "spark.log"
    logging = home / "log4j2.properties"
    logging.write_text(_LOGGING.format(log=log))
    settings = {
        **_LOCAL_SETTINGS,
        **SQL_SETTINGS,
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home),
        "spark.driver.extraJavaOptions": _java_options(logging),
    }
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    with log.open("wb") as errors:
        try:
            gateway = launch_gateway(conf, {"stderr": errors, "stdout": errors})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
        except (PySparkException, OSError) as error:
            raise EnvironmentFault(f"Spark did not start: {_tail(log) or error}") from None
    # PySpark takes the interpreter of the workers from here, not from spark.pyspark.python.
    context.pythonExec = sys.executable
    return SparkSession(context)


def _java_options(logging: Path) -> str:
    return f"-Dlog4j2.configurationFile={logging.as_uri()}"


def _tail(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
