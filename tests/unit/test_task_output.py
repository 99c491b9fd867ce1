"""What a task writes: columns, headers, partitions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import StreamsBuilder, StreamsConfig, TimeWindows, Topology
from headrace.errors import CallbackError, LogError
from headrace.log.base import Chunk
from headrace.partitioning import partition_for
from headrace.record import NO_HEADERS, TaskId
from headrace.state import memory_store
from headrace.task import Output, StreamTask

CONFIG = StreamsConfig(application_id="app", default_value=str)


def make(topology: Topology, output: Output, sub: int = 0, **stores: Any) -> StreamTask:
    return StreamTask(
        topology.sub_topologies()[sub],
        TaskId(sub, 0),
        application_id="app",
        stores=stores,
        output=output,
        config=CONFIG,
        clock=lambda: 0,
    )


def chunk(keys: list[str | None], topic: str = "in", headers: Any = None) -> Chunk:
    count = len(keys)
    raw = [None if key is None else key.encode() for key in keys]
    return Chunk(topic, 0, range(count), range(count), raw, [b"v"] * count, headers)


def copying(**settings: Any) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to("out", **settings)
    return builder.build()


def test_columns_hold_bytes_in_the_order_in_which_they_were_written() -> None:
    output = Output()
    make(copying(), output).process([chunk(["a", None])])
    (taken,) = output.take()
    assert (taken.topic, taken.repartition) == ("out", False)
    assert (taken.keys, taken.values, taken.timestamps) == ([b"a", None], [b"v", b"v"], [0, 1])
    assert taken.headers is None
    assert taken.partitions is None
    assert len(taken) == 2


def test_what_was_taken_is_the_hosts_and_the_task_goes_on() -> None:
    output = Output()
    task = make(copying(), output)
    task.process([chunk(["a"])])
    (first,) = output.take()
    assert output.take() == []
    task.process([chunk(["b"])])
    (second,) = output.take()
    assert (first.keys, second.keys) == ([b"a"], [b"b"])


def test_headers_are_a_column_once_a_record_has_some() -> None:
    output = Output()
    one = (("id", b"1"),)
    make(copying(), output).process([chunk(["a", "b"], headers=[NO_HEADERS, one])])
    (taken,) = output.take()
    assert taken.headers == [NO_HEADERS, one]


def test_what_a_failed_batch_wrote_can_be_forgotten() -> None:
    output = Output()
    make(copying(), output).process([chunk(["a"], headers=[(("id", b"1"),)])])
    output.clear()
    assert output.take() == []


def test_repartition_topics_are_told_apart_and_have_no_application_id() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by(lambda k, v: v, key=str)
    grouped.count(store="n").to_stream().to("out")
    output = Output()
    make(builder.build(), output).process([chunk(["a"])])
    (taken,) = output.take()
    assert (taken.topic, taken.repartition) == ("n-repartition", True)
    assert (taken.keys, taken.values) == ([b"v"], [b"v"])


def test_a_partitioner_chooses_and_where_it_does_not_the_key_decides() -> None:
    def by_length(topic: str, key: str, value: str, count: int) -> int | None:
        assert (topic, count) == ("out", 7)
        return len(key) if len(key) < 3 else None

    output = Output(partitions=lambda topic: 7)
    make(copying(partitioner=by_length), output).process([chunk(["a", "bb", "long", "longer"])])
    (taken,) = output.take()
    assert taken.partitions == [1, 2, partition_for(b"long", 7), partition_for(b"longer", 7)]


def test_a_partitioner_may_choose_several_partitions_or_none() -> None:
    def choose(topic: str, key: str, value: str, count: int) -> set[int] | None:
        return {"all": set(range(count)), "none": set[int](), "one": {1}}.get(key)

    output = Output(partitions=lambda topic: 3)
    make(copying(partitioner=choose), output).process([chunk(["all", "none", "one", "any"])])
    (taken,) = output.take()
    assert taken.keys == [b"all", b"all", b"all", b"one", b"any"]
    assert taken.partitions == [0, 1, 2, 1, partition_for(b"any", 3)]


@pytest.mark.parametrize("partition", [2, {0, 2}, "1"])
def test_a_partition_that_is_not_there_is_refused(partition: Any) -> None:
    output = Output(partitions=lambda topic: 2)
    task = make(copying(partitioner=lambda topic, key, value, count: partition), output)
    with pytest.raises(
        CallbackError,
        match=r"chose partition (2|'1'), and `out` has 2: return a number below 2, a set of them, or None",
    ):
        task.process([chunk(["a"])])


def test_a_host_that_does_not_know_the_partitions_is_told_so() -> None:
    task = make(copying(partitioner=lambda topic, key, value, count: 0), Output())
    with pytest.raises(LogError, match="nobody said how many it has"):
        task.process([chunk(["a"])])


def test_a_windowed_key_stays_in_the_partition_of_its_inner_key() -> None:
    builder = StreamsBuilder()
    windowed = builder.stream("in", value=str).group_by_key().windowed_by(TimeWindows(timedelta(seconds=1)))
    windowed.count(store="n").to_stream().to("out")
    store = memory_store(
        "n", "timestamped_window", key=str, value=int, retention_ms=1000, window_size_ms=1000
    )
    output = Output(partitions=lambda topic: 5)
    keys = ["a", "b", "c", "a"]
    make(builder.build(), output, n=store).process([chunk([*keys])])
    (taken,) = output.take()
    assert taken.partitions == [partition_for(key.encode(), 5) for key in keys]


def test_a_topic_is_chosen_per_record() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to(
        lambda key, value, metadata: f"{metadata.topic}-{key}-{metadata.offset}"
    )
    output = Output()
    make(builder.build(), output).process([chunk(["a", "b"])])
    assert [(taken.topic, taken.keys) for taken in output.take()] == [("in-a-0", [b"a"]), ("in-b-1", [b"b"])]


def test_a_topic_must_be_a_name() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=str).to(lambda key, value, metadata: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(CallbackError, match="must return the name of a topic, got None"):
        make(builder.build(), Output()).process([chunk(["a"])])
