"""Stores behind a record cache: what is put stays in the cache until it is flushed, and reads see through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

from headrace.record import Headers
from headrace.state.backend import Backend, Entry, Marks
from headrace.state.base import Changelog, unpack_timestamp
from headrace.state.cache import Mark, Moment, NamedCache, RecordCache
from headrace.state.merge import merged

Forward: TypeAlias = Callable[[Any, Any, int, Headers], None]
"""Takes a change of the table: key, (new, old, is latest), timestamp and headers."""

Send: TypeAlias = Callable[[bytes, bytes | None, bytes | None, Mark], None]


class Below(Protocol):
    """The store under a cache, as bytes."""

    def attach(self, cache: NamedCache) -> None: ...

    def read(self, key: bytes) -> bytes | None: ...

    def write(self, key: bytes, value: bytes | None) -> None: ...


class StoreCache:
    """The cache of one store. `listen` makes what is flushed go on as changes of a table.

    `prefix` is how many bytes the cache's keys have before those of the changelog.
    """

    def __init__(
        self,
        shared: RecordCache,
        moment: Moment,
        below: Below,
        log: Changelog | None,
        *,
        timestamped: bool,
        prefix: int = 0,
    ) -> None:
        cache = NamedCache(shared, moment, self._write)
        below.attach(cache)
        self.flush, self.clear = cache.flush, cache.clear
        self._moment = moment
        self._below = below
        self._log = log
        self._timestamped = timestamped
        self._prefix = prefix
        self._send: Send | None = None
        self._sends_old_values = False

    def typed(self, key_of: Callable[[bytes], Any], decode: Callable[[bytes], Any]) -> None:
        """How the store reads its keys and values."""
        self._key_of, self._decode = key_of, decode

    def listen(self, forward: Forward, sends_old_values: bool) -> None:
        """Send each flushed entry on, with the value of the flush before as the old one if that is asked for. A
        deleted entry of which nobody ever heard is sent to nobody.
        """
        self._send = self._plain(forward) if not self._timestamped else self._with_times(forward)
        self._sends_old_values = sends_old_values

    def _with_times(self, forward: Forward) -> Send:
        key_of, decode = self._key_of, self._decode

        def send(raw: bytes, new: bytes | None, old: bytes | None, mark: Mark) -> None:
            value, time = (None, mark.time) if new is None else decode(new)
            before = None if old is None else decode(old)[0]
            forward(key_of(raw), (value, before, True), time, mark.headers)

        return send

    def _plain(self, forward: Forward) -> Send:
        """Of sessions, whose end is their time."""
        key_of, decode = self._key_of, self._decode

        def send(raw: bytes, new: bytes | None, old: bytes | None, mark: Mark) -> None:
            key = key_of(raw)
            value, before = (None if data is None else decode(data) for data in (new, old))
            forward(key, (value, before, True), key.end, mark.headers)

        return send

    def _write(self, key: bytes, new: bytes | None, mark: Mark, heard: bool) -> None:
        send, old, below, moment = self._send, None, self._below, self._moment
        if send is not None and (new is None or self._sends_old_values):
            old = below.read(key)
            if new is None and old is None and not heard:
                return
        before = moment.mark()
        moment.go_to(mark)
        below.write(key, new)
        raw = key[self._prefix :]
        if self._log is not None:
            if new is not None and self._timestamped:
                self._log(raw, new[8:], unpack_timestamp(new)[0])
            else:
                self._log(raw, new, mark.time)
        if send is not None:
            send(raw, new, old if self._sends_old_values else None, mark)
        moment.go_to(before)


class CachedBackend:
    """A key-value store's backend with a cache on top."""

    put: Callable[[bytes, bytes | None], None]

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.marks: Marks = backend.marks
        # As in Kafka Streams, what is in the cache does not count.
        self.count = backend.count
        self.truncate = backend.truncate

    def attach(self, cache: NamedCache) -> None:
        """The cache, which needs this to write to."""
        self._cache = cache
        self.put = cache.put

    def read(self, key: bytes) -> bytes | None:
        """What is below the cache."""
        return self._backend.get(key)

    def write(self, key: bytes, value: bytes | None) -> None:
        """Write below the cache."""
        if value is None:
            self._backend.delete(key)
        else:
            self._backend.put(key, value)

    def get(self, key: bytes, /) -> bytes | None:
        """What was read is remembered, as in Kafka Streams."""
        entry = self._cache.get(key)
        if entry is not None:
            return entry.value
        value = self._backend.get(key)
        if value is not None:
            self._cache.keep(key, value)
        return value

    def delete(self, key: bytes, /) -> None:
        """Remove an entry, if it is there."""
        self._cache.put(key, None)

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Put each (key, value)."""
        for key, value in entries:
            self._cache.put(key, value)

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        """The entries with low <= key < high, as they are now."""
        top = self._cache.range(low, high, reverse)
        below = self._backend.range(low, high, reverse)
        return below if top is None else merged(top, below, reverse)

    def first(self, low: bytes, high: bytes) -> bytes | None:
        """The lowest key with low <= key < high."""
        return next((key for key, _ in self.range(low, high)), None)
