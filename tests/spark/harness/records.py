"""Records as bytes: written to topics, and read back partition by partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from headrace.log.base import Outgoing, TopicLog, TopicPartition
from headrace.partitioning import partition_for
from headrace.record import NO_HEADERS, Headers
from headrace.serdes import serde_for


class Rec(NamedTuple):
    """A record as it is in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS


Part: TypeAlias = Mapping[str, Sequence[Rec]]
"""Records by topic that become visible at once, and so in one batch."""


def encoded(key: Any, value: Any, timestamp: int, headers: Headers = NO_HEADERS) -> Rec:
    """A record of Python values: texts, numbers, bytes or models, each in its own format."""
    return Rec(_bytes(key), _bytes(value), timestamp, headers)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else serde_for(type(value)).serialize(value)


def append(log: TopicLog, part: Part) -> None:
    """Append to several topics in one step."""
    log.append(
        [
            Outgoing(
                topic,
                [record.key for record in records],
                [record.value for record in records],
                [record.timestamp for record in records],
                [record.headers for record in records] if any(r.headers for r in records) else None,
            )
            for topic, records in part.items()
        ]
    )


def read_topic(log: TopicLog, topic: str) -> dict[int, list[Rec]]:
    """All records of a topic by partition, in the order of their offsets."""
    places = [TopicPartition(topic, number) for number in range(log.topics()[topic])]
    first, last = log.earliest(places), log.latest(places)
    found: dict[int, list[Rec]] = {place.partition: [] for place in places}
    for chunk in log.read({place: (first[place], last[place]) for place in places}):
        headers = chunk.headers or [NO_HEADERS] * len(chunk)
        columns = zip(chunk.keys, chunk.values, chunk.timestamps, headers, strict=True)
        found[chunk.partition] += [Rec(*row) for row in columns]
    return found


def flat(partitions: Mapping[int, Sequence[Rec]]) -> list[Rec]:
    """The records of all partitions, one partition after the other."""
    return [record for records in partitions.values() for record in records]


def by_key(records: Iterable[Rec]) -> dict[bytes | None, list[Rec]]:
    """The records of each key, in order."""
    found: dict[bytes | None, list[Rec]] = {}
    for record in records:
        found.setdefault(record.key, []).append(record)
    return found


def partition(key: bytes | None, partitions: int) -> int:
    """Where Kafka's partitioner puts a key."""
    assert key is not None
    return partition_for(key, partitions)
