"""Spark sessions for the engine: a session with our settings, started here or derived from the caller's.

A session that is started here is local: all cores, UTC, no web UI, no ports beyond 127.0.0.1, nothing on
standard error, no files in the working directory. The caller's session does not change: the engine works in a
sibling of it (`newSession`), which shares the cluster and the cached data but not the settings or the views.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheos.errors import EnvironmentFault
from rheos.execute import archive
from rheos.folders import cache_folder
from rheos.spark import SQL_SETTINGS, adopt, in_tasks, map_in_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

JAVA_VERSIONS = "17 or 21"
_OLDEST_JAVA = 17
_INSTALL = (
    "install it with `sudo apt install openjdk-17-jre-headless` (Debian, Ubuntu) or "
    "`brew install openjdk@17` (macOS), or set JAVA_HOME"
)

# At first, the JVM's second compiler costs more than it gains. Until the first answer it took, in seconds of
# processor time (busy machine, medians of three): 25 with the JVM's defaults, 15 if that compiler starts
# later, 13 without it and with the simplest garbage collector. Without it, heavy joins stay slower.
_LASTING_JAVA = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=120000",
)
_QUICK_JAVA = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_LEAST_HEAP = 1024
_MOST_HEAP = 16 * 1024

_APP_NAME = "rheos"
_LOCAL_SETTINGS = {
    "spark.app.name": _APP_NAME,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
    # Nobody looks at jobs that have ended. Spark would keep a thousand of them, with their plans.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    # Python workers are forked from a process that has already imported all modules that they need.
    "spark.python.daemon.module": "rheos.runtime.worker.daemon",
}

# A streaming query plans a new job for every batch, which is too small to be worth compiling.
STREAM_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# The logs of a streaming query are small files. For each one on the driver's disk, Spark would start
# processes (chmod, readlink) and write another file with a checksum.
LOCAL_LOG_SETTINGS = {
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
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

# Names a folder with the jars of Spark's connector for Kafka, for machines that cannot reach Maven Central.
KAFKA_JARS = "RHEOS_KAFKA_JARS"
KAFKA_HINT = f"or {KAFKA_JARS} names a folder with its jars"

_lock = threading.Lock()
_own: SparkContext | None = None
_users = 0
# The gateway to the JVM that was launched with the connector for Kafka on its class path.
_with_kafka: Any = None


def start(cores: int | None = None, *, quick: bool = False, kafka: bool = False) -> SparkSession:
    """A session of the process's own local Spark, which is started if it does not run.

    With `kafka`, it is started with the connector for Kafka. `quick` is for a single query: the first answer
    comes sooner, but long and heavy work takes longer. Every call returns a session with views and settings
    of its own; `stop` it when it is no longer needed. A process can have only one Spark: if it has one that
    was not started here, the session is a sibling there.
    """
    global _own, _users
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _lock:
        active = SparkContext._active_spark_context
        if active is not None and active is not _own:
            return adopt(SparkSession(active))
        if active is None:
            check_java()
            _own, _users = _launch(cores or os.cpu_count() or 1, quick, kafka), 0
        _users += 1
        assert _own is not None
        return SparkSession(_own).newSession()


def stop(spark: SparkSession) -> None:
    """Give back a session that `start` returned. After the last one, our Spark is stopped."""
    global _own, _users
    with _lock:
        if _own is None or spark.sparkContext is not _own:
            return
        _users -= 1
        if _users <= 0:
            _own.stop()
            _own = None


def end_jvm() -> None:
    """End the JVM of a Spark that was stopped, so that the next one starts with a class path of its own."""
    from pyspark import SparkContext

    gateway, process = SparkContext._gateway, getattr(SparkContext._gateway, "proc", None)
    if gateway is None or SparkContext._active_spark_context is not None:
        return
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    if process is not None:
        process.stdin.close()  # the JVM ends when nobody can write to it any more
        process.wait()


def is_local(spark: SparkSession) -> bool:
    """Whether Spark runs in local mode, so that all tasks run on the driver's machine."""
    return (spark.sparkContext.master or "").startswith("local")


