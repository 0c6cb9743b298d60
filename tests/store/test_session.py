"""Spark: the caller's settings stay as they are, an own session is quiet and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from rheos.errors import EnvironmentFault
from rheos.execute import session
from rheos.spark import SQL_SETTINGS, adopt, map_in_arrow
from tests.services import artifacts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_callers_session_is_left_alone(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name) for name in SQL_SETTINGS}
    sibling = adopt(spark)
    assert sibling is not spark
    assert sibling.sparkContext is spark.sparkContext
    assert {name: sibling.conf.get(name) for name in SQL_SETTINGS} == SQL_SETTINGS
    sibling.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    sibling.range(1).createOrReplaceTempView("ours")
    assert {name: spark.conf.get(name) for name in SQL_SETTINGS} == before
    assert not spark.catalog.tableExists("ours")


def test_where_spark_runs_already_it_is_used_and_not_stopped(spark: SparkSession) -> None:
    sibling = session.start()
    assert sibling.sparkContext is spark.sparkContext
    session.stop(sibling)
    assert spark.range(2).count() == 2


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_an_engine_that_was_given_the_session_of_another_does_not_stop_it() -> None:
    script = """
from rheos import Engine
with Engine() as owner:
    with Engine(owner.session()) as guest:
        guest.session()
    print(owner.session().range(2).count())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


def test_workers_run_on_this_interpreter(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    given = spark.sparkContext.pythonExec
    frame = map_in_arrow(adopt(spark).range(1), _interpreter, "python STRING")
    assert [row.python for row in frame.collect()] == [sys.executable]
    assert spark.sparkContext.pythonExec == given


def _interpreter(batches):  # type: ignore[no-untyped-def]
    import sys

    import pyarrow as pa

    for _ in batches:
        yield pa.record_batch({"python": [sys.executable]})


def test_workers_import_what_is_compiled_already(spark: SparkSession) -> None:
    frame = map_in_arrow(adopt(spark).range(1), _package, "package STRING")
    assert [row.package for row in frame.collect()] == [str(Path(pyspark.__file__))]


def _package(batches):  # type: ignore[no-untyped-def]
    import pyarrow as pa
    import pyspark

    for _ in batches:
        yield pa.record_batch({"package": [pyspark.__file__]})


def test_a_spark_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", "/elsewhere")
    with session.light_spark_home(tmp_path):
        assert os.environ["SPARK_HOME"] == "/elsewhere"
    monkeypatch.delenv("SPARK_HOME")
    with session.light_spark_home(tmp_path):
        assert not Path(os.environ["SPARK_HOME"], "python").exists()
        assert Path(os.environ["SPARK_HOME"], "bin", "spark-submit").exists()
    assert "SPARK_HOME" not in os.environ


OWN = """
import pathlib
import signal
from rheos.execute import session
from rheos.spark import SQL_SETTINGS

def interrupted(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupted)
first, second = session.start(), session.start()
assert signal.getsignal(signal.SIGINT) is interrupted
first.range(3).createOrReplaceTempView("numbers")
assert not second.catalog.tableExists("numbers")
session.stop(second)
assert first.table("numbers").count() == 3
settings = {name: first.conf.get(name) for name in SQL_SETTINGS}
assert settings == SQL_SETTINGS, settings
assert first.sparkContext.uiWebUrl is None
session.stop(first)
again = session.start()
assert again.range(3).count() == 3
print(sorted(path.name for path in pathlib.Path().iterdir()))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_an_own_session_is_quiet_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OWN], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)


AGAIN = """
from rheos.execute import session
from rheos.sources.kafka import check_connector

plain = session.start()
assert plain.range(3).count() == 3
session.stop(plain)
with_connector = session.start(kafka=True)
check_connector(with_connector)
jvm = with_connector.sparkContext._jvm
session.stop(with_connector)
again = session.start(kafka=True)
check_connector(again)
assert again.range(3).count() == 3
assert again.sparkContext._jvm is jvm
"""


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_spark_without_the_connector_for_kafka_can_be_followed_by_one_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        monkeypatch.setenv(session.KAFKA_JARS, artifacts.connector().folder)
    except artifacts.Missing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [sys.executable, "-c", AGAIN], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_where_java_is_missing_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        EnvironmentFault, match=r"Spark needs Java 17 or 21.*apt install.*brew install"
    ) as caught:
        session.check_java()
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentFault, match=r"JAVA_HOME is .*nowhere, but there is no bin/java"):
        session.check_java()


def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFault, match=r"Spark needs Java 17 or 21; .* is Java 8"):
        session.check_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    session.check_java()
