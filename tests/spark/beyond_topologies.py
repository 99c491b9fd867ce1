"""Topologies of what goes beyond Kafka Streams, which run on Spark and in the test driver."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from headrace import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    PunctuationType,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)
from tests.spark.topologies import letter, ms


def duplicates() -> Topology:
    """By key, and by an id under the key: what needs no repartition."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.deduplicate(within=ms(40), store="by-key").to("by-key")
    stream.deduplicate(within=ms(60), id=letter, per_key=True, grace=ms(20)).to("per-key")
    return builder.build()


def duplicates_by_id() -> Topology:
    """By an id whatever the key, and counted by key behind it."""
    builder = StreamsBuilder()
    once = builder.stream("in", value=str).deduplicate(within=ms(25), id=letter, store="by-id")
    once.to("by-id")
    once.group_by_key().count(store="counts").to_stream().to("counts", value=int)
    return builder.build()


async def _slowly(key: str, value: str) -> str:
    """Longer for some than for others, so that answers come in another order than the questions."""
    await asyncio.sleep(int(value[1:]) % 7 / 1000)
    return f"{key}-{value}"


def calls() -> Topology:
    """Calls in front of a count, which records that made none are joined with."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    answers = stream.map_values_async(_slowly, with_key=True, concurrency=5, name="ask")
    answers.to("answers")
    table = answers.group_by_key().count(store="counts")
    stream.join(table, join=lambda value, count: f"{value}/{count}").to("joined", value=str)
    answers.map_values_async(_slowly_again, concurrency=3).to("again")
    return builder.build()


async def _slowly_again(value: str) -> str:
    await asyncio.sleep(len(value) % 3 / 1000)
    return value.upper()


async def _refuses(value: str) -> str:
    await asyncio.sleep(0)
    raise ValueError(f"no answer for {value}")


def failing_calls() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=str).map_values_async(_refuses, name="ask").to("out")
    return builder.build()


def lifetimes() -> Topology:
    """Rows that run out by the time of records: in a table, in what is joined with it, and in a count behind."""
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store=Materialized("rows", ttl=ms(60)))
    table.to_stream().to("changes")
    stream = builder.stream("stream", value=str)
    stream.left_join(table, join=lambda value, row: f"{value}-{row}").to("joined", value=str)
    counts = stream.group_by_key().count(store=Materialized("counts", ttl=ms(45)))
    counts.to_stream().to("counts", value=int)
    return builder.build()


def by_the_clock() -> Topology:
    """Rows that run out by the wall clock."""
    builder = StreamsBuilder()
    rows = Materialized[str, str]("rows", ttl=timedelta(seconds=3), ttl_clock=PunctuationType.WALL_CLOCK_TIME)
    builder.table("table", value=str, store=rows).to_stream().to("changes")
    return builder.build()


def idle_windows() -> Topology:
    """Windows that are closed by the wall clock when nothing comes any more."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    idle = timedelta(seconds=2)
    final = EmitStrategy.on_window_close(idle=idle)
    tumbling = TimeWindows(ms(40), grace=ms(90))
    grouped.windowed_by(tumbling).emit_strategy(final).count(store="closed").to_stream().to(
        "closed", value=int
    )
    sessions = grouped.windowed_by(SessionWindows(ms(15), grace=ms(90)))
    sessions.emit_strategy(final).count(store="sessions").to_stream().to("sessions", value=int)
    held = (
        grouped.windowed_by(tumbling).count(store="held").suppress(Suppressed.until_window_closes(idle=idle))
    )
    held.to_stream().to("held", value=int)
    return builder.build()


def idle_joins() -> Topology:
    """Records that meet nobody go out by the wall clock when nothing comes any more."""
    builder = StreamsBuilder()
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    windows = JoinWindows(ms(4), grace=ms(90), idle=timedelta(seconds=2))
    left.outer_join(right, windows=windows, join=lambda one, other: f"{one}+{other}").to("met", value=str)
    return builder.build()
