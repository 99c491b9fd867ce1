"""Iterators over stores: what they see of later changes, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from state_cases import no_changelog

from headrace.errors import ClosedStoreError
from headrace.record import Windowed
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, open_store
from headrace.state.local import Accepted, LocalState, Stamp
from headrace.topology.stores import StoreKind, StoreSpec

TEXT, NUMBER = serde_for(str), serde_for(int)
MAX = 2**63 - 1

Read = Callable[[Any], Iterator[Any]]
READS: list[tuple[StoreKind, str, Read]] = [
    ("key_value", "all", lambda s: s.all()),
    ("key_value", "reverse_all", lambda s: s.reverse_all()),
    ("key_value", "range", lambda s: s.range("a", "z")),
    ("key_value", "reverse_range", lambda s: s.reverse_range("a", "z")),
    ("key_value", "prefix_scan", lambda s: s.prefix_scan("a")),
    ("window", "fetch", lambda s: s.fetch("a", 0, 99)),
    ("window", "backward_fetch", lambda s: s.backward_fetch("a", 0, 99)),
    ("window", "fetch_range", lambda s: s.fetch_range("a", "z", 0, 99)),
    ("window", "backward_fetch_range", lambda s: s.backward_fetch_range("a", "z", 0, 99)),
    ("window", "fetch_all", lambda s: s.fetch_all(0, 99)),
    ("window", "backward_fetch_all", lambda s: s.backward_fetch_all(0, 99)),
    ("window", "all", lambda s: s.all()),
    ("window", "backward_all", lambda s: s.backward_all()),
    ("session", "find_sessions", lambda s: s.find_sessions("a", 0, 99)),
    ("session", "backward_find_sessions", lambda s: s.backward_find_sessions("a", 0, 99)),
    ("session", "find_sessions_range", lambda s: s.find_sessions_range("a", "z", 0, 99)),
    ("session", "backward_find_sessions_range", lambda s: s.backward_find_sessions_range("a", "z", 0, 99)),
    ("session", "fetch", lambda s: s.fetch("a")),
    ("session", "backward_fetch", lambda s: s.backward_fetch("a")),
    ("session", "fetch_range", lambda s: s.fetch_range("a", "z")),
    ("session", "backward_fetch_range", lambda s: s.backward_fetch_range("a", "z")),
]
every_read = pytest.mark.parametrize(
    ("kind", "read"), [(k, r) for k, _, r in READS], ids=[f"{k}-{n}" for k, n, _ in READS]
)
everywhere = pytest.mark.parametrize("place", ["memory", "disk", "disk after a commit"])


def put(store: Any, key: str, value: int | None, time: int) -> None:
    match store.kind:
        case "key_value":
            store.put(f"{key}{time}", value)
        case "window":
            store.put(key, value, time)
        case _:
            store.put(Windowed(key, time, time), value)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[StoreKind, str], Any]]:
    """A store of a kind with six rows under `a`, in memory or on disk."""
    states: list[LocalState] = []

    def build(kind: StoreKind, place: str) -> Any:
        spec = StoreSpec("s", kind, TEXT, NUMBER, retention_ms=1000, window_size_ms=10)
        store: Any
        if place == "memory":
            store = open_store(spec, MemoryBackend(), key=TEXT, value=NUMBER)
        else:
            state = LocalState(tmp_path, [spec])
            states.append(state)
            state.prepare(Accepted(), no_changelog)
            store = state.store("s", key=TEXT, value=NUMBER)
        store.kind = kind
        for time in range(1, 7):
            put(store, "a", time, time)
        if place == "disk after a commit":
            accepted = Accepted(Stamp("i", 1, "x"), {})
            assert accepted.stamp is not None
            state.commit(accepted.stamp, Accepted())
            state.prepare(accepted, no_changelog)
        return store

    yield build
    for state in states:
        state.close()


@everywhere
@every_read
def test_an_iterator_shows_the_store_as_it_was_when_it_was_made(
    make: Callable[[StoreKind, str], Any], kind: StoreKind, read: Read, place: str
) -> None:
    store = make(kind, place)
    before = list(read(store))
    assert len(before) == 6
    rows = read(store)
    first = next(rows)
    for time in range(1, 7):
        put(store, "a", None, time)
    put(store, "a", 70, 7)
    assert [first, *rows] == before
    assert len(list(read(store))) == 1


@everywhere
@every_read
def test_an_iterator_of_a_closed_store_says_so(
    make: Callable[[StoreKind, str], Any], kind: StoreKind, read: Read, place: str
) -> None:
    store = make(kind, place)
    rows = read(store)
    next(rows)
    store.close()
    with pytest.raises(ClosedStoreError) as raised:
        list(rows)
    assert raised.value.origin is not None
    assert raised.value.origin.file == __file__
    assert raised.value.message == (
        "store `s` is closed: it lives as long as its task or driver; get it again from the context, "
        "or ask before closing"
    )


@every_read
def test_an_iterator_may_be_closed_early_also_when_there_is_nothing(
    make: Callable[[StoreKind, str], Any], kind: StoreKind, read: Read
) -> None:
    store = make(kind, "memory")
    with closing(read(store)) as rows:  # type: ignore[type-var]
        next(rows)
    assert list(rows) == []
    for time in range(1, 7):
        put(store, "a", None, time)
    with closing(read(store)) as rows:  # type: ignore[type-var]
        assert list(rows) == []


def test_reads_that_can_find_nothing_have_a_close_too() -> None:
    spec = StoreSpec("s", "key_value", TEXT, NUMBER)
    store: Any = open_store(spec, MemoryBackend(), key=TEXT, value=NUMBER)
    with closing(store.range("b", "a")) as rows:
        assert list(rows) == []
