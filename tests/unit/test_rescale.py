"""`headrace rescale`: an application with another number of tasks goes on as if it had always had it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from headrace.topology.topology import Topology
from tests.spark import beyond_topologies, loop_topologies, stream_topologies, table_topologies, topologies
from tests.spark.harness.inputs import parts
from tests.spark.harness.records import Part
from tests.unit.rescaling import How, compare, every_task

Build = Callable[[], Topology]


def sources(topology: Topology) -> list[str]:
    subs = topology.sub_topologies()
    return [topic for sub in subs for s in sub.sources if not s.repartition for topic in s.topics]


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize("path", [(4, 8), (4, 2), (3, 5), (1, 4), (4, 1), (4, 6, 3)], ids=str)
def test_up_and_down(tmp_path: Path, path: tuple[int, ...]) -> None:
    inputs = parts("in", count=len(path) * 2, keys=40)
    compare(topologies.aggregates, tmp_path, inputs, path)


def final_windows() -> Topology:
    """Final results of every kind of window. They are so long that no task is ever ahead by one."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    final = EmitStrategy.ON_WINDOW_CLOSE
    tumbling = grouped.windowed_by(TimeWindows(ms(100), grace=ms(30))).emit_strategy(final)
    tumbling.count(store="tumbling").to_stream().to("tumbling", value=int)
    sliding = grouped.windowed_by(SlidingWindows(ms(80), grace=ms(30))).emit_strategy(final)
    sliding.count(store="sliding").to_stream().to("sliding", value=int)
    sessions = grouped.windowed_by(SessionWindows(ms(60), grace=ms(30))).emit_strategy(final)
    sessions.count(store="sessions").to_stream().to("sessions", value=int)
    return builder.build()


def windows_of_windows() -> Topology:
    """Final results under keys that have windows themselves, with and without a shuffle between."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    short = grouped.windowed_by(TimeWindows(ms(50), grace=ms(30))).count(store="short").to_stream()
    final = EmitStrategy.ON_WINDOW_CLOSE
    long = TimeWindows(ms(200), grace=ms(30))
    direct = short.group_by_key().windowed_by(long).emit_strategy(final)
    direct.count(store="direct").to_stream(lambda window, count: str(window)).to("direct", value=int)
    moved = short.repartition(name="moved").group_by_key().windowed_by(long).emit_strategy(final)
    moved.count(store="moved").to_stream(lambda window, count: str(window)).to("moved", value=int)
    return builder.build()


def suppressed() -> Topology:
    """Held back until windows close, and for a time."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    tumbling = grouped.windowed_by(TimeWindows(ms(100), grace=ms(30))).count(store="tumbling")
    tumbling.suppress(Suppressed.until_window_closes()).to_stream().to("tumbling", value=int)
    sessions = grouped.windowed_by(SessionWindows(ms(60), grace=ms(30))).count(store="sessions")
    sessions.suppress(Suppressed.until_window_closes()).to_stream().to("sessions", value=int)
    return builder.build()


def outer_joins() -> Topology:
    """Streams with records that have met nobody yet, after a change of their keys, too."""
    builder = StreamsBuilder()
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    windows = JoinWindows(before=ms(20), after=ms(60), grace=ms(100))
    left.outer_join(right, windows=windows, join=loop_topologies.both, value=str).to("outer")
    left.left_join(right, windows=windows, join=loop_topologies.both, value=str).to("left-joined")
    both = left.select_key(topologies.letter, key=str), right.select_key(topologies.letter, key=str)
    both[0].outer_join(both[1], windows=windows, join=loop_topologies.both, value=str).to("letters")
    return builder.build()


def reused_topics() -> Topology:
    """Tables whose topics are the changelogs of their stores, until the tasks are cut loose from partitions."""
    builder = StreamsBuilder()
    left = builder.table("left", value=str, store="left")
    right = builder.table("right", value=str, store="right")
    left.outer_join(right, join=loop_topologies.both, value=str, store="both").to_stream().to("both")
    return builder.build(optimization="all")


def few_rows() -> Topology:
    builder = StreamsBuilder()
    rows = Materialized[str, int]("few", max_entries=100)
    builder.stream("in", value=str).group_by_key().count(store=rows).to_stream().to("counts", value=int)
    return builder.build()


CASES: dict[str, tuple[Build, How, bool]] = {
    "windows": (topologies.windows, "in order", True),
    "sliding windows": (stream_topologies.sliding_windows, "in order", True),
    "cogroups": (stream_topologies.cogroups, "in order", True),
    "stream-table joins": (topologies.joins, "in order", True),
    "re-keyed stream-table joins": (topologies.rekeyed_joins, "in order", True),
    "tables": (table_topologies.values, "in order", True),
    "grouped tables": (table_topologies.groups, "in order", True),
    "table-table joins": (table_topologies.joins, "in order", True),
    "versioned tables": (table_topologies.versioned, "in order", True),
    "topics as changelogs": (reused_topics, "in order", True),
    "a limited number of rows": (few_rows, "in order", True),
    # When a row is forgotten depends on the time of its task: the results do not.
    "duplicates": (beyond_topologies.duplicates, "in order", False),
    "duplicates by id": (beyond_topologies.duplicates_by_id, "in order", False),
    "final windows": (final_windows, "all", True),
    "windows of windows": (windows_of_windows, "all", True),
    "suppressed windows": (suppressed, "all", True),
    "inner joins of streams": (stream_topologies.rekeyed_stream_joins, "in order", True),
    "outer joins of streams": (outer_joins, "all", True),
    "stream-table joins with grace": (stream_topologies.joins_with_grace, "all", True),
    "rows that run out": (beyond_topologies.lifetimes, "all", True),
    "foreign keys": (loop_topologies.inner, "in order", True),
    "foreign keys after a change of keys": (loop_topologies.rekeyed, "last", True),
    "a chain of foreign keys": (loop_topologies.chain, "last", False),
    "a cycle": (topologies.cycle, "in order", True),
}


def with_an_end(names: list[str], **options: Any) -> tuple[list[Part], list[Part]]:
    """Input, and records behind it after which nothing waits any more."""
    inputs = parts(*names, keys=30, **options)
    end = max(record.timestamp for part in inputs for records in part.values() for record in records)
    return inputs, [every_task(names, end + 60), every_task(names, end + 200), every_task(names, end + 300)]


@pytest.mark.parametrize(
    ("name", "path"), list(zip(CASES, cycle([(4, 2), (3, 5), (2, 4)]), strict=False)), ids=str
)
def test_every_kind_of_store(tmp_path: Path, name: str, path: tuple[int, ...]) -> None:
    build, how, stores = CASES[name]
    inputs, last = with_an_end(sources(build()), count=4)
    compare(build, tmp_path, inputs, path, how=how, last=last, stores=stores)
