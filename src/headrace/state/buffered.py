"""An update that waits in a buffer, with the bytes of Kafka Streams' suppression changelogs (their version 3).

context  timestamp (8) | offset (8) | topic | partition (4) | number of headers (4) | for each: name | value
update   context | value before the first update that waits | old value | new value | place in time (8)

Texts and values have their length (4) in front; a value that is not there has the length -1, and an old value that
equals the one before it the length -2.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from headrace.record import NO_HEADERS, Headers, RecordMetadata

_HEAD = Struct(">qqi")
_COUNTS = Struct(">ii")
_SIZE = Struct(">i")
_TIME = Struct(">q")
_NOTHING = _SIZE.pack(-1)
_SAME = _SIZE.pack(-2)
_size_at = _SIZE.unpack_from
pack_time = _TIME.pack
"""A time as bytes that sort as it does."""


class Buffered(NamedTuple):
    """An update that waits: raw values, and where the record behind it came from (None: from a punctuator)."""

    time: int
    old: bytes | None
    new: bytes | None
    timestamp: int
    headers: Headers
    metadata: RecordMetadata | None


def pack_context(timestamp: int, headers: Headers, metadata: RecordMetadata | None) -> bytes:
    """Where a record came from."""
    # Kafka Streams cannot write what a punctuator has forwarded, for want of a topic; here it has an empty one.
    topic, partition, offset = metadata or ("", -1, -1)
    raw = topic.encode()
    head = _HEAD.pack(timestamp, offset, len(raw)) + raw + _COUNTS.pack(partition, len(headers))
    if not headers:
        return head
    return head + b"".join(_sized(part) for name, value in headers for part in (name.encode(), value))


def pack_update(
    context: bytes, prior: bytes | None, old: bytes | None, new: bytes | None, time: int
) -> bytes:
    """An update as it is stored and logged."""
    repeated = _SAME if old is not None and old == prior else _sized(old)
    return b"".join((context, _sized(prior), repeated, _sized(new), pack_time(time)))


def time_of(data: bytes) -> int:
    """The update's place in time."""
    time: int = _TIME.unpack_from(data, len(data) - 8)[0]
    return time


def prior_of(data: bytes) -> bytes | None:
    """The value before the first update that waits."""
    return _value_at(data, _context(data)[0])[0]


def unpack_update(data: bytes) -> Buffered:
    """The update itself."""
    end, timestamp, headers, metadata = unpack_context(data)
    prior, end = _value_at(data, end)
    if _size_at(data, end)[0] == -2:
        old, end = prior, end + 4
    else:
        old, end = _value_at(data, end)
    return Buffered(time_of(data), old, _value_at(data, end)[0], timestamp, headers, metadata)


def unpack_context(data: bytes) -> tuple[int, int, Headers, RecordMetadata | None]:
    """Where the context ends, and timestamp, headers and origin of the record."""
    timestamp, offset, size = _HEAD.unpack_from(data)
    end = _HEAD.size + size
    topic = data[_HEAD.size : end].decode()
    partition, count = _COUNTS.unpack_from(data, end)
    end += _COUNTS.size
    headers = []
    for _ in range(count):
        name, end = _value_at(data, end)
        value, end = _value_at(data, end)
        headers.append(((name or b"").decode(), value))
    metadata = RecordMetadata(topic, partition, offset) if topic else None
    return end, timestamp, tuple(headers) if headers else NO_HEADERS, metadata


def resident_size(key: bytes, data: bytes) -> int:
    """How much of a buffer's bytes an update takes, as Kafka Streams estimates it."""
    end, context = _context(data)
    # Behind the context: three lengths, which do not count, the values, and the time, which does.
    return len(key) + context + len(data) - end - 12


def _context(data: bytes) -> tuple[int, int]:
    """Where the context ends, and its size by that estimate: without lengths, and names in UTF-16 characters."""
    end = _HEAD.size + int(_size_at(data, 16)[0])
    count = _COUNTS.unpack_from(data, end)[1]
    end += _COUNTS.size
    size = end - 8
    for _ in range(count):
        name, end = _value_at(data, end)
        value, end = _value_at(data, end)
        characters = len((name or b"").decode().encode("utf-16-le")) // 2
        size += characters + len(value or b"")
    return end, size


def _value_at(data: bytes, place: int) -> tuple[bytes | None, int]:
    size = _size_at(data, place)[0]
    place += 4
    return (None, place) if size < 0 else (data[place : place + size], place + size)


def _sized(value: bytes | None) -> bytes:
    return _NOTHING if value is None else _SIZE.pack(len(value)) + value
