"""Topologies of two streams and of windows, which run on Spark and in the test driver."""

from __future__ import annotations

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    UnlimitedWindows,
)
from tests.spark.topologies import letter, ms


def _both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def stream_joins() -> Topology:
    """Inner, left and outer, and a stream with itself."""
    builder = StreamsBuilder()
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    windows = JoinWindows(before=ms(20), after=ms(60), grace=ms(30))
    left.join(right, windows=windows, join=_both).to("inner")
    left.left_join(right, windows=windows, join=_both).to("left-joined")
    left.outer_join(right, windows=windows, join=_both).to("outer")
    left.join(left, windows=JoinWindows(ms(15)), join=_both).to("own")
    return builder.build()


def rekeyed_stream_joins() -> Topology:
    """Both sides through repartition topics, and a count behind the join."""
    builder = StreamsBuilder()
    left = builder.stream("left", value=str).select_key(letter)
    right = builder.stream("right", value=str).select_key(letter)
    joined = left.join(right, windows=JoinWindows(ms(8), grace=ms(500)), join=_both, name="by-letter")
    joined.group_by_key().count(store="pairs").to_stream().to("pairs", value=int)
    return builder.build()


def sliding_windows() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    sliding = grouped.windowed_by(SlidingWindows(ms(40), grace=ms(60)))
    sliding.count(store="counts").to_stream().to("counts", value=int)
    sliding.reduce(max, store="highest").to_stream().to("highest")
    return builder.build()


def shown_and_sent_to_all(path: str) -> Topology:
    """Printed into a file, counted in one window without an end, and written to every partition or to none."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=str)
    stream.print(label="seen", mapper=lambda key, value: f"{key}={value}", file=path)
    counts = stream.group_by_key().windowed_by(UnlimitedWindows()).count(store="ever")
    counts.to_stream(lambda window, count: window.key).to("counts", value=int)
    stream.split().branch(
        lambda key, value: True,
        chain=lambda all_of_them: all_of_them.to(
            "everywhere",
            partitioner=lambda topic, key, value, count: set(range(count)) if key == "a" else set[int](),
        ),
    ).no_default_branch()
    return builder.build()


def final_results() -> Topology:
    """Every kind of window, once it is closed."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    final = EmitStrategy.ON_WINDOW_CLOSE
    tumbling = grouped.windowed_by(TimeWindows(ms(40), grace=ms(30))).emit_strategy(final)
    tumbling.count(store="tumbling").to_stream().to("tumbling", value=int)
    sliding = grouped.windowed_by(SlidingWindows(ms(20), grace=ms(30))).emit_strategy(final)
    sliding.count(store="sliding").to_stream().to("sliding", value=int)
    sessions = grouped.windowed_by(SessionWindows(ms(15), grace=ms(30))).emit_strategy(final)
    sessions.count(store="sessions").to_stream().to("sessions", value=int)
    return builder.build()


def suppressed() -> Topology:
    """Updates that are held back: of every kind of window until it is closed, and of a plain table for a time."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", value=str).group_by_key()
    tumbling = grouped.windowed_by(TimeWindows(ms(40), grace=ms(30))).count(store="tumbling")
    tumbling.suppress(Suppressed.until_window_closes(), name="final").to_stream().to("tumbling", value=int)
    sliding = grouped.windowed_by(SlidingWindows(ms(20), grace=ms(30))).count(store="sliding")
    sliding.suppress(Suppressed.until_window_closes()).to_stream().to("sliding", value=int)
    sessions = grouped.windowed_by(SessionWindows(ms(15), grace=ms(30))).count(store="sessions")
    sessions.suppress(Suppressed.until_window_closes()).to_stream().to("sessions", value=int)
    counts = grouped.count(store="counts")
    few = Suppressed.until_time_limit(ms(60), BufferConfig.max_bytes(150))
    counts.suppress(few).to_stream().to("counts", value=int)
    return builder.build()


def joins_with_grace() -> Topology:
    """Records of a stream that wait for a table with a history, behind a filter of it and directly."""
    builder = StreamsBuilder()
    table = builder.table("table", value=str, store=Materialized("rows", history_retention=ms(200)))
    stream = builder.stream("stream", value=str)
    stream.join(table, join=_both, grace=ms(50), name="wait").to("inner")
    few = table.filter(lambda key, value: value[0] != "a")
    stream.left_join(few, join=_both, grace=ms(20)).to("left-joined")
    return builder.build()


def cogroups() -> Topology:
    """Two streams in one table, without windows, in tumbling and sliding ones and in sessions."""
    builder = StreamsBuilder()
    left, right = builder.stream("left", value=str), builder.stream("right", value=str)
    both = (
        left.group_by_key()
        .cogroup(lambda key, value, seen: f"{seen}{value[0]}"[-20:], value=str)
        .cogroup(right.group_by_key(), lambda key, value, seen: f"{seen}{value[0].upper()}"[-20:])
    )
    both.aggregate(str, store="all").to_stream().to("all")
    tumbling = both.windowed_by(TimeWindows(ms(60), grace=ms(30)))
    tumbling.aggregate(str, store="tumbling").to_stream().to("tumbling")
    sliding = both.windowed_by(SlidingWindows(ms(20), grace=ms(30)))
    sliding.aggregate(str, store="sliding").to_stream().to("sliding")
    sessions = both.windowed_by(SessionWindows(ms(15), grace=ms(30)))
    sessions.aggregate(str, lambda key, one, other: one + other, store="sessions").to_stream().to("sessions")
    return builder.build()
