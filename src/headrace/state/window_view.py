"""What may be asked of a window store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, overload

from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.state.backend import Entry
from headrace.state.base import StateStore, nothing
from headrace.state.key_schema import (
    MAX_SEQUENCE,
    MAX_TIME,
    segment_prefix,
    split_window_key,
    upper_range,
    window_end,
    window_suffix,
    window_time_and_key,
)
from headrace.state.segments import ReadSegments

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlyWindowStore(StateStore[K], Generic[K, V]):
    """What may be asked of a window store. Times are milliseconds, both ends inclusive, and mean window starts.

    Windows older than the retention (behind the newest window that was put) are not found. Iterators go by
    segment and then by the bytes of the key, as Kafka Streams' persistent stores do; for one key that is the
    order of time. Stores that are not persistent go by time and then by key, as Kafka Streams' do in memory.
    """

    def __init__(
        self,
        name: str,
        segments: ReadSegments,
        key: Serde[K],
        decode: Callable[[bytes], V],
        window_size_ms: int,
        *,
        by_time: bool = False,
    ) -> None:
        super().__init__(name, key)
        self._by_time = by_time
        self._segments = segments
        self._decode = decode
        self._size = window_size_ms

    @overload
    def fetch(self, key: K, time: int, /) -> V | None: ...
    @overload
    def fetch(self, key: K, time_from: int, time_to: int) -> Iterator[tuple[int, V]]: ...
    def fetch(self, key: K, time_from: int, time_to: int | None = None) -> V | Iterator[tuple[int, V]] | None:
        """The value of one window; with two times, (start, value) of all windows of the key between them.

        >>> from headrace.state import memory_store
        >>> store = memory_store("visits", "window", key=str, value=int, retention_ms=99, window_size_ms=10)
        >>> store.put("a", 1, 0)
        >>> store.put("a", 2, 10)
        >>> store.fetch("a", 10), list(store.fetch("a", 0, 10))
        (2, [(0, 1), (10, 2)])
        """
        raw_key = self._raw_key(key)
        if time_to is None:
            return self.fetch_raw(raw_key, time_from)
        return self._fetch(raw_key, time_from, time_to, False)

    def fetch_raw(self, raw_key: bytes, start: int) -> V | None:
        """The value of one window, with a key from `encode_key`."""
        segments = self._segments
        marks = segments.marks
        try:
            if start <= marks.stream_time - segments.retention:
                return None
            raw = segments.get_entry(
                segment_prefix(start // segments.interval) + raw_key + window_suffix(start, marks.sequence)
            )
        except (struct.error, TypeError):
            if isinstance(start, int):
                return None
            raise self._bad_time(start) from None
        return None if raw is None else self._decode(raw)

    def kept(self, earliest: int) -> Iterator[tuple[K, bytes, int]]:
        """Key, raw key and start of all windows that begin then or later, also of those past the retention."""
        for raw, _ in self._segments.scan(max(0, earliest), MAX_TIME, b"", None, False):
            raw_key, start, _ = split_window_key(raw)
            if start >= earliest:
                yield self._key_from(raw_key), raw_key, start

    def kept_raw(self, raw_key: bytes, start: int) -> V | None:
        """The value of a window that `kept` tells of."""
        segments = self._segments
        raw = segments.kept(raw_key + window_suffix(start, segments.marks.sequence), start)
        return None if raw is None else self._decode(raw)

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> Iterator[tuple[int, V]]:
        """`fetch` with two times, from the latest window back."""
        return self._fetch(self._raw_key(key), time_from, time_to, True)

    def fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of all keys from one to another (None: no bound) between two times."""
        return self._fetch_range(key_from, key_to, time_from, time_to, False)

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """`fetch_range`, backwards."""
        return self._fetch_range(key_from, key_to, time_from, time_to, True)

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of all keys between two times."""
        return self._fetch_range(None, None, time_from, time_to, False)

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """`fetch_all`, backwards."""
        return self._fetch_range(None, None, time_from, time_to, True)

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """Every window.

        >>> from headrace.state import memory_store
        >>> store = memory_store("visits", "window", key=str, value=int, retention_ms=99, window_size_ms=10)
        >>> store.put("a", 1, 0)
        >>> list(store.all())
        [(Windowed(key='a', start=0, end=10), 1)]
        """
        return self._fetch_range(None, None, 0, MAX_TIME, False)

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """Every window, backwards."""
        return self._fetch_range(None, None, 0, MAX_TIME, True)

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._segments.close(self._closed())

    def _fetch(self, raw_key: bytes, time_from: int, time_to: int, reverse: bool) -> Iterator[tuple[int, V]]:
        segments = self._segments
        # No window starts after stream time; a higher bound would take in all keys that begin with this one.
        first, last = segments.oldest(time_from), min(time_to, segments.marks.stream_time)
        if first > last:
            return nothing()
        low = raw_key + window_suffix(first, 0)
        high = raw_key + window_suffix(last, MAX_SEQUENCE) + b"\0"
        # All keys between two that begin with raw_key begin with it too: the length alone tells them apart.
        size, decode, usable = len(low), self._decode, self._is_usable
        return (
            (split_window_key(raw)[1], decode(value))
            for raw, value in segments.scan(first, last, low, high, reverse)
            if len(raw) == size and (self.is_open or usable())
        )

    def _fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        low = b"" if key_from is None else self._raw_key(key_from)
        high = None if key_to is None else self._raw_key(key_to)
        segments = self._segments
        first, last = segments.oldest(time_from), min(time_to, MAX_TIME)
        if first > last or (high is not None and low > high):
            return nothing()
        end = None if high is None else upper_range(high, window_suffix(last, MAX_SEQUENCE)) + b"\0"
        entries = segments.scan(first, last, low, end, reverse)
        if self._by_time:
            entries = iter(sorted(entries, key=window_time_and_key, reverse=reverse))
        return self._select(entries, low, high, first, last)

    def _select(
        self, entries: Iterator[Entry], low: bytes, high: bytes | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        key_from, decode, window_size = self._key_from, self._decode, self._size
        for raw, value in entries:
            raw_key, start, _ = split_window_key(raw)
            if not self.is_open:
                self._is_usable()
            if first <= start <= last and low <= raw_key and (high is None or raw_key <= high):
                yield Windowed(key_from(raw_key), start, window_end(start, window_size)), decode(value)
