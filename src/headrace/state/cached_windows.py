"""Window and session stores behind a record cache."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from headrace.errors import StoreError
from headrace.state.backend import Backend, Entry, Marks
from headrace.state.base import ValueAndTimestamp
from headrace.state.cache import NamedCache
from headrace.state.key_schema import SEGMENT_SIZE, segment_prefix, window_suffix
from headrace.state.merge import merged
from headrace.state.segments import Segments
from headrace.state.window import TimestampedWindowStore, WindowStore, WritableWindowStore

K = TypeVar("K")
V = TypeVar("V")


class _Seen:
    """The marks of a cached store: the times of what is in the cache count, too."""

    sequence = 0

    def __init__(self, below: Marks) -> None:
        self._below = below
        self._highest = -1

    @property
    def stream_time(self) -> int:
        return max(self._below.stream_time, self._highest)

    @stream_time.setter
    def stream_time(self, time: int) -> None:
        self._highest = time


class _Merged:
    """What `scan` reads: the cache, and of what is below it that which has not expired."""

    def __init__(
        self, below: Segments, cache: NamedCache, time_of: Callable[[bytes], int], marks: Marks
    ) -> None:
        self._below, self._cache, self._time_of = below, cache, time_of
        self.marks = marks
        self.get = below.get_entry
        self.count = below.backend.count

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        below, time_of = self._below, self._time_of
        top = self._cache.range(low, high, reverse)
        oldest = below.oldest(0)
        live = (e for e in below.backend.range(low, high, reverse) if time_of(e[0]) >= oldest)
        return live if top is None else merged(top, live, reverse)

    def first(self, low: bytes, high: bytes) -> bytes | None:
        return next((key for key, _ in self.range(low, high)), None)


class CachedSegments(Segments):
    """Segments with a cache on top. Retention hides what is below, not what is cached: so it is in Kafka Streams."""

    __slots__ = ("_below", "_cache", "_time_of")

    def __init__(self, backend: Backend, retention_ms: int, time_of: Callable[[bytes], int]) -> None:
        super().__init__(backend, retention_ms)
        self._below = Segments(backend, retention_ms)
        self._time_of = time_of

    def attach(self, cache: NamedCache) -> None:
        """The cache, which needs this to write to."""
        self._cache = cache
        self.marks = cast("Marks", _Seen(self._below.marks))
        self.backend = _Merged(self._below, cache, self._time_of, self.marks)

    def read(self, key: bytes) -> bytes | None:
        """What is below the cache."""
        return self._below.get(key[SEGMENT_SIZE:], self._time_of(key))

    def write(self, key: bytes, value: bytes | None) -> None:
        """Write below the cache, unless it has expired there."""
        self._below.put(key[SEGMENT_SIZE:], self._time_of(key), value)

    def oldest(self, time_from: int) -> int:
        """Nothing in the cache is too old."""
        return max(time_from, 0)

    def get(self, raw: bytes, timestamp: int) -> bytes | None:
        """The value under a key of the key schema."""
        if timestamp < 0:
            return None
        entry = self._cache.get(segment_prefix(timestamp // self.interval) + raw)
        return self._below.get(raw, timestamp) if entry is None else entry.value

    def put(self, raw: bytes, timestamp: int, value: bytes | None) -> None:
        """Set (or, with None, delete) an entry in the cache."""
        if timestamp < 0:
            raise StoreError(f"a window cannot be at a negative time, got {timestamp}")
        if timestamp > self.marks.stream_time:
            self.marks.stream_time = timestamp
        self._cache.put(segment_prefix(timestamp // self.interval) + raw, value)

    def close(self, reason: str) -> None:
        """Make every later use raise StoreError."""
        super().close(reason)
        self._below.close(reason)
        self._cache = cast("NamedCache", _Closed(reason))


class _Closed:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        raise StoreError(self._reason)


class _CachedWindows(WritableWindowStore[K, V]):
    """Windows are written to the cache and looked for there first."""

    def _write(
        self, raw_key: bytes, start: int, stored: bytes | None, logged: bytes | None, time: int | None
    ) -> None:
        try:
            raw = raw_key + window_suffix(start, 0)
        except struct.error:
            raise self._bad_time(start) from None
        self._segments.put(raw, start, stored)

    def fetch_raw(self, raw_key: bytes, start: int) -> V | None:
        """The value of one window, with a key from `encode_key`."""
        try:
            raw = self._segments.get(raw_key + window_suffix(start, 0), start)
        except (struct.error, TypeError):
            if isinstance(start, int):
                return None
            raise self._bad_time(start) from None
        return None if raw is None else self._decode(raw)


class CachedWindowStore(_CachedWindows[K, V], WindowStore[K, V]):
    """A window store behind a cache."""


class CachedTimestampedWindowStore(_CachedWindows[K, ValueAndTimestamp[V]], TimestampedWindowStore[K, V]):
    """A timestamped window store behind a cache."""
