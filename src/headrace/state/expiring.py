"""Key-value stores whose rows live for a limited time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.serdes.base import Serde
from headrace.state.backend import Backend
from headrace.state.base import Changelog, no_time, pack_timestamp, value_only
from headrace.state.expiry import ExpiringRows, Expiry
from headrace.state.key_value import KeyValueStore, TimestampedKeyValueStore
from headrace.state.replay import replay_timestamped_key_value
from headrace.topology.stores import StoreSpec

K = TypeVar("K")
V = TypeVar("V")


class StampedKeyValueStore(KeyValueStore[K, V]):
    """A plain store whose rows have timestamps all the same, because they are kept for a limited time only: those of
    the records that they were put with, as in the changelog.
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
        super().__init__(name, backend, key, value, changelog, now)
        self._decode = value_only(value.deserialize)
        self.apply_changelog = replay_timestamped_key_value(backend)

    def put_raw(self, raw_key: bytes, value: V | None) -> None:
        """`put` with a key from `encode_key`."""
        if value is None:
            self.delete_raw(raw_key)
            return
        try:
            raw = self._encode(value)
        except Exception as error:
            raise self._bad_value(self._value_serde, value, error) from error
        timestamp = self._now()
        self._put(raw_key, pack_timestamp(timestamp) + raw)
        if self._log is not None:
            self._log(raw_key, raw, timestamp)


def expiring_store(
    spec: StoreSpec,
    backend: Backend,
    key: Serde[Any],
    value: Serde[Any],
    changelog: Changelog | None,
    now: Callable[[], int],
) -> KeyValueStore[Any, Any] | TimestampedKeyValueStore[Any, Any]:
    """A key-value store with a time to live."""
    rows = ExpiringRows(backend)
    kind = StampedKeyValueStore if spec.kind == "key_value" else TimestampedKeyValueStore
    store = kind(spec.name, rows, key, value, changelog, now)
    store.expiry = Expiry(rows, spec.ttl_ms, key.deserialize, value.deserialize, changelog)
    return store
