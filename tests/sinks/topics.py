"""Topics of Kafka as a consumer sees them that reads what is committed."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.services.kafka import Kafka

PATIENCE = 60.0


def new_topic(kafka: Kafka, partitions: int = 1) -> str:
    name = f"answers-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka.servers})
    for made in admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=PATIENCE).values():
        made.result(PATIENCE)
    return name


def committed(kafka: Kafka, topic: str) -> list[Any]:
    """All messages of a topic up to its end, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.servers,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found, left = [], set(partitions)
        while left:
            message = consumer.poll(PATIENCE)
            assert message is not None, "the broker does not answer"
            if message.error() is None:
                found.append(message)
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                left.discard(message.partition())
        return sorted(found, key=lambda message: (message.partition(), message.offset()))
    finally:
        consumer.close()
