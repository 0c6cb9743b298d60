"""What all tests share: one Spark session for the whole run, and one engine for each execution."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.services import artifacts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheos import Engine

SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.pyspark.python": sys.executable,
    "spark.pyspark.driver.python": sys.executable,
}


def java_is_missing() -> bool:
    home = os.environ.get("JAVA_HOME")
    return not (home and Path(home, "bin", "java").exists()) and shutil.which("java") is None


pytest_plugins = ["tests.services.certificates", "tests.services.kafka", "tests.services.mosquitto"]


def pytest_report_header() -> str:
    try:
        return artifacts.connector().note
    except artifacts.Missing as missing:
        return f"without Kafka: {missing}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark session of the run: two cores, no web pages, all it writes in a temporary folder."""
    if java_is_missing():
        pytest.skip("Spark needs Java 17 or 21, and there is none here")
    from pyspark.sql import SparkSession

    from rheos.execute.session import end_jvm, light_spark_home

    # One that an engine of an earlier test has left is without the connector for Kafka.
    end_jvm()

    # A source of streams in Python runs on the interpreter that the JVM finds in its environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("rheos tests")
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    builder = builder.config("spark.local.dir", str(folder / "local"))
    with suppress(artifacts.Missing):  # the tests that need it say so
        builder = builder.config("spark.jars", ",".join(artifacts.connector().jars))
    with light_spark_home(folder):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def local_engine() -> Iterator[Engine]:
    """An engine that answers in this process; whoever uses it clears it first."""
    from rheos import Engine

    with Engine(execution="local") as engine:
        yield engine


@pytest.fixture(scope="session")
def indexed_engine() -> Iterator[Engine]:
    """The same with an index of the default graph from the first query on."""
    from rheos import Engine

    with Engine(execution="local") as engine:
        engine.graphs.indexed.patience = 0
        yield engine


@pytest.fixture(scope="session")
def catalyst_engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine that answers through Spark SQL; whoever uses it clears it first."""
    from rheos import Engine

    with Engine(execution="catalyst", spark=spark) as engine:
        yield engine
