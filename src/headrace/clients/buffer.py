"""Records that wait to be written, as columns of each topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from headrace.log import Outgoing
from headrace.partitioning import partition_for
from headrace.record import Headers

_BY_KEY = -1


@dataclass(slots=True)
class _Columns:
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    chosen: bool = False
    """Whether somebody chose a partition."""


class Buffer:
    """Records in the order in which they came."""

    __slots__ = ("_topics", "bytes", "records")

    def __init__(self) -> None:
        self._topics: dict[str, _Columns] = {}
        self.records = 0
        self.bytes = 0

    def add(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """One more."""
        columns = self._topics.get(topic)
        if columns is None:
            columns = self._topics[topic] = _Columns()
        columns.keys.append(key)
        columns.values.append(value)
        columns.timestamps.append(timestamp)
        columns.headers.append(headers)
        columns.partitions.append(_BY_KEY if partition is None else partition)
        if partition is not None:
            columns.chosen = True
        self.records += 1
        self.bytes += len(key or b"") + len(value or b"")

    def extend(self, later: Buffer) -> None:
        """Those of another, which came after."""
        for topic, columns in later._topics.items():
            rows = zip(
                columns.keys,
                columns.values,
                columns.timestamps,
                columns.headers,
                columns.partitions,
                strict=True,
            )
            for key, value, timestamp, headers, partition in rows:
                self.add(topic, key, value, timestamp, headers, None if partition == _BY_KEY else partition)

    def outgoing(self, partitions_of: Callable[[str], int]) -> list[Outgoing]:
        """What the log takes."""
        return [
            Outgoing(
                topic,
                columns.keys,
                columns.values,
                columns.timestamps,
                columns.headers if any(columns.headers) else None,
                _partitions(columns, partial(partitions_of, topic)) if columns.chosen else None,
            )
            for topic, columns in self._topics.items()
        ]


def _partitions(columns: _Columns, partitions: Callable[[], int]) -> list[int]:
    """Where some chose and others did not: the key decides for those, and without one they take turns."""
    if _BY_KEY not in columns.partitions:
        return columns.partitions
    count = partitions()
    found = []
    for at, (partition, key) in enumerate(zip(columns.partitions, columns.keys, strict=True)):
        if partition != _BY_KEY:
            found.append(partition)
        else:
            found.append(at % count if key is None else partition_for(key, count))
    return found
