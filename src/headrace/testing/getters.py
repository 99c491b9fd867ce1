"""How a test gets at the stores of a driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import StoreError
from headrace.origin import caller
from headrace.state import (
    CustomStore,
    KeyValueStore,
    SessionStore,
    Store,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)
from headrace.testing.stores import plain


class StoreGetters:
    """One short way, and those of Kafka Streams' driver."""

    def get_all_state_stores(self) -> Mapping[str, Store]:
        """Every store by name, as processors see them."""
        raise TypeError(f"{type(self).__name__} does not define `get_all_state_stores`")

    def store(self, name: str) -> Any:
        """A store by name, with plain values; raises StoreError when there is none."""
        return plain(self.get_state_store(name))

    def get_state_store(self, name: str) -> Any:
        """A store by name, as processors see it; one of your own is the object itself."""
        stores = self.get_all_state_stores()
        if name not in stores:
            known = ", ".join(f"`{store}`" for store in sorted(stores)) or "none"
            raise StoreError(f"there is no store `{name}`; the topology has: {known}", origin=caller())
        found = stores[name]
        return found.store if isinstance(found, CustomStore) else found

    def get_key_value_store(self, name: str) -> Any:
        """A key-value store with plain values, whether it keeps timestamps or not."""
        return plain(self._of_kind(name, KeyValueStore, TimestampedKeyValueStore))

    def get_timestamped_key_value_store(self, name: str) -> TimestampedKeyValueStore[Any, Any]:
        """A key-value store with values and timestamps."""
        found: TimestampedKeyValueStore[Any, Any] = self._of_kind(name, TimestampedKeyValueStore)
        return found

    def get_window_store(self, name: str) -> Any:
        """A window store with plain values, whether it keeps timestamps or not."""
        return plain(self._of_kind(name, WindowStore, TimestampedWindowStore))

    def get_timestamped_window_store(self, name: str) -> TimestampedWindowStore[Any, Any]:
        """A window store with values and timestamps."""
        found: TimestampedWindowStore[Any, Any] = self._of_kind(name, TimestampedWindowStore)
        return found

    def get_versioned_key_value_store(self, name: str) -> VersionedKeyValueStore[Any, Any]:
        """A versioned store: the values of each key over time."""
        found: VersionedKeyValueStore[Any, Any] = self._of_kind(name, VersionedKeyValueStore)
        return found

    def get_session_store(self, name: str) -> SessionStore[Any, Any]:
        """A session store."""
        found: SessionStore[Any, Any] = self._of_kind(name, SessionStore)
        return found

    def _of_kind(self, name: str, *kinds: type[Any]) -> Any:
        found = self.get_state_store(name)
        if not isinstance(found, kinds):
            wanted = " or ".join(f"`{kind.__name__}`" for kind in kinds)
            raise StoreError(
                f"the store `{name}` is a `{type(found).__name__}`, not a {wanted}: use its own getter, or `store`",
                origin=caller(),
            )
        return found
