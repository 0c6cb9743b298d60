"""A real Kafka broker in KRaft mode, one node on 127.0.0.1, for tests and benchmarks.

    from tests.services.kafka import kafka  # a fixture: `kafka.url`, `kafka.topic(3)`, `kafka.kill()`

Topics are made, written and read through the JVM of Spark: no other client is needed.
"""

from __future__ import annotations

import base64
import itertools
import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.services import artifacts
from tests.services.processes import HOST, end, free_port, kill, start, wait_for_port

_CONFIGURATION = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@dataclass
class Kafka:
    """A broker. It keeps its port and its data when it is killed and started again."""

    folder: Path
    jars: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    def url(self, topic: str, **parameters: str) -> str:
        """The topic as a source of rheos."""
        asked = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"kafka://{self.servers}/{topic}" + (f"?{asked}" if asked else "")

    def start(self) -> None:
        log = self.folder / "kafka.log"
        self._process = start(
            [*self._java(), "-Xmx512m", "kafka.Kafka", str(self.folder / "server.properties")], log
        )
        wait_for_port(self.port, self._process, log)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        kill(self._process)

    def stop(self) -> None:
        if self._process is not None:
            end(self._process)

    def format(self, controller: int) -> None:
        configuration = self.folder / "server.properties"
        told = {"host": HOST, "port": self.port, "controller": controller, "data": self.folder / "data"}
        configuration.write_text(_CONFIGURATION.format(**told))
        command = [*self._java(), "kafka.tools.StorageTool", "format", f"--cluster-id={_cluster_id()}"]
        subprocess.run([*command, "-c", str(configuration)], check=True, capture_output=True, timeout=120)

    def _java(self) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home, "bin", "java")) if home else "java"
        return [java, "-XX:TieredStopAtLevel=1", "-cp", f"{self.jars}/*"]

    # --- topics, through Spark's JVM -----------------------------------------------------------------

    def topic(self, spark: Any, partitions: int = 1, name: str | None = None) -> str:
        """Make a topic of so many partitions; its name."""
        name = name or f"topic-{next(self._names)}-{uuid.uuid4().hex[:6]}"
        jvm = spark.sparkContext._jvm
        optional, one = jvm.java.util.Optional, jvm.java.util.Collections.singletonList
        new = jvm.org.apache.kafka.clients.admin.NewTopic(name, optional.of(partitions), optional.empty())
        with self._admin(spark) as admin:
            admin.createTopics(one(new)).all().get()
        return name

    def widen(self, spark: Any, topic: str, partitions: int) -> None:
        """Give a topic more partitions, so that it has so many."""
        jvm = spark.sparkContext._jvm
        wider = jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        with self._admin(spark) as admin:
            admin.createPartitions(jvm.java.util.Collections.singletonMap(topic, wider)).all().get()

    @contextmanager
    def _admin(self, spark: Any) -> Iterator[Any]:
        jvm = spark.sparkContext._jvm
        settings = jvm.java.util.HashMap()
        settings.put("bootstrap.servers", self.servers)
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            yield admin
        finally:
            admin.close()

    def write(
        self, spark: Any, topic: str, values: Sequence[tuple[int, bytes] | tuple[int, bytes, bytes]]
    ) -> None:
        """Write messages: each its partition and value, and perhaps its key. They keep their order."""
        rows = [(v[0], v[2] if len(v) > 2 else None, v[1]) for v in values]
        frame = spark.createDataFrame(rows, "partition INT, key BINARY, value BINARY").coalesce(1)
        # Retries of an idempotent producer do not change the order.
        options = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        frame.write.format("kafka").options(**options).option("kafka.enable.idempotence", "true").save()

    def read(self, spark: Any, topic: str, **options: str) -> list[Mapping[str, Any]]:
        """All messages of a topic, by partition and offset; as a read_committed consumer sees them."""
        frame = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", self.servers)
            .option("kafka.isolation.level", "read_committed")
            .options(**options)
            .option("subscribe", topic)
            .load()
        )
        return [row.asDict() for row in frame.orderBy("partition", "offset").collect()]


def _cluster_id() -> str:
    """16 bytes in the alphabet of base64 for URLs, as Kafka wants them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def new_broker(folder: Path) -> Kafka:
    """A broker with nothing in it, which is not started yet."""
    broker = Kafka(folder, artifacts.broker(), free_port())
    broker.format(free_port())
    return broker


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """The broker of the run. Whoever kills it starts it again."""
    try:
        artifacts.connector()
        broker = new_broker(tmp_path_factory.mktemp("kafka"))
    except artifacts.Missing as missing:
        pytest.skip(str(missing))
    broker.start()
    yield broker
    broker.stop()
