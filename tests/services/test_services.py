"""The brokers that other tests rely on are real: they keep what they took when they are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.services import artifacts
from tests.services.artifacts import Connector
from tests.services.kafka import Kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_messages_survive_a_broker_that_is_killed(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.topic(spark, partitions=3)
    kafka.write(spark, topic, [(0, b"a"), (2, b"b"), (0, b"c")])
    kafka.kill()
    kafka.start()
    found = [(row["partition"], row["value"]) for row in kafka.read(spark, topic)]
    assert [(p, bytes(v)) for p, v in found] == [(0, b"a"), (0, b"c"), (2, b"b")]


def test_a_stand_in_for_the_connector_says_so() -> None:
    assert "stand-in" in Connector("folder", "4.2.0", "4.3.0").note
    assert "stand-in" not in Connector("folder", "4.3.0", "4.3.0").note


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(artifacts.Missing, match="make services"):
        artifacts.broker()
