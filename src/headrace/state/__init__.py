"""State stores: typed stores over ordered bytes, in memory or on disk, that log their changes."""

from __future__ import annotations

from headrace.state.backend import Backend, Marks, ReadBackend
from headrace.state.base import CHANGELOG_HEADERS, Changelog, StateStore, ValueAndTimestamp
from headrace.state.cache import RecordCache
from headrace.state.caching import can_be_cached, open_cached_store
from headrace.state.custom import CustomStore
from headrace.state.factory import Store, StoreView, memory_store, open_store, open_view
from headrace.state.grace import GraceBuffer
from headrace.state.key_value import KeyValueStore, ReadOnlyKeyValueStore, TimestampedKeyValueStore
from headrace.state.memory import MemoryBackend
from headrace.state.replay import replay
from headrace.state.session import ReadOnlySessionStore, SessionStore
from headrace.state.suppression import SuppressionBuffer
from headrace.state.versioned import (
    ReadOnlyVersionedKeyValueStore,
    VersionedKeyValueStore,
    VersionedRecord,
)
from headrace.state.window import TimestampedWindowStore, WindowStore
from headrace.state.window_view import ReadOnlyWindowStore

__all__ = [
    "CHANGELOG_HEADERS",
    "Backend",
    "Changelog",
    "CustomStore",
    "GraceBuffer",
    "KeyValueStore",
    "Marks",
    "MemoryBackend",
    "ReadBackend",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlyVersionedKeyValueStore",
    "ReadOnlyWindowStore",
    "RecordCache",
    "SessionStore",
    "StateStore",
    "Store",
    "StoreView",
    "SuppressionBuffer",
    "TimestampedKeyValueStore",
    "TimestampedWindowStore",
    "ValueAndTimestamp",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "WindowStore",
    "can_be_cached",
    "memory_store",
    "open_cached_store",
    "open_store",
    "open_view",
    "replay",
]
