"""What an application tells about itself: metrics with Kafka Streams' names, and where its tasks and stores are."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Processor, ProcessorContext, Record, State, StreamsBuilder, TaskId, TimeWindows, Topology
from headrace.app.metadata import LagInfo
from headrace.app.named import CLIENT, OURS, TASK, USERS, MetricName
from headrace.errors import IllegalStateError, InvalidArgumentError, StoreError
from headrace.log.base import TopicPartition
from headrace.partitioning import partition_for
from tests.spark.harness import Application, append, encoded, flat
from tests.spark.harness.application import TIMEOUT

Make = Callable[..., Application]


class Counting(Processor[str, int, str, int]):
    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context

    def process(self, record: Record[str, int]) -> None:
        self.context.metrics.add("seen")
        self.context.forward(record)


def topology() -> Topology:
    """A stage that counts windows, some records too late; behind a shuffle a second one."""
    builder = StreamsBuilder()
    windows = TimeWindows(timedelta(milliseconds=10), grace=timedelta(0))
    stream = builder.stream("in", value=int)
    stream.group_by_key().windowed_by(windows).count(store="windowed").to_stream().to("windows")
    counts = stream.group_by(lambda key, value: f"k{value % 3}").count(store="counts").to_stream()
    counts.process(Counting).to("out", key=str, value=int)
    return builder.build()


def test_metrics_and_metadata_of_a_running_application(application: Make) -> None:
    app = application(topology(), partitions=2)
    streams = app.create()
    with pytest.raises(IllegalStateError, match=r"it is created: call `start\(\)` first"):
        streams.metadata_for_local_threads()
    streams.start()
    records = [encoded("a", n, 100 + n) for n in range(6)]
    app.feed({"in": records}, {"in": [encoded("a", 7, 5), encoded("b", 8, 200)]})
    metrics = streams.metrics

    assert metrics[MetricName("state", CLIENT)] == "RUNNING"
    assert metrics[MetricName("failed-stream-threads", CLIENT)] == 0
    assert metrics.value("process-total") == 8
    assert metrics.value("commit-total") == metrics.commits >= 2
    assert metrics.value("process-latency-max") >= metrics.value("process-latency-avg") > 0  # type: ignore[operator]
    assert metrics.value("commit-latency-avg") > 0  # type: ignore[operator]
    mine = partition_for(b"a", 2)
    own = f"0_{mine}"
    of_a = sum(partition_for(key, 2) == mine for key in [b"a"] * 7 + [b"b"])
    assert metrics[MetricName("process-total", TASK, (("task-id", own),))] == of_a
    assert metrics.value("dropped-records-total", task_id=own) == 1
    assert metrics[MetricName("seen", USERS)] == 8
    assert metrics.value("records-produced-total", topic="out") == 8
    changes = [
        v for k, v in metrics.items() if k.name == "changelog-records-total" and ("store", "counts") in k.tags
    ]
    assert sum(map(int, changes)) == len(flat(app.read("app-counts-changelog")))
    assert MetricName("batch-time-total", OURS, (("part", "publish"),)) in metrics
    assert len(metrics) == len(dict(metrics))
    with pytest.raises(KeyError, match="there is no metric `nonsense`"):
        metrics.value("nonsense")

    (thread,) = streams.metadata_for_local_threads()
    assert (thread.thread_name, thread.thread_state) == ("app-query", "RUNNING")
    assert [task.task_id for task in thread.active_tasks] == [TaskId(s, p) for s in (0, 1) for p in (0, 1)]
    task = next(task for task in thread.active_tasks if task.task_id == TaskId(0, mine))
    place = TopicPartition("in", mine)
    assert task.topic_partitions == {place}
    assert task.committed_offsets == task.end_offsets == {place: of_a}
    assert task.store_names == {"windowed"}
    assert task.host == socket.gethostname()
    assert thread.active_tasks[-1].topic_partitions == set()

    (host,) = streams.metadata_for_all_streams_clients()
    assert host.host == socket.gethostname()
    assert host.state_store_names == {"windowed", "counts"}
    assert host.topic_partitions == {TopicPartition("in", 0), TopicPartition("in", 1)}
    assert streams.streams_metadata_for_store("counts") == (host,)
    assert streams.streams_metadata_for_store("nonsense") == ()

    found = streams.query_metadata_for_key("windowed", "a")
    assert (found.partition, found.active_host) == (mine, socket.gethostname())
    chosen = streams.query_metadata_for_key(
        "counts", "k1", partitioner=lambda topic, key, value, count: count - 1
    )
    assert chosen.partition == 1
    with pytest.raises(InvalidArgumentError, match="must answer with a number from 0 to 1, got 5"):
        streams.query_metadata_for_key("counts", "k1", partitioner=lambda *_: 5)
    with pytest.raises(
        StoreError, match="there is no store `nonsense`; this application has: `windowed`, `counts`"
    ):
        streams.query_metadata_for_key("nonsense", "a")

    lags = streams.all_local_store_partition_lags()
    assert set(lags) == {"windowed", "counts"}
    assert all(lag.offset_lag == 0 for partitions in lags.values() for lag in partitions.values())
    assert sum(lag.end_offset_position for lag in lags["counts"].values()) == sum(map(int, changes))
    assert LagInfo(5, 12).offset_lag == 7
    assert streams.lag() == 0
    assert streams.progress() == (0, None)
    app.stop()
    assert metrics.value("state") == "NOT_RUNNING"
    assert streams.lag() is None


def doubling() -> Topology:
    """Writes what it reads itself: 1 becomes 2, 4, 8 and so on up to 64."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=int)
    stream.filter(lambda key, value: value < 64).map_values(lambda value: value * 2).to("in", value=int)
    stream.to("out")
    return builder.build()


