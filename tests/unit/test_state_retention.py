"""What is too old is not found, and leaves the disk; taking a commit back brings it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from state_cases import no_changelog

from headrace.record import Windowed
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, VersionedRecord, memory_store, open_store
from headrace.state.local import Accepted, LocalState, Stamp
from headrace.topology.stores import StoreSpec

TEXT, NUMBER = serde_for(str), serde_for(int)
WINDOWS = StoreSpec("windows", "window", TEXT, NUMBER, retention_ms=120_000, window_size_ms=1_000)
SESSIONS = StoreSpec("sessions", "session", TEXT, NUMBER, retention_ms=120_000)
VERSIONS = StoreSpec("versions", "versioned", TEXT, NUMBER, retention_ms=120_000, segment_interval_ms=60_000)


def put_window(store: Any, key: str, time: int) -> None:
    store.put(key, time, time)


def put_session(store: Any, key: str, time: int) -> None:
    store.put(Windowed(key, time, time), time)


def put_version(store: Any, key: str, time: int) -> None:
    store.put(key, time, time)


ALL = pytest.mark.parametrize(
    ("spec", "put"), [(WINDOWS, put_window), (SESSIONS, put_session), (VERSIONS, put_version)]
)
BOTH = pytest.mark.parametrize(("spec", "put"), [(WINDOWS, put_window), (SESSIONS, put_session)])


def times(store: Any) -> list[int]:
    rows = store.all() if hasattr(store, "all") else store.fetch_range(None, None)
    return [value for _, value in rows]


@BOTH
def test_expired_segments_leave_the_memory(spec: StoreSpec, put: Callable[[Any, str, int], None]) -> None:
    backend = MemoryBackend()
    logged: list[bytes | None] = []
    store = open_store(spec, backend, lambda key, value, time: logged.append(value), key=TEXT, value=NUMBER)
    for time in range(0, 60_000, 1_000):
        put(store, "a", time)
    put(store, "a", 150_000)
    assert len(times(store)) == 30, "what is older than the retention is not found"
    assert backend.count() == 61, "but its segment is still there"
    put(store, "a", 180_000)
    assert backend.count() == 2
    put(store, "a", 10)
    assert backend.count() == 2, "a put into a segment that is gone is dropped"
    assert None not in logged, "expiry is not logged"
    assert len(logged) == 63, "but every put is"


class Disk:
    def __init__(self, path: Path, spec: StoreSpec) -> None:
        self.state = LocalState(path, [spec])
        self.accepted = Accepted()
        self.state.prepare(self.accepted, no_changelog)
        self.store: Any = self.state.store(spec.name, key=TEXT, value=NUMBER)
        self.backend = self.state.backend(spec.name)
        self.commits = 0

    def commit(self) -> Accepted:
        self.commits += 1
        stamp = Stamp("i", self.commits, "a")
        before = self.accepted
        assert self.state.commit(stamp, before)
        self.accepted = Accepted(stamp, {})
        return before

    def on_disk(self) -> int:
        self.state.prepare(self.accepted, no_changelog)
        return self.backend.table.count()


@BOTH
def test_expired_segments_leave_the_disk(
    tmp_path: Path, spec: StoreSpec, put: Callable[[Any, str, int], None]
) -> None:
    disk = Disk(tmp_path, spec)
    for time in range(0, 60_000, 100):
        put(disk.store, "a", time)
    disk.commit()
    put(disk.store, "a", 180_000)
    disk.commit()
    assert times(disk.store) == [180_000]
    assert disk.on_disk() == 601, "kept, for this commit may have to be taken back"
    put(disk.store, "a", 180_001)
    disk.commit()
    assert disk.on_disk() == 2
    disk.state.close()


@BOTH
def test_taking_back_a_commit_brings_expired_entries_back(
    tmp_path: Path, spec: StoreSpec, put: Callable[[Any, str, int], None]
) -> None:
    disk = Disk(tmp_path, spec)
    for time in range(0, 60_000, 1_000):
        put(disk.store, "a", time)
    disk.commit()
    for jump in (200_000, 500_000, 120_500):
        put(disk.store, "b", jump)
        disk.accepted = disk.commit()
        assert disk.state.prepare(disk.accepted, no_changelog).kind == "undone"
        assert times(disk.store) == list(range(0, 60_000, 1_000))
    put(disk.store, "b", 200_000)
    disk.commit()
    disk.state.prepare(disk.accepted, no_changelog)
    put(disk.store, "b", 400_000)
    disk.accepted = disk.commit()
    disk.state.prepare(disk.accepted, no_changelog)
    assert times(disk.store) == [200_000], "and not those that were gone before"
    disk.state.close()


def test_a_large_segment_is_swept_over_many_commits(tmp_path: Path) -> None:
    """No commit pays for all of it, neither in time nor in its undo record."""
    disk = Disk(tmp_path, WINDOWS)
    for number in range(25_000):
        put_window(disk.store, f"{number}", 5)
    disk.commit()
    left = []
    for time in range(200_000, 205_000, 1_000):
        put_window(disk.store, "x", time)
        disk.commit()
        left.append(disk.on_disk())
    assert left == [25_001, 15_002, 5_003, 4, 5]
    disk.state.close()


@BOTH
def test_stream_time_survives_reopening(
    tmp_path: Path, spec: StoreSpec, put: Callable[[Any, str, int], None]
) -> None:
    """Where commits and restarts fall must not change what is found."""
    disk = Disk(tmp_path, spec)
    put(disk.store, "a", 0)
    put(disk.store, "a", 130_000)
    disk.commit()
    disk.state.close()
    state = LocalState(tmp_path, [spec])
    state.prepare(disk.accepted, no_changelog)
    assert times(state.store(spec.name, key=TEXT, value=NUMBER)) == [130_000]
    state.close()


def test_duplicates_survive_reopening(tmp_path: Path) -> None:
    """The sequence number goes on, or a later value would take the place of an earlier one."""
    spec = StoreSpec("windows", "window", TEXT, NUMBER, retention_ms=120_000, retain_duplicates=True)
    disk = Disk(tmp_path, spec)
    disk.store.put("a", 1, 0)
    disk.store.put("a", 2, 0)
    disk.commit()
    disk.state.close()
    state = LocalState(tmp_path, [spec])
    state.prepare(disk.accepted, no_changelog)
    store: Any = state.store("windows", key=TEXT, value=NUMBER)
    store.put("a", 3, 0)
    assert list(store.fetch("a", 0, 0)) == [(0, 1), (0, 2), (0, 3)]
    state.close()


def test_a_key_that_is_part_of_another_is_not_mixed_up_with_it() -> None:
    store = memory_store("w", "window", key=bytes, value=int, retention_ms=120_000, window_size_ms=1)
    sessions = memory_store("s", "session", key=bytes, value=int, retention_ms=120_000)
    for number, key in enumerate([b"", b"\0", b"\0" * 8, b"\0" * 12, b"a", b"a\0", b"a" + b"\0" * 12, b"ab"]):
        store.put(key, number, 0)
        sessions.put(Windowed(key, 0, 0), number)
        assert list(store.fetch(key, 0, 10)) == [(0, number)]
        assert [value for _, value in sessions.fetch(key)] == [number]


def rounds(count: int) -> Iterator[list[tuple[str, int]]]:
    """Keys and times, out of order within half a minute: each round is forty seconds later than the one before."""
    random = Random(1)
    for number in range(count):
        yield [
            (f"key-{random.randrange(50)}", number * 40_000 + random.randrange(30_000)) for _ in range(400)
        ]


@pytest.mark.parametrize("persistent", [True, False], ids=["segments", "by-time"])
@ALL
def test_a_store_in_memory_does_not_grow_for_ever(
    spec: StoreSpec, put: Callable[[Any, str, int], None], persistent: bool
) -> None:
    backend = MemoryBackend()
    store = open_store(replace(spec, persistent=persistent), backend, key=TEXT, value=NUMBER)
    sizes = []
    for records in rounds(60):
        for key, time in records:
            put(store, key, time)
        sizes.append(backend.count())
    assert max(sizes) < 400 * 6, "no more than the retention, a segment and what is under way"
    assert max(sizes[30:]) <= max(sizes[:30]) + 40, "keys meet the same millisecond now and then"


@ALL
def test_a_store_on_disk_does_not_grow_for_ever(
    tmp_path: Path, spec: StoreSpec, put: Callable[[Any, str, int], None]
) -> None:
    disk = Disk(tmp_path, spec)
    entries, sizes = [], []
    for records in rounds(60):
        for key, time in records:
            put(disk.store, key, time)
        disk.commit()
        entries.append(disk.on_disk())
        sizes.append((tmp_path / "data.mdb").stat().st_size)
    assert max(entries) < 400 * 7, "the last commit's may have to come back"
    assert max(entries[30:]) <= max(entries[:30]) + 40
    assert sizes[-1] < 1.3 * sizes[20], "the room of what has expired is used again"
    disk.state.close()


def test_a_key_keeps_its_latest_version_when_its_history_is_gone(tmp_path: Path) -> None:
    disk = Disk(tmp_path, VERSIONS)
    for time in (1_000, 2_000, 3_000):
        disk.store.put("a", time, time)
    disk.commit()
    for time in (500_000, 500_001, 500_002):
        disk.store.put("b", time, time)
        disk.commit()
    assert disk.on_disk() == 4, "one version of the one key, three of the other"
    assert disk.store.get("a") == VersionedRecord(3_000, 3_000)
    assert disk.store.get("a", 3_000) == VersionedRecord(3_000, 3_000), "the latest is known for all its time"
    assert disk.store.get("a", 2_999) is None
    disk.state.close()
