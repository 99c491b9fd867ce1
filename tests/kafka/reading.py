"""What a consumer of Kafka's own sees of a topic: nothing of ours takes part in it."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.record import NO_HEADERS
from tests.spark.harness.records import Rec


def read_committed(servers: str, topic: str) -> dict[int, list[Rec]]:
    """All committed records of a topic by partition, once no transaction is open any more."""
    with _Client(servers, "read_committed") as committed, _Client(servers, "read_uncommitted") as everything:
        places = everything.partitions(topic)
        ends = {place.partition: everything.end(place) for place in places}
        # The end of a transaction is in the log a moment after its producer has heard of it.
        deadline = time.monotonic() + 30
        while any(committed.end(place) < ends[place.partition] for place in places):
            assert time.monotonic() < deadline, f"a transaction on `{topic}` is still open"
            time.sleep(0.02)
        return committed.read(places)


class _Client(Consumer):
    def __init__(self, servers: str, isolation: str) -> None:
        super().__init__(
            {
                "bootstrap.servers": servers,
                "group.id": "a-test",
                "log_level": 0,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def partitions(self, topic: str) -> list[TopicPartition]:
        found = self.list_topics(topic, timeout=30).topics[topic]
        assert found.error is None, found.error
        return [TopicPartition(topic, number, 0) for number in sorted(found.partitions)]

    def end(self, place: TopicPartition) -> int:
        offsets = self.get_watermark_offsets(place, timeout=30)
        assert offsets is not None
        return int(offsets[1])

    def read(self, places: list[TopicPartition]) -> dict[int, list[Rec]]:
        self.assign(places)
        found: dict[int, list[Rec]] = {place.partition: [] for place in places}
        left = set(found)
        deadline = time.monotonic() + 60
        while left:
            assert time.monotonic() < deadline, f"partitions {left} have no end"
            for message in self.consume(1000, 0.1):
                error = message.error()
                if error is None:
                    found[_number(message)].append(_record(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(_number(message))
                else:
                    raise KafkaException(error)
        return found


def _number(message: Message) -> int:
    number = message.partition()
    assert number is not None
    return number


def _record(message: Message) -> Rec:
    headers: Any = message.headers()
    return Rec(
        message.key(), message.value(), message.timestamp()[1], tuple(headers) if headers else NO_HEADERS
    )
