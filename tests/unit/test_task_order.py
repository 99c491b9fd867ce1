"""The order in which a task takes records."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Record, StreamsBuilder, StreamsConfig, Topology, log_and_skip_on_invalid_timestamp
from headrace.errors import CallbackError, UnknownNodeError
from headrace.log.base import Chunk
from headrace.record import RecordMetadata, TaskId
from headrace.task import Output, StreamTask
from headrace.task.lanes import merge_order

CONFIG = StreamsConfig(application_id="app", default_value=str)
SKIPPING = replace(CONFIG, default_timestamp_extractor=log_and_skip_on_invalid_timestamp)


def chunk(topic: str, partition: int, records: list[tuple[int, str]], first: int = 0) -> Chunk:
    """Records as (timestamp, value), with consecutive offsets."""
    return Chunk(
        topic,
        partition,
        range(first, first + len(records)),
        [timestamp for timestamp, _ in records],
        [b"k"] * len(records),
        [value.encode() for _, value in records],
    )


def task_of(topology: Topology, config: StreamsConfig = CONFIG) -> StreamTask:
    (sub,) = topology.sub_topologies()
    return StreamTask(
        sub,
        TaskId(0, 0),
        application_id="app",
        stores={},
        output=Output(partitions=lambda topic: 1),
        config=config,
        clock=lambda: 0,
    )


def values(task: StreamTask, topic: str = "out") -> list[str]:
    return [v.decode() for taken in task.output.take() if taken.topic == topic for v in taken.values if v]


def merging(*topics: str) -> Topology:
    builder = StreamsBuilder()
    streams = [builder.stream(topic, value=str) for topic in topics]
    first = streams[0]
    for stream in streams[1:]:
        first = first.merge(stream)
    first.to("out")
    return builder.build()


def numbered(queues: list[list[int]]) -> list[list[tuple[int, int]]]:
    return [[(number, row) for row in range(len(queue))] for number, queue in enumerate(queues)]


def by_heads(queues: list[list[int]]) -> list[tuple[int, int]]:
    """The rule to the letter: (queue, row) of the lowest head, the first queue of equal ones, until all is taken."""
    heads = [0] * len(queues)
    taken = []
    while waiting := [n for n, queue in enumerate(queues) if heads[n] < len(queue)]:
        number = min(waiting, key=lambda n: (queues[n][heads[n]], n))
        taken.append((number, heads[number]))
        heads[number] += 1
    return taken


@given(st.lists(st.lists(st.integers(0, 20), max_size=8), min_size=1, max_size=4))
def test_the_merge_takes_the_lowest_head_and_the_first_sequence_of_equal_ones(
    queues: list[list[int]],
) -> None:
    places = [place for queue in numbered(queues) for place in queue]
    assert merge_order([[queue] for queue in queues]) == [places.index(place) for place in by_heads(queues)]


@given(
    st.lists(st.lists(st.integers(-1, 20), min_size=1, max_size=6), min_size=2, max_size=3),
    st.booleans(),
)
def test_partitions_of_a_topic_and_topics_of_a_task_are_merged_alike(
    queues: list[list[int]], one_topic: bool
) -> None:
    named = [[(time, f"{n}/{i}") for i, time in enumerate(queue)] for n, queue in enumerate(queues)]
    if one_topic:
        task, topics = task_of(merging("a"), SKIPPING), ["a"] * len(queues)
    else:
        names = ["a", "b", "c"][: len(queues)]
        task, topics = task_of(merging(*names), SKIPPING), names
    task.process([chunk(topics[n], n if one_topic else 0, queue) for n, queue in enumerate(named)])
    kept = [[(time, value) for time, value in queue if time >= 0] for queue in named]
    order = by_heads([[time for time, _ in queue] for queue in kept])
    assert values(task) == [kept[number][row][1] for number, row in order]


def test_the_record_with_the_lowest_timestamp_goes_first_and_offsets_stay_in_order() -> None:
    task = task_of(merging("a", "b"))
    task.process([chunk("b", 0, [(3, "b3"), (6, "b6")]), chunk("a", 0, [(5, "a5"), (1, "a1"), (7, "a7")])])
    assert values(task) == ["b3", "a5", "a1", "b6", "a7"]


def test_equal_timestamps_go_by_source_then_topic_then_partition() -> None:
    builder = StreamsBuilder()
    second = builder.stream("z", value=str)
    builder.stream(["b", "a"], value=str).merge(second).to("out")
    task = task_of(builder.build())
    chunks = [chunk(t, p, [(1, f"{t}{p}")]) for t in ("a", "b", "z") for p in (1, 0)]
    task.process(chunks)
    assert values(task) == ["z0", "z1", "a0", "a1", "b0", "b1"]


def test_chunks_of_one_partition_follow_each_other() -> None:
    task = task_of(merging("a"))
    task.process([chunk("a", 0, [(9, "x"), (1, "y")]), chunk("a", 0, [(5, "z")], first=2)])
    assert values(task) == ["x", "y", "z"]


def test_sequences_of_one_partition_that_begin_anew_are_merged_by_time() -> None:
    """So do the shares of several upstream tasks in a repartition topic."""
    task = task_of(merging("a"))
    task.process([chunk("a", 0, [(1, "x1"), (4, "x4")]), chunk("a", 0, [(2, "y2"), (9, "y9")])])
    assert values(task) == ["x1", "y2", "x4", "y9"]


def test_negative_timestamps_are_dropped_where_the_extractor_says_so() -> None:
    task = task_of(merging("a"), SKIPPING)
    task.process([chunk("a", 0, [(1, "x"), (-1, "y"), (0, "z")])])
    assert values(task) == ["x", "z"]


def test_a_pattern_reads_every_topic_that_matches_wholly() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("orders-.*"), value=str).to("out")
    task = task_of(builder.build())
    task.process([chunk("orders-eu", 0, [(2, "eu")]), chunk("orders-us", 0, [(1, "us")])])
    assert values(task) == ["us", "eu"]
    with pytest.raises(UnknownNodeError, match="`old-orders-eu`"):
        task.process([chunk("old-orders-eu", 0, [(1, "x")])])


def test_a_topic_that_nobody_reads_is_refused() -> None:
    with pytest.raises(UnknownNodeError, match="no source of this task reads the topic `b`; it reads: `a`"):
        task_of(merging("a")).process([chunk("b", 0, [(1, "x")])])


def test_extracted_timestamps_decide_the_order() -> None:
    builder = StreamsBuilder()
    seen: list[int] = []

    def extract(record: Record[str, str], highest: int) -> int:
        seen.append(highest)
        return int(record.value)

    slow = builder.stream("a", value=str, timestamp_extractor=extract)
    slow.merge(builder.stream("b", value=str)).to("out")
    task = task_of(builder.build())
    task.process([chunk("a", 0, [(0, "20"), (0, "-1"), (0, "10"), (0, "40")]), chunk("b", 0, [(30, "b")])])
    (taken,) = task.output.take()
    assert list(zip(taken.timestamps, taken.values, strict=True)) == [
        (20, b"20"),
        (10, b"10"),
        (30, b"b"),
        (40, b"40"),
    ]
    assert seen == [-1, 20, 20, 20]
    task.process([chunk("a", 0, [(0, "5")], first=4)])
    assert seen[-1] == 40, "the highest time of a partition is remembered from batch to batch"


def test_an_extractor_that_raises_stops_the_task_whatever_the_handlers_say() -> None:
    def extract(record: Record[str, str], highest: int) -> int:
        raise ValueError("no time")

    builder = StreamsBuilder()
    builder.stream("a", value=str, timestamp_extractor=extract).to("out")
    with pytest.raises(CallbackError, match="timestamp extractor raised ValueError: no time") as raised:
        task_of(builder.build()).process([chunk("a", 3, [(0, "x")], first=7)])
    assert raised.value.metadata == RecordMetadata("a", 3, 7)


def test_a_repartition_topic_is_shown_under_its_full_name_and_the_tasks_partition() -> None:
    seen: list[Any] = []

    def look(key: str, value: str, metadata: RecordMetadata) -> str:
        seen.append(metadata)
        return "out"

    builder = StreamsBuilder()
    builder.stream("in", value=str).repartition(name="r").to(look)
    task = StreamTask(
        builder.build().sub_topologies()[1],
        TaskId(1, 3),
        application_id="app",
        stores={},
        output=Output(),
        config=CONFIG,
        clock=lambda: 0,
    )
    task.process([chunk("r-repartition", 0, [(1, "x")]), chunk("r-repartition", 1, [(2, "y")], first=5)])
    assert seen == [("app-r-repartition", 3, 0), ("app-r-repartition", 3, 5)]


def test_metadata_names_partition_and_offset_even_when_partitions_were_merged() -> None:
    seen: list[Any] = []

    def look(key: str, value: str, metadata: RecordMetadata) -> str:
        seen.append((value, *metadata))
        return "out"

    builder = StreamsBuilder()
    builder.stream("a", value=str).to(look)
    task_of(builder.build()).process(
        [
            chunk("a", 0, [(1, "x"), (4, "y")], first=10),
            chunk("a", 0, [(6, "z")], first=20),
            chunk("a", 5, [(3, "u")], first=30),
        ]
    )
    assert seen == [("x", "a", 0, 10), ("u", "a", 5, 30), ("y", "a", 0, 11), ("z", "a", 0, 20)]
