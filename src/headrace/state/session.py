"""Session stores."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.state.backend import Backend, Entry
from headrace.state.base import Changelog, StateStore, no_time, nothing
from headrace.state.key_schema import (
    MAX_TIME,
    session_suffix,
    session_time_and_key,
    split_session_key,
    upper_range,
)
from headrace.state.replay import replay_session
from headrace.state.segments import ReadSegments, Segments

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlySessionStore(StateStore[K], Generic[K, V]):
    """What may be asked of a session store. Times are milliseconds; a session's start and end are inclusive.

    Sessions that ended longer ago than the retention (behind the newest end that was put) are not found.
    Iterators go by segment (of the end) and then by the bytes of key, end and start; for one key that is the
    order of the ends. Stores that are not persistent go by the end and then by key, as Kafka Streams' do in memory.
    """

    def __init__(
        self,
        name: str,
        segments: ReadSegments,
        key: Serde[K],
        decode: Callable[[bytes], V],
        *,
        by_time: bool = False,
    ) -> None:
        super().__init__(name, key)
        self._by_time = by_time
        self._segments = segments
        self._decode = decode

    def find_sessions(self, key: K, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed[K], V]]:
        """The key's sessions that end at `earliest_end` or later and start at `latest_start` or earlier.

        >>> from headrace.state import memory_store
        >>> store = memory_store("visits", "session", key=str, value=int, retention_ms=60_000)
        >>> store.put(Windowed("a", 0, 5), 1)
        >>> store.put(Windowed("a", 10, 15), 2)
        >>> list(store.find_sessions("a", 4, 9))
        [(Windowed(key='a', start=0, end=5), 1)]
        """
        return self._typed(key, self.find_sessions_raw(self._raw_key(key), earliest_end, latest_start))

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """`find_sessions`, from the latest end back."""
        found = self.find_sessions_raw(self._raw_key(key), earliest_end, latest_start, reverse=True)
        return self._typed(key, found)

    def find_sessions_raw(
        self, raw_key: bytes, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, int, V]]:
        """(start, end, value) of the sessions of a key from `encode_key`."""
        segments = self._segments
        newest = segments.marks.stream_time
        first, last = segments.oldest(earliest_end), min(latest_start, newest)
        if last < 0 or first > newest:
            return nothing()
        low = raw_key + session_suffix(first, 0)
        # No session ends after stream time; a higher bound would take in all keys that begin with this one.
        high = raw_key + session_suffix(newest, newest) + b"\0"
        # All keys between two that begin with raw_key begin with it too: the length alone tells them apart.
        size, decode, usable = len(low), self._decode, self._is_usable
        entries = segments.scan(first, newest, low, high, reverse)
        if self._by_time:
            entries = iter(sorted(entries, key=session_time_and_key, reverse=reverse))
        return (
            (start, end, decode(value))
            for raw, value in entries
            if len(raw) == size
            for _, start, end in (split_session_key(raw),)
            if start <= last and end >= first and (self.is_open or usable())
        )

    def find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """`find_sessions` for all keys from one to another (None: no bound)."""
        return self._find_range(key_from, key_to, earliest_end, latest_start, False)

    def backward_find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """`find_sessions_range`, backwards."""
        return self._find_range(key_from, key_to, earliest_end, latest_start, True)

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """The value of the session with exactly this start and end.

        >>> from headrace.state import memory_store
        >>> store = memory_store("visits", "session", key=str, value=int, retention_ms=60_000)
        >>> store.put(Windowed("a", 0, 5), 1)
        >>> store.fetch_session("a", 0, 5), store.fetch_session("a", 0, 6)
        (1, None)
        """
        try:
            suffix = session_suffix(end, start)
        except struct.error:
            raise self._bad_time(start, end) from None
        raw = self._segments.get(self._raw_key(key) + suffix, end)
        return None if raw is None else self._decode(raw)

    def kept(self, earliest_end: int) -> Iterator[tuple[K, bytes, int, int]]:
        """Key, raw key, start and end of all sessions that ended then or later and are not deleted, also of those that
        are past the retention: final results are made of these.
        """
        for raw, _ in self._segments.scan(earliest_end, MAX_TIME, b"", None, False):
            raw_key, start, end = split_session_key(raw)
            if end >= earliest_end:
                yield self._key_from(raw_key), raw_key, start, end

    def kept_value(self, raw_key: bytes, start: int, end: int) -> V | None:
        """The value of a session that `kept` tells of."""
        raw = self._segments.kept(raw_key + session_suffix(end, start), end)
        return None if raw is None else self._decode(raw)

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key."""
        return self.find_sessions(key, 0, MAX_TIME)

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, from the latest end back."""
        return self.backward_find_sessions(key, 0, MAX_TIME)

    def fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of the keys from one to another (None: no bound)."""
        return self._find_range(key_from, key_to, 0, MAX_TIME, False)

    def backward_fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """`fetch_range`, backwards."""
        return self._find_range(key_from, key_to, 0, MAX_TIME, True)

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._segments.close(self._closed())

    def _typed(self, key: K, found: Iterator[tuple[int, int, V]]) -> Iterator[tuple[Windowed[K], V]]:
        return ((Windowed(key, start, end), value) for start, end, value in found)

    def _find_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        low = b"" if key_from is None else self._raw_key(key_from)
        high = None if key_to is None else self._raw_key(key_to)
        segments = self._segments
        first, last = segments.oldest(earliest_end), min(latest_start, MAX_TIME)
        if last < 0 or (high is not None and low > high):
            return nothing()
        end = None if high is None else upper_range(high, session_suffix(MAX_TIME, last)) + b"\0"
        entries = segments.scan(first, MAX_TIME, low, end, reverse)
        if self._by_time:
            entries = iter(sorted(entries, key=session_time_and_key, reverse=reverse))
        return self._select(entries, low, high, first, last)

    def _select(
        self, entries: Iterator[Entry], low: bytes, high: bytes | None, first: int, last: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        key_from, decode = self._key_from, self._decode
        for raw, value in entries:
            raw_key, start, end = split_session_key(raw)
            if not self.is_open:
                self._is_usable()
            if end >= first and start <= last and low <= raw_key and (high is None or raw_key <= high):
                yield Windowed(key_from(raw_key), start, end), decode(value)


class SessionStore(ReadOnlySessionStore[K, V]):
    """Values per key and session. A change's time in the changelog is that of the record being processed."""

    _segments: Segments

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        *,
        retention_ms: int,
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
        by_time: bool = False,
    ) -> None:
        segments = Segments(backend, retention_ms)
        super().__init__(name, segments, key, value.deserialize, by_time=by_time)
        self._value_serde = value
        self._encode = value.serialize
        self._log = changelog
        self._now = now
        self.apply_changelog: Changelog = replay_session(segments, by_time=by_time)
        """Does what a changelog record says, without logging it."""

    def put_behind(self, segments: Segments) -> None:
        """Read and write through these segments, which have a cache; a changelog still goes below it."""
        self._segments = segments

    def put(self, session: Windowed[K], value: V | None) -> None:
        """Set the value of a session; None removes it. A session that ended too long ago is not kept."""
        self.put_raw(self._raw_key(session.key), session.start, session.end, value)

    def remove(self, session: Windowed[K]) -> None:
        """Remove a session.

        >>> from headrace.state import memory_store
        >>> store = memory_store("visits", "session", key=str, value=int, retention_ms=60_000)
        >>> store.put(Windowed("a", 0, 5), 1)
        >>> store.remove(Windowed("a", 0, 5))
        >>> list(store.fetch("a"))
        []
        """
        raw_key = self._raw_key(session.key)
        if self._by_time and session.end > self._segments.marks.stream_time:
            # Nothing is there. In memory, Kafka Streams does not take this for a sign of the time either.
            if self._log is not None:
                self._log(raw_key + session_suffix(session.end, session.start), None, self._now())
            return
        self.put_raw(raw_key, session.start, session.end, None)

    def put_raw(self, raw_key: bytes, start: int, end: int, value: V | None) -> None:
        """Set (or, with None, remove) the session of a key from `encode_key`."""
        encoded = None
        if value is not None:
            try:
                encoded = self._encode(value)
            except Exception as error:
                raise self._bad_value(self._value_serde, value, error) from error
        try:
            raw = raw_key + session_suffix(end, start)
        except struct.error:
            raise self._bad_time(start, end) from None
        self._segments.put(raw, end, encoded)
        if self._log is not None:
            self._log(raw, encoded, self._now())
