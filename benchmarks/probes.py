"""What a log says of a program that reads from one topic and writes to another."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.log import TopicLog
from headrace.log.base import TopicPartition as Place

PARTITIONS = 4


class Probe(Protocol):
    """Watches a program from outside."""

    source: str
    sink: str

    def ends(self, topic: str) -> int:
        """How many records of a topic a reader of committed records may read (on Kafka: and markers)."""
        ...

    def committed(self) -> int:
        """How many records of the source the program has committed."""
        ...

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Every committed record of the sink."""
        ...


class KafkaProbe:
    """Asks the broker."""

    def __init__(self, bootstrap: str, group: str, source: str, sink: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.group, self.source, self.sink = group, source, sink

    def ends(self, topic: str) -> int:
        ask = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(PARTITIONS)}
        for _ in range(40):
            with contextlib.suppress(KafkaException):  # a topic just made may have no leader yet
                found = self.admin.list_offsets(
                    ask, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=10
                )
                return sum(future.result().offset for future in found.values())
            time.sleep(0.25)
        raise RuntimeError(f"the broker does not say where `{topic}` ends")

    def committed(self) -> int:
        ask = [TopicPartition(self.source, p) for p in range(PARTITIONS)]
        request = [ConsumerGroupTopicPartitions(self.group, ask)]
        try:
            found = self.admin.list_consumer_group_offsets(request, request_timeout=10)
            places = found[self.group].result().topic_partitions
        except KafkaException:
            return 0
        return sum(max(0, place.offset) for place in places)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        consumer = reader(self.bootstrap, self.sink, {"enable.partition.eof": True})
        left = PARTITIONS
        while left:
            for message in consumer.consume(5000, 0.5):
                if message.error():
                    left -= 1
                else:
                    yield message.key(), message.value()
        consumer.close()


def reader(bootstrap: str, topic: str, more: dict[str, object] | None = None) -> Consumer:
    """A read_committed consumer of all of a topic."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "benchmark",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer({**settings, **(more or {})})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    return consumer


class EmbeddedProbe:
    """Asks the embedded log."""

    def __init__(self, log: TopicLog, application_id: str, source: str, sink: str) -> None:
        self.log = log
        self.application_id, self.source, self.sink = application_id, source, sink
        self._sinks = [Place(sink, p) for p in range(PARTITIONS)]

    def ends(self, topic: str) -> int:
        return sum(self.log.latest([Place(topic, p) for p in range(PARTITIONS)]).values())

    def committed(self) -> int:
        places = self.log.positions(self.application_id)
        return sum(offset for place, offset in places.items() if place.topic == self.source)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        ends = self.log.latest(self._sinks)
        for chunk in self.log.read({place: (0, end) for place, end in ends.items() if end}):
            yield from zip(chunk.keys, chunk.values, strict=True)  # type: ignore[misc]


class MarkedProbe(EmbeddedProbe):
    """The same for a program that keeps its positions elsewhere, and writes their sum to a file."""

    def __init__(self, log: TopicLog, mark: Path, source: str, sink: str) -> None:
        super().__init__(log, "", source, sink)
        self.mark = mark

    def committed(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int(self.mark.read_text())
        return 0
