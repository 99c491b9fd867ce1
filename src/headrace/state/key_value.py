"""Key-value stores, plain and timestamped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from headrace.serdes.base import Serde
from headrace.state.backend import Backend, NoBackend, ReadBackend, after
from headrace.state.base import (
    Changelog,
    StateStore,
    ValueAndTimestamp,
    no_time,
    nothing,
    pack_timestamp,
    value_and_timestamp,
)
from headrace.state.expiry import Expiry
from headrace.state.replay import replay_key_value, replay_timestamped_key_value

K = TypeVar("K")
V = TypeVar("V")

logger = logging.getLogger("headrace")


class ReadOnlyKeyValueStore(StateStore[K], Generic[K, V]):
    """What may be asked of a key-value store. Iterators see the store as it was when they were made.

    They are generators: `close()` ends one early, and one that is left alone costs nothing once it is forgotten.

    >>> from headrace.state import memory_store
    >>> store = memory_store("counts", key=str, value=int)
    >>> store.put_all([("a", 1), ("b", 2)])
    >>> for key, count in store.all():
    ...     store.delete(key)
    ...     store.put(key + key, count)
    1
    2
    >>> list(store.all())
    [('aa', 1), ('bb', 2)]
    """

    def __init__(self, name: str, backend: ReadBackend, key: Serde[K], decode: Callable[[bytes], V]) -> None:
        super().__init__(name, key)
        self._backend = backend
        self._get = backend.get
        self._decode = decode

    def get(self, key: K) -> V | None:
        """The value of a key, or None.

        >>> from headrace.state import memory_store
        >>> store = memory_store("counts", key=str, value=int)
        >>> store.put("a", 1)
        >>> store.get("a"), store.get("b")
        (1, None)
        """
        try:
            raw_key = self.encode_key(key)
        except Exception as error:
            raise self._bad_key(key, error) from error
        raw = self._get(raw_key)
        return None if raw is None else self._decode(raw)

    def get_raw(self, raw_key: bytes) -> V | None:
        """`get` with a key from `encode_key`."""
        raw = self._get(raw_key)
        return None if raw is None else self._decode(raw)

    def range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries with low <= key <= high, in the order of the keys' bytes; None for no bound.

        >>> from headrace.state import memory_store
        >>> store = memory_store("counts", key=str, value=int)
        >>> store.put_all([("a", 1), ("b", 2), ("c", 3)])
        >>> list(store.range("a", "b")), list(store.reverse_range("b"))
        ([('a', 1), ('b', 2)], [('c', 3), ('b', 2)])
        """
        return self._range(low, high, False)

    def reverse_range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """`range`, from the highest key down."""
        return self._range(low, high, True)

    def all(self) -> Iterator[tuple[K, V]]:
        """Every entry, in the order of the keys' bytes."""
        return self._scan(None, None, False)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """Every entry, from the highest key down."""
        return self._scan(None, None, True)

    def prefix_scan(
        self, prefix: Any, serialize: Callable[[Any], bytes] | None = None
    ) -> Iterator[tuple[K, V]]:
        """The entries whose key's bytes begin with the prefix: bytes, or what `serialize` makes into bytes.

        Without `serialize`, the key's own serde is used.

        >>> from headrace.state import memory_store
        >>> store = memory_store("counts", key=str, value=int)
        >>> store.put_all([("apple", 1), ("apricot", 2), ("pear", 3)])
        >>> list(store.prefix_scan("ap"))
        [('apple', 1), ('apricot', 2)]
        """
        if serialize is None and isinstance(prefix, bytes):
            raw = prefix
        else:
            raw = serialize(prefix) if serialize else self._raw_key(prefix)
        return self._scan(raw, after(raw), False)

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return self._backend.count()

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._backend = NoBackend(self._closed())
        self._get = self._backend.get

    def _range(self, low: K | None, high: K | None, reverse: bool) -> Iterator[tuple[K, V]]:
        first = None if low is None else self._raw_key(low)
        last = None if high is None else self._raw_key(high)
        if first is not None and last is not None and first > last:
            logger.warning(
                "store `%s`: the range from %r to %r is empty, because the bytes of the first key come after "
                "those of the last (numbers below zero come after all others)",
                self.name,
                low,
                high,
            )
            return nothing()
        return self._scan(first, None if last is None else last + b"\0", reverse)

    def _scan(self, low: bytes | None, high: bytes | None, reverse: bool) -> Iterator[tuple[K, V]]:
        key_from, decode = self._key_from, self._decode
        usable, rows = self._is_usable, self._backend.range(low, high, reverse)
        return ((key_from(key), decode(raw)) for key, raw in rows if self.is_open or usable())


