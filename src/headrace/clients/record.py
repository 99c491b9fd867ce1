"""What a consumer hands out, and how it is made of what is in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.clients.reading import Row
from headrace.errors import DeserializationError
from headrace.origin import caller
from headrace.record import NO_HEADERS, Headers, RecordMetadata
from headrace.serdes import Serde, explain_read

K = TypeVar("K")
V = TypeVar("V")


# No slots: with them Python 3.11 cannot make `ConsumerRecord[str, int](…)`.
@dataclass(frozen=True)
class ConsumerRecord(Generic[K, V]):
    """A record and where it was: topic, partition, offset, and its time in milliseconds since the epoch."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: K
    value: V
    headers: Headers = NO_HEADERS


def received(row: Row, key: Serde[Any], value: Serde[Any]) -> ConsumerRecord[Any, Any]:
    """The record of a row; DeserializationError names its place."""
    return ConsumerRecord(
        row.topic,
        row.partition,
        row.offset,
        row.timestamp,
        None if row.key is None else _read("key", row, key, row.key),
        None if row.value is None else _read("value", row, value, row.value),
        row.headers,
    )


def _read(part: str, row: Row, serde: Serde[Any], data: bytes) -> Any:
    try:
        return serde.deserialize(data)
    except Exception as error:
        raise DeserializationError(
            f"the {part} of a record cannot be read: {explain_read(serde, data, error)}; say the type that it has with "
            f"`{part}=`, or `bytes` to take it as it is (the next call goes on behind it)",
            metadata=RecordMetadata(row.topic, row.partition, row.offset),
            origin=caller(),
        ) from error
