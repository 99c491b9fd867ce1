"""Where a consumer is in its partitions, and what comes next."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Generator, Mapping
from typing import NamedTuple

from headrace.errors import OffsetOutOfRangeError
from headrace.log import TopicLog, TopicPartition
from headrace.record import NO_HEADERS, Headers


class Row(NamedTuple):
    """A record as it is in the log; ordered by time, then by place."""

    timestamp: int
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Reading:
    """Reads what is there of all partitions, by time as far as each partition is."""

    def __init__(self, log: TopicLog) -> None:
        self._log = log
        self._rows: Generator[Row] | None = None
        self._ends: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}
        """The next offset to read of each partition. Change them with `move` and `drop` only."""

    def move(self, positions: Mapping[TopicPartition, int]) -> None:
        """Go on there; partitions that are new are read from now on."""
        self.stop()
        self.positions.update(positions)

    def drop(self, places: Collection[TopicPartition]) -> None:
        """Read these no more."""
        self.stop()
        for place in places:
            self.positions.pop(place, None)

    def take(self, until: Mapping[TopicPartition, int] | None = None) -> Row | None:
        """The next record, or None when there is none at the moment (or none before the offsets `until`)."""
        while self.positions:
            if self._rows is None and not self._begin(until):
                return None
            assert self._rows is not None
            row = next(self._rows, None)
            if row is not None:
                self.positions[TopicPartition(row.topic, row.partition)] = row.offset + 1
                return row
            # Offsets at the end of what was read may be gone by compaction, or never have been records.
            self._rows = None
            self.positions |= {place: end for place, end in self._ends.items() if place in self.positions}
        return None

    def _begin(self, until: Mapping[TopicPartition, int] | None) -> bool:
        ends = self._log.latest(self.positions) if until is None else until
        ranges = {
            place: (at, ends[place]) for place, at in self.positions.items() if at < ends.get(place, at)
        }
        if until is None:
            self._check(ends)
        if not ranges:
            return False
        self._ends = {place: end for place, (_, end) in ranges.items()}
        self._rows = _merged(self._log, ranges)
        return True

    def _check(self, ends: Mapping[TopicPartition, int]) -> None:
        for place, at in self.positions.items():
            if at > ends[place]:
                raise OffsetOutOfRangeError(
                    f"topic `{place.topic}`, partition {place.partition}: wanted offset {at}, the next one will be "
                    f"{ends[place]}; was the topic deleted and made anew?"
                )

    def stop(self) -> None:
        """Forget what was begun; what comes next is read from the positions."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None


def _merged(log: TopicLog, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Generator[Row]:
    parts = [_partition(log, place, span) for place, span in ranges.items()]
    try:
        yield from heapq.merge(*parts)
    finally:
        for part in parts:
            part.close()


def _partition(log: TopicLog, place: TopicPartition, span: tuple[int, int]) -> Generator[Row]:
    for chunk in log.read({place: span}):
        headers = chunk.headers or [NO_HEADERS] * len(chunk)
        columns = zip(chunk.timestamps, chunk.offsets, chunk.keys, chunk.values, headers, strict=True)
        for timestamp, offset, key, value, row_headers in columns:
            yield Row(timestamp, place.topic, place.partition, offset, key, value, row_headers)


def check_still_there(log: TopicLog, group: str | None, known: Mapping[TopicPartition, int]) -> None:
    """OffsetOutOfRangeError if records were deleted before the group has read them."""
    for place, first in log.earliest(known).items():
        if known[place] < first:
            raise OffsetOutOfRangeError(
                f"topic `{place.topic}`, partition {place.partition}: group `{group}` wants offset {known[place]}, "
                f"available are those from {first} on: the ones between were deleted before they were read; "
                "go on with `seek_to_beginning()` or `seek_to_end()` (`--reset`)"
            )
