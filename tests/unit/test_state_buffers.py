"""Buffers in order of time: the same in memory and on disk, over commits and batches that fail, at a cost that does not
grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from state_cases import Changelogs

from headrace.record import RecordMetadata
from headrace.serdes import serde_for
from headrace.state import MemoryBackend, front, open_store
from headrace.state.backend import Entry
from headrace.state.local import LocalState, Stamp
from headrace.topology.stores import StoreSpec

SPEC = StoreSpec("s", "suppression_buffer", serde_for(str), serde_for(int))
SERDES: dict[str, Any] = {"key": serde_for(str), "value": serde_for(int)}


class Model:
    """What a buffer is, without any of its bytes."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.values: dict[str, tuple[int, int | None]] = {}
        self.before: dict[str, int | None] = {}

    def copy(self) -> Model:
        other = Model()
        other.places, other.values, other.before = dict(self.places), dict(self.values), dict(self.before)
        return other

    def put(self, time: int, key: str, new: int, old: int | None) -> None:
        self.places.setdefault(key, time)
        self.before.setdefault(key, old)
        self.values[key] = (new, old)

    def pop(self) -> None:
        first = self.order()[0]
        del self.places[first], self.values[first], self.before[first]

    def order(self) -> list[str]:
        return sorted(self.places, key=lambda key: (self.places[key], key.encode()))


def check(buffer: Any, model: Model) -> None:
    order = model.order()
    assert [(key, (change.new, change.old)) for key, change in buffer.all()] == [
        (key, model.values[key]) for key in order
    ]
    assert buffer.num_records == len(order)
    assert buffer.min_timestamp() == (model.places[order[0]] if order else None)
    if order:
        assert buffer.first()[0] == order[0]
        assert buffer.prior(order[-1]) == model.before[order[-1]]
    # For its place 8 bytes, for the record 8 + 8 + 4 and the topic, the key, and 8 for each value that is another one.
    assert buffer.buffer_size == sum(33 + len(key) + 8 * len(list(_values(model, key))) for key in order)


def _values(model: Model, key: str) -> Iterator[tuple[str, int]]:
    new, old = model.values[key]
    prior = model.before[key]
    yield "new", new
    if prior is not None:
        yield "prior", prior
    if old is not None and old != prior:
        yield "old", old


def act(buffer: Any, model: Model, random: Random) -> None:
    if random.random() < 0.3 and model.places:
        model.pop()
        buffer.remove_first()
    else:
        key, time = f"k{random.randrange(40)}", random.randrange(50)
        new, old = random.randrange(100), random.choice([None, 1, 2])
        model.put(time, key, new, old)
        buffer.put(time, key, (new, old, True), time, (), RecordMetadata("topic", 0, 7))
    buffer.flush()


