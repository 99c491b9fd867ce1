"""Typed stores: what they take, what they refuse, and what their views show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.errors import SerializationError, StoreError
from headrace.record import Windowed
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, ValueAndTimestamp, memory_store, open_store, open_view
from headrace.state.replay import replay, replay_many
from headrace.topology.stores import StoreKind, StoreSpec

TEXT, NUMBER = serde_for(str), serde_for(int)
KINDS: list[StoreKind] = ["key_value", "timestamped_key_value", "window", "timestamped_window", "session"]


def store_of(kind: StoreKind, **options: Any) -> Any:
    return memory_store("s", kind, key=str, value=int, retention_ms=60_000, window_size_ms=10, **options)


def put(store: Any, kind: StoreKind, key: Any, value: Any, time: int = 5) -> None:
    """One put, whatever the kind."""
    stamped = None if value is None else ValueAndTimestamp(value, time)
    match kind:
        case "key_value":
            store.put(key, value)
        case "timestamped_key_value":
            store.put(key, stamped)
        case "window":
            store.put(key, value, time)
        case "timestamped_window":
            store.put(key, stamped, time)
        case "session":
            store.put(Windowed(key, time, time), value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_key_is_refused(kind: StoreKind) -> None:
    with pytest.raises(StoreError, match="store `s` takes no null key"):
        put(store_of(kind), kind, None, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_another_type_is_explained(kind: StoreKind) -> None:
    with pytest.raises(SerializationError, match=r"store `s`, key: .* got 7 of type `int`"):
        put(store_of(kind), kind, 7, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_type_is_explained_and_not_stored(kind: StoreKind) -> None:
    backend = MemoryBackend()
    logged: list[Any] = []
    spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=60_000)
    store = open_store(spec, backend, lambda *change: logged.append(change), key=TEXT, value=NUMBER)
    with pytest.raises(SerializationError, match=r"store `s`, value: .* got 'one' of type `str`"):
        put(store, kind, "a", "one")
    assert backend.count() == 0
    assert logged == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_value_deletes_and_is_logged(kind: StoreKind) -> None:
    logged: list[Any] = []
    backend = MemoryBackend()
    spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=60_000)
    store = open_store(
        spec, backend, lambda *change: logged.append(change), key=TEXT, value=NUMBER, now=lambda: 77
    )
    put(store, kind, "a", 1)
    put(store, kind, "a", None)
    assert backend.count() == 0
    assert [(value, time) for _, value, time in logged][1] == (None, 77)
    assert logged[0][0] == logged[1][0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_store_says_so(kind: StoreKind) -> None:
    store = store_of(kind)
    assert store.is_open
    store.close()
    assert not store.is_open
    uses: list[Callable[[], Any]] = [lambda: put(store, kind, "a", 1)]
    if "key_value" in kind:
        uses += [
            lambda: store.get("a"),
            store.all,
            lambda: store.range("a", "b"),
            store.approximate_num_entries,
        ]
        uses += [
            lambda: store.delete("a"),
            lambda: store.prefix_scan("a"),
            lambda: store.put_if_absent("a", None),
        ]
    elif "window" in kind:
        uses += [lambda: store.fetch("a", 0), lambda: list(store.fetch("a", 0, 9)), store.put_raw]
        uses[-1] = lambda: store.fetch_raw(b"a", 0)
    else:
        uses += [lambda: store.find_sessions("a", 0, 9), lambda: store.fetch_session("a", 0, 9)]
    for use in uses:
        with pytest.raises(StoreError, match="store `s` is closed"):
            use()


def test_closing_a_store_leaves_its_bytes() -> None:
    backend = MemoryBackend()
    spec = StoreSpec("s", "key_value", TEXT, NUMBER)
    first = open_store(spec, backend, key=TEXT, value=NUMBER)
    put(first, "key_value", "a", 1)
    first.close()
    again: Any = open_store(spec, backend, key=TEXT, value=NUMBER)
    assert again.get("a") == 1


def test_a_range_whose_bytes_are_the_wrong_way_round_is_empty_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = memory_store("s", key=int, value=int)
    store.put_all([(-1, 1), (1, 2)])
    assert list(store.range(-1, 1)) == []
    assert "numbers below zero come after all others" in caplog.text
    assert list(store.all()) == [(1, 2), (-1, 1)]


def test_put_if_absent_keeps_what_is_there() -> None:
    store = store_of("key_value")
    assert store.put_if_absent("a", 1) is None
    assert store.put_if_absent("a", 2) == 1
    assert store.get("a") == 1


def test_a_prefix_may_have_a_serializer_of_its_own() -> None:
    store = memory_store("s", key=int, value=int)
    store.put_all([(1, 1), (2, 2), (256, 3)])
    assert list(store.prefix_scan(b"\0" * 7)) == [(1, 1), (2, 2)]
    assert list(store.prefix_scan(1, lambda n: n.to_bytes(7, "big"))) == [(256, 3)]
    assert list(store.prefix_scan(2)) == [(2, 2)]


@pytest.mark.parametrize("time", [-1, 2**64, 1.5, timedelta(1), None])
def test_a_time_that_is_none_is_refused(time: Any) -> None:
    with pytest.raises(StoreError, match="store `s`: times are milliseconds"):
        store_of("window").put("a", 1, time)
    with pytest.raises(StoreError, match="store `s`: times are milliseconds"):
        store_of("session").put(Windowed("a", 0, time), 1)


def test_windows_outside_of_time_are_just_not_there() -> None:
    store = store_of("window")
    store.put("a", 1, 0)
    assert store.fetch("a", -5) is None
    assert store.fetch("a", 2**70) is None
    assert list(store.fetch("a", -10, 2**70)) == [(0, 1)]
    assert list(store.fetch("a", 5, 1)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_reads_and_cannot_write(kind: StoreKind) -> None:
    backend = MemoryBackend()
    spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=60_000, window_size_ms=10)
    put(open_store(spec, backend, key=TEXT, value=NUMBER), kind, "a", 1)
    view: Any = open_view(spec, backend, key=TEXT, value=NUMBER)
    stamped: Any = open_view(spec, backend, key=TEXT, value=NUMBER, timestamps=True)
    assert not hasattr(view, "put")
    both = ValueAndTimestamp(1, 5) if "timestamped" in kind else 1
    if "key_value" in kind:
        assert view.get("a") == 1
        assert stamped.get("a") == both
    elif "window" in kind:
        assert view.fetch("a", 5) == 1
        assert list(stamped.all()) == [(Windowed("a", 5, 15), both)]
    else:
        assert list(view.fetch("a")) == [(Windowed("a", 5, 5), 1)]


def test_raw_keys_are_the_same_keys() -> None:
    """What operators use to serialize a key once."""
    store = store_of("timestamped_key_value")
    raw = store.encode_key("a")
    store.put_raw(raw, 3, 10)
    assert store.get("a") == store.get_raw(raw) == ValueAndTimestamp(3, 10)
    store.put_raw(raw, None, 11)
    assert store.get("a") is None
    windows = store_of("timestamped_window")
    windows.put_raw(raw, 3, 10, 0)
    assert windows.fetch("a", 0) == windows.fetch_raw(raw, 0) == ValueAndTimestamp(3, 10)
    sessions = store_of("session")
    sessions.put_raw(raw, 0, 5, 4)
    assert list(sessions.find_sessions_raw(raw, 0, 9)) == [(0, 5, 4)]
    sessions.put_raw(raw, 0, 5, None)
    assert list(sessions.fetch("a")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_replaying_the_changelog_gives_the_store(kind: StoreKind) -> None:
    logged: list[Any] = []
    spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=60_000, window_size_ms=10)
    store: Any = open_store(
        spec, MemoryBackend(), lambda *change: logged.append(change), key=TEXT, value=NUMBER, now=lambda: 3
    )
    for number in range(60):
        put(store, kind, f"key-{number % 13}", None if number % 7 == 0 else number, number * 5_000)
    restored: Any = open_store(spec, MemoryBackend(), key=TEXT, value=NUMBER)
    for change in logged:
        restored.apply_changelog(*change)

    def content(which: Any) -> list[Any]:
        return list(which.fetch_range(None, None) if kind == "session" else which.all())

    assert content(store)
    assert content(restored) == content(store)


@pytest.mark.parametrize("kind", KINDS)
def test_many_records_at_once_are_applied_like_one_by_one(kind: StoreKind) -> None:
    """A source topic that serves as a changelog may have records without a key: they are not of the store."""
    logged: list[Any] = []
    spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=60_000, window_size_ms=10)
    store = open_store(spec, MemoryBackend(), lambda *change: logged.append(change), key=TEXT, value=NUMBER)
    for number in range(40):
        put(store, kind, f"key-{number % 7}", number, number * 3_000)
    without_nulls = list(logged)
    put(store, kind, "key-3", None, 3 * 3_000)
    backends = []
    for records in (without_nulls, [*logged, (None, b"12345678", 5)]):
        one, many = MemoryBackend(), MemoryBackend()
        apply = replay(spec, one)
        for key, value, time in records:
            if key is not None:
                apply(key, value, time)
        size = replay_many(spec, many)(*map(list, zip(*records, strict=True)))
        assert size == sum(len(key) + len(value or b"") for key, value, _ in records if key is not None)
        assert list(many.range(None, None)) == list(one.range(None, None))
        assert many.marks == one.marks
        backends.append(many)
    assert backends[0].count() > 0
