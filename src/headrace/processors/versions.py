"""What tables do differently over a versioned store: a put may be late, or too late to be kept at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.processors.context import Process
from headrace.record import Headers
from headrace.state import ReadOnlyVersionedKeyValueStore, VersionedKeyValueStore

Put: TypeAlias = Callable[[bytes, Any, int], Any]


def is_versioned(store: object) -> bool:
    """Whether a store keeps versions."""
    return isinstance(store, ReadOnlyVersionedKeyValueStore)


def writer(store: Any, forward: Process) -> tuple[Put, Process]:
    """How an operator puts a row into its store and then sends the change on (KIP-914).

    Over a versioned store, what was not put is not sent on either, and what was put out of order is not the latest.
    Over any other it is the store's own method and the forward itself: those who keep no versions pay nothing.
    """
    if not is_versioned(store):
        return store.put_raw, forward
    put_raw = store.put_raw
    not_put, undefined = VersionedKeyValueStore.NOT_PUT, VersionedKeyValueStore.VALID_TO_UNDEFINED
    valid_to = not_put

    def put(raw_key: bytes, value: Any, timestamp: int) -> None:
        nonlocal valid_to
        valid_to = put_raw(raw_key, value, timestamp)

    def send(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        if valid_to != not_put:
            forward(key, (change[0], change[1], valid_to == undefined), timestamp, headers)

    return put, send


def skip_late(process: Process) -> Process:
    """For what is made of a versioned table's latest rows: a change out of order is none of them."""

    def latest(key: Any, change: Any, timestamp: int, headers: Headers) -> None:
        if change[2]:
            process(key, change, timestamp, headers)

    return latest
