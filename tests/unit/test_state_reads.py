"""What may be asked of a store may be asked of it everywhere: in a processor, a test and a running application."""

from __future__ import annotations

import inspect

import pytest

from headrace.app.reading import KeyValueReads, SessionReads, WindowReads
from headrace.record import Windowed
from headrace.state import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
    ValueAndTimestamp,
    memory_store,
)
from headrace.testing.stores import PlainKeyValues, PlainWindows


def reads(kind: type) -> set[str]:
    """The public methods for users: those for operators take raw keys."""
    methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    operators = {"close", "encode_key", "kept", "kept_value"}
    return {name for name in methods if not name.endswith("_raw")} - operators


@pytest.mark.parametrize(
    ("store", "other"),
    [
        (ReadOnlyKeyValueStore, KeyValueReads),
        (ReadOnlyKeyValueStore, PlainKeyValues),
        (ReadOnlyWindowStore, WindowReads),
        (ReadOnlyWindowStore, PlainWindows),
        (ReadOnlySessionStore, SessionReads),
    ],
)
def test_no_read_is_missing(store: type, other: type) -> None:
    assert reads(store) - reads(other) == set()


def test_plain_key_values_are_those_of_the_store() -> None:
    inner = memory_store("s", "timestamped_key_value", key=str, value=int)
    inner.put_all([(key, ValueAndTimestamp(n, 10 + n)) for n, key in enumerate(["a", "ab", "b", "c"])])
    store = PlainKeyValues(inner)
    assert list(store.all()) == [("a", 0), ("ab", 1), ("b", 2), ("c", 3)]
    assert list(store.reverse_all()) == list(store.all())[::-1]
    assert list(store.range("ab", "b")) == [("ab", 1), ("b", 2)]
    assert list(store.reverse_range("ab", "b")) == [("b", 2), ("ab", 1)]
    assert list(store.prefix_scan("a")) == [("a", 0), ("ab", 1)]
    assert list(store.prefix_scan(1, lambda n: b"b" * n)) == [("b", 2)]
    assert store.approximate_num_entries() == 4
    assert store.put_if_absent("a", 7) == 0
    assert store.delete("a") == 0
    store.put_all([("z", 9), ("b", None)])
    assert list(store.all()) == [("ab", 1), ("c", 3), ("z", 9)]
    assert inner.get("z") == ValueAndTimestamp(9, -1)


def test_plain_windows_are_those_of_the_store() -> None:
    inner = memory_store(
        "s", "timestamped_window", key=str, value=int, retention_ms=60_000, window_size_ms=10
    )
    for n, (key, start) in enumerate([("a", 0), ("b", 10), ("a", 20), ("c", 30)]):
        inner.put(key, ValueAndTimestamp(n, start), start)
    store = PlainWindows(inner)
    a, b, c = Windowed("a", 0, 10), Windowed("b", 10, 20), Windowed("c", 30, 40)
    second = Windowed("a", 20, 30)
    assert list(store.all()) == [(a, 0), (b, 1), (second, 2), (c, 3)]
    assert list(store.backward_all()) == list(store.all())[::-1]
    assert list(store.fetch_all(5, 25)) == [(b, 1), (second, 2)]
    assert list(store.backward_fetch_all(5, 25)) == [(second, 2), (b, 1)]
    assert list(store.fetch_range("b", None, 0, 99)) == [(b, 1), (c, 3)]
    assert list(store.backward_fetch_range("b", None, 0, 99)) == [(c, 3), (b, 1)]
    assert list(store.fetch("a", 0, 99)) == [(0, 0), (20, 2)]
    assert list(store.backward_fetch("a", 0, 99)) == [(20, 2), (0, 0)]
    assert store.fetch("a", 20) == 2
