"""Kafka: the answers of a query as messages of a topic, exactly once for readers of committed messages.

| part | |
|---|---|
| key | the name of the query or, with the option `key`, the value of a variable |
| value | a line of NDJSON or, with `format = "nquads"`, an element of a stream as N-Quads |
| headers | `rheos-query`, `rheos-at` (xsd:dateTime) and `rheos-id`: run, batch and number of the answer |

A micro-batch is one transaction. In the same transaction, the number of the batch is committed as the offset
of a consumer group that only this sink uses. So when a batch comes again after a crash, the broker knows
whether it has that batch. An old process that still runs cannot write any more: the new producer, which has
the same name, shuts it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rheos.addresses import Address
from rheos.answers.continuous import QueryInfo, time_text
from rheos.answers.typed import Parts
from rheos.errors import MissingExtra, RheosError
from rheos.sinks.base import Batch, Lines, Notes, Sink, Taken, Unreachable, filled

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

PATIENCE = 20.0  # seconds for an answer of the broker
_SILENT = "the broker does not take messages"
_PIECE = 10_000  # messages that are formatted at once


class KafkaSink(Sink):
    """A topic of Kafka. Options with a dot go to librdkafka, above all for TLS and SASL."""

    OPTIONS = ("key", "format", "security.", "sasl.", "ssl.", "client.", "compression.", "message.")

    def __init__(self, address: Address, options: Mapping[str, str]) -> None:
        try:
            import confluent_kafka  # noqa: F401
        except ImportError:
            raise MissingExtra("kafka:// needs the package confluent-kafka", "kafka") from None
        self._servers = ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.places
        )
        self._topic = address.path.strip("/")
        if not self._topic or "/" in self._topic:
            raise RheosError(f"kafka://{self._servers}{address.path}: expected kafka://host:port/topic")
        if address.query or address.fragment:
            raise RheosError(f"kafka://{self._servers}/{self._topic}: options do not stand in the address")
        self._lines = Lines(options.get("format", "ndjson"))
        self._key = options.get("key", "").removeprefix("?") or None
        self._options = {name: value for name, value in options.items() if "." in name}
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._last = -1  # the last batch that the broker has

    def check(self, query: QueryInfo) -> None:
        self._lines.check(query)
        if self._key is not None and self._key not in query.columns:
            has = ", ".join(query.columns)
            raise RheosError(f"{query.name} has no ?{self._key} to be the key of messages; it has {has}")

    def open(self, run: str, query: str, notes: Notes) -> None:
        from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

        topic = filled(self._topic, query, "")
        digest = hashlib.blake2b(f"{query} {topic}".encode(), digest_size=8).hexdigest()
        name = f"rheos-{run}-{digest}"
        common: dict[str, Any] = {"bootstrap.servers": self._servers, **self._options}
        # librdkafka logs nothing. Its last error becomes part of the exception that ends the attempt.
        common |= {"log_level": 0, "error_cb": self._note_error}
        self._trouble = ""
        try:
            self._producer = Producer({**common, "transactional.id": name, "enable.idempotence": True})
            # This also aborts a transaction that an earlier process has begun and not committed.
            self._producer.init_transactions(PATIENCE)
            self._consumer = Consumer({**common, "group.id": name, "enable.auto.commit": False})
            [found] = self._consumer.committed([TopicPartition(topic, 0)], timeout=PATIENCE)
        except (KafkaException, ValueError) as error:
            raise self._unreachable(error) from error
        if found.error is not None:
            raise Unreachable(str(found.error))
        self._last = -1 if found.offset < 0 else found.offset - 1
        self._named = topic

    def take(self, batch: Batch, taken: Taken) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        if batch.number <= self._last:
            return  # it was committed just before the process ended
        assert self._producer is not None
        assert self._consumer is not None
        try:
            self._producer.begin_transaction()
            self._produce(self._producer, batch)
            mark = TopicPartition(self._named, 0, batch.number + 1)
            group = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction([mark], group, PATIENCE)
            self._producer.commit_transaction(PATIENCE)
        except (KafkaException, BufferError) as error:
            # When the sink is opened again, it asks the broker whether the batch was committed after all.
            raise self._unreachable(error) from error
        self._last = batch.number

    def _produce(self, producer: Producer, batch: Batch) -> None:
        from confluent_kafka import KafkaException

        failures: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failures.append(error)

        name = batch.query.name.encode()
        for start in range(0, len(batch), _PIECE):
            table = batch.table.slice(start, _PIECE)
            values = self._lines.of(batch.query, table)
            times = table.column(1).to_pylist()
            keys = [name] * len(values) if self._key is None else self._keys(batch.query, table)
            for place, (key, value, at) in enumerate(zip(keys, values, times, strict=True), start):
                headers = {"rheos-query": name, "rheos-at": time_text(at), "rheos-id": batch.name(place)}
                self._send(producer, value.encode(), key, headers, delivered)
        left = producer.flush(PATIENCE)
        if failures or left:
            raise self._unreachable(KafkaException(failures[0]) if failures else TimeoutError(_SILENT))

    def _send(self, producer: Producer, value: bytes, key: Any, headers: Any, delivered: Any) -> None:
        while True:
            try:
                producer.produce(self._named, value, key, headers=headers, on_delivery=delivered)
                producer.poll(0)
                return
            except BufferError:  # the queue is full: earlier messages must go out first
                if not producer.poll(PATIENCE):
                    raise

    def _keys(self, query: QueryInfo, table: Any) -> list[bytes | None]:
        column = table.column(query.times + query.columns.index(str(self._key)))
        texts = Parts.of(column.cast("large_string")).texts().to_pylist()
        return [None if text is None else text.encode() for text in texts]

    def _note_error(self, error: Any) -> None:
        self._trouble = str(error.str())

    def _unreachable(self, error: BaseException) -> Unreachable:
        found = error.args[0] if error.args else error
        reason = found.str() if hasattr(found, "str") else str(found)
        told = self._trouble.partition(": ")[2] or self._trouble
        return Unreachable(f"{reason} ({told})" if told else reason)

    def close(self) -> None:
        producer, self._producer = self._producer, None
        consumer, self._consumer = self._consumer, None
        if producer is not None:
            producer.purge()
        if consumer is not None:
            consumer.close()
