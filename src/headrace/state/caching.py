"""From a store's specification to an open store behind a record cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.record import Windowed
from headrace.serdes.base import Serde
from headrace.state.backend import Backend
from headrace.state.base import Changelog, value_and_timestamp
from headrace.state.cache import Moment, RecordCache
from headrace.state.cached import CachedBackend, StoreCache
from headrace.state.cached_windows import CachedSegments, CachedTimestampedWindowStore, CachedWindowStore
from headrace.state.factory import Store
from headrace.state.key_schema import SEGMENT_SIZE, split_session_key, split_window_key, window_end
from headrace.state.key_value import KeyValueStore, TimestampedKeyValueStore
from headrace.state.replay import replay
from headrace.state.session import SessionStore
from headrace.topology.stores import StoreSpec

KINDS = frozenset({"key_value", "timestamped_key_value", "window", "timestamped_window", "session"})


def can_be_cached(spec: StoreSpec) -> bool:
    """Whether there is a cache for such a store: one that keeps duplicates has none, as in Kafka Streams, nor has one
    that drops rows by itself.
    """
    return spec.kind in KINDS and not (spec.retain_duplicates or spec.ttl_ms or spec.max_entries)


def open_cached_store(
    spec: StoreSpec,
    backend: Backend,
    changelog: Changelog | None,
    *,
    key: Serde[Any],
    value: Serde[Any],
    moment: Moment,
    shared: RecordCache,
) -> Store:
    """A typed store like that of `open_store`, with a cache in front of the backend and of the changelog."""
    timestamped = spec.kind in ("timestamped_key_value", "timestamped_window")
    decode = value_and_timestamp(value.deserialize) if timestamped else value.deserialize
    key_of: Callable[[bytes], Any] = key.deserialize
    store: Store
    if spec.kind in ("key_value", "timestamped_key_value"):
        cached = CachedBackend(backend)
        cache = StoreCache(shared, moment, cached, changelog, timestamped=timestamped)
        kind = TimestampedKeyValueStore if timestamped else KeyValueStore
        store = kind(spec.name, cached, key, value)
        store.apply_changelog = replay(spec, backend)
    else:
        windowed = spec.kind != "session"
        segments = CachedSegments(backend, spec.retention_ms, _window_start if windowed else _session_end)
        cache = StoreCache(shared, moment, segments, changelog, timestamped=timestamped, prefix=SEGMENT_SIZE)
        if windowed:
            of_windows = CachedTimestampedWindowStore if timestamped else CachedWindowStore
            store = of_windows(
                spec.name, backend, key, value, retention_ms=spec.retention_ms,
                window_size_ms=spec.window_size_ms, by_time=not spec.persistent,
            )  # fmt: skip
            key_of = partial(_window_of, key.deserialize, spec.window_size_ms)
        else:
            store = SessionStore(
                spec.name, backend, key, value, retention_ms=spec.retention_ms, by_time=not spec.persistent
            )
            key_of = partial(_session_of, key.deserialize)
        store.put_behind(segments)
    cache.typed(key_of, decode)
    store.cache = cache
    return store


def _window_start(key: bytes) -> int:
    return split_window_key(key)[1]


def _session_end(key: bytes) -> int:
    return split_session_key(key)[2]


def _window_of(key_from: Callable[[bytes], Any], size: int, raw: bytes) -> Windowed[Any]:
    key, start, _ = split_window_key(raw)
    return Windowed(key_from(key), start, window_end(start, size))


def _session_of(key_from: Callable[[bytes], Any], raw: bytes) -> Windowed[Any]:
    key, start, end = split_session_key(raw)
    return Windowed(key_from(key), start, end)
