"""Chunks made ready to run: grouped by source and partition, timestamps extracted, merged in the order of a task.

A task takes the record with the lowest head timestamp among its partitions (a merge by heads, not a sort); inside a
partition the order is that of the offsets, and ties go by (source, topic, partition). The merge by heads of several
sequences equals a stable sort by the highest timestamp up to each record of its sequence, which Python's sort does
fast, because it finds the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

from headrace.log.base import Chunk
from headrace.record import NO_HEADERS, Headers


class Lane:
    """Records of one partition for one source, in order. `rows` are their places in the chunk.

    Keys and values are raw, or already read (`ready`) where a timestamp extractor had to see them.
    """

    __slots__ = ("chunk", "headers", "keys", "ready", "rows", "timestamps", "values")

    def __init__(
        self,
        chunk: Chunk,
        rows: Sequence[int],
        keys: Sequence[Any],
        values: Sequence[Any],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
        ready: bool = False,
    ) -> None:
        self.chunk = chunk
        self.rows = rows
        self.keys = keys
        self.values = values
        self.timestamps = timestamps
        self.headers = headers
        self.ready = ready

    @staticmethod
    def of(chunk: Chunk) -> Lane:
        """A chunk as it is, without the records whose timestamp is negative."""
        if not chunk.timestamps or min(chunk.timestamps) >= 0:
            return Lane(
                chunk, range(len(chunk.timestamps)), chunk.keys, chunk.values, chunk.timestamps, chunk.headers
            )
        return Lane.of_rows(chunk, [row for row, timestamp in enumerate(chunk.timestamps) if timestamp >= 0])

    @staticmethod
    def of_rows(chunk: Chunk, rows: Sequence[int]) -> Lane:
        headers = chunk.headers
        return Lane(
            chunk,
            rows,
            [chunk.keys[row] for row in rows],
            [chunk.values[row] for row in rows],
            [chunk.timestamps[row] for row in rows],
            None if headers is None else [headers[row] for row in rows],
        )

    def __len__(self) -> int:
        return len(self.timestamps)


def sequences(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Chunks of one partition as sequences that are each in offset order.

    A partition of a topic is one sequence. Of a repartition topic each upstream task sends its own, which begins
    again at a lower offset.
    """
    found: list[list[Chunk]] = []
    for chunk in chunks:
        if not len(chunk):
            continue
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
    heads: list[int] = []
    for sequence in timestamps:
        heads.extend(accumulate(chain.from_iterable(sequence), max))
    return sorted(range(len(heads)), key=heads.__getitem__)


def merged_chunk(parts: Sequence[Sequence[Chunk]]) -> Chunk:
    """Several sequences of one partition as one chunk in the order of a task."""
    order = merge_order([[chunk.timestamps for chunk in sequence] for sequence in parts])
    flat = [chunk for sequence in parts for chunk in sequence]
    headers: list[Headers] | None = None
    if any(chunk.headers is not None for chunk in flat):
        every = list(chain.from_iterable(chunk.headers or [NO_HEADERS] * len(chunk) for chunk in flat))
        headers = [every[place] for place in order]

    def column(name: str) -> list[Any]:
        every = list(chain.from_iterable(getattr(chunk, name) for chunk in flat))
        return [every[place] for place in order]

    return Chunk(
        topic=flat[0].topic,
        partition=flat[0].partition,
        offsets=column("offsets"),
        timestamps=column("timestamps"),
        keys=column("keys"),
        values=column("values"),
        headers=headers,
    )
