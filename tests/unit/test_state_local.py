"""A local store finds its way to what the log says is true: same, undone, caught up, rebuilt, empty."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state_cases import Changelogs, no_changelog

from headrace.errors import OffsetOutOfRangeError, StoreError
from headrace.log.base import Chunk
from headrace.record import Windowed
from headrace.serdes import serde_for
from headrace.state import ValueAndTimestamp, filling
from headrace.state.local import TASK_STORE, Accepted, LocalReader, LocalState, Stamp
from headrace.topology.stores import StoreSpec

TEXT, NUMBER = serde_for(str), serde_for(int)
COUNTS = StoreSpec("counts", "timestamped_key_value", TEXT, NUMBER)
VISITS = StoreSpec("visits", "timestamped_window", TEXT, NUMBER, retention_ms=120_000, window_size_ms=1_000)
SESSIONS = StoreSpec("sessions", "session", TEXT, NUMBER, retention_ms=120_000)
SPECS = [COUNTS, VISITS, SESSIONS]


class Task:
    """A task on one host: its stores, and the batches it runs."""

    def __init__(self, path: Path, logs: Changelogs, **options: Any) -> None:
        self.logs = logs
        self.state = LocalState(path, SPECS, **options)
        self.counts: Any = self.state.store("counts", key=TEXT, value=NUMBER)
        self.visits: Any = self.state.store("visits", key=TEXT, value=NUMBER)
        self.sessions: Any = self.state.store("sessions", key=TEXT, value=NUMBER, now=lambda: 7)

    def prepare(self, accepted: Accepted) -> str:
        self.logs.reads.clear()
        return self.state.prepare(accepted, self.logs.read).kind

    def batch(self, stamp: Stamp, on: Accepted, changes: dict[str, int], *, time: int = 0) -> Accepted:
        """Prepare, change, commit, publish; returns what is accepted then."""
        accepted = self.attempt(stamp, on, changes, time=time)
        self.logs.publish(accepted)
        return self.logs.accepted(stamp)

    def attempt(
        self, stamp: Stamp, on: Accepted, changes: dict[str, int], *, time: int = 0
    ) -> dict[str, Any]:
        """A batch that is committed here, but never published."""
        self.prepare(on)
        for key, value in changes.items():
            self.counts.put(key, ValueAndTimestamp(value, time))
            self.visits.put(key, ValueAndTimestamp(value, time), time)
            self.sessions.put(Windowed(key, time, time + 1), value)
        records = self.state.changes()
        assert self.state.commit(stamp, on)
        return records

    def content(self) -> list[Any]:
        return [list(self.counts.all()), list(self.visits.all()), list(self.sessions.fetch_range(None, None))]


@pytest.fixture
def logs() -> Changelogs:
    return Changelogs()


@pytest.fixture
def task(tmp_path: Path, logs: Changelogs) -> Iterator[Task]:
    task = Task(tmp_path / "0_0", logs)
    yield task
    task.state.close()


def stamp(commit: int, attempt: str = "a", incarnation: str = "one") -> Stamp:
    return Stamp(incarnation, commit, attempt)


def test_a_new_store_is_empty(task: Task) -> None:
    assert task.prepare(Accepted()) == "empty"
    assert task.content() == [[], [], []]


def test_the_accepted_stamp_goes_on_without_reading_anything(task: Task, logs: Changelogs) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    assert task.prepare(one) == "same"
    two = task.batch(stamp(2), one, {"x": 2, "y": 1}, time=10)
    assert task.prepare(two) == "same"
    assert logs.reads == []
    assert task.counts.get("x") == ValueAndTimestamp(2, 10)
    assert task.state.stamp == stamp(2)


def test_a_commit_that_was_never_accepted_is_taken_back(task: Task) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1, "y": 1})
    before = task.content()
    task.attempt(stamp(2), one, {"x": 2, "z": 5}, time=400_000)
    assert task.content() != before
    assert task.prepare(one) == "undone"
    assert task.content() == before
    assert task.prepare(one) == "same"


def test_the_very_first_commit_can_be_taken_back_too(task: Task) -> None:
    task.attempt(stamp(1), Accepted(), {"x": 1})
    assert task.prepare(Accepted()) == "undone"
    assert task.content() == [[], [], []]


def test_another_attempt_won(tmp_path: Path, task: Task, logs: Changelogs) -> None:
    """Both hosts ran batch 2; the log has the other's."""
    other = Task(tmp_path / "other", logs)
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.attempt(stamp(2, "mine"), one, {"x": 100, "mine": 1})
    two = other.batch(stamp(2, "other"), one, {"x": 2, "other": 1}, time=5)
    assert task.prepare(two) == "caught_up"
    assert {(store, start) for store, start, _ in logs.reads} == {
        ("counts", 1),
        ("visits", 1),
        ("sessions", 1),
    }
    assert task.content() == other.content()
    assert task.counts.get("mine") is None
    other.state.close()


