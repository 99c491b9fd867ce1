"""What flows through a topology: records, windowed keys and table changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Record headers in order; a name may appear more than once, as in Kafka."""

NO_HEADERS: Headers = ()


# No slots: with them Python 3.11 cannot make `Record[str, int](…)`.
@dataclass(frozen=True)
class Record(Generic[K, V]):
    """A key, a value, a timestamp in milliseconds since the epoch, and headers.

    >>> Record("a", 1, 10).with_value(2)
    Record(key='a', value=2, timestamp=10, headers=())
    """

    key: K
    value: V
    timestamp: int
    headers: Headers = NO_HEADERS

    def with_key(self, key: K2) -> Record[K2, V]:
        """The same record under another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V2) -> Record[K, V2]:
        """The same record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K, V]:
        """The same record at another time."""
        return replace(self, timestamp=timestamp)

    def with_headers(self, headers: Headers) -> Record[K, V]:
        """The same record with other headers."""
        return replace(self, headers=headers)


class Windowed(NamedTuple, Generic[K]):
    """A key inside a window from `start` (inclusive) to `end`, in milliseconds.

    The end is exclusive for time windows and inclusive for sessions, as in Kafka Streams.
    """

    key: K
    start: int
    end: int


class Change(NamedTuple, Generic[V]):
    """An update of a table row: its new and, where a child asked for it, its old value.

    `is_latest` is false for an out-of-order update of a versioned table.
    """

    new: V | None
    old: V | None
    is_latest: bool = True


class RecordMetadata(NamedTuple):
    """Where the record being processed came from."""

    topic: str
    partition: int
    offset: int


class TaskId(NamedTuple):
    """A sub-topology and a partition number, printed as in Kafka Streams: `0_3`."""

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"
