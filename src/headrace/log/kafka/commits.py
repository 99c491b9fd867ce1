"""Finding the newest record of a key in an application's commits topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from headrace.log.base import Chunk, TopicPartition
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


class CanRead(Protocol):
    """A reader, or a log that has one already."""

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Chunk]: ...


def newest(connection: Connection, topic: str, key: bytes, *, isolation: str) -> Found | None:
    """The newest record of a key, read by a consumer of its own."""
    reader = Reader(connection, isolation=isolation)
    try:
        return newest_with(reader, connection, topic, key, isolation=isolation)
    finally:
        reader.close()


def newest_with(
    reader: CanRead, connection: Connection, topic: str, key: bytes, *, isolation: str = "read_committed"
) -> Found | None:
    """The same, looked for from the end backwards by one that is there."""
    place = TopicPartition(topic, 0)
    while True:
        first = connection.offsets({place: EARLIEST}, isolation=isolation)[place]
        end = connection.offsets({place: LATEST}, isolation=isolation)[place]
        high, span = end, _NEAR_END
        while high > first:
            low = max(first, high - span)
            found = records(reader, topic, low, high, key)
            if found:
                return found[-1]
            high, span = low, span * 10
        # What was replaced meanwhile may be compacted away, and what replaced it was not looked at.
        if connection.offsets({place: LATEST}, isolation=isolation)[place] == end:
            return None


def records(reader: CanRead, topic: str, low: int, high: int, key: bytes) -> list[Found]:
    """All records of a key with low <= offset < high."""
    found = []
    for chunk in reader.read({TopicPartition(topic, 0): (low, high)}):
        for index, each in enumerate(chunk.keys):
            if each == key:
                headers = chunk.headers[index] if chunk.headers is not None else NO_HEADERS
                found.append(Found(chunk.offsets[index], chunk.values[index], headers))
    return found
