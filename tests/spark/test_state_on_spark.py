"""Stores: read while the application runs, found again after a restart, and rebuilt when they are lost."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from headrace import Windowed
from headrace.errors import StoreError
from headrace.topology.topology import Topology
from tests.spark import topologies
from tests.spark.harness import Application, Part, by_key, encoded, flat, reference
from tests.spark.harness.application import TIMEOUT, recoveries
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.harness.processes import kill_workers

LETTERS = [encoded(letter, f"letter-{letter}", 0) for letter in "abc"]


def test_stores_answer_while_the_application_runs(application: Callable[..., Application]) -> None:
    inputs = parts("in")
    names = ["by-key", "by-letter", "highest", "totals"]
    with application(topologies.aggregates()) as app:
        for number, part in enumerate(inputs, start=1):
            app.feed(part)
            expected = reference(topologies.aggregates(), inputs[:number], stores=names).stores
            for name in names:
                assert app.streams is not None
                store = app.streams.store(name)
                rows = expected[name]
                assert list(store.all()) == rows
                assert list(store.reverse_all()) == rows[::-1]
                assert all(store.get(key) == value for key, value in rows)
                low, high = rows[1][0], rows[-2][0]
                assert list(store.range(low, high)) == rows[1:-1]
                assert list(store.reverse_range(low, high)) == rows[1:-1][::-1]
                assert store.approximate_num_entries() == len(rows)
                assert store.get("nobody") is None


def test_window_and_session_stores_answer(application: Callable[..., Application]) -> None:
    records = [
        encoded("k1", "a1", 10),
        encoded("k1", "a2", 20),
        encoded("k2", "a3", 90),
        encoded("k1", "a4", 110),
    ]
    with application(topologies.windows()) as app:
        app.feed({"in": records})
        assert app.streams is not None
        tumbling, sessions = app.streams.store("tumbling"), app.streams.store("sessions")
        assert tumbling.fetch("k1", 0) == 2
        assert tumbling.fetch("k1", 200) is None
        assert list(tumbling.fetch("k1", 0, 1000)) == [(0, 2), (100, 1)]
        assert list(tumbling.backward_fetch("k1", 0, 1000)) == [(100, 1), (0, 2)]
        windows = {Windowed("k1", 0, 100): 2, Windowed("k1", 100, 200): 1, Windowed("k2", 0, 100): 1}
        assert dict(tumbling.all()) == windows
        assert dict(tumbling.fetch_range("k1", "k2", 0, 0)) == {
            w: n for w, n in windows.items() if w.start == 0
        }
        assert dict(tumbling.fetch_all(100, 100)) == {Windowed("k1", 100, 200): 1}
        # The session from 10 to 20 is beyond its retention: time stands at 110 in that task.
        assert list(sessions.fetch("k1")) == [(Windowed("k1", 110, 110), "a4")]
        assert sessions.fetch_session("k2", 90, 90) == "a3"
        assert list(sessions.find_sessions("k2", 0, 100)) == [(Windowed("k2", 90, 90), "a3")]
        assert dict(sessions.all()) == {Windowed("k1", 110, 110): "a4", Windowed("k2", 90, 90): "a3"}


def test_a_global_table_answers_and_follows_its_topic(application: Callable[..., Application]) -> None:
    with application(topologies.global_joins()) as app:
        app.feed({"table": LETTERS})
        assert app.streams is not None
        names = app.streams.store("names")
        assert dict(names.all()) == {letter: f"letter-{letter}" for letter in "abc"}
        app.feed({"table": [encoded("b", None, 1), encoded("d", "new", 1)]})
        assert dict(names.all()) == {"a": "letter-a", "c": "letter-c", "d": "new"}


def test_an_unknown_store_and_one_that_does_not_run(application: Callable[..., Application]) -> None:
    app = application(topologies.first_half())
    streams = app.start()
    with pytest.raises(StoreError, match=r"call `wait_until_running\(\)` first"):
        streams.store("letters")
    streams.wait_until_running(TIMEOUT)
    with pytest.raises(StoreError, match=r"there is no store `numbers`; this application has: `letters`"):
        streams.store("numbers")
    letters = streams.store("letters")
    app.stop()
    with pytest.raises(StoreError, match="can be read while the application runs; it is not running"):
        streams.store("letters")
    with pytest.raises(StoreError, match="closed"):
        letters.get("a")


def test_all_tasks_are_read_as_of_one_commit(application: Callable[..., Application]) -> None:
    """Whatever the moment, what the tasks have counted together is what some commit has read."""
    inputs = parts("in", count=12, size=40)
    totals, seen = {0}, set()
    with application(topologies.aggregates()) as app:
        assert app.streams is not None
        app.streams.wait_until_running(TIMEOUT)
        store = app.streams.store("by-letter")
        # Before the stores show a commit, its listeners are not called yet: note the total first.
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                seen.add(sum(count for _, count in store.all()))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            for part in inputs:
                totals.add(max(totals) + len(part["in"]))
                app.feed(part)
        finally:
            done.set()
            watcher.join()
    assert seen <= totals
    assert max(totals) in seen | {sum(n for _, n in reference_counts(inputs))}
    assert len(seen) > 2


def reference_counts(inputs: list[Part]) -> list[tuple[str, int]]:
    return reference(topologies.aggregates(), inputs, stores=["by-letter"]).stores["by-letter"]


def test_a_restart_goes_on_where_the_last_commit_was(application: Callable[..., Application]) -> None:
    """Windows remember their time, and nothing is read twice or rebuilt."""
    topology, inputs = topologies.windows(), parts("in", late=120, size=100, keys=20)
    app = application(topology)
    for part in inputs:
        app.run([part])
    assert sum(batch.records for batch in app.batches) == sum(len(part["in"]) for part in inputs)
    assert app.recoveries() == {"same", "empty"}
    assert_partitions_equal(app, topology, inputs)


def test_stream_time_punctuators_go_on_after_a_restart(application: Callable[..., Application]) -> None:
    topology, inputs = topologies.ranking(), parts("in", late=50, keys=20)
    app = application(topology)
    for part in inputs:
        app.run([part])
    assert_partitions_equal(app, topology, inputs)


def test_wall_clock_punctuators_fire_without_input(application: Callable[..., Application]) -> None:
    with application(topologies.ticks()) as app:
        app.feed(*parts("in", count=1, keys=20))
        wait_for(lambda: all(len(ticks) >= 3 for ticks in ticks_by_task(app).values()))
    ticks = ticks_by_task(app)
    assert set(ticks) == {f"task-{n}".encode() for n in range(4)}
    for calls in ticks.values():
        assert [int(call.split()[0]) for call in calls] == list(range(1, len(calls) + 1))
    records = [int(calls[-1].split()[1]) for calls in ticks.values()]
    assert sum(records) == 60


def test_wall_clock_due_times_survive_a_restart(application: Callable[..., Application]) -> None:
    """A punctuator that is due in an hour is still due then, however often the application starts in between."""
    app = application(topologies.long_ticks())
    for part in parts("in", count=3):
        app.run([part])
    due = {batch.commit.due for batch in app.batches}
    assert len(due) == 1
    assert None not in due


def ticks_by_task(app: Application) -> dict[bytes | None, list[str]]:
    return {
        key: [(record.value or b"").decode() for record in records]
        for key, records in by_key(flat(app.read("out"))).items()
    } or {None: []}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_partitions_equal(app: Application, topology: Topology, inputs: list[Part]) -> None:
    for number in range(4):
        expected = reference(topology, of_partition(inputs, number, 4))
        for topic, records in expected.outputs.items():
            assert app.read(topic)[number] == records, f"{topic}, partition {number}"


@contextmanager
def delete(state: Path) -> Iterator[None]:
    yield
    shutil.rmtree(state)


@contextmanager
def truncate(state: Path) -> Iterator[None]:
    yield
    for file in state.rglob("data.mdb"):
        with file.open("r+b") as data:
            data.truncate(file.stat().st_size // 2)


@contextmanager
def garble(state: Path) -> Iterator[None]:
    yield
    random = Random(3)
    for file in state.rglob("data.mdb"):
        file.write_bytes(random.randbytes(file.stat().st_size))


@contextmanager
def delete_some(state: Path) -> Iterator[None]:
    """Half of the tasks lose their stores."""
    yield
    for folder in sorted(state.iterdir())[::2]:
        shutil.rmtree(folder)


@contextmanager
def boot_again(state: Path) -> Iterator[None]:
    """The machine went down while the stores were open: what is in their files is anybody's guess."""
    yield
    for file in state.rglob("seal"):
        seal = json.loads(file.read_bytes().rstrip(b"\0 "))
        file.write_bytes(json.dumps({**seal, "boot": "before", "clean": False}).encode().ljust(256))


