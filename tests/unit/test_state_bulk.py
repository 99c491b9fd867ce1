"""Filling stores in columns gives what filling them record by record gives, in whatever portions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from state_cases import Changelogs

from headrace.log.arrow import ArrowChunk, to_batch
from headrace.log.base import Chunk
from headrace.serdes import Serdes
from headrace.state import filling
from headrace.state.key_schema import session_key, window_key
from headrace.state.local import LocalState, Stamp
from headrace.state.stamps import Filling
from headrace.topology.stores import StoreKind, StoreSpec

KINDS: list[StoreKind] = ["key_value", "timestamped_key_value", "window", "timestamped_window", "session"]
MINUTE = 60_000
Records = list[tuple[bytes | None, bytes | None, int]]


def spec_of(kind: StoreKind, **more: Any) -> StoreSpec:
    return StoreSpec(
        "s", kind, Serdes.string(), Serdes.bytes(), retention_ms=5 * MINUTE, window_size_ms=MINUTE, **more
    )


def some_records(kind: StoreKind, seed: int, count: int = 400, *, long_keys: bool = False) -> Records:
    """Keys that come again, that are deleted, that are empty, part of one another or none at all; time with jumps."""
    random = Random(seed)
    found: Records = []
    time = 10 * MINUTE
    for number in range(count):
        key = random.choice([b"", b"a", b"a\0", b"ab", b"k%d" % random.randrange(40)])
        if long_keys and random.random() < 0.05:
            key = b"x" * random.randrange(480, 700)
        time += random.choice([0, 100, 1000, MINUTE]) if random.random() < 0.3 else 0
        at = max(0, time - random.choice([0, 0, MINUTE, 20 * MINUTE]))
        raw: bytes | None = key
        if kind in ("window", "timestamped_window"):
            raw = window_key(key, at, 0)
        elif kind == "session":
            raw = session_key(key, max(0, at - random.randrange(1000)), at)
        elif random.random() < 0.02:
            raw = None
        value = None if random.random() < 0.2 else b"v%d" % number
        found.append((raw, value, at))
    return found


def changelog(records: Records, *, in_arrow: bool) -> Any:
    logs = Changelogs({"s": records}, chunk=23)  # type: ignore[dict-item]

    def read(store: str, start: int, end: int) -> Iterator[Chunk]:
        for chunk in logs.read(store, start, end):
            if in_arrow:
                batch = to_batch(chunk.keys, chunk.values, chunk.timestamps)
                yield ArrowChunk("s", 0, chunk.offsets, batch)
            else:
                yield chunk

    return logs, read


def content(state: LocalState) -> Any:
    backend = state.backend("s")
    floor = backend.marks.floor
    entries = [
        (key, value)
        for key, value in backend.range(None, None)
        # What has expired is never read again, and may be deleted at any time.
        if not floor or int.from_bytes(key[:8]) >= floor
    ]
    return entries, (backend.marks.stream_time, backend.marks.floor, backend.marks.sequence)


def filled(
    path: Path, spec: StoreSpec, parts: list[Records], *, in_arrow: bool, watch: Any = lambda filling: None
) -> Any:
    """The content after the records came in parts, each with a commit of its own."""
    state = LocalState(path, [spec])
    records: Records = []
    for number, part in enumerate(parts):
        records = records + part
        logs, read = changelog(records, in_arrow=in_arrow)
        state.prepare(logs.accepted(Stamp("i", number + 1, "a")), read, watch)
    found = content(state)
    state.close()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_columns_and_records_agree(
    kind: StoreKind, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(kind)
    records = some_records(kind, seed, long_keys=seed == 3)
    parts = [records[:250], records[250:]] if seed else [records]
    expected = filled(tmp_path / "one-by-one", spec, parts, in_arrow=False)
    assert expected[0]
    monkeypatch.setattr(filling, "_LEAST_BULK", 1)
    assert filled(tmp_path / "whole", spec, parts, in_arrow=True) == expected
    monkeypatch.setattr(filling, "_BULK_RECORDS", 60)
    assert filled(tmp_path / "portions", spec, parts, in_arrow=True) == expected
    assert filled(tmp_path / "lists", spec, parts, in_arrow=False) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"ttl_ms": MINUTE},
        {"max_entries": 10},
        {"persistent": False, "kind": "window"},
        {"retain_duplicates": True, "kind": "window"},
        {"segment_interval_ms": MINUTE, "kind": "versioned"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_stores_whose_records_depend_on_one_another_go_one_by_one(
    more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"kind": "timestamped_key_value", **more}
    kind = options.pop("kind")
    spec = spec_of(kind, **options)
    records = [record for record in some_records(kind, 5) if record[0] is not None]
    expected = filled(tmp_path / "one-by-one", spec, [records], in_arrow=True)
    monkeypatch.setattr(filling, "_LEAST_BULK", 1)
    assert filled(tmp_path / "bulk", spec, [records], in_arrow=True) == expected


def test_a_long_fill_goes_on_where_a_crash_ended_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_LEAST_BULK", 1)
    monkeypatch.setattr(filling, "_BULK_RECORDS", 60)
    spec = spec_of("timestamped_key_value")
    records = some_records("timestamped_key_value", 7)
    logs, read = changelog(records, in_arrow=True)

    def fails(store: str, start: int, end: int) -> Iterator[Chunk]:
        for chunk in read(store, start, end):
            if chunk.offsets[0] > 200:
                raise ConnectionError
            yield chunk

    state = LocalState(tmp_path / "crash", [spec])
    accepted = logs.accepted(Stamp("i", 1, "a"))
    with pytest.raises(ConnectionError):
        state.prepare(accepted, fails)
    logs.reads.clear()
    recovery = state.prepare(accepted, read)
    assert recovery.kind == "caught_up"
    assert 100 < logs.reads[0][1] <= 230, "not from the start"
    assert content(state) == filled(tmp_path / "whole", spec, [records], in_arrow=True)
    state.close()


def test_progress_is_told_and_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_LEAST_BULK", 1)
    monkeypatch.setattr(filling, "_BULK_RECORDS", 60)
    heard: list[tuple[int, int, bool]] = []

    def watch(one: Filling) -> None:
        heard.append((one.at, one.records, one.is_done))

    records = some_records("key_value", 8)
    filled(tmp_path, spec_of("key_value"), [records], in_arrow=True, watch=watch)
    assert heard[0] == (0, 0, False)
    assert heard[-1] == (400, 400, True)
    assert heard == sorted(heard)
    assert [done for _, _, done in heard].count(True) == 1
    assert len(heard) > 5


def test_a_filled_store_is_small_and_can_be_written(tmp_path: Path) -> None:
    """Entries that come in the order of their keys fill pages to the end."""
    spec = spec_of("key_value")
    records: Records = [(b"key-%07d" % (number * 7919 % 30_000), b"v" * 30, 0) for number in range(30_000)]
    logs, read = changelog(records, in_arrow=True)
    state = LocalState(tmp_path, [spec])
    accepted = logs.accepted(Stamp("i", 1, "a"))
    assert state.prepare(accepted, read).records == 30_000
    assert (tmp_path / "data.mdb").stat().st_size < 30_000 * 41 * 1.6
    store: Any = state.backend("s")
    assert store.count() == 30_000
    store.put(b"key-0000005", b"w" * 50)
    store.delete(b"key-0000006")
    assert state.commit(Stamp("i", 2, "b"), accepted)
    assert state.prepare(accepted, read).kind == "undone"
    assert store.get(b"key-0000005") == b"v" * 30
    assert store.count() == 30_000
    state.close()
