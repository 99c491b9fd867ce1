"""Versioned stores: as Kafka Streams' own, in memory, on disk over many commits, and again from their changelog."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state_cases import Changelogs, no_changelog

from headrace.errors import StoreError
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, VersionedRecord, memory_store, open_store, replay
from headrace.state.local import Accepted, LocalReader, LocalState, Stamp
from headrace.topology.stores import StoreSpec
from headrace.topology.versioned import versioned_segment_interval

CASES = json.loads((Path(__file__).parent / "fixtures" / "versioned_stores.json").read_text())
NAMES = [f"{i}-{case['retention']}-{case['interval']}" for i, case in enumerate(CASES)]
BYTES, NUMBER = serde_for(bytes), serde_for(int)


def spec_of(retention: int, interval: int) -> StoreSpec:
    return StoreSpec(
        "s",
        "versioned",
        BYTES,
        NUMBER,
        retention_ms=retention,
        segment_interval_ms=interval or versioned_segment_interval(retention),
    )


def call(store: Any, name: str, key: str, *args: Any) -> Any:
    answer = getattr(store, name)(bytes.fromhex(key), *args)
    return [answer.value, answer.timestamp] if isinstance(answer, VersionedRecord) else answer


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_memory_answers_and_logs_as_kafka_streams_does(case: dict[str, Any]) -> None:
    logged: list[Any] = []
    store = open_store(
        spec_of(case["retention"], case["interval"]),
        MemoryBackend(),
        lambda key, value, time: logged.append([key.hex(), None if value is None else value.hex(), time]),
        key=BYTES,
        value=NUMBER,
    )
    for number, (name, key, *rest) in enumerate(case["steps"]):
        assert call(store, name, key, *rest[:-1]) == rest[-1], (number, name, key, rest)
    assert logged == case["changelog"]


@pytest.mark.parametrize("every", [1, 7, 50])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_disk_answers_as_kafka_streams_does(case: dict[str, Any], every: int, tmp_path: Path) -> None:
    spec = spec_of(case["retention"], case["interval"])
    local, accepted, changelogs = LocalState(tmp_path, [spec]), Accepted(), Changelogs()
    local.prepare(accepted, no_changelog)
    store: Any = local.store("s", key=BYTES, value=NUMBER)
    for number, (name, key, *rest) in enumerate(case["steps"]):
        assert call(store, name, key, *rest[:-1]) == rest[-1], (number, name, key, rest)
        if number % every == every - 1:
            changelogs.publish(local.changes())
            stamp = Stamp("i", number, "a")
            if local.commit(stamp, accepted):
                accepted = changelogs.accepted(stamp)
            if number % 3 == 0:
                # A batch that fails leaves nothing.
                store.put(b"a", 1, 10**15)
            local.prepare(accepted, no_changelog)
    changelogs.publish(local.changes())
    assert [
        [key.hex(), None if value is None else value.hex(), time]
        for key, value, time in changelogs.records["s"]
    ] == case["changelog"], "every put is logged, not the last of a key only"
    local.close()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_changelog_makes_the_same_store_again(case: dict[str, Any]) -> None:
    spec = spec_of(case["retention"], case["interval"])
    first = open_store(spec, MemoryBackend(), key=BYTES, value=NUMBER)
    for name, key, *rest in case["steps"]:
        call(first, name, key, *rest[:-1])
    backend = MemoryBackend()
    apply = replay(spec, backend)
    for key, value, time in case["changelog"]:
        apply(bytes.fromhex(key), None if value is None else bytes.fromhex(value), time)
    again = open_store(spec, backend, key=BYTES, value=NUMBER)
    keys = {step[1] for step in case["steps"]}
    times = {None, *(step[-2] for step in case["steps"])}
    assert [call(again, "get", key, time) for key in keys for time in times] == [
        call(first, "get", key, time) for key in keys for time in times
    ]


def test_a_put_in_order_costs_the_same_however_long_the_history_is() -> None:
    class Counting(MemoryBackend):
        touched = 0

        def __init__(self) -> None:
            super().__init__()
            read, write, first = self.get, self.put, super().first

            def get(key: bytes) -> bytes | None:
                self.touched += 1
                return read(key)

            def put(key: bytes, value: bytes) -> None:
                self.touched += 1
                write(key, value)

            def first_of(low: bytes, high: bytes) -> Any:
                self.touched += 1
                return first(low, high)

            self.get, self.put, self.first = get, put, first_of  # type: ignore[method-assign]

    backend = Counting()
    store: Any = open_store(spec_of(10**9, 10**6), backend, key=BYTES, value=NUMBER)
    costs = []
    for time in range(20_000):
        before = backend.touched
        store.put(b"a", time, time)
        costs.append(backend.touched - before)
    assert set(costs[1:]) == {3}, "the latest is read, moved to the history, and replaced"
    before = backend.touched
    assert store.get(b"a", 777) == VersionedRecord(777, 777, 778)
    assert store.put(b"a", 0, 555) == 556
    assert backend.touched - before <= 8


def test_a_reader_sees_versions(tmp_path: Path) -> None:
    spec = spec_of(1_000, 100)
    local = LocalState(tmp_path, [spec])
    local.prepare(Accepted(), no_changelog)
    store: Any = local.store("s", key=BYTES, value=NUMBER)
    for time in (100, 300, 200):
        store.put(b"a", time, time)
    local.commit(Stamp("i", 1, "a"), Accepted())
    reader = LocalReader(tmp_path, [spec])
    reader.renew()
    view: Any = reader.store("s", key=BYTES, value=NUMBER)
    assert view.get(b"a") == VersionedRecord(300, 300)
    assert view.get(b"a", 250) == VersionedRecord(200, 200, 300)
    assert view.get(b"a", 99) is None
    reader.close()
    local.close()


def test_long_keys_have_versions_too(tmp_path: Path) -> None:
    spec = spec_of(1_000, 100)
    local = LocalState(tmp_path, [spec])
    local.prepare(Accepted(), no_changelog)
    store: Any = local.store("s", key=BYTES, value=NUMBER)
    keys = [b"x" * size + end for size in (479, 480, 481, 499, 500, 700) for end in (b"", b"a", b"b")]
    for time in (100, 300, 200):
        for key in keys:
            store.put(key, len(key), time)
    local.commit(Stamp("i", 1, "a"), Accepted())
    local.prepare(Accepted(Stamp("i", 1, "a")), no_changelog)
    for key in keys:
        assert store.put(key, 7, 150) == 200
        assert store.get(key, 199) == VersionedRecord(7, 150, 200)
        assert store.get(key, 149) == VersionedRecord(len(key), 100, 150)
    local.close()


def test_what_a_user_does_wrong_is_told() -> None:
    store = memory_store("prices", "versioned", key=str, value=int, retention_ms=1_000)
    with pytest.raises(StoreError, match=r"store `prices`: times are milliseconds since the epoch, got -1"):
        store.put("a", 1, -1)
    with pytest.raises(StoreError, match=r"got '2020'"):
        store.put("a", 1, "2020")
    with pytest.raises(StoreError, match=r"got '2020'"):
        store.get("a", "2020")
    with pytest.raises(StoreError, match=r"takes no null key"):
        store.put(None, 1, 1)
    store.close()
    for use in (
        lambda: store.get("a"),
        lambda: store.get("a", 1),
        lambda: store.put("a", 1, 1),
        lambda: store.delete("a", 1),
    ):
        with pytest.raises(StoreError, match="store `prices` is closed"):
            use()


# Deletions are at odd times: one at the very time of the latest value leaves no trace, in Kafka Streams too.
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 60)).map(
        lambda put: (put[0], None if put[2] % 2 else put[1], put[2])
    ),
    max_size=60,
)


def brute(puts: list[tuple[str, int | None, int]], retention: int) -> Iterator[Any]:
    """What was put, by key and time, and the highest time so far."""
    newest, kept = -1, dict[str, dict[int, int | None]]()
    for key, value, time in puts:
        newest = max(newest, time)
        if time >= newest - retention:
            kept.setdefault(key, {})[time] = value
    yield newest
    yield kept


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(0, 40), st.integers(1, 50))
def test_values_as_of_a_time_are_the_last_put_at_or_before_it(
    puts: list[tuple[str, int | None, int]], retention: int, interval: int
) -> None:
    store: Any = open_store(spec_of(retention, interval), MemoryBackend(), key=BYTES, value=NUMBER)
    for key, value, time in puts:
        store.put(key.encode(), value, time)
    newest, kept = brute(puts, retention)
    for key in "abc":
        versions = kept.get(key, {})
        for time in range(max(0, newest - retention), 62):
            before = [at for at in versions if at <= time]
            value = versions[max(before)] if before else None
            found = store.get(key.encode(), time)
            assert (None if found is None else (found.value, found.timestamp)) == (
                None if value is None else (value, max(before))
            )