class _WritableKeyValueStore(ReadOnlyKeyValueStore[K, V]):
    expiry: Expiry | None = None
    """How rows leave a store that keeps them for a limited time."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        decode: Callable[[bytes], V],
        changelog: Changelog | None,
        now: Callable[[], int],
    ) -> None:
        super().__init__(name, backend, key, decode)
        self._put = backend.put
        self._remove = backend.delete
        self._log = changelog
        self._now = now

    def put(self, key: K, value: V | None) -> None:
        raise TypeError(f"{type(self).__name__} does not define `put`")

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Put the value unless the key has one; returns the one it had."""
        present = self.get(key)
        if present is None:
            self.put(key, value)
        return present

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Put each (key, value)."""
        log, logged = self._log, []
        if log is None:
            for key, value in entries:
                self.put(key, value)
            return
        # All of them first, as Kafka Streams does: what a store of a limited size drops meanwhile is logged before.
        self._log = lambda *change: logged.append(change)
        try:
            for key, value in entries:
                self.put(key, value)
        finally:
            self._log = log
            for change in logged:
                log(*change)

    def delete(self, key: K) -> V | None:
        """Remove a key; returns the value it had.

        >>> from headrace.state import memory_store
        >>> store = memory_store("counts", key=str, value=int)
        >>> store.put("a", 1)
        >>> store.delete("a"), store.get("a")
        (1, None)
        """
        raw_key = self._raw_key(key)
        present = self.get_raw(raw_key)
        self.delete_raw(raw_key)
        return present

    def delete_raw(self, raw_key: bytes) -> None:
        """Remove a key from `encode_key`."""
        self._remove(raw_key)
        if self._log is not None:
            self._log(raw_key, None, self._now())

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        nothing = NoBackend(self._closed())
        self._put, self._remove = nothing.put, nothing.delete


class KeyValueStore(_WritableKeyValueStore[K, V]):
    """Keys and values. A change's time in the changelog is that of the record being processed."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
    ) -> None:
        super().__init__(name, backend, key, value.deserialize, changelog, now)
        self._value_serde = value
        self._encode = value.serialize
        self.apply_changelog: Changelog = replay_key_value(backend)
        """Does what a changelog record says, without logging it."""

    def put(self, key: K, value: V | None) -> None:
        """Set the value of a key; None removes it."""
        raw_key = self._raw_key(key)
        self.put_raw(raw_key, value)

    def put_raw(self, raw_key: bytes, value: V | None) -> None:
        """`put` with a key from `encode_key`."""
        if value is None:
            self.delete_raw(raw_key)
            return
        try:
            raw = self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error
        self._put(raw_key, raw)
        if self._log is not None:
            self._log(raw_key, raw, self._now())


class TimestampedKeyValueStore(_WritableKeyValueStore[K, ValueAndTimestamp[V]]):
    """Keys and values with the time of their last update, which is also their time in the changelog.

    Operators that update a key read it with `get_raw` and write it with `put_raw`: it is serialized once.

    >>> from headrace.state import memory_store
    >>> store = memory_store("counts", "timestamped_key_value", key=str, value=int)
    >>> store.put("a", ValueAndTimestamp(1, 10))
    >>> store.get("a")
    ValueAndTimestamp(value=1, timestamp=10)
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        changelog: Changelog | None = None,
        now: Callable[[], int] = no_time,
    ) -> None:
        super().__init__(name, backend, key, value_and_timestamp(value.deserialize), changelog, now)
        self._value_serde = value
        self._encode = value.serialize
        self.apply_changelog: Changelog = replay_timestamped_key_value(backend)
        """Does what a changelog record says, without logging it."""

    def put(self, key: K, value: ValueAndTimestamp[V] | None) -> None:
        """Set the value of a key; None removes it."""
        raw_key = self._raw_key(key)
        if value is None:
            self.delete_raw(raw_key)
        else:
            self.put_raw(raw_key, value[0], value[1])

    def put_raw(self, raw_key: bytes, value: V | None, timestamp: int) -> None:
        """Set value and timestamp of a key from `encode_key`; None removes it."""
        if value is None:
            self._remove(raw_key)
            if self._log is not None:
                self._log(raw_key, None, timestamp)
            return
        try:
            raw = self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error
        self._put(raw_key, pack_timestamp(timestamp) + raw)
        if self._log is not None:
            self._log(raw_key, raw, timestamp)
