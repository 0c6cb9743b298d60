"""Kafka topics as streams, by Spark's own connector: a URL comes in, a DataFrame of chunks goes out.

    kafka://host:9092/topic?startingOffsets=earliest&group=rheos

Messages are decoded in the tasks that read them. Every partition of the topic is a partition of the stream,
with its own watermark. Spark's checkpoint holds the offsets; nothing is committed to Kafka. In a dead letter,
`place` is the topic and its partition, and `line` the offset of the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pyarrow as pa

from rheos.addresses import Allowed
from rheos.errors import EnvironmentFault, LoadError, RheosError
from rheos.execute.session import KAFKA_HINT, kafka_coordinates
from rheos.sources.ahead import HOUR, Ahead
from rheos.sources.chunks import Packed, SegmentWriter, judge
from rheos.sources.decoding import Decoder, Messages, RdfDecoder
from rheos.sources.frames import CLOCK, PARTITION, by_partition
from rheos.sources.lines import CHUNK_BYTES
from rheos.sources.reader import SCHEMA, row, segment_name
from rheos.spark import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEME = "kafka"
# The parameters of a URL, each with the option of Spark's connector that it sets.
PARAMETERS = {
    "group": "groupIdPrefix",
    "startingOffsets": "startingOffsets",
    "endingOffsets": "endingOffsets",
    "failOnDataLoss": "failOnDataLoss",
}
_VALUES = {
    "startingOffsets": ("earliest", "latest"),
    "endingOffsets": ("latest",),
    "failOnDataLoss": ("true", "false"),
}
# Options that Spark's connector sets itself, or forbids: with other values the offsets would not be Spark's.
_REFUSED = {"bootstrap.servers", "enable.auto.commit", "auto.offset.reset", "interceptor.classes"}
_REFUSED |= {"key.deserializer", "value.deserializer"}
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic as a stream; `stream` is the IRI of the stream as a term. `options` are those of Spark's
    connector. A `bounded` stream ends where its topic ended when the stream was first started; others never
    end."""

    servers: str
    topic: str
    stream: str
    blank_prefix: str
    decoder: Decoder
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets are among them
    bounded: bool = False
    ahead: int = HOUR

    def chunks(
        self, session: SparkSession, lateness: int, ahead: int | None, store: SegmentWriter, most: int
    ) -> DataFrame:
        """The topic as chunks of the stream, with at most about `most` messages in a batch."""
        from pyspark.sql import functions as sql

        reader = session.readStream.format("kafka").options(**self.options)
        reader = reader.option("kafka.bootstrap.servers", self.servers).option("subscribe", self.topic)
        if "maxOffsetsPerTrigger" not in self.options:
            reader = reader.option("maxOffsetsPerTrigger", str(most))
        frame = reader.name(source_name(self.stream)).load()
        # This time is the same for all rows of a batch, also if the batch is read again.
        clock = sql.unix_micros(sql.current_timestamp()).alias(CLOCK)
        columns = [sql.col("value"), sql.col("offset"), sql.unix_micros("timestamp").alias("time")]
        if not isinstance(self.decoder, RdfDecoder):
            columns.append(sql.col("key"))  # only a mapping can use the key
        numbers = sql.col("partition").cast("long").alias(PARTITION)
        tasks = Decode(self.stream, self.topic, self.blank_prefix, self.decoder, lateness, ahead, store)
        return map_in_arrow(frame.select(*columns, numbers, clock), tasks, SCHEMA)

    def partitions(self, session: SparkSession) -> list[int]:
        """The partitions of the topic, also those without messages: the stream waits for them."""
        with _admin(session, self) as admin:
            return admin.partitions(self.topic)

    def ends(self, session: SparkSession) -> dict[int, int]:
        """The present end of each partition: the offset behind its last message."""
        with _admin(session, self) as admin:
            return admin.ends(self.topic)


def source_name(stream: str) -> str:
    """The name of a stream's source in Spark's checkpoint, which may have letters and digits only."""
    return "kafka_" + stream.encode().hex()


def open_topic(
    url: str,
    stream: str,
    blank_prefix: str,
    decoder: Decoder,
    options: Mapping[str, str] | None = None,
    allowed: Allowed | None = None,
) -> Kafka:
    """The topic of a URL. `options` are settings of Kafka's own consumer (`security.protocol`,
    `sasl.jaas.config`, …). Secrets belong there, because the URL is shown in logs."""
    address = (allowed or Allowed()).check(url)
    topic = address.path.removeprefix("/")
    if not _TOPIC.fullmatch(topic) or address.fragment:
        raise LoadError("expected kafka://host:port/topic, with one topic", url)
    given = _parameters(address.query, url)
    bounded = given.pop("endingOffsets", None) is not None
    if bounded:
        # Without it, Spark would begin at the end, and there would be nothing to read.
        given.setdefault("startingOffsets", "earliest")
    chosen = {PARAMETERS[name]: value for name, value in given.items()}
    for name, value in (options or {}).items():
        plain = name.removeprefix("kafka.")
        if plain in _REFUSED:
            raise RheosError(f"the option {name} of a Kafka stream is set by the engine itself")
        chosen[f"kafka.{plain}"] = value
    servers = ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.places
    )
    return Kafka(servers, topic, stream, blank_prefix, decoder, chosen, bounded)


