"""Finding the newest record of a key in an application's commits topic."""

from __future__ import annotations

from typing import NamedTuple

from headrace.log.base import TopicPartition
from headrace.log.kafka.connection import EARLIEST, LATEST, Connection
from headrace.log.kafka.reader import Reader
from headrace.record import NO_HEADERS, Headers

# Where to begin: compaction may lag behind, and then the whole topic is long, but what is wanted is near its end.
_NEAR_END = 200


class Found(NamedTuple):
    """A record of the commits topic."""

    offset: int
    value: bytes | None
    headers: Headers


def newest(connection: Connection, topic: str, key: bytes, *, isolation: str) -> Found | None:
    """The newest record of a key, looked for from the end backwards."""
    place = TopicPartition(topic, 0)
    first = connection.offsets({place: EARLIEST}, isolation=isolation)[place]
    high = connection.offsets({place: LATEST}, isolation=isolation)[place]
    reader = Reader(connection, isolation=isolation)
    try:
        span = _NEAR_END
        while high > first:
            low = max(first, high - span)
            found = records(reader, topic, low, high, key)
            if found:
                return found[-1]
            high, span = low, span * 10
        return None
    finally:
        reader.close()


def records(reader: Reader, topic: str, low: int, high: int, key: bytes) -> list[Found]:
    """All records of a key with low <= offset < high."""
    found = []
    for chunk in reader.read({TopicPartition(topic, 0): (low, high)}):
        for index, each in enumerate(chunk.keys):
            if each == key:
                headers = chunk.headers[index] if chunk.headers is not None else NO_HEADERS
                found.append(Found(chunk.offsets[index], chunk.values[index], headers))
    return found
