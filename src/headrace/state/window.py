"""Window stores, plain and timestamped."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from headrace.serdes.base import Serde
from headrace.state.backend import Backend
from headrace.state.base import (
    Changelog,
    ValueAndTimestamp,
    no_time,
    pack_timestamp,
    value_and_timestamp,
)
from headrace.state.key_schema import (
    MAX_SEQUENCE,
    segment_prefix,
    window_suffix,
)
from headrace.state.replay import replay_window
from headrace.state.segments import Segments
from headrace.state.window_view import ReadOnlyWindowStore

K = TypeVar("K")
V = TypeVar("V")


class WritableWindowStore(ReadOnlyWindowStore[K, V]):
    """What the kinds of window stores share: how a window is written."""

    _segments: Segments

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        decode: Callable[[bytes], V],
        *,
        retention_ms: int,
        window_size_ms: int,
        retain_duplicates: bool,
        timestamped: bool,
        changelog: Changelog | None,
        now: Callable[[], int],
        by_time: bool,
    ) -> None:
        segments = Segments(backend, retention_ms)
        super().__init__(name, segments, key, decode, window_size_ms, by_time=by_time)
        self._duplicates = retain_duplicates
        self._log = changelog
        self._now = now
        self.apply_changelog: Changelog = replay_window(
            segments, timestamped=timestamped, duplicates=retain_duplicates, by_time=by_time
        )
        """Does what a changelog record says, without logging it."""

    def put_behind(self, segments: Segments) -> None:
        """Read and write through these segments, which have a cache; a changelog still goes below it."""
        self._segments = segments

    def _write(
        self, raw_key: bytes, start: int, stored: bytes | None, logged: bytes | None, time: int | None
    ) -> None:
        segments = self._segments
        marks = segments.marks
        if self._duplicates:
            marks.sequence = (marks.sequence + 1) & MAX_SEQUENCE
        try:
            raw = raw_key + window_suffix(start, marks.sequence)
        except struct.error:
            raise self._bad_time(start) from None
        if stored is not None and start <= marks.stream_time and not self._duplicates:
            # What `segments.put` does, without the call: this is the way of nearly all puts.
            segment = start // segments.interval
            if segment >= marks.floor:
                segments.put_entry(segment_prefix(segment) + raw, stored)
        elif stored is not None or not self._duplicates:
            segments.put(raw, start, stored)
        elif self._by_time and start > marks.stream_time:
            segments.advance(start)
        if self._log is not None:
            self._log(raw, logged, self._now() if time is None else time)


class WindowStore(WritableWindowStore[K, V]):
    """Values per key and window. A change's time in the changelog is that of the record being processed."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        *,
        retention_ms: int,
        window_size_ms: int,
        retain_duplicates: bool = False,
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
        by_time: bool = False,
    ) -> None:
        super().__init__(
            name, backend, key, value.deserialize, retention_ms=retention_ms, window_size_ms=window_size_ms,
            retain_duplicates=retain_duplicates, timestamped=False, changelog=changelog, now=now,
            by_time=by_time,
        )  # fmt: skip
        self._value_serde = value
        self._encode = value.serialize

    def put(self, key: K, value: V | None, window_start: int) -> None:
        """Set the value of a window; None removes it. A window that is too old is not kept."""
        self.put_raw(self._raw_key(key), value, window_start)

    def put_raw(self, raw_key: bytes, value: V | None, window_start: int) -> None:
        """`put` with a key from `encode_key`."""
        raw = None
        if value is not None:
            try:
                raw = self._encode(value)
            except Exception as error:
                raise self._bad_value(self._value_serde, value, error) from error
        self._write(raw_key, window_start, raw, raw, None)


class TimestampedWindowStore(WritableWindowStore[K, ValueAndTimestamp[V]]):
    """Values per key and window with the time of their last update, which is their time in the changelog too.

    >>> from headrace.state import memory_store
    >>> store = memory_store(
    ...     "visits", "timestamped_window", key=str, value=int, retention_ms=60_000, window_size_ms=10
    ... )
    >>> store.put("a", ValueAndTimestamp(1, 3), 0)
    >>> store.fetch("a", 0)
    ValueAndTimestamp(value=1, timestamp=3)
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        *,
        retention_ms: int,
        window_size_ms: int,
        retain_duplicates: bool = False,
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
        by_time: bool = False,
    ) -> None:
        super().__init__(
            name, backend, key, value_and_timestamp(value.deserialize), retention_ms=retention_ms,
            window_size_ms=window_size_ms, retain_duplicates=retain_duplicates, timestamped=True,
            changelog=changelog, now=now,
            by_time=by_time,
        )  # fmt: skip
        self._value_serde = value
        self._encode = value.serialize

    def put(self, key: K, value: ValueAndTimestamp[V] | None, window_start: int) -> None:
        """Set the value of a window; None removes it. A window that is too old is not kept."""
        raw_key = self._raw_key(key)
        if value is None:
            self._write(raw_key, window_start, None, None, None)
        else:
            self.put_raw(raw_key, value[0], value[1], window_start)

    def put_raw(self, raw_key: bytes, value: V | None, timestamp: int, window_start: int) -> None:
        """Set value and timestamp of a window, with a key from `encode_key`; None removes it."""
        if value is None:
            self._write(raw_key, window_start, None, None, None)
            return
        try:
            raw = self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error
        self._write(raw_key, window_start, pack_timestamp(timestamp) + raw, raw, timestamp)
