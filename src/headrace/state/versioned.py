"""Versioned key-value stores: what a key's value was at any time of the history that is kept (KIP-889)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, NamedTuple, TypeVar

from headrace.serdes.base import Serde
from headrace.state.backend import Backend
from headrace.state.base import Changelog, StateStore, ValueAndTimestamp
from headrace.state.replay import replay_versioned
from headrace.state.versions import NOT_PUT, VALID_TO_UNDEFINED, ReadVersions, Version, Versions

K = TypeVar("K")
V = TypeVar("V")


class VersionedRecord(NamedTuple, Generic[V]):
    """A value that was valid from `timestamp` to `valid_to` (exclusive; None: it is the latest)."""

    value: V
    timestamp: int
    valid_to: int | None = None


class ReadOnlyVersionedKeyValueStore(StateStore[K], Generic[K, V]):
    """What may be asked of a versioned store. Times are milliseconds."""

    def __init__(
        self, name: str, versions: ReadVersions, key: Serde[K], decode: Callable[[bytes], V]
    ) -> None:
        super().__init__(name, key)
        self._versions = versions
        self._decode = decode

    def get(self, key: K, as_of: int | None = None) -> VersionedRecord[V] | None:
        """The latest value of a key; with `as_of`, the one that was valid at that time. None: there was none.

        Of times before the history that is kept only those are known at which the latest value was valid already.

        >>> from headrace.state import memory_store
        >>> store = memory_store("prices", "versioned", key=str, value=int, retention_ms=60_000)
        >>> _ = store.put("a", 10, 100), store.put("a", 12, 200)
        >>> store.get("a")
        VersionedRecord(value=12, timestamp=200, valid_to=None)
        >>> store.get("a", 150)
        VersionedRecord(value=10, timestamp=100, valid_to=200)
        """
        return self._typed(self._find(self._raw_key(key), as_of))

    def get_raw(self, raw_key: bytes) -> ValueAndTimestamp[V] | None:
        """The latest value and its time, with a key from `encode_key`: as a timestamped store gives them."""
        return self._row(self._find(raw_key, None))

    def get_raw_as_of(self, raw_key: bytes, as_of: int) -> ValueAndTimestamp[V] | None:
        """`get_raw` for the value that was valid at a time."""
        return self._row(self._find(raw_key, as_of))

    def close(self) -> None:
        """End the store's life; every later use raises StoreError."""
        super().close()
        self._versions.close(self._closed())

    def _find(self, raw_key: bytes, as_of: int | None) -> Version | None:
        if as_of is None:
            return self._versions.latest(raw_key)
        try:
            return self._versions.as_of(raw_key, as_of)
        except TypeError:
            raise self._bad_time(as_of) from None

    def _typed(self, found: Version | None) -> VersionedRecord[V] | None:
        if found is None or found.value is None:
            return None
        return VersionedRecord(self._decode(found.value), found.valid_from, found.valid_to)

    def _row(self, found: Version | None) -> ValueAndTimestamp[V] | None:
        if found is None or found.value is None:
            return None
        return ValueAndTimestamp(self._decode(found.value), found.valid_from)


class VersionedKeyValueStore(ReadOnlyVersionedKeyValueStore[K, V]):
    """Keys and their values over time. A put may be out of order; one older than the history is not kept.

    Each put is logged, also one that was not kept: its own time is that of the changelog record.
    """

    _versions: Versions

    VALID_TO_UNDEFINED: ClassVar = VALID_TO_UNDEFINED
    NOT_PUT: ClassVar = NOT_PUT

    def __init__(
        self,
        name: str,
        backend: Backend,
        key: Serde[K],
        value: Serde[V],
        *,
        retention_ms: int,
        segment_interval_ms: int,
        changelog: Changelog | None = None,
    ) -> None:
        versions = Versions(backend, retention_ms, segment_interval_ms)
        super().__init__(name, versions, key, value.deserialize)
        self._value_serde = value
        self._encode = value.serialize
        self._log = changelog
        self.apply_changelog: Changelog = replay_versioned(versions)
        """Does what a changelog record says, without logging it."""

    def put(self, key: K, value: V | None, timestamp: int) -> int:
        """Say what the value is from a time on, until the next one that is known; None: there is none.

        Returns until when it is valid: `VALID_TO_UNDEFINED` (-1) for the latest, and `NOT_PUT` when it is older than
        the history.

        >>> from headrace.state import memory_store
        >>> store = memory_store("prices", "versioned", key=str, value=int, retention_ms=60_000)
        >>> store.put("a", 12, 200), store.put("a", 10, 100)
        (-1, 200)
        """
        return self.put_raw(self._raw_key(key), value, timestamp)

    def put_raw(self, raw_key: bytes, value: V | None, timestamp: int) -> int:
        """`put` with a key from `encode_key`."""
        encoded = None
        if value is not None:
            try:
                encoded = self._encode(value)
            except Exception as error:
                raise self._bad_value(self._value_serde, value, error) from error
        if not isinstance(timestamp, int) or timestamp < 0:
            raise self._bad_time(timestamp)
        valid_to = self._versions.put(raw_key, encoded, timestamp)
        if self._log is not None:
            self._log(raw_key, encoded, timestamp)
        return valid_to

    def delete(self, key: K, timestamp: int) -> VersionedRecord[V] | None:
        """Say that from a time on there is no value; returns the one that was valid at that time.

        >>> from headrace.state import memory_store
        >>> store = memory_store("prices", "versioned", key=str, value=int, retention_ms=60_000)
        >>> _ = store.put("a", 10, 100)
        >>> store.delete("a", 150)
        VersionedRecord(value=10, timestamp=100, valid_to=None)
        >>> store.get("a"), store.get("a", 149)
        (None, VersionedRecord(value=10, timestamp=100, valid_to=150))
        """
        raw_key = self._raw_key(key)
        found = self._find(raw_key, timestamp)
        if self._versions.is_expired(timestamp):
            found = None
        self.put_raw(raw_key, None, timestamp)
        return self._typed(found)