@pytest.fixture
def short_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """The horizon moves all the time."""
    monkeypatch.setattr(front, "_FILL", 3)
    monkeypatch.setattr(front, "_MOST", 7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("short_front")
def test_in_memory(seed: int) -> None:
    random, model = Random(seed), Model()
    buffer: Any = open_store(SPEC, MemoryBackend(), **SERDES)
    for _ in range(300):
        act(buffer, model, random)
        check(buffer, model)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("short_front")
def test_on_disk_over_commits_failed_batches_and_lost_disks(seed: int, tmp_path: Path) -> None:
    random, model, changelogs = Random(seed), Model(), Changelogs()
    accepted = changelogs.accepted(None)
    for life in range(4):
        # A new folder: all there is comes from the changelog.
        state = LocalState(tmp_path / str(life), [SPEC])
        state.prepare(accepted, changelogs.read)
        buffer: Any = state.store("s", **SERDES)
        for batch in range(15):
            check(buffer, model)
            before = model.copy()
            for _ in range(random.randrange(12)):
                act(buffer, model, random)
            check(buffer, model)
            if random.random() < 0.3:
                state.rollback()
                buffer.forget()
                model = before
            else:
                changes = state.changes()
                stamp = Stamp("i", 100 * life + batch, "a")
                if state.commit(stamp, accepted):
                    changelogs.publish(changes)
                    accepted = changelogs.accepted(stamp)
            state.prepare(accepted, changelogs.read)
        state.close()


class Counting(MemoryBackend):
    """Counts how often it is searched."""

    __slots__ = ("searches",)

    def __init__(self) -> None:
        super().__init__()
        self.searches = 0

    def first(self, low: bytes, high: bytes) -> bytes | None:
        self.searches += 1
        return super().first(low, high)

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[Entry]:
        raise AssertionError("a range over all there is")


@pytest.mark.parametrize("size", [5_000, 50_000])
def test_no_record_searches_the_buffer(size: int) -> None:
    """Each entry is searches out about once, however many wait; late ones that leave at once need no search at all."""
    backend = Counting()
    buffer: Any = open_store(SPEC, backend, **SERDES)
    for number in range(size):
        buffer.put(number + 1, f"k{number}", (number, None, True), number, (), None)
        assert buffer.min_timestamp() == 1
        buffer.flush()
    buffer.forget()
    for number in range(1000):
        buffer.put(0, f"late{number}", (number, None, True), number, (), None)
        assert buffer.min_timestamp() == 0
        buffer.remove_first()
        buffer.flush()
    assert backend.searches < 10_000
    for number in range(size):
        assert buffer.min_timestamp() == number + 1
        buffer.remove_first()
    assert buffer.min_timestamp() is None
    assert buffer.buffer_size == 0
    assert backend.searches < 2 * size + 10_000


def test_an_update_comes_back_as_it_was_put() -> None:
    buffer: Any = open_store(SPEC, MemoryBackend(), **SERDES)
    headers = (("é", b"x"), ("none", None), ("é", b""))
    buffer.put(5, "a", (1, 2, True), 3, headers, RecordMetadata("topic", 2, 9))
    key, change, update = buffer.first()
    assert (key, change, update.time, update.timestamp) == ("a", (1, 2, True), 5, 3)
    assert (update.headers, update.metadata) == (headers, RecordMetadata("topic", 2, 9))
    buffer.put(7, "a", (None, None, True), 4, (), None)
    _, change, update = buffer.first()
    assert (change, update.time, update.timestamp, update.headers) == ((None, None, True), 5, 4, ())
    # A record that a punctuator made comes from nowhere.
    assert update.metadata is None
    assert buffer.prior("a") == 2


GRACE = StoreSpec("s", "grace_buffer", serde_for(str), serde_for(int))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("short_front")
def test_records_that_wait_for_a_table_survive_the_same(seed: int, tmp_path: Path) -> None:
    """Also those of one key and one time, which leave in the order in which they came."""
    random, waiting, changelogs = Random(seed), list[tuple[int, str, int]](), Changelogs()
    accepted, number = changelogs.accepted(None), 0
    for life in range(4):
        state = LocalState(tmp_path / str(life), [GRACE])
        state.prepare(accepted, changelogs.read)
        buffer: Any = state.store("s", **SERDES)
        for batch in range(15):
            before = list(waiting)
            for _ in range(random.randrange(12)):
                if random.random() < 0.4 and waiting:
                    first = waiting.pop(0)
                    record, metadata = buffer.first()
                    assert (record.timestamp, record.key, record.value) == first
                    assert metadata == RecordMetadata("topic", 0, first[2])
                    buffer.remove_first()
                else:
                    number += 1
                    place = (random.randrange(5), random.choice("ab"), number)
                    waiting.append(place)
                    waiting.sort()
                    buffer.put(place[1], number, place[0], (), RecordMetadata("topic", 0, number))
                assert buffer.min_timestamp() == (waiting[0][0] if waiting else None)
            assert [(r.timestamp, r.key, r.value) for r in buffer.all()] == waiting
            if random.random() < 0.3:
                state.rollback()
                buffer.forget()
                waiting = before
            else:
                changes = state.changes()
                stamp = Stamp("i", 100 * life + batch, "a")
                if state.commit(stamp, accepted):
                    changelogs.publish(changes)
                    accepted = changelogs.accepted(stamp)
            state.prepare(accepted, changelogs.read)
        state.close()