def test_catching_up_over_several_commits(tmp_path: Path, task: Task, logs: Changelogs) -> None:
    """Commit 2 was this host's and was accepted, but that is not known: it is undone and read again."""
    other = Task(tmp_path / "other", logs)
    accepted = task.batch(stamp(1), Accepted(), {"x": 1})
    accepted = task.batch(stamp(2), accepted, {"y": 2})
    for number in range(3, 8):
        accepted = other.batch(stamp(number), accepted, {"x": number, f"k{number}": 1}, time=number * 20_000)
    assert task.prepare(accepted) == "caught_up"
    assert task.content() == other.content()
    assert task.prepare(accepted) == "same"
    accepted = task.batch(stamp(8), accepted, {"x": 8})
    assert other.prepare(accepted) == "caught_up"
    assert task.content() == other.content()
    other.state.close()


def test_a_store_that_is_gone_is_rebuilt(tmp_path: Path, task: Task, logs: Changelogs) -> None:
    accepted = task.batch(stamp(1), Accepted(), {"x": 1, "y": 2})
    task.prepare(accepted)
    task.counts.delete("y")
    logs.publish(task.state.changes())
    task.state.commit(stamp(2), accepted)
    accepted = logs.accepted(stamp(2))
    other = Task(tmp_path / "other", logs)
    recovery = other.state.prepare(accepted, logs.read)
    assert (recovery.kind, recovery.records) == ("rebuilt", 7)
    assert recovery.bytes > 0
    assert other.content() == task.content()
    other.state.close()


def test_another_incarnation_is_rebuilt(task: Task, logs: Changelogs) -> None:
    task.batch(stamp(1), Accepted(), {"old": 1})
    logs.records.clear()
    assert task.prepare(Accepted(stamp(0, incarnation="two"), {})) == "rebuilt"
    assert task.content() == [[], [], []]


def test_an_application_that_was_reset_starts_empty(task: Task, logs: Changelogs) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.prepare(one)
    task.batch(stamp(2), one, {"x": 2})
    assert task.prepare(Accepted()) == "empty"
    assert task.content() == [[], [], []]


def test_a_log_that_went_back_is_not_guessed_about(task: Task, logs: Changelogs) -> None:
    """A log restored from a backup knows fewer commits than the store's base."""
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    old = {store: list(records) for store, records in logs.records.items()}
    two = task.batch(stamp(2), one, {"x": 2})
    task.batch(stamp(3), two, {"x": 3})
    logs.records = old
    assert task.prepare(one) == "rebuilt"
    assert task.counts.get("x") == ValueAndTimestamp(1, 0)


def test_nothing_changed_means_nothing_written(task: Task) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.prepare(one)
    assert task.counts.get("x") is not None
    assert task.state.changes() == {}
    assert task.state.commit(stamp(2), one) is False
    assert task.prepare(one) == "same"


def test_changes_have_the_last_value_of_each_key(task: Task) -> None:
    task.prepare(Accepted())
    for value in range(3):
        task.counts.put("x", ValueAndTimestamp(value, value))
    task.counts.put("y", ValueAndTimestamp(9, 9))
    task.counts.delete("y")
    task.state.put_memory(b"0", b"remembered", 5)
    assert task.state.changes() == {
        "counts": [(b"x", NUMBER.serialize(2), 2), (b"y", None, 0)],
        TASK_STORE: [(b"0", b"remembered", 5)],
    }


