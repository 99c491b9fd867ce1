"""Metrics and metadata from what the driver knows, without a query."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from headrace import StreamsBuilder, StreamsConfig, TaskId
from headrace.app.beginning import base_commit
from headrace.app.metadata import LagInfo, Metadata
from headrace.app.metrics import Metrics
from headrace.app.named import CLIENT, OURS, STORE, TASK, THREAD, USERS, MetricName
from headrace.app.opening import open_application
from headrace.app.reaching import Reach
from headrace.app.states import State
from headrace.errors import InvalidArgumentError, StoreError
from headrace.log.base import TopicPartition
from headrace.partitioning import partition_for
from headrace.spark.commit import CommitRecord, Report, Restored
from headrace.spark.publish import Batch

HOST = "worker-1"


def batch(number: int, *reports: Report, records: int = 10) -> Batch:
    return Batch(
        CommitRecord("i", number, 0, {"in": [5, 5]}),
        {},
        records,
        7,
        3,
        list(reports),
        {"run": 0.2, "publish": 0.05},
        produced={"out": 7},
        changed={("counts", "1_0"): 2, ("counts", "1_1"): 1},
    )


def some_metrics() -> Metrics:
    metrics = Metrics("app", lambda: "RUNNING")
    restored = Restored("counts", "app-counts-changelog", 0, 40, 40, 800, 0.5)
    metrics.add(
        batch(
            1,
            Report("reader-0", seconds={"read": 0.1}),
            Report("0_0", records=6, dropped=1),
            Report("1_0", records=4, outputs=4, restored=40, recovery="rebuilt", seconds={"process": 0.1}, host=HOST,
                   restores=[restored]),
        )
    )  # fmt: skip
    metrics.add(
        batch(2, Report("1_0", records=4, seconds={"process": 0.3}, counts={"seen": 4}, host=HOST), records=4)
    )
    return metrics


def test_metrics_have_kafka_streams_names() -> None:
    metrics = some_metrics()
    task = (("task-id", "1_0"),)
    assert {name: metrics[name] for name in metrics if name.group == TASK and name.tags == task} == {
        MetricName("process-total", TASK, task): 8,
        MetricName("process-latency-avg", TASK, task): 200.0,
        MetricName("process-latency-max", TASK, task): 300.0,
        MetricName("dropped-records-total", TASK, task): 0,
        MetricName("restore-total", TASK, task): 40,
        MetricName("records-produced-total", TASK, task): 4,
    }
    assert metrics[MetricName("process-total", THREAD)] == 14
    assert metrics[MetricName("commit-total", THREAD)] == 2
    assert metrics[MetricName("commit-latency-avg", THREAD)] == 50.0
    assert metrics[MetricName("process-latency-max", THREAD)] == 200.0
    assert metrics[MetricName("poll-records-avg", THREAD)] == 7.0
    assert metrics[MetricName("state", CLIENT)] == "RUNNING"
    store = (("task-id", "1_0"), ("store", "counts"))
    assert metrics[MetricName("restore-total", STORE, store)] == 40
    assert metrics[MetricName("changelog-records-total", OURS, store)] == 4
    assert metrics[MetricName("recoveries-total", OURS, (("kind", "rebuilt"),))] == 1
    assert metrics[MetricName("batch-time-total", OURS, (("part", "run"),))] == 400.0
    assert metrics[MetricName("seen", USERS)] == 4
    assert metrics.value("dropped-records-total", task_id="0_0") == 1
    assert metrics.value("records-produced-total", topic="out") == 14
    assert len(metrics) == len(dict(metrics))
    assert "reader-0" not in metrics.tasks
    with pytest.raises(KeyError, match="there is no metric `nonsense` with"):
        metrics.value("nonsense", store="counts")
    assert metrics.rate() > 0


@pytest.fixture
def metadata(tmp_path: Path) -> Iterator[Metadata]:
    builder = StreamsBuilder()
    builder.table("names", value=str, store="names")
    grouped = builder.stream("in", value=int).group_by(lambda key, value: "k", key=str)
    grouped.count(store="counts").to_stream().to("out")
    topology = builder.build(optimization="all")
    config = StreamsConfig(
        application_id="app", data_dir=str(tmp_path), default_partitions=2, topology_optimization="all"
    )
    opened = open_application(topology, config)
    base = base_commit(opened.log, topology, opened.layout, None, config)
    base = msgspec.structs.replace(
        base,
        positions={"in": [3, 4], "names": [9, 8]},
        ends={**base.ends, "app-counts-changelog": [30, 40]},
    )
    ends = {TopicPartition("in", 0): 5, TopicPartition("in", 1): 4, TopicPartition("names", 0): 9}
    sub = next(p.sub.id for p in opened.layout.placements if any(s.name == "counts" for s in p.sub.stores))
    metrics = Metrics("app")
    metrics.add(batch(1, *(Report(f"{sub}_{number}", host=f"worker-{number}") for number in (0, 1))))
    yield Metadata(opened, config, State.RUNNING, metrics, base, ends, {(f"{sub}_1", "counts"): 25})
    opened.close()


def task(metadata: Metadata, store: str, number: int) -> TaskId:
    return next(
        t.task_id for t in metadata.tasks() if store in t.store_names and t.task_id.partition == number
    )


def test_tasks_tell_what_they_read_and_how_far(metadata: Metadata) -> None:
    thread = metadata.thread()
    assert (thread.thread_name, thread.thread_state, thread.standby_tasks) == ("app-query", "RUNNING", ())
    place = TopicPartition("in", 0)
    reader = next(task for task in thread.active_tasks if place in task.topic_partitions)
    assert reader.committed_offsets == {place: 3}
    assert reader.end_offsets == {place: 5}
    assert reader.stage == 0
    assert reader.host == ""
    counting = next(t for t in thread.active_tasks if t.task_id == task(metadata, "counts", 1))
    assert (counting.stage, counting.topic_partitions, counting.host) == (1, frozenset(), "worker-1")


def test_after_a_rescaling_every_task_reads_all_partitions(metadata: Metadata) -> None:
    metadata.opened.layout = replace(metadata.layout, task_count=2)
    names = task(metadata, "names", 0)
    found = next(each for each in metadata.tasks() if each.task_id == names)
    assert found.topic_partitions == {TopicPartition("names", 0), TopicPartition("names", 1)}


def test_hosts_tell_what_is_on_them(metadata: Metadata) -> None:
    hosts = {host.host: host for host in metadata.hosts()}
    assert set(hosts) == {"worker-0", "worker-1", socket.gethostname()}
    assert hosts["worker-1"].state_store_names == {"counts"}
    assert hosts["worker-1"].tasks == {task(metadata, "counts", 1)}


def test_a_key_has_a_task_and_a_host(metadata: Metadata) -> None:
    found = metadata.key("counts", "alice")
    assert found.partition == partition_for(b"alice", 2)
    assert found.active_host == f"worker-{found.partition}"
    assert metadata.key("counts", "alice", lambda topic, key, value, count: count - 1).partition == 1
    with pytest.raises(InvalidArgumentError, match="must answer with a number from 0 to 1, got 2"):
        metadata.key("counts", "alice", lambda topic, key, value, count: count)
    with pytest.raises(StoreError, match="there is no store `nonsense`; this application has: "):
        metadata.key("nonsense", "alice")


def test_lags_are_those_of_stores_that_are_being_restored(metadata: Metadata) -> None:
    lags = metadata.lags()
    assert lags["counts"] == {0: LagInfo(30, 30), 1: LagInfo(25, 40)}
    assert [lag.offset_lag for lag in lags["counts"].values()] == [0, 15]
    # A table whose topic is its changelog has followed it as far as it was read.
    assert lags["names"] == {0: LagInfo(9, 9), 1: LagInfo(8, 8)}


def test_how_far_it_is_on_its_way() -> None:
    reach = Reach()
    ends = {TopicPartition("in", 0): 8, TopicPartition("in", 1): 5, TopicPartition("table", 0): 3}
    assert reach.progress(None) == (0, None)
    reach.begin({"in": [2, 1]})
    assert reach.progress(ends) == (0, 10)
    assert not reach.is_at(ends)
    reach.committed(batch(1))  # to 5 and 5
    assert reach.progress(ends) == (7, 10)
    assert reach.left(ends) == 3
    done = batch(2)
    done.commit = msgspec.structs.replace(done.commit, positions={"in": [9, 5]}, ends={"in": [9, 6]})
    done.globals = {"table": [3]}
    reach.committed(done)
    assert reach.progress(ends) == (10, 10)
    assert not reach.is_at(ends), "it has written something that it has to read itself"
    done.commit = msgspec.structs.replace(done.commit, positions={"in": [9, 6]})
    reach.committed(done)
    assert reach.is_at(ends)
