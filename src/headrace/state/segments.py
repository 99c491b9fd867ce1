"""Segments: how window and session stores forget old data in bulk, as Kafka Streams does.

A segment holds the entries of one interval of time. Stream time is the greatest timestamp that was put. What
is older than the retention is not found any more, although its segment may still be there; a segment is
deleted once all of it is too old. A put into a deleted segment is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.errors import StoreError
from headrace.state.backend import Backend, Entry, Marks, NoBackend, ReadBackend
from headrace.state.key_schema import SEGMENT_SIZE, segment_interval, segment_prefix


class ReadSegments:
    """Segmented bytes over a backend, for reading."""

    __slots__ = ("backend", "get_entry", "interval", "marks", "retention")

    get_entry: Callable[[bytes], bytes | None]

    def __init__(self, backend: ReadBackend, retention_ms: int) -> None:
        self.backend = backend
        self.retention = retention_ms
        self.interval = segment_interval(retention_ms)
        self.marks: Marks = backend.marks
        self.get_entry = backend.get

    def get(self, raw: bytes, timestamp: int) -> bytes | None:
        """The value under a key of the key schema, whose segment is that of the timestamp."""
        if timestamp <= self.marks.stream_time - self.retention or timestamp < 0:
            return None
        return self.get_entry(segment_prefix(timestamp // self.interval) + raw)

    def kept(self, raw: bytes, timestamp: int) -> bytes | None:
        """`get`, also past the retention, as long as the segment is there."""
        return self.get_entry(segment_prefix(timestamp // self.interval) + raw)

    def oldest(self, time_from: int) -> int:
        """The later of `time_from` and the oldest time that is not expired."""
        return max(time_from, self.marks.stream_time - self.retention + 1, 0)

    def scan(
        self,
        time_from: int,
        time_to: int,
        low: bytes,
        high: bytes | None,
        reverse: bool,
    ) -> Iterator[Entry]:
        """Entries of the segments from one time to another, with low <= key < high in each of them.

        Keys are those of the key schema. The order is that of the segments first and of the keys second.
        """
        first = time_from // self.interval
        last = min(time_to, max(self.marks.stream_time, 0)) // self.interval
        if first > last:
            return iter(())
        backend = self.backend
        if first == last:
            return _segment(backend, first, low, high, reverse)
        if not low and high is None:
            return _strip(backend.range(segment_prefix(first), segment_prefix(last + 1), reverse))
        numbers = range(last, first - 1, -1) if reverse else range(first, last + 1)
        # Made now, not while iterating: an iterator shows the store as it was when it was asked for.
        parts = [_segment(backend, number, low, high, reverse) for number in numbers]
        return (entry for part in parts for entry in part)

    def close(self, reason: str) -> None:
        """Make every later use raise StoreError."""
        nothing = NoBackend(reason)
        self.backend, self.get_entry, self.marks = nothing, nothing.get, nothing.marks


class Segments(ReadSegments):
    """Segmented bytes over a backend, for reading and writing."""

    __slots__ = ("_delete_entry", "_truncate", "put_entry")

    def __init__(self, backend: Backend, retention_ms: int) -> None:
        super().__init__(backend, retention_ms)
        self.put_entry = backend.put
        self._delete_entry = backend.delete
        self._truncate = backend.truncate

    def put(self, raw: bytes, timestamp: int, value: bytes | None) -> None:
        """Set (or, with None, delete) an entry, unless its segment has expired; moves stream time on."""
        marks = self.marks
        if timestamp > marks.stream_time:
            self.advance(timestamp)
        elif timestamp < 0:
            raise StoreError(f"a window cannot be at a negative time, got {timestamp}")
        segment = timestamp // self.interval
        if segment < marks.floor:
            return
        if value is None:
            self._delete_entry(segment_prefix(segment) + raw)
        else:
            self.put_entry(segment_prefix(segment) + raw, value)

    def close(self, reason: str) -> None:
        """Make every later use raise StoreError."""
        super().close(reason)
        nothing = NoBackend(reason)
        self.put_entry, self._delete_entry, self._truncate = nothing.put, nothing.delete, nothing.truncate

    def advance(self, timestamp: int) -> None:
        """Move stream time on; the segments that are too old then are deleted."""
        self.marks.stream_time = timestamp
        floor = (timestamp - self.retention) // self.interval
        if floor > self.marks.floor:
            self._truncate(floor, segment_prefix(floor))


def _segment(
    backend: ReadBackend, number: int, low: bytes, high: bytes | None, reverse: bool
) -> Iterator[Entry]:
    prefix = segment_prefix(number)
    end = segment_prefix(number + 1) if high is None else prefix + high
    return _strip(backend.range(prefix + low, end, reverse))


def _strip(entries: Iterator[Entry]) -> Iterator[Entry]:
    return ((key[SEGMENT_SIZE:], value) for key, value in entries)