def test_rollback_drops_changes_marks_and_memory(task: Task) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.prepare(one)
    before = task.content()
    task.counts.put("x", ValueAndTimestamp(5, 5))
    task.visits.put("x", ValueAndTimestamp(5, 5), 900_000)
    task.state.put_memory(b"0", b"later")
    task.state.rollback()
    assert task.content() == before
    assert task.state.changes() == {}
    assert task.state.backend(TASK_STORE).get(b"0") is None


def test_a_commit_must_be_built_on_what_is_held(task: Task) -> None:
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.prepare(one)
    task.counts.put("x", ValueAndTimestamp(5, 5))
    with pytest.raises(StoreError, match="call `prepare` with it first"):
        task.state.commit(stamp(3), Accepted(stamp(2), {}))


def test_a_copy_older_than_tombstones_live_is_rebuilt(tmp_path: Path, logs: Changelogs) -> None:
    clock = [0]
    task = Task(tmp_path / "0_0", logs, clock=lambda: clock[0], stale_after=timedelta(hours=12))
    other = Task(tmp_path / "other", logs)
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    two = task.batch(stamp(2), one, {"x": 2})
    three = other.batch(stamp(3), two, {"x": 3})
    clock[0] = 12 * 3_600_000 + 1
    assert task.prepare(three) == "rebuilt"
    assert task.content() == other.content()
    four = other.batch(stamp(4), three, {"x": 4})
    clock[0] += 12 * 3_600_000
    assert task.prepare(four) == "caught_up"
    task.state.close()
    other.state.close()


def test_offsets_that_are_gone_lead_to_a_rebuild(tmp_path: Path, task: Task, logs: Changelogs) -> None:
    other = Task(tmp_path / "other", logs)
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    two = other.batch(stamp(2), one, {"y": 2})

    def read(store: str, start: int, end: int) -> Iterator[Chunk]:
        if start == 1:
            raise OffsetOutOfRangeError("gone")
        return logs.read(store, start, end)

    task.attempt(stamp(2, "mine"), one, {"z": 1})
    assert task.state.prepare(two, read).kind == "rebuilt"
    assert task.content() == other.content()
    other.state.close()


