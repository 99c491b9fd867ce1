"""Chunks made ready to run: negative timestamps left out, and several sequences merged in the order of a task.

A task takes the record with the lowest head timestamp among its partitions (a merge by heads, not a sort); inside a
partition the order is that of the offsets, and ties go by (source, topic, partition). The merge by heads of several
sequences equals a stable sort by the highest timestamp up to each record of its sequence, which Python's sort does
fast, because it finds the runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

from headrace.log.base import Chunk
from headrace.record import NO_HEADERS, Headers

_MANY = 2_000
"""From so many records on, numpy pays."""


class Rows:
    """Records of one topic, as columns, with a way to find out where each came from.

    Of a repartition topic a host may hand in each upstream task's share as a partition of its own; for users its
    topic has the full name, and its partition is the task's (`partition`).
    """

    __slots__ = (
        "_chunks",
        "_order",
        "_starts",
        "headers",
        "keys",
        "partition",
        "timestamps",
        "topic",
        "values",
    )

    def __init__(
        self,
        chunks: Sequence[Chunk],
        order: Sequence[int] | None,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        self.topic = chunks[0].topic
        self.partition: int | None = None
        self.keys = keys
        self.values = values
        self.timestamps = timestamps
        self.headers = headers
        self._chunks = chunks
        self._order = order
        self._starts: list[int] = []

    @staticmethod
    def of(chunk: Chunk) -> Rows:
        """One chunk, as it is."""
        return Rows([chunk], None, chunk.keys, chunk.values, chunk.timestamps, chunk.headers)

    @staticmethod
    def merged(sequences: Sequence[Sequence[Chunk]]) -> Rows:
        """Several sequences of one topic, in the order of a task."""
        order = merge_order([[chunk.timestamps for chunk in sequence] for sequence in sequences])
        chunks = list(chain.from_iterable(sequences))
        headers: Sequence[Headers] | None = None
        if any(chunk.headers is not None for chunk in chunks):
            headers = _picked((chunk.headers or [NO_HEADERS] * len(chunk) for chunk in chunks), order)
        return Rows(
            chunks,
            order,
            _picked((chunk.keys for chunk in chunks), order),
            _picked((chunk.values for chunk in chunks), order),
            _picked((chunk.timestamps for chunk in chunks), order),
            headers,
        )

    def place(self, row: int) -> tuple[int, int]:
        """Partition and offset of a record. Asked seldom, so not worth a column."""
        if self._order is None:
            chunk, place = self._chunks[0], row
        else:
            if not self._starts:
                self._starts = [0, *accumulate(len(chunk) for chunk in self._chunks)]
            number = bisect_right(self._starts, self._order[row]) - 1
            chunk, place = self._chunks[number], self._order[row] - self._starts[number]
        partition = chunk.partition if self.partition is None else self.partition
        return partition, int(chunk.offsets[place])

    def __len__(self) -> int:
        return len(self.timestamps)


class OneRow:
    """A record on its own, with the face of `Rows`: a host that hands in one at a time need not build columns."""

    __slots__ = ("_offset", "_partition", "headers", "keys", "timestamps", "topic", "values")

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        self.topic = topic
        self.keys = (key,)
        self.values = (value,)
        self.timestamps = (timestamp,)
        self.headers = (headers,)
        self._partition = partition
        self._offset = offset

    def place(self, row: int) -> tuple[int, int]:
        """Partition and offset."""
        return self._partition, self._offset


class Lane:
    """Records for one source, in order; `numbers` are their rows. Keys and values are raw, or already read
    (`ready`) where a timestamp extractor had to see them.
    """

    __slots__ = ("headers", "keys", "numbers", "ready", "rows", "timestamps", "values")

    def __init__(
        self,
        rows: Rows,
        numbers: Sequence[int],
        keys: Sequence[Any],
        values: Sequence[Any],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
        ready: bool = False,
    ) -> None:
        self.rows = rows
        self.numbers = numbers
        self.keys = keys
        self.values = values
        self.timestamps = timestamps
        self.headers = headers
        self.ready = ready

    @staticmethod
    def of(rows: Rows) -> Lane:
        """All records but those whose timestamp is negative: the source has let them pass, or failed."""
        if min(rows.timestamps) >= 0:
            return Lane(rows, range(len(rows)), rows.keys, rows.values, rows.timestamps, rows.headers)
        kept = [row for row, timestamp in enumerate(rows.timestamps) if timestamp >= 0]
        return Lane(
            rows,
            kept,
            [rows.keys[row] for row in kept],
            [rows.values[row] for row in kept],
            [rows.timestamps[row] for row in kept],
            None if rows.headers is None else [rows.headers[row] for row in kept],
        )

    def __len__(self) -> int:
        return len(self.timestamps)


def sequences(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Chunks of one partition as sequences that are each in offset order.

    A partition of a topic is one sequence. Of a repartition topic each upstream task may send its own, which begins
    again at a lower offset.
    """
    found: list[list[Chunk]] = []
    for chunk in chunks:
        if found and found[-1][-1].offsets[-1] < chunk.offsets[0]:
            found[-1].append(chunk)
        else:
            found.append([chunk])
    return found


def merge_order(timestamps: Sequence[Sequence[Sequence[int]]]) -> list[int]:
    """The order in which to take records of several sequences, as places in their concatenation.

    >>> merge_order([[[5, 1, 7]], [[3], [6]]])
    [3, 0, 1, 4, 2]
    """
    if sum(len(part) for sequence in timestamps for part in sequence) >= _MANY:
        return _merge_many(timestamps)
    heads: list[int] = []
    for sequence in timestamps:
        heads.extend(accumulate(chain.from_iterable(sequence), max))
    return sorted(range(len(heads)), key=heads.__getitem__)


def _merge_many(timestamps: Sequence[Sequence[Sequence[int]]]) -> list[int]:
    """The same with numpy: a quarter of the time."""
    # Lazy, because numpy takes longer to import than the rest of the library: a topology's unit test needs none.
    import numpy as np

    parts = [
        np.maximum.accumulate(np.concatenate([np.asarray(part, np.int64) for part in sequence]))
        for sequence in timestamps
        if sequence
    ]
    order: list[int] = np.argsort(np.concatenate(parts), kind="stable").tolist()
    return order


def _picked(columns: Iterable[Sequence[Any]], order: Sequence[int]) -> list[Any]:
    every = list(chain.from_iterable(columns))
    return [every[place] for place in order]