@contextmanager
def bring_back_an_old_copy(state: Path) -> Iterator[None]:
    """As a host does that comes back after another one did its work."""
    copy = state.with_name("copy")
    shutil.copytree(state, copy)
    yield
    shutil.rmtree(state)
    copy.rename(state)


@pytest.mark.parametrize(
    ("damage", "kinds"),
    [
        (delete, {"rebuilt"}),
        (truncate, {"rebuilt"}),
        (garble, {"rebuilt"}),
        (boot_again, {"rebuilt"}),
        (delete_some, {"same", "rebuilt"}),
        (bring_back_an_old_copy, {"caught_up"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_lost_stores_are_rebuilt_from_the_changelog(
    damage: Callable[[Path], Iterator[None]], kinds: set[str], application: Callable[..., Application]
) -> None:
    topology, inputs = topologies.windows(), parts("in", late=120, size=100, keys=20, count=5)
    app = application(topology).run(inputs[:2])
    with damage(app.config.state_path):
        app.run(inputs[2:3])
        kill_workers(os.getpid())  # idle ones still have the files open
    app.batches.clear()
    app.start()
    app.feed(*inputs[3:])
    assert recoveries(app.batches[0]) == kinds
    assert {kind for batch in app.batches[1:] for kind in recoveries(batch)} == {"same"}
    assert app.streams is not None
    assert set(app.streams.metrics.recoveries) == kinds - {"same"}
    content = dict(app.streams.store("tumbling").all())
    app.stop()
    assert_partitions_equal(app, topology, inputs)
    expected = {}
    for number in range(4):
        expected.update(
            reference(topology, of_partition(inputs, number, 4), stores=["tumbling"]).stores["tumbling"]
        )
    assert content == expected
