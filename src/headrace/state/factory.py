"""From a store's specification to an open store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.errors import StoreError
from headrace.serdes import serde_for
from headrace.serdes.base import Serde
from headrace.state.backend import Backend, ReadBackend
from headrace.state.base import Changelog, no_time, value_and_timestamp, value_only
from headrace.state.custom import CustomStore, view_store
from headrace.state.expiring import expiring_store
from headrace.state.expiry import ReadRows
from headrace.state.grace import GraceBuffer
from headrace.state.key_value import KeyValueStore, ReadOnlyKeyValueStore, TimestampedKeyValueStore
from headrace.state.lru import Evicted, LruRows, ReadLruRows
from headrace.state.memory import MemoryBackend
from headrace.state.segments import ReadSegments
from headrace.state.session import ReadOnlySessionStore, SessionStore
from headrace.state.suppression import SuppressionBuffer
from headrace.state.versioned import ReadOnlyVersionedKeyValueStore, VersionedKeyValueStore
from headrace.state.versions import ReadVersions
from headrace.state.window import TimestampedWindowStore, WindowStore
from headrace.state.window_view import ReadOnlyWindowStore
from headrace.store import StateStore
from headrace.topology.stores import StoreKind, StoreSpec
from headrace.topology.versioned import versioned_segment_interval

Store: TypeAlias = (
    KeyValueStore[Any, Any]
    | TimestampedKeyValueStore[Any, Any]
    | WindowStore[Any, Any]
    | TimestampedWindowStore[Any, Any]
    | SessionStore[Any, Any]
    | VersionedKeyValueStore[Any, Any]
    | CustomStore
    | SuppressionBuffer[Any, Any]
    | GraceBuffer[Any, Any]
)
StoreView: TypeAlias = (
    ReadOnlyKeyValueStore[Any, Any]
    | ReadOnlyWindowStore[Any, Any]
    | ReadOnlySessionStore[Any, Any]
    | ReadOnlyVersionedKeyValueStore[Any, Any]
    | StateStore
)


def open_store(
    spec: StoreSpec,
    backend: Backend,
    changelog: Changelog | None = None,
    *,
    key: Serde[Any],
    value: Serde[Any],
    now: Callable[[], int] = no_time,
) -> Store:
    """A typed store over a backend; `key` and `value` are the specification's serdes or the application's defaults.

    `now` gives the timestamp of the record being processed; stores without timestamps of their own log it.
    """
    if spec.ttl_ms:
        return expiring_store(spec, backend, key, value, changelog, now)
    if spec.max_entries:
        backend = LruRows(backend, spec.max_entries, _log_evicted(changelog, now))
    match spec.kind:
        case "key_value":
            return KeyValueStore(spec.name, backend, key, value, changelog, now)
        case "timestamped_key_value":
            return TimestampedKeyValueStore(spec.name, backend, key, value, changelog, now)
        case "window" | "timestamped_window":
            kind = WindowStore if spec.kind == "window" else TimestampedWindowStore
            return kind(
                spec.name,
                backend,
                key,
                value,
                retention_ms=spec.retention_ms,
                window_size_ms=spec.window_size_ms,
                retain_duplicates=spec.retain_duplicates,
                changelog=changelog,
                now=now,
                by_time=not spec.persistent,
            )
        case "session":
            return SessionStore(
                spec.name,
                backend,
                key,
                value,
                retention_ms=spec.retention_ms,
                changelog=changelog,
                now=now,
                by_time=not spec.persistent,
            )
        case "versioned":
            return VersionedKeyValueStore(
                spec.name,
                backend,
                key,
                value,
                retention_ms=spec.retention_ms,
                segment_interval_ms=spec.segment_interval_ms,
                changelog=changelog,
            )
        case "custom":
            return CustomStore(spec, backend, changelog, now)
        case "suppression_buffer":
            return SuppressionBuffer(spec.name, backend, key, value, changelog, now)
        case "grace_buffer":
            return GraceBuffer(spec.name, backend, key, value, changelog, now)


def open_view(
    spec: StoreSpec, backend: ReadBackend, *, key: Serde[Any], value: Serde[Any], timestamps: bool = False
) -> StoreView:
    """A read-only store, for queries. Timestamped stores give plain values, unless `timestamps` is set."""
    decode: Callable[[bytes], Any] = value.deserialize
    if spec.ttl_ms:
        backend, decode = ReadRows(backend), value_only(value.deserialize)
    if spec.kind in ("timestamped_key_value", "timestamped_window"):
        decode = (value_and_timestamp if timestamps else value_only)(value.deserialize)
    if spec.max_entries:
        backend = ReadLruRows(backend)
    match spec.kind:
        case "key_value" | "timestamped_key_value":
            return ReadOnlyKeyValueStore(spec.name, backend, key, decode)
        case "window" | "timestamped_window":
            segments = ReadSegments(backend, spec.retention_ms)
            return ReadOnlyWindowStore(
                spec.name, segments, key, decode, spec.window_size_ms, by_time=not spec.persistent
            )
        case "session":
            segments = ReadSegments(backend, spec.retention_ms)
            return ReadOnlySessionStore(spec.name, segments, key, decode, by_time=not spec.persistent)
        case "versioned":
            versions = ReadVersions(backend, spec.retention_ms, spec.segment_interval_ms)
            return ReadOnlyVersionedKeyValueStore(spec.name, versions, key, decode)
        case "custom":
            return view_store(spec, backend)
        case "suppression_buffer" | "grace_buffer":
            raise StoreError(
                f"the store `{spec.name}` holds records back for an operator and cannot be asked: "
                "ask the store of a table in front of it, or of one behind it"
            )


def _log_evicted(changelog: Changelog | None, now: Callable[[], int]) -> Evicted | None:
    if changelog is None:
        return None
    log = changelog
    return lambda key: log(key, None, now())


def memory_store(
    name: str,
    kind: StoreKind = "key_value",
    *,
    key: Any,
    value: Any,
    retention_ms: int = 0,
    window_size_ms: int = 0,
    segment_interval_ms: int | None = None,
    retain_duplicates: bool = False,
    ttl_ms: int = 0,
    max_entries: int = 0,
    changelog: Changelog | None = None,
) -> Any:
    """A store in memory, for tests and examples; `key` and `value` are types or serdes.

    >>> store = memory_store("names", key=int, value=str)
    >>> store.put(1, "one")
    >>> store.get(1)
    'one'
    """
    key_serde, value_serde = serde_for(key), serde_for(value)
    spec = StoreSpec(
        name,
        kind,
        key_serde,
        value_serde,
        persistent=False,
        retention_ms=retention_ms,
        window_size_ms=window_size_ms,
        retain_duplicates=retain_duplicates,
        ttl_ms=ttl_ms,
        max_entries=max_entries,
        segment_interval_ms=segment_interval_ms or versioned_segment_interval(retention_ms),
    )
    return open_store(spec, MemoryBackend(), changelog, key=key_serde, value=value_serde)