@contextmanager
def set_for(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session while the block runs. A streaming query that is started in it keeps them."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)


def warm_up(spark: SparkSession, *, frames: bool) -> None:
    """Start a Python worker, which takes a second, in the background before the first batch needs it.

    With `frames`, it is a worker for DataFrames, otherwise one for RDDs: Spark has separate workers for
    these.
    """

    def same(rows: Any) -> Any:
        return rows

    if frames:
        work = map_in_arrow(spark.range(1), same, "id LONG").toArrow
    else:
        work = in_tasks(spark.sparkContext, [0], same).collect

    def warm() -> None:
        with suppress(Exception):  # the first batch will fail with the same error, and report it
            work()

    threading.Thread(target=warm, daemon=True, name="rheos-warm-up").start()


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame, without a change of the active session.

    PySpark would leave this session active in the thread, and a later engine would look there for its data
    sources.
    """
    from pyspark.sql import SparkSession

    jvm, before = spark.sparkContext._jvm, SparkSession.getActiveSession()
    assert jvm is not None
    try:
        return spark.createDataFrame(table)
    finally:
        if before is None:
            jvm.org.apache.spark.sql.classic.SparkSession.clearActiveSession()
        else:
            jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(before._jsparkSession)
        SparkSession._activeSession = before


def check_java() -> None:
    """Raise an EnvironmentFault that says how to get Java, if there is none or it is too old."""
    home, java = os.environ.get("JAVA_HOME"), _java()
    if java is None or not java.exists():
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "no `java` was found"
        raise EnvironmentFault(f"Spark needs Java {JAVA_VERSIONS}, and {where}: {_INSTALL}")
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"{java} cannot be run ({error}): {_INSTALL}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    if version and int(version[1]) < _OLDEST_JAVA:
        raise EnvironmentFault(f"Spark needs Java {JAVA_VERSIONS}; {java} is Java {version[1]}: {_INSTALL}")


def _java() -> Path | None:
    """The program that a JVM is started with."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return None if found is None else Path(found)


def kafka_coordinates() -> str:
    """The Maven coordinates of Spark's connector for Kafka, in the version of the installed Spark."""
    import pyspark

    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def kafka_settings() -> dict[str, str]:
    """The settings by which our own Spark finds the connector.

    It comes from the folder that the user names, or Spark fetches it from Maven Central into the user's
    cache.
    """
    folder = os.environ.get(KAFKA_JARS)
    if folder:
        jars = sorted(str(jar.absolute()) for jar in Path(folder).glob("*.jar"))
        if not jars:
            raise EnvironmentFault(f"{KAFKA_JARS} is {folder}, but there are no jars in it")
        return {"spark.jars": ",".join(jars)}
    return {"spark.jars.packages": kafka_coordinates(), "spark.jars.ivy": str(cache_folder() / "ivy")}


def _launch(cores: int, quick: bool, kafka: bool) -> SparkContext:
    global _with_kafka
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    home = Path(tempfile.mkdtemp(prefix="rheos-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    installed, java = _installed_spark(), _java()
    place = archive.folder_of(installed, java) if installed and java else None
    log = home / "spark.log"
    logging = home / "log4j2.properties"
    logging.write_text(_LOGGING.format(log=log))
    settings = {
        **_LOCAL_SETTINGS,
        **SQL_SETTINGS,
        **(kafka_settings() if kafka else {}),
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home),
        "spark.driver.memory": f"{_heap_megabytes()}m",
        "spark.driver.extraJavaOptions": " ".join(
            [
                f"-Dlog4j2.configurationFile={logging.as_uri()}",
                # A full heap would make Spark hang instead of fail.
                "-XX:+ExitOnOutOfMemoryError",
                *(_QUICK_JAVA if quick else _LASTING_JAVA),
                *(archive.options(place, archive.QUICK if quick else archive.LASTING) if place else ()),
            ]
        ),
    }
    # The JVM of a Spark that was stopped before is used again, if it has what is needed.
    if kafka and SparkContext._gateway is not _with_kafka:
        end_jvm()
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    try:
        gateway = SparkContext._gateway
        if gateway is None:
            # When Spark asks a streaming source for its offsets, it takes the interpreter from this variable.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            with log.open("ab") as errors, light_spark_home(place or home):
                streams = {"stderr": errors, "stdout": errors}
                gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
            _with_kafka = gateway if kafka else None
        with _own_interrupts():
            context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, OSError) as error:
        if kafka and "unresolved dependency" in log.read_text(errors="replace"):
            raise EnvironmentFault(
                f"Spark's connector for Kafka, {kafka_coordinates()}, could not be fetched from Maven "
                f"Central: it is not there, or out of reach; {KAFKA_HINT}"
            ) from None
        raise EnvironmentFault(f"Spark did not start: {_last_line(log) or error}") from None
    # PySpark takes the interpreter of the workers from here, not from spark.pyspark.python.
    context.pythonExec = sys.executable
    return context


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler that a command has set for Ctrl-C. That of PySpark asks the JVM to cancel jobs, also
    when the interrupted code is just asking it something, and then an error is printed."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        main = threading.current_thread() is threading.main_thread()
        if main and handler not in (None, signal.default_int_handler):
            signal.signal(signal.SIGINT, handler)


@contextmanager
def light_spark_home(folder: Path) -> Iterator[None]:
    """Give a JVM that is started in this block a SPARK_HOME without the zipped copy of PySpark.

    The JVM would put that zip before the installed package. Every Python process that Spark starts compiles
    the modules of a zip anew. That takes as long as everything else in the start of a streaming query, and a
    third of a cold start.
    """
    installed = _installed_spark()
    if installed is None:
        yield
        return
    light = folder / "home"
    try:
        light.mkdir(exist_ok=True)
        for part in ("bin", "jars"):
            with suppress(FileExistsError):
                (light / part).symlink_to(installed / part, target_is_directory=True)
    except OSError:  # a file system without links
        yield
        return
    os.environ["SPARK_HOME"] = str(light)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _installed_spark() -> Path | None:
    """The folder of the PySpark package of this interpreter; None if another Spark was chosen."""
    import pyspark

    package = Path(pyspark.__file__).parent
    own = {Path(folder).resolve() for folder in site.getsitepackages()}
    if "SPARK_HOME" in os.environ or package.parent.resolve() not in own or not (package / "jars").is_dir():
        return None
    return package


def _heap_megabytes() -> int:
    """Half of the machine's memory, within limits; the JVM takes it only as needed."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError, AttributeError):
        return _LEAST_HEAP
    return max(_LEAST_HEAP, min(total // 2, _MOST_HEAP))


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