def _parameters(query: str, url: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in PARAMETERS:
            raise LoadError(f"unknown parameter {name!r}: there is {', '.join(PARAMETERS)}", url)
        if name in given:
            raise LoadError(f"the parameter {name} is given twice", url)
        allowed = _VALUES.get(name)
        if not value or (allowed is not None and value not in allowed):
            expected = " or ".join(allowed) if allowed else "a value"
            raise LoadError(f"the parameter {name} is {expected}, not {value!r}", url)
        given[name] = value
    return given


@dataclass(frozen=True, slots=True)
class Decode:
    """The work of the tasks: messages of one partition, in their order, become chunks of a few MB."""

    stream: str
    topic: str
    blank_prefix: str
    decoder: Decoder
    lateness: int
    ahead: int | None
    store: SegmentWriter

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        for number, (partition, rows) in enumerate(gathered(batches)):
            clock = rows.column(CLOCK)[0].as_py()
            messages = Messages.of(
                rows.column("value"),
                topic=pa.repeat(pa.scalar(self.topic), rows.num_rows),
                key=rows.column("key") if "key" in rows.schema.names else None,
                time=rows.column("time"),
                arrival=rows.column(CLOCK),
                line=rows.column("offset"),
            )
            chunk = self.decoder.decode(
                messages, f"{self.blank_prefix}{partition}_", f"{self.topic}/{partition}"
            )
            ahead = None if self.ahead is None else Ahead(clock, self.ahead)
            # The lines of elements are offsets already, so `lines` must not be counted.
            judged = judge(replace(chunk, partition=partition, lines=0), self.lateness, ahead)
            name = segment_name(self.stream, f"k{clock}", task, number)
            yield row(self.stream, task, number, False, Packed.of(judged, self.store, name))


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows of one partition in their order, about CHUNK_BYTES at once. Spark's batches are so small that to
    decode each of them by itself would take longer."""
    waiting: list[pa.RecordBatch] = []
    number, size = 0, 0
    for partition, rows in (part for batch in batches for part in by_partition(batch)):
        if waiting and (partition != number or size >= CHUNK_BYTES):
            yield number, _one(waiting)
            waiting, size = [], 0
        number, size = partition, size + rows.column("value").nbytes
        waiting.append(rows)
    if waiting:
        yield number, _one(waiting)


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    [whole] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


# --- what Kafka says of a topic ----------------------------------------------------------------------------


def check_connector(session: SparkSession) -> None:
    """Raise EnvironmentFault if a session is without Spark's connector for Kafka; it says how to get it."""
    jvm = session.sparkContext._jvm
    try:
        jvm.org.apache.spark.util.Utils.classForName(_PROVIDER, False, False)  # type: ignore[union-attr]
    except Exception:
        raise EnvironmentFault(
            f"this Spark session is without the connector for Kafka: make it with "
            f"spark.jars.packages={kafka_coordinates()}, or let the engine start its own; {KAFKA_HINT}"
        ) from None


@dataclass
class _admin:
    """Kafka's AdminClient in the JVM of Spark, where the connector brings it."""

    session: SparkSession
    kafka: Kafka
    _client: Any = None

    def __enter__(self) -> _admin:
        check_connector(self.session)
        jvm: Any = self.session.sparkContext._jvm
        settings = jvm.java.util.HashMap()
        for name, value in self.kafka.options.items():
            if name.startswith("kafka."):
                settings.put(name.removeprefix("kafka."), value)
        settings.put("bootstrap.servers", self.kafka.servers)
        with _told(self.kafka):
            self._client = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def partitions(self, topic: str) -> list[int]:
        jvm: Any = self.session.sparkContext._jvm
        with _told(self.kafka):
            found = self._client.describeTopics(jvm.java.util.Collections.singletonList(topic))
            described = found.allTopicNames().get().get(topic)
        return sorted(partition.partition() for partition in described.partitions())

    def ends(self, topic: str) -> dict[int, int]:
        jvm: Any = self.session.sparkContext._jvm
        admin, common = jvm.org.apache.kafka.clients.admin, jvm.org.apache.kafka.common
        numbers = self.partitions(topic)
        asked = jvm.java.util.HashMap()
        for number in numbers:
            asked.put(common.TopicPartition(topic, number), admin.OffsetSpec.latest())
        with _told(self.kafka):
            found = self._client.listOffsets(asked).all().get()
        return {number: found.get(common.TopicPartition(topic, number)).offset() for number in numbers}


class _told:
    """A block that asks Kafka. If Kafka does not answer, the error names the topic and the reason."""

    def __init__(self, kafka: Kafka) -> None:
        self.name = f"kafka://{kafka.servers}/{kafka.topic}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is not None and isinstance(error, Exception):
            raise LoadError(f"Kafka does not answer: {_reason(error)}", self.name) from None


def _reason(error: BaseException) -> str:
    """The message of the innermost exception of the JVM."""
    found = getattr(error, "java_exception", None)
    while found is not None and found.getCause() is not None:
        found = found.getCause()
    text = (found.getMessage() if found is not None else None) or str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def reached(offsets: Sequence[str | None], topic: str, ends: Mapping[int, int]) -> bool:
    """True if Spark has read a topic up to these ends, by the end offsets of Spark's sources. Messages cannot
    tell, because the last offsets of a topic may belong to no message."""
    read = [found[topic] for found in map(_offsets, offsets) if topic in found]
    return bool(read) and all(
        int(found.get(str(number), 0)) >= end for found in read for number, end in ends.items()
    )


def _offsets(text: str | None) -> dict[str, dict[str, int]]:
    """The offsets by topic and partition; empty if the text has the offsets of another kind of source."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) and all(isinstance(v, dict) for v in found.values()) else {}
