"""From a changelog back to a store: the inverse of what each kind of store logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import TypeAlias, cast

from headrace.state.backend import Backend
from headrace.state.base import Changelog, pack_timestamp
from headrace.state.expiry import ExpiringRows
from headrace.state.grace import replay_grace
from headrace.state.key_schema import split_session_key, split_window_key
from headrace.state.lru import LruRows
from headrace.state.segments import Segments
from headrace.state.suppression import replay_suppression
from headrace.state.versions import Versions
from headrace.topology.stores import StoreSpec

ReplayMany: TypeAlias = Callable[[Sequence[bytes | None], Sequence[bytes | None], Sequence[int]], int]


def replay_key_value(backend: Backend) -> Changelog:
    """For plain key-value stores: the record is the entry."""
    put, delete = backend.put, backend.delete

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        if value is None:
            delete(key)
        else:
            put(key, value)

    return apply


def replay_timestamped_key_value(backend: Backend) -> Changelog:
    """For timestamped key-value stores: the record's timestamp goes in front of its value."""
    put, delete = backend.put, backend.delete

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        if value is None:
            delete(key)
        else:
            put(key, pack_timestamp(timestamp) + value)

    return apply


def replay_window(
    segments: Segments, *, timestamped: bool, duplicates: bool = False, by_time: bool = False
) -> Changelog:
    """For window stores; what has expired is dropped."""
    if duplicates and not by_time:
        return _replay_duplicates(segments, timestamped)
    marks = segments.marks

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        _, start, sequence = split_window_key(key)
        if sequence > marks.sequence:
            marks.sequence = sequence
        if timestamped and value is not None:
            value = pack_timestamp(timestamp) + value
        segments.put(key, start, value)

    return apply


def _replay_duplicates(segments: Segments, timestamped: bool) -> Changelog:
    """Null deletes nothing in a store with duplicates, so it is no sign of the time either."""
    put, marks = replay_window(segments, timestamped=timestamped), segments.marks

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        if value is None:
            marks.sequence = max(marks.sequence, split_window_key(key)[2])
        else:
            put(key, value, timestamp)

    return apply


def replay_session(segments: Segments, *, by_time: bool = False) -> Changelog:
    """For session stores; what has expired is dropped."""
    marks = segments.marks

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        _, _, end = split_session_key(key)
        if value is not None or not by_time or end <= marks.stream_time:
            segments.put(key, end, value)

    return apply


def replay_versioned(versions: Versions) -> Changelog:
    """For versioned stores: each record is a put at its own time; what has expired is dropped."""
    put = versions.put

    def apply(key: bytes, value: bytes | None, timestamp: int) -> None:
        put(key, value, timestamp)

    return apply


def replay(spec: StoreSpec, backend: Backend) -> Changelog:
    """The function that applies one changelog record to the backend of this store; it needs no serde."""
    if spec.ttl_ms:
        return replay_timestamped_key_value(ExpiringRows(backend))
    if spec.max_entries:
        backend = LruRows(backend, spec.max_entries)
    match spec.kind:
        case "key_value" | "custom":
            return replay_key_value(backend)
        case "timestamped_key_value":
            return replay_timestamped_key_value(backend)
        case "window" | "timestamped_window":
            segments = Segments(backend, spec.retention_ms)
            return replay_window(
                segments,
                timestamped=spec.kind == "timestamped_window",
                duplicates=spec.retain_duplicates,
                by_time=not spec.persistent,
            )
        case "session":
            return replay_session(Segments(backend, spec.retention_ms), by_time=not spec.persistent)
        case "versioned":
            return replay_versioned(Versions(backend, spec.retention_ms, spec.segment_interval_ms))
        case "suppression_buffer":
            return replay_suppression(backend)
        case "grace_buffer":
            return replay_grace(backend)


def replay_many(spec: StoreSpec, backend: Backend) -> ReplayMany:
    """`replay` for columns of records; returns their size in bytes. Records without a key are not of a store."""
    apply = replay(spec, backend)
    timestamped = spec.kind == "timestamped_key_value" or spec.ttl_ms > 0
    if spec.ttl_ms:
        backend = ExpiringRows(backend)
    if spec.max_entries:
        backend = LruRows(backend, spec.max_entries)

    def apply_many(
        keys: Sequence[bytes | None], values: Sequence[bytes | None], timestamps: Sequence[int]
    ) -> int:
        if (
            spec.kind in ("key_value", "timestamped_key_value", "custom")
            and None not in keys
            and None not in values
        ):
            plain = cast("Sequence[bytes]", values)
            stored = map(add, map(pack_timestamp, timestamps), plain) if timestamped else plain
            backend.put_many(zip(cast("Sequence[bytes]", keys), stored, strict=True))
            return sum(map(len, cast("Sequence[bytes]", keys))) + sum(map(len, plain))
        size = 0
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            if key is not None:
                apply(key, value, timestamp)
                size += len(key) + (0 if value is None else len(value))
        return size

    return apply_many