def test_catching_up_takes_what_follows_and_leaves_what_comes_later(application: Make) -> None:
    app = application(doubling(), partitions=2)
    append(app.log, {"in": [encoded("a", 1, 5), encoded("b", 1, 6)]})
    streams = app.create()
    appended: list[Any] = []

    def more(batch: object) -> None:
        if len(appended) < 500:
            appended.append(batch)
            append(app.log, {"in": [encoded("c", 64, 7)]})

    # Somebody goes on writing as fast as it reads: it ends all the same.
    streams.on_batch(more)
    streams.start(until_caught_up=True)
    assert streams.wait(TIMEOUT)
    assert streams.state is State.NOT_RUNNING
    out = [record.value for record in flat(app.read("out"))]
    for number in (1, 2, 4, 8, 16, 32, 64):
        assert out.count(encoded("", number, 0).value) >= 2
    assert streams.progress() == (2, 2)
    assert 1 < len(appended) < 500


def test_a_large_commit_interval_makes_few_commits_and_nobody_waits_for_it(application: Make) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=int).to("out")
    app = application(builder.build(), partitions=1, commit_interval=timedelta(hours=1))
    app.start()
    streams = app.streams
    assert streams is not None
    streams.wait_until_running(TIMEOUT)
    began = len(app.batches)
    for number in range(20):
        append(app.log, {"in": [encoded("a", number, number)]})
        time.sleep(0.02)
    # An hour has not passed, so nothing is committed by itself.
    assert len(app.batches) == began
    app.catch_up()
    assert len(flat(app.read("out"))) == 20
    assert len(app.batches) <= began + 2
    append(app.log, {"in": [encoded("a", 20, 20)]})
    assert streams.close(timedelta(seconds=TIMEOUT))
    # Closing does not wait for the interval, nor does a start that is to end by itself.
    app.streams = None
    again = app.create()
    append(app.log, {"in": [encoded("a", 21, 21)]})
    again.start(until_caught_up=True)
    assert again.wait(TIMEOUT)
    assert len(flat(app.read("out"))) == 22