def test_a_rebuild_goes_on_where_a_crash_ended_it(
    tmp_path: Path, logs: Changelogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_PORTION_RECORDS", 50)
    task = Task(tmp_path / "0_0", logs)
    accepted = task.batch(stamp(1), Accepted(), {f"k{number:03}": number for number in range(200)})
    other = Task(tmp_path / "other", logs)

    def fails(store: str, start: int, end: int) -> Iterator[Chunk]:
        for chunk in logs.read(store, start, end):
            if store == "visits" and chunk.offsets[0] > 100:
                raise ConnectionError
            yield chunk

    with pytest.raises(ConnectionError):
        other.state.prepare(accepted, fails)
    assert other.prepare(accepted) == "caught_up"
    assert ("counts", 200) not in {(store, start) for store, start, _ in logs.reads}
    assert min(start for store, start, _ in logs.reads if store == "visits") > 0
    assert other.content() == task.content()
    task.state.close()
    other.state.close()


def test_a_store_that_is_added_or_laid_out_anew_is_filled_alone(tmp_path: Path, logs: Changelogs) -> None:
    task = Task(tmp_path / "0_0", logs)
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.batch(stamp(2), one, {"y": 2})
    task.state.close()
    longer = StoreSpec(
        "visits", "timestamped_window", TEXT, NUMBER, retention_ms=240_000, window_size_ms=1_000
    )
    added = StoreSpec("added", "key_value", TEXT, NUMBER)
    logs.records["added"] = [(b"n", NUMBER.serialize(4), 1)]
    state = LocalState(tmp_path / "0_0", [COUNTS, longer, added])
    logs.reads.clear()
    assert state.prepare(logs.accepted(stamp(2)), logs.read).kind == "caught_up"
    assert sorted(logs.reads) == [("added", 0, 1), ("visits", 0, 2)]
    assert len(list(state.store("visits", key=TEXT, value=NUMBER).all())) == 2
    assert state.store("added", key=TEXT, value=NUMBER).get("n") == 4
    state.close()
    # The sessions are gone with their store, and come back when it does.
    back = Task(tmp_path / "0_0", logs)
    assert back.prepare(logs.accepted(stamp(2))) == "caught_up"
    assert ("sessions", 0, 2) in logs.reads
    assert len(back.content()[2]) == 2
    back.state.close()


def test_a_commit_is_taken_back_although_one_of_its_stores_is_gone(tmp_path: Path, logs: Changelogs) -> None:
    task = Task(tmp_path / "0_0", logs)
    one = task.batch(stamp(1), Accepted(), {"x": 1})
    task.attempt(stamp(2), one, {"x": 2})
    task.state.close()
    state = LocalState(tmp_path / "0_0", [COUNTS])
    assert state.prepare(one, no_changelog).kind == "undone"
    assert list(state.store("counts", key=TEXT, value=NUMBER).all()) == [("x", ValueAndTimestamp(1, 0))]
    state.close()


def test_stores_that_are_not_logged_have_no_changes(tmp_path: Path) -> None:
    state = LocalState(
        tmp_path,
        [
            StoreSpec("quiet", "key_value", TEXT, NUMBER, logging=False),
            StoreSpec("table", "timestamped_key_value", TEXT, NUMBER, changelog_topic="topic"),
        ],
    )
    state.prepare(Accepted(), no_changelog)
    state.store("quiet", key=TEXT, value=NUMBER).put("a", 1)
    state.store("table", key=TEXT, value=NUMBER).put("a", ValueAndTimestamp(1, 1))
    assert state.changes() == {}
    assert state.commit(stamp(1), Accepted())
    state.close()


def test_a_map_that_is_full_grows(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [COUNTS], map_size=256 * 1024)
    reader = LocalReader(tmp_path, [COUNTS])
    state.prepare(Accepted(), no_changelog)
    reader.renew()
    store = state.store("counts", key=TEXT, value=serde_for(bytes))
    for number in range(1000):
        store.put(f"{number:04}", ValueAndTimestamp(b"x" * 2000, number))
    assert state.commit(stamp(1), Accepted())
    assert len(list(store.all())) == 1000
    assert reader.renew() == stamp(1)
    assert reader.backend("counts").count() == 1000
    reader.close()
    state.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    state = LocalState(tmp_path, SPECS)
    state.prepare(Accepted(), no_changelog)
    stores: list[Any] = [state.store(spec.name, key=TEXT, value=NUMBER) for spec in SPECS]
    state.close()
    for use in (
        lambda: stores[0].get("a"),
        lambda: stores[0].put("a", ValueAndTimestamp(1, 1)),
        lambda: stores[1].fetch("a", 0),
        lambda: stores[1].put("a", ValueAndTimestamp(1, 1), 0),
        lambda: stores[2].fetch("a"),
        lambda: stores[2].put(Windowed("a", 0, 1), 1),
        lambda: state.prepare(Accepted(), no_changelog),
        lambda: state.backend("counts").get(b"a"),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
    state.close()


def test_an_unknown_store_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store `visitors`.*`counts`.*`visits`"):
        LocalState(tmp_path, SPECS).backend("visitors")


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, str, dict[str, int], int]]:
    """Batches: the host that runs it, whether it is published, what it changes, and when."""
    batch = st.tuples(
        st.integers(0, 1),
        st.sampled_from(["published", "published", "lost"]),
        st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 99), min_size=1),
        st.integers(0, 500_000),
    )
    return draw(st.lists(batch, max_size=12))


@settings(max_examples=60, deadline=None)
@given(histories())
def test_two_hosts_and_a_rebuild_agree(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[int, str, dict[str, int], int]]
) -> None:
    """However batches are spread, lost and repeated, every copy is what the changelogs say."""
    folder = tmp_path_factory.mktemp("hosts")
    logs = Changelogs()
    hosts = [Task(folder / "a", logs), Task(folder / "b", logs)]
    accepted = Accepted()
    for number, (host, fate, changes, time) in enumerate(history, 1):
        mark = stamp(number, f"{host}-{fate}")
        if fate == "published":
            accepted = hosts[host].batch(mark, accepted, changes, time=time)
        else:
            hosts[host].attempt(mark, accepted, changes, time=time)
    fresh = Task(folder / "c", logs)
    contents = []
    for task in (*hosts, fresh):
        task.prepare(accepted)
        contents.append(task.content())
        task.state.close()
    assert contents[0] == contents[1] == contents[2]
