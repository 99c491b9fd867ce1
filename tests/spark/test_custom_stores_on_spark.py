"""Stores of the user's own on Spark: the same as in the driver, over restarts, failed batches and lost disks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import CallbackError, StoreError
from tests.spark import store_topologies
from tests.spark.harness import Application, append, encoded, flat, reference
from tests.spark.harness.inputs import of_partition, parts
from tests.spark.harness.processes import kill_workers


def assert_partitions_equal(app: Application, inputs: list[object], *topics: str) -> None:
    """Each task has its own stores, so a driver with the records of its partition gives what it gives."""
    for number in range(4):
        expected = reference(app.topology, of_partition(inputs, number, 4))  # type: ignore[arg-type]
        for topic in topics:
            assert app.read(topic)[number] == expected.outputs[topic], f"{topic}, partition {number}"


def test_restarts_and_lost_disks(application: Callable[..., Application]) -> None:
    topology, inputs = store_topologies.custom_stores(), parts("in", count=6, keys=20)
    app = application(topology).run(inputs[:2])
    app.run(inputs[2:3])
    shutil.rmtree(app.config.state_path)
    kill_workers(os.getpid())
    app.run(inputs[3:4])
    app.start()
    app.feed(*inputs[4:])
    assert app.streams is not None
    ranks = app.streams.store("ranks")
    bags = app.streams.store("bags")
    best = [store.best() for store in ranks]
    counted = {key: dict(bag) for store in bags for key, bag in store.bags.items()}
    with pytest.raises(
        StoreError, match="the store `ranks` is read from outside of its task, where it cannot be"
    ):
        ranks[0].add("k1", 10**6)
    app.stop()
    assert_partitions_equal(app, inputs, "ranked", "bagged")
    assert "rebuilt" in app.recoveries()
    assert len(best) == 4
    assert sorted(name for of_task in best for _, name in of_task) == sorted(f"k{n}" for n in range(20))
    assert counted
    last: dict[str, str] = {}
    for record in flat(app.read("bagged")):
        assert record.key is not None
        assert record.value is not None
        last[record.key.decode()] = record.value.decode().split()[0]
    for key, bag in counted.items():
        assert last[key] == "".join(f"{item}{count}" for item, count in sorted(bag.items()))


def test_a_batch_that_fails_leaves_no_trace_in_memory(
    application: Callable[..., Application], tmp_path: Path
) -> None:
    """The error ends the application; the next start goes on, with stores and processors as at the last commit."""
    faults = tmp_path / "faults"
    faults.mkdir()
    inputs = parts("in", count=4, keys=20)
    app = application(store_topologies.failing_stores(faults)).run(inputs[:2])
    app.start()
    (faults / "now").touch()
    append(app.log, inputs[2])
    assert app.streams is not None
    with pytest.raises(CallbackError, match="a passing fault"):
        app.streams.wait(180)
    app.stop()
    app.start()
    app.catch_up()
    app.feed(inputs[3])
    app.stop()
    assert_partitions_equal(app, inputs, "bagged")


@pytest.mark.parametrize("point", ["process.after", "local_commit.after", "task.after"])
def test_workers_that_are_killed_in_mid_batch(
    application: Callable[..., Application], failpoints: Path, point: str
) -> None:
    """Spark tries the task again in another process, which makes the store from the last commit."""
    inputs = parts("in", count=4, keys=20)
    app = application(store_topologies.custom_stores()).run(inputs[:1])
    with app:
        for part in inputs[1:]:
            (failpoints / point).touch()
            app.feed(part)
    assert_partitions_equal(app, inputs, "ranked", "bagged")


def test_a_global_store_of_ones_own(application: Callable[..., Application]) -> None:
    with application(store_topologies.global_custom_store()) as app:
        app.feed({"table": [encoded("a", "apple", 0)]})
        app.feed({"in": [encoded(f"k{n}", "a1", n) for n in range(20)]})
        app.feed({"table": [encoded("b", "banana", 1), encoded("a", "apricot", 2)]})
        app.feed({"in": [encoded(f"k{n}", "ab"[n % 2] + "1", 100 + n) for n in range(20)]})
        assert app.streams is not None
        (latest,) = app.streams.store("latest")
        assert latest.order == ["a", "b"]
    values = [record.value for record in sorted(flat(app.read("asked")), key=lambda r: r.timestamp)]
    assert values == [b"0 apple of 1"] * 20 + [b"0 apricot of 2", b"1 banana of 2"] * 10


@pytest.mark.parametrize("lost", [False, True], ids=["stores stay", "stores are lost"])
def test_a_read_only_store_is_its_topic(application: Callable[..., Application], lost: bool) -> None:
    inputs = parts("table", "in", count=4, keys=20)
    app = application(store_topologies.read_only_store()).run(inputs[:2])
    if lost:
        shutil.rmtree(app.config.state_path)
        kill_workers(os.getpid())
    app.start()
    app.feed(*inputs[2:])
    assert app.streams is not None
    assert app.streams.metrics.counts["asked"] == sum(len(part["in"]) for part in inputs[2:])
    app.stop()
    assert_partitions_equal(app, inputs, "asked")
    assert not [topic for topic in app.log.topics() if "names" in topic]


def test_a_builders_global_store(application: Callable[..., Application]) -> None:
    with application(store_topologies.builders_global_store()) as app:
        app.feed({"table": [encoded("a", "apple", 0), encoded("b", "banana", 1)]})
        app.feed({"in": [encoded("a", "x", 5), encoded("b", "y", 6), encoded("c", "z", 7)]})
    values = [record.value for record in sorted(flat(app.read("asked")), key=lambda r: r.timestamp)]
    assert values == [b"x apple", b"y banana", b"z None"]


def test_limited_stores_and_stores_in_memory_are_rebuilt_as_they_were(
    application: Callable[..., Application],
) -> None:
    inputs = parts("in", count=5, keys=20)
    app = application(store_topologies.limited()).run(inputs[:3])
    shutil.rmtree(app.config.state_path)
    kill_workers(os.getpid())
    app.start()
    app.feed(*inputs[3:])
    assert app.streams is not None
    few, recent = dict(app.streams.store("few").all()), list(app.streams.store("recent").all())
    app.stop()
    assert_partitions_equal(app, inputs, "counted", "recent")
    kept: dict[str, int] = {}
    for number in range(4):
        rows = reference(app.topology, of_partition(inputs, number, 4), stores=["few"]).stores["few"]
        assert len(rows) <= 3
        kept.update(rows)
    assert few == kept
    assert recent
