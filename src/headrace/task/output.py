"""What a task has written and its host has not yet taken, as columns per topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import TypeAlias

from headrace.errors import LogError
from headrace.partitioning import partition_for
from headrace.record import NO_HEADERS, Headers

PartitionCount: TypeAlias = Callable[[str], int]
"""How many partitions a topic has."""


@dataclass(slots=True)
class OutputColumns:
    """Records for one topic, in the order in which they were written.

    A repartition topic is named without the application id. `headers` is None when no record has any;
    `partitions` is None unless the sink chooses them itself.
    """

    topic: str
    repartition: bool
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Headers] | None = None
    partitions: list[int] | None = None

    def __len__(self) -> int:
        return len(self.timestamps)


class Column:
    """The lists that the sinks of one topic append to. They stay the same objects for the life of the task,
    so that a sink can keep the bound `append` of each.
    """

    __slots__ = (
        "_marked_partitions",
        "keys",
        "marked_headers",
        "repartition",
        "timestamps",
        "topic",
        "values",
    )

    def __init__(self, topic: str, repartition: bool, firsts: list[Column] | None = None) -> None:
        self.topic = topic
        self.repartition = repartition
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = [] if firsts is None else _Noticed(self, firsts)
        # Headers and chosen partitions are rare: kept as (row, what) and spread out only when there are any.
        self.marked_headers: list[tuple[int, Headers]] = []
        self._marked_partitions: dict[int, int] = {}

    def add(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        """Append one record."""
        if headers:
            self.marked_headers.append((len(self.timestamps), headers))
        if partition is not None:
            self._marked_partitions[len(self.timestamps)] = partition
        self.keys.append(key)
        self.values.append(value)
        self.timestamps.append(timestamp)

    def records(self) -> list[tuple[bytes | None, bytes | None, int, Headers]]:
        """The records, one by one; the lists here are emptied."""
        headers: Iterable[Headers] = repeat(NO_HEADERS)
        if self.marked_headers:
            marked = dict(self.marked_headers)
            headers = [marked.get(row, NO_HEADERS) for row in range(len(self.timestamps))]
        taken = list(zip(self.keys, self.values, self.timestamps, headers, strict=False))
        self.clear()
        return taken

    def take(self, partitions: PartitionCount) -> OutputColumns:
        """A copy of the records; the lists here are emptied in place."""
        taken = OutputColumns(self.topic, self.repartition, self.keys[:], self.values[:], self.timestamps[:])
        if self.marked_headers:
            taken.headers = [NO_HEADERS] * len(self.timestamps)
            for row, headers in self.marked_headers:
                taken.headers[row] = headers
        if self._marked_partitions:
            taken.partitions = self._partitions(partitions(self.topic))
        self.clear()
        return taken

    def _partitions(self, count: int) -> list[int]:
        """The chosen partitions; where a sink or partitioner left it open, the key's hash decides, as in the log."""
        chosen = self._marked_partitions
        return [
            chosen[row] if row in chosen else row % count if key is None else partition_for(key, count)
            for row, key in enumerate(self.keys)
        ]

    def clear(self) -> None:
        self.keys.clear()
        self.values.clear()
        self.timestamps.clear()
        self.marked_headers.clear()
        self._marked_partitions.clear()


class _Noticed(list[int]):
    """Timestamps that tell when the first of them comes."""

    __slots__ = ("_column", "_firsts")

    def __init__(self, column: Column, firsts: list[Column]) -> None:
        super().__init__()
        self._column = column
        self._firsts = firsts

    def append(self, timestamp: int) -> None:
        if not self:
            self._firsts.append(self._column)
        super().append(timestamp)


def _unknown(topic: str) -> int:
    raise LogError(
        f"a sink chooses the partition in `{topic}`, but nobody said how many it has: give `Output` a function "
        f"that knows"
    )


class Output:
    """Everything that a task writes: sinks, repartitions and dead letters.

    `partitions(topic)` is asked only for sinks that choose a partition themselves: custom partitioners, and windowed
    keys, which stay in the partition of their inner key. With `in_order`, `written` gives the topics in the order of
    their first records; otherwise in the order in which they came up, which costs nothing.

    >>> output = Output()
    >>> output.columns("out", False).add(b"k", b"v", 5, ())
    >>> [(taken.topic, taken.keys, taken.timestamps) for taken in output.take()]
    [('out', [b'k'], [5])]
    >>> output.take()
    []
    """

    __slots__ = ("_columns", "_firsts", "partitions")

    def __init__(self, partitions: PartitionCount = _unknown, *, in_order: bool = False) -> None:
        self._columns: dict[tuple[str, bool], Column] = {}
        self._firsts: list[Column] | None = [] if in_order else None
        self.partitions = partitions

    def columns(self, topic: str, repartition: bool) -> Column:
        """The columns of a topic, made at the first call."""
        found = self._columns.get((topic, repartition))
        if found is None:
            found = self._columns[topic, repartition] = Column(topic, repartition, self._firsts)
        return found

    def take(self) -> list[OutputColumns]:
        """What was written since the last call, per topic."""
        return [column.take(self.partitions) for column in self.written()]

    def written(self) -> list[Column]:
        """The columns that hold something, for a host that takes records one by one."""
        if self._firsts is not None:
            found = self._firsts[:]
            self._firsts.clear()
            return found
        return [column for column in self._columns.values() if column.timestamps]

    def clear(self) -> None:
        """Forget what was written: the batch has failed."""
        for column in self._columns.values():
            column.clear()
        if self._firsts is not None:
            self._firsts.clear()
