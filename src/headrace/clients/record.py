"""What a consumer hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from headrace.record import NO_HEADERS, Headers

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
